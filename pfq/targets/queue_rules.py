"""Rules for OpenBSD 5.5 and later: `match` rules assign, one stateful `pass` at the end makes the state that remembers it.

What a match rule sets is lost where no state is made, and a queue on the final pass rule beats every match rule (pf.c pf_match_rule,
pf_rule_to_actions, pf_create_state). So the final pass rule names no queue, and packets without state get theirs from a rule of their own.
"""

from dataclasses import dataclass, replace

from pfq.targets.pf_inbound import allowed
from pfq.targets.pf_rules import UplinkRules, own_networks
from pfq.targets.pf_text import Statement, comment

STATELESS = "flags any no state set"


@dataclass(frozen=True, slots=True)
class QueueRules(UplinkRules):
    """Writes the rules of one uplink."""

    def assignment(self) -> list[Statement]:
        """Match rules that give every flow on the link's interface a queue, the most general first."""
        classifier = self.uplink.classifier
        about = comment(f"{classifier.default}: everything that no rule below names")
        written = [Statement(f"match {self.on()}all set {self.queue(classifier.default)}", about)]
        last = ""
        for index in range(len(classifier.rules) - 1, -1, -1):
            rule = classifier.rules[index]
            about = comment(rule.queue) if rule.queue != last else ()
            last = rule.queue
            side = {"inside": "out ", "outside": "in ", "both": ""}[rule.match.opened]
            for item in self._expand(rule.match, index).selectors:
                written.append(Statement(f"match {self.on(side)}{item.text()}{item.tos} set {self.queue(rule.queue)}", about))
                about = ()
        about = comment("not the link's traffic")
        for where, hosts in self._excluded_hosts():
            written.append(Statement(f"match {where}{hosts} set queue {self.local}", about))
            about = ()
        return written

    def stateless(self) -> list[Statement]:
        """Pass rules for TCP packets of connections without state, with the queues that match rules cannot give them."""
        side = "out " if self.uplink.inbound else ""
        note = "TCP connections that were open before these rules were loaded have no state, so match rules do not count for them."
        written = [Statement(f"pass {self.on(side)}proto tcp from any to any {STATELESS} {self.queue(self.uplink.classifier.default)}", (note,))]
        for where, hosts in self._excluded_hosts():
            # Under an inbound policy only the inside may come in, see passing.
            if not (self.uplink.inbound and where.startswith("in ")):
                written.append(Statement(f"pass {where}proto tcp {hosts} {STATELESS} queue {self.local}"))
        return written

    def passing(self) -> list[Statement]:
        """The pass rules that end the file: stateful ones without a queue; before them, what packets without state get."""
        policy = self.uplink.inbound
        default = self.queue(self.uplink.classifier.default)
        side = "out " if policy else ""
        old = self.stateless()
        final = "Everything else keeps state, and the state keeps the queue of the match rules: this rule must name none."
        last = [Statement(f"pass {self.on(side)}all", (final,))]
        if policy is None:
            return old + last
        written = [Statement(f"block {self.on('in ')}all", ("Nothing new comes in from the link but what follows.",)), *old]
        for item in allowed(policy, self.uplink, own_networks(self.gateway, self.uplink)):
            where, hosts = self.on("in "), item.selector.text()
            about = comment(item.about) if item.about else ()
            if item.operator or item.local:
                tcp = replace(item.selector, protocol="tcp").text()
                written.append(Statement(f"pass {where}{tcp} {STATELESS} {f'queue {self.local}' if item.local else default}", about))
                about = ()
            written.append(Statement(f"pass {where}{hosts}{item.icmp}", about))
        return written + last
