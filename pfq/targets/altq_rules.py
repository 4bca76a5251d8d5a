"""Rules for ALTQ dialects: assignment to queues and the inbound policy.

A packet's queue is that of the rule that made its state, or of the last rule that matches it; so rules go from general to specific.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pfq.site.model import Inside, Match, Network
from pfq.targets.pf_inbound import allowed
from pfq.targets.pf_match import Selector
from pfq.targets.pf_rules import UplinkRules, own_networks
from pfq.targets.pf_tags import needs_tag, overlap, tag_of, translated, visible_sources
from pfq.targets.pf_text import Statement, comments

# Tags of packets from the link: not allowed in, and allowed in.
CLOSED, OPEN = "pfq_closed", "pfq_open"
ANY = Selector("", "", "all", "")


@dataclass(frozen=True, slots=True)
class AltqRules(UplinkRules):
    """Writes the rules of one uplink."""

    def assignment(self) -> list[Statement]:
        """Rules that give every IP packet on the link's interface a queue, the most general first."""
        classifier = self.uplink.classifier
        queue = self.queue(classifier.default)
        stateless = " flags any no state" if self.dialect.bound_state else ""
        note = "TCP connections that were open before these rules were loaded have no state; new ones get it below."
        written = [Statement(f"pass {self.on()}proto tcp from any to any{stateless} {queue}", (note,))]
        for where, hosts in self._excluded_hosts():
            written.append(Statement(f"pass {where}proto tcp {hosts}{stateless} queue {self.local}"))
        written += self._passes(self.on(), [ANY], queue, f"{classifier.default}: everything that no rule below names")
        hidden = () if self.dialect.nat_option else translated(self.gateway, self.uplink)
        last = ""
        for index in range(len(classifier.rules) - 1, -1, -1):
            rule = classifier.rules[index]
            about = rule.queue if rule.queue != last else ""
            written += self._rule(index, rule.queue, rule.match, hidden, about)
            last = rule.queue
        about = "not the link's traffic"
        for where, hosts in self._excluded_hosts():
            written += self._passes(where, [Selector("", "", hosts, "")], f"queue {self.local}", about)
            about = ""
        return written

    def normalization(self) -> list[Statement]:
        """On the link's interface, and where flows are tagged by their ports: a fragment that comes in there has none."""
        written = UplinkRules.normalization(self)
        if self.dialect.scrub_option or self.dialect.nat_option or not self._tags_first():
            return written
        hidden = translated(self.gateway, self.uplink)
        tagged = [rule.match for rule in self.uplink.classifier.rules if needs_tag(rule.match, hidden)]
        about: tuple[str, ...] = ("Flows are told apart as they come in: fragments are put together there too.",)
        for inside in self.gateway.inside:
            if any((match.ports or match.source_ports) and self._tagged_on(inside, match, hidden) for match in tagged):
                written.append(Statement(f"scrub in on {self.written(inside.interface)} all", about))
                about = ()
        return written

    @staticmethod
    def _tagged_on(inside: Inside, match: Match, hidden: tuple[Network, ...]) -> bool:
        """Whether packets that a match with a tag is about may come in by this interface."""
        return any(overlap(source, item) for source in match.sources for item in (*inside.networks, *hidden))

    def _rule(self, index: int, name: str, match: Match, hidden: tuple[Network, ...], about: str) -> list[Statement]:
        queue = self.queue(name)
        about = f"{about} {self._check_dscp(name, match)}".strip()
        if not needs_tag(match, hidden):
            side = {"inside": "out ", "outside": "in ", "both": ""}[match.opened]
            return self._passes(self.on(side), self._expand(match, index).selectors, queue, about)
        tag = tag_of(name, index)
        written = []
        selectors = self._expand(match, index).selectors
        if self._tags_first():
            for inside in self.gateway.inside:
                if self._tagged_on(inside, match, hidden):
                    written += self._passes(f"in on {self.written(inside.interface)} ", selectors, f"tag {tag}", about)
                    about = ""
        seen = dict.fromkeys(Selector(item.af, item.protocol, "all", "") for item in selectors)
        written += self._passes(self.on("out "), seen, f"tagged {tag} {queue}", about)
        visible = visible_sources(match, hidden)
        if visible:
            own = self._expand(replace(match, sources=visible), index).selectors
            written += self._passes(self.on("out "), own, queue, "")
        if match.opened == "both":
            written += self._passes(self.on("in "), selectors, queue, "")
        return written

    def _tags_first(self) -> bool:
        """Whether this uplink is the first that tags: others find the tags there."""
        for uplink in self.gateway.uplinks:
            hidden = translated(self.gateway, uplink)
            if any(needs_tag(rule.match, hidden) for rule in uplink.classifier.rules):
                return uplink is self.uplink
        return False

    def _passes(self, where: str, selectors: Iterable[Selector], action: str, about: str) -> list[Statement]:
        """Stateful pass rules, in which TCP gets its state by the first packet only; older dialects want that written out (and take
        `flags` without a protocol to mean TCP: parse.y pfrule)."""
        written: list[str] = []
        for item in selectors:
            state = "" if self.dialect.bound_state else " keep state" if item.protocol not in ("", "tcp") else " flags S/SA keep state"
            written.append(f"pass {where}{item.text()}{item.tos}{state} {action}")
        return [Statement(text, comments([about]) if about and not index else ()) for index, text in enumerate(written)]

    def inbound(self) -> list[Statement]:
        """Blocks what the inbound policy does not allow, and leaves the rest to the assignment: rules that name no queue must not be last."""
        policy = self.uplink.inbound
        if policy is None:
            return []
        if not self.dialect.tags:
            message = f"{self.dialect.name} has no tags: an inbound policy and queues cannot be told apart there"
            self.faults.at(policy.path, "unsupported", message, "leave `inbound` out and write the block rules by hand")
            return []
        written = [Statement(f"block {self.on('in ')}all tag {CLOSED}", ("Nothing new comes in from the link but what is marked as open here.",))]
        for item in allowed(policy, self.uplink, own_networks(self.gateway, self.uplink)):
            flags = " flags any" if (item.operator or item.local) and self.dialect.bound_state else ""
            text = f"pass {self.on('in ')}{item.selector.text()}{item.icmp}{flags} tag {OPEN}"
            written.append(Statement(text, (item.about,) if item.about else ()))
        written.append(Statement(f"block in quick {self.on()}all tagged {CLOSED}"))
        return written
