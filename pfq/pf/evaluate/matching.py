"""Where a rule matches, for every packet. Source: pf_test_rule, pf_test_fragment, pf_match_port and pf_match_rcvif of pf.c."""

from dataclasses import dataclass

from pfq.diagnostics import Place
from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import View
from pfq.headers.bits import any_of, at_least, between, masked
from pfq.headers.fields import (
    DESTINATION,
    DESTINATION_PORT,
    FLAGS,
    ICMP_CODE,
    ICMP_TYPE,
    SOURCE,
    SOURCE_PORT,
)
from pfq.pf.evaluate.facts import Facts
from pfq.pf.evaluate.features import Features
from pfq.pf.evaluate.packet import TCP, icmp_reply, of_family, of_protocol, tos_seen, whole
from pfq.pf.nodes import ADDRESS, DYNAMIC, RANGE, TABLE, Host, Port, Rule

_WIDTH = {4: 32, 6: 128}


@dataclass(frozen=True)
class Spot:
    """Where pf looks at a packet: on an interface, in a direction (`in` or `out`)."""

    interface: str
    direction: str
    received_on: str | None


@dataclass(frozen=True)
class World:
    """What all rules of a tree go by. `tags`: a number from 1 for each tag that a rule sets. `text`: where the ruleset begins."""

    features: Features
    facts: Facts
    tags: dict[str, int]
    tag_width: int
    text: Place

    def note(self, view: View, where: Condition, why: str) -> None:
        """Remember something that no rule decides."""
        view.note(where, self.text, "", why)


class Matcher:
    """The rules' conditions on one view of a packet at one spot."""

    def __init__(self, world: World, spot: Spot, view: View) -> None:
        self._world = world
        self._spot = spot
        self._view = view
        self._algebra = view.algebra
        self.whole = whole(view)
        self._tcp = of_protocol(view, TCP)
        self._tos = tos_seen(view, world.features)
        self._hosts: dict[tuple[object, ...], Condition] = {}
        self._ports: dict[tuple[object, ...], Condition] = {}
        self._others: dict[tuple[object, ...], Condition] = {}

    def here(self, rule: Rule) -> bool:
        """Whether a rule is for this spot: interface, direction, and where the packet came in."""
        spot = self._spot
        return (
            rule.direction in ("", spot.direction)
            and (not rule.interface or self.on(rule.interface, spot.interface) != rule.interface_negated)
            and (not rule.received_on or spot.received_on is not None or rule.received_on_negated)
            and (
                not rule.received_on
                or spot.received_on is None
                or self.on(rule.received_on, spot.received_on) != rule.received_on_negated
            )
        )

    def on(self, name: str, interface: str) -> bool:
        """Whether an interface is the one of that name, or of the group of that name."""
        if name in (interface, "any", "all"):
            return True
        return interface in (self._world.facts.group(name) or ())

    def matches(self, rule: Rule) -> Condition:
        """Where a rule matches, as far as it does not ask for a tag."""
        if not self.here(rule):
            return self._algebra.nothing
        found = self._transport(rule)
        if rule.tos:
            found = found & self._other(("tos", rule.tos), self._tos, rule.tos)
        if rule.proto:
            found = self._protocol(rule.proto) & found
        if rule.af:
            found = of_family(self._view, rule.af) & found
        return found & self.host(rule.source, SOURCE) & self.host(rule.destination, DESTINATION)

    def tagged(self, rule: Rule, tag: Bits) -> Condition:
        """Where the tag that the packet has by then is what the rule asks for."""
        if not rule.tagged:
            return self._algebra.everything
        number = self._world.tags.get(rule.tagged)
        found = self._algebra.nothing if number is None else masked(self._algebra, tag, number)
        return ~found if rule.tagged_negated else found

    def _protocol(self, number: int) -> Condition:
        key = ("protocol", number)
        if key not in self._others:
            self._others[key] = of_protocol(self._view, number)
        return self._others[key]

    def _other(self, key: tuple[object, ...], bits: Bits, value: int, mask: int = -1) -> Condition:
        if key not in self._others:
            self._others[key] = masked(self._algebra, bits, value, mask)
        return self._others[key]

    def _transport(self, rule: Rule) -> Condition:
        """What asks of the transport header, which fragments do not have."""
        algebra, bits = self._algebra, self._view.bits
        if rule.fragment:
            return ~self.whole
        found = self.port(rule.source_port, SOURCE_PORT) & self.port(rule.destination_port, DESTINATION_PORT)
        of_fragments = algebra.everything
        if rule.flags or rule.flagset:
            key = ("flags", rule.flags, rule.flagset)
            if key not in self._others:
                self._others[key] = ~self._tcp | masked(algebra, bits[FLAGS], rule.flags, rule.flagset)
            found = found & self._others[key]
            of_fragments = ~self._tcp
        if rule.icmp_type >= 0:
            found = found & self._other(("type", rule.icmp_type), bits[ICMP_TYPE], rule.icmp_type)
            if rule.icmp_code >= 0:
                found = found & self._other(("code", rule.icmp_code), bits[ICMP_CODE], rule.icmp_code)
        if rule.source_port is not None or rule.destination_port is not None or rule.icmp_type >= 0:
            of_fragments = algebra.nothing
        if rule.state and not rule.sloppy and self._world.features.icmp_replies_need_state:
            found = found & ~self._reply()
        return self.whole.ite(found, of_fragments)

    def _reply(self) -> Condition:
        """Where it is an ICMP answer."""
        if ("reply",) not in self._others:
            self._others[("reply",)] = icmp_reply(self._view)
        return self._others[("reply",)]

    def port(self, port: Port | None, field: str) -> Condition:
        """Where a port condition holds."""
        if port is None:
            return self._algebra.everything
        key = (field, port.op, port.low, port.high)
        if key not in self._ports:
            self._ports[key] = self._compared(port, self._view.bits[field])
        return self._ports[key]

    def _compared(self, port: Port, bits: Bits) -> Condition:
        algebra, low, high = self._algebra, port.low, port.high
        match port.op:
            case "=":
                return masked(algebra, bits, low)
            case "!=":
                return ~masked(algebra, bits, low)
            case "<":
                return ~at_least(algebra, bits, low)
            case "<=":
                return ~at_least(algebra, bits, low + 1)
            case ">":
                return at_least(algebra, bits, low + 1)
            case ">=":
                return at_least(algebra, bits, low)
            case ":":
                return between(algebra, bits, low, high)
            case "><":
                return at_least(algebra, bits, low + 1) & ~at_least(algebra, bits, high)
        return ~at_least(algebra, bits, low) | at_least(algebra, bits, high + 1)

    def host(self, host: Host, field: str) -> Condition:
        """Where an address condition holds."""
        if host.kind == ADDRESS and not host.bits and not host.value:
            return self._algebra.nothing if host.negated else self._algebra.everything
        key = (field, host.kind, host.af, host.value, host.bits, host.end, host.name, host.modifiers)
        if key not in self._hosts:
            self._hosts[key] = self._held(host, field)
        found = self._hosts[key]
        return ~found if host.negated else found

    def _held(self, host: Host, field: str) -> Condition:
        if host.kind == TABLE:
            return self._table(host.name, field)
        if host.kind == DYNAMIC:
            networks = self._world.facts.addresses(host.name, host.modifiers)
            return any_of(self._algebra, (self.network(af, value, min(bits, host.bits), field) for af, value, bits in networks))
        if host.kind == RANGE:
            bits = self._view.bits[field][-_WIDTH[host.af] :]
            return between(self._algebra, bits, host.value, host.end) & of_family(self._view, host.af)
        return self.network(host.af, host.value, host.bits, field)

    def network(self, family: int, value: int, bits: int, field: str) -> Condition:
        """Where an address is in a network."""
        width = _WIDTH[family]
        mask = (1 << width) - (1 << width - min(bits, width))
        return masked(self._algebra, self._view.bits[field][-width:], value & mask, mask) & of_family(self._view, family)

    def _table(self, name: str, field: str) -> Condition:
        """The entry with the longest mask decides (pf_table.c pfr_match_addr)."""
        entries = self._world.facts.table(name) or []
        by_bits: dict[tuple[int, bool], list[Condition]] = {}
        for entry in entries:
            where = self.network(entry.af, entry.value, entry.bits, field)
            by_bits.setdefault((_WIDTH[entry.af] - min(entry.bits, _WIDTH[entry.af]), entry.negated), []).append(where)
        if not any(negated for _, negated in by_bits):
            return any_of(self._algebra, (where for listed in by_bits.values() for where in listed))
        found = self._algebra.nothing
        for (_, negated), listed in sorted(by_bits.items(), reverse=True, key=lambda item: item[0]):
            held = any_of(self._algebra, listed)
            found = found & ~held if negated else found | held
        return found

