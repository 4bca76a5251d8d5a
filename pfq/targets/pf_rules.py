"""Rules that every pf has in common: of one uplink, which flows its classes have, normalization, translation."""

from collections.abc import Iterator
from dataclasses import dataclass

from pfq.plan.model import Gateway, Plan, Uplink
from pfq.site.kinds import Faults
from pfq.site.model import Match, Network
from pfq.targets.pf_dialects import Dialect
from pfq.targets.pf_match import AF, LIST_MOST, Expanded, Table, expand, families, listed
from pfq.targets.pf_names import Names
from pfq.targets.pf_text import Section, Statement, braces, comments, network, reason


@dataclass(frozen=True, slots=True)
class UplinkRules:
    """Writes the rules of one uplink. number: its place among the gateway's uplinks. local: the queue of excluded traffic.
    tables: those that the rules name, filled as rules are written."""

    plan: Plan
    gateway: Gateway
    uplink: Uplink
    number: int
    dialect: Dialect
    names: Names
    local: str
    tables: list[Table]
    faults: Faults

    def assignment(self) -> list[Statement]:
        """The rules that give every flow on the link's interface a queue, the most general first."""
        raise NotImplementedError

    def section(self, order: str, complete: bool) -> Section:
        """The assignment: in a complete pf.conf in an anchor of its own, where the dialect has inline ones. order: how its rules override
        one another. Reports an anchor's name that is too long."""
        dialect, link = self.dialect, self.uplink.link
        anchor = f"pfq_{link}" if dialect.inline_anchors and complete else ""
        if len(anchor) > dialect.anchor_most:
            message = f"the anchor {anchor!r} has {len(anchor)} characters, and {dialect.name} takes {dialect.anchor_most}"
            self.faults.at(("links", link), "long-name", message, "shorten the name of the link")
        notes = [f"{order}: from general to specific. A flow's state remembers its queue, in both directions."]
        express = self.uplink.classifier.express
        if express and express.upgraded:
            test = "ToS 0x10" if dialect.tos_equal else "ToS bit 0x10"
            notes.append(f"The second queue takes a flow's empty TCP ACKs and its packets with {test}.")
            if 6 in express.families and dialect.second_queue_6 != "full":
                notes.append("Empty ACKs of IPv6 are never upgraded by this pf (accepted: ipv6-express).")
        return Section(f"assignment to queues, link {link}", tuple(self.assignment()), comments(notes), anchor)

    def written(self, interface: str) -> str:
        """The interface, or its macro."""
        return self.names.interfaces.get(interface, interface)

    def on(self, direction: str = "") -> str:
        return f"{direction}on {self.written(self.uplink.interface)} "

    def queue(self, name: str) -> str:
        """`queue (class, express)`, or `queue class` where the class's packets are not upgraded."""
        own = self.names.queues[self.uplink.link]
        express = self.uplink.classifier.express
        if express and name in express.upgraded:
            return f"queue ({own[name]}, {own[express.queue]})"
        return f"queue {own[name]}"

    def _expand(self, match: Match, index: int) -> Expanded:
        found = expand(match, f"pfq_{self.number}_{index + 1}", self.dialect.tos_exact)
        for table in found.tables:
            if table not in self.tables:
                self.tables.append(table)
        return found

    def _check_dscp(self, name: str, match: Match) -> str:
        """Reports a DSCP condition that does not hold for IPv6; a comment where that is accepted."""
        if not match.dscp or self.dialect.dscp_ipv6 or not self.uplink.ipv6 or 6 not in families(match):
            return ""
        if "ipv6-dscp" not in self.plan.accept:
            message = f"class {name!r}: {self.dialect.name} sees no DSCP in IPv6"
            self.faults.at((*match.path, "dscp"), "difference", message, "add family = 'ipv4', or accept = ['ipv6-dscp'] to the model")
        return "(accepted: ipv6-dscp, these conditions never hold for IPv6)"

    def _excluded_hosts(self) -> Iterator[tuple[str, str]]:
        """(direction and family, hosts) of flows to and from excluded networks."""
        for version in (4, 6):
            names = self._excluded_names(version)
            if names:
                yield f"{self.on('out ')}{AF[version]}", f"from any to {names}"
                yield f"{self.on('in ')}{AF[version]}", f"from {names} to any"

    def _excluded_names(self, version: int) -> str:
        """The excluded networks of an IP version as a list or a table, '' for none."""
        exclude = self.uplink.classifier.exclude
        names = listed(exclude, version)
        if len(names) <= LIST_MOST:
            return braces(names) if names else ""
        return self._table(f"pfq_{self.number}_exclude{version}", exclude, version)

    def _table(self, name: str, networks: tuple[Network, ...], version: int) -> str:
        """A table of the networks of an IP version, as a rule names it."""
        table = Table(name, tuple(item for item in networks if item.version == version))
        if table not in self.tables:
            self.tables.append(table)
        return f"<{name}>"

    def normalization(self) -> list[Statement]:
        """Fragments are put together, so that rules see ports; the segment size is clamped."""
        mss = self.uplink.mss
        versions = (4, 6) if self.uplink.ipv6 else (4,)
        if mss is None:
            if self.dialect.scrub_option or not self._needs_whole_packets():
                return []
            return [Statement(f"scrub {self.on()}all", ("Fragments are put together: only the first has ports, and no fragment has a state.",))]
        about = comments([f"max-mss {mss.value}: {reason(mss)}" + ("; 20 less for IPv6" if self.uplink.ipv6 else "")])
        written = []
        for version in versions:
            size = mss.value if version == 4 else mss.value - 20
            if self.dialect.scrub_option:
                text = f"match {self.on()}{AF[version]}proto tcp from any to any scrub (max-mss {size})"
            else:
                text = f"scrub {self.on()}{AF[version]}all max-mss {size}"
            written.append(Statement(text, about))
            about = ()
        return written

    def _needs_whole_packets(self) -> bool:
        """Whether a fragment could get another queue or address than the rest of its flow."""
        uplink = self.uplink
        return bool(uplink.classifier.rules or uplink.nat or uplink.one_to_one or uplink.inbound)

    def inward_translation(self) -> list[Statement]:
        """Where NAT is an option of a rule: destinations of 1:1 NAT, before the assignment, which then sees inside addresses."""
        if not self.dialect.nat_option:
            return []
        return [
            Statement(f"match {self.on('in ')}{AF[pair.inside.version]}from any to {pair.outside} rdr-to {pair.inside}")
            for pair in self.uplink.one_to_one
        ]

    def outward_translation(self) -> list[Statement]:
        """NAT: statements, or (where NAT is an option of a rule) match rules that come after the assignment."""
        return self._match_nat() if self.dialect.nat_option else self._nat_statements()

    def _inside_networks(self, version: int) -> list[str]:
        return [network(item) for inside in self.gateway.inside for item in inside.networks if item.version == version]

    def _nat_statements(self) -> list[Statement]:
        written: list[str] = []
        uplink, on = self.uplink, self.on()
        for pair in uplink.one_to_one:
            version: int = pair.inside.version
            written += [f"no binat {on}{AF[version]}from {pair.inside} to {item}" for item in listed(own_networks(self.gateway, uplink), version)]
            written.append(f"binat {on}{AF[version]}from {pair.inside} to any -> {pair.outside}")
        version, address = self._nat_address()
        inside = self._inside_networks(version)
        if address and inside:
            own = listed(own_networks(self.gateway, uplink), version)
            if own:
                written.append(f"no nat {on}{AF[version]}from any to {braces(own)}")
            written.append(f"nat {on}{AF[version]}from {braces(inside)} to any -> {address}")
        return [Statement(text) for text in written]

    def _nat_address(self) -> tuple[int, str]:
        """IP version and the address that the inside goes out with, '' for none."""
        nat = self.uplink.nat
        if isinstance(nat, bool):
            return 4, f"({self.written(self.uplink.interface)})" if nat else ""
        return nat.version, str(nat)

    def _match_nat(self) -> list[Statement]:
        written: list[str] = []
        for pair in self.uplink.one_to_one:
            version: int = pair.inside.version
            written.append(f"match {self.on('out ')}{AF[version]}from {pair.inside} to {self._elsewhere(version)} nat-to {pair.outside} static-port")
        version, address = self._nat_address()
        inside = self._inside_networks(version)
        if address and inside:
            written.append(f"match {self.on('out ')}{AF[version]}from {braces(inside)} to {self._elsewhere(version)} nat-to {address}")
        return [Statement(text) for text in written]

    def _elsewhere(self, version: int) -> str:
        """Destinations that are not inside: `any` where the inside is on other interfaces."""
        own = own_networks(self.gateway, self.uplink)
        names = listed(own, version)
        if not names:
            return "any"
        return f"! {names[0]}" if len(names) == 1 else f"! {self._table(f'pfq_{self.number}_inside{version}', own, version)}"


def own_networks(gateway: Gateway, uplink: Uplink) -> tuple[Network, ...]:
    """The inside networks on the link's own interface, of a gateway with one arm: what goes there is neither the link's nor translated."""
    return tuple(item for inside in gateway.inside if inside.interface in (uplink.interface, uplink.queue_on) for item in inside.networks)
