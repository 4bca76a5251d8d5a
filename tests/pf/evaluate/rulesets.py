"""Rulesets at random, with everything in them that the evaluator models."""

from random import Random

_QUEUES = ("def", "ack", "voice", "bulk")
_HOSTS = {
    4: (
        "any", "192.168.1.5", "192.168.1.0/24", "! 192.168.1.5", "198.51.100.0/25", "<some>", "! <some>", "(em0)", "(em1:network)",
        "192.168.1.4 - 192.168.1.9",
    ),
    6: ("any", "2001:db8:2::5", "2001:db8:2::/48", "! 2001:db8:2::5", "<some>", "(em0)"),
}
ADDRESSES = (
    [0xC0A80105, 0xC0A80100, 0xC6336407, 0xCB007101, 0xCB007114, 0xC0A80114],
    [0x20010DB80002 << 80 | 5, 0x20010DB80003 << 80 | 7, 0x20010DB80001 << 80 | 1],
)
PORTS = [22, 53, 80, 443, 1000, 1010, 2000]
_PORTS = ("= 80", "!= 80", "< 1000", "<= 1000", "> 443", ">= 443", "1000:1010", "1000 >< 1010", "1000 <> 1010", "{ 22, 443 }")
_SCRUBS = (
    "scrub all", "scrub on em0 all set-tos 0x10", "no scrub on em1 all\nscrub in all fragment reassemble", "scrub on em0 all reassemble tcp",
    "scrub in on em0 proto tcp from any to any port 80",
)
_TAGS = ("one", "two", "three")


class Rules:
    """A ruleset of a dialect, as text."""

    def __init__(self, random: Random, dialect: str) -> None:
        self._random = random
        self._modern = dialect in ("openbsd-7.6",)
        self._altq = not self._modern
        self._matches = dialect in ("openbsd-7.6", "freebsd-14.0", "freebsd-15.0", "openbsd-5.4")
        self._statements = dialect not in ("openbsd-7.6", "openbsd-5.4")
        self._old = dialect == "openbsd-4.4"

    def text(self) -> str:
        random = self._random
        lines = ["table <some> { 192.168.1.0/28, ! 192.168.1.6, 198.51.100.7, 2001:db8:2::/64 }"]
        if random.randrange(6) == 0:
            lines.append("set skip on em1")
        if self._statements and random.randrange(2):
            lines.append(random.choice(_SCRUBS))
        lines += self._queues()
        if self._statements:
            lines += [self._translation() for _ in range(random.randrange(4))]
        lines += [line for _ in range(random.randrange(4, 12)) for line in self._rule_or_anchor(0)]
        return "\n".join(lines) + "\n"

    def _queues(self) -> list[str]:
        found = []
        for interface in ("em0", "em1")[: self._random.randrange(1, 3)]:
            if self._altq:
                kind = self._random.choice(("priq", "hfsc", "cbq"))
                listed = f"altq on {interface} {kind} bandwidth 10Mb queue {{ {', '.join(_QUEUES[:3])} }}"
                rates = [f"priority {index + 1}" if kind == "priq" else "bandwidth 20%" for index in range(3)]
                found.append(listed)
                for name, rate in zip(_QUEUES, rates, strict=False):
                    found.append(f"queue {name} on {interface} {rate}{f' {kind}(default)' if name == 'def' else ''}")
            else:
                found.append(f"queue root on {interface} bandwidth 10M, max 10M")
                names = _QUEUES if interface == "em0" else _QUEUES[:3]
                found += [f"queue {name} on {interface} parent root bandwidth 1M{' default' if name == 'def' else ''}" for name in names]
        return found

    def _queue(self) -> str:
        names = _QUEUES[:3] if self._random.randrange(3) or self._modern else _QUEUES
        first, second = self._random.choice(names), self._random.choice(names)
        text = self._random.choice((f"queue {first}", f"queue ({first}, {second})"))
        return f"set {text}" if self._modern else text

    def _translation(self) -> str:
        return self._random.choice((
            "nat on em0 inet from 192.168.1.0/24 to any -> (em0)",
            "nat pass on em0 inet proto udp from 192.168.1.0/24 to any -> 203.0.113.1",
            "nat on em0 inet proto tcp from 192.168.1.5 to any port 80 -> 203.0.113.1 static-port",
            "no nat on em0 inet from 192.168.1.5 to any",
            "rdr on em0 inet proto tcp from any to (em0) port 80 -> 192.168.1.5 port 1000",
            "rdr pass on em0 inet proto tcp from any to any port 1000:1010 -> 192.168.1.5 port 2000:*",
            "no rdr on em0 inet proto tcp from any to any port 443",
            "binat on em0 inet from 192.168.1.20 to any -> 203.0.113.20",
        ))

    def _rule_or_anchor(self, depth: int) -> list[str]:
        random = self._random
        if depth > 2 or random.randrange(7):
            return [self._rule()]
        head = f"anchor{random.choice(('', ' in', ' out'))}{random.choice(('', '', ' quick'))}{random.choice(('', ' on em0', ' on em1'))}"
        head += random.choice(("", " proto tcp"))
        if random.randrange(4) == 0 and not self._old:
            head += f" tag {random.choice(_TAGS)}" if random.randrange(2) else f" tagged {random.choice(_TAGS)}"
        inner = [line for _ in range(random.randrange(1, 4)) for line in self._rule_or_anchor(depth + 1)]
        return [f"{head} {{", *(f"  {line}" for line in inner), "}"]

    def _rule(self) -> str:
        random = self._random
        action = random.choice(("pass", "pass", "pass", "block", *(("match",) * 3 if self._matches else ())))
        words = [action, random.choice(("", "in", "out")), "quick" if random.randrange(5) == 0 else ""]
        words.append(random.choice(("", "on em0", "on em0", "on em1", "on ! em0")))
        af = random.choice((4, 4, 4, 6))
        proto = random.choice(("", "tcp", "tcp", "udp", "icmp"))
        words.append("inet" if af == 4 else "inet6")
        ports = proto in ("tcp", "udp")
        if proto:
            words.append(f"proto {proto if proto != 'icmp' or af == 4 else 'icmp6'}")
        source, destination = random.choice(_HOSTS[af]), random.choice(_HOSTS[af])
        words += ["from", source, f"port {random.choice(_PORTS)}" if ports and random.randrange(8) == 0 else ""]
        words += ["to", destination, f"port {random.choice(_PORTS)}" if ports and random.randrange(2) else ""]
        words += self._options(action, proto, af)
        return " ".join(word for word in words if word)

    def _options(self, action: str, proto: str, af: int) -> list[str]:
        random = self._random
        words = []
        if proto == "tcp" and random.randrange(5) == 0:
            words.append(f"flags {random.choice(('S/SA', 'A/A', '/S', 'any'))}")
        if proto == "icmp" and random.randrange(2):
            words.append(random.choice(("icmp-type echoreq", "icmp-type unreach code needfrag")) if af == 4 else "icmp6-type echoreq")
        if random.randrange(10) == 0:
            words.append(f"tos {random.choice(('lowdelay', '0x08'))}")
        if not proto and action != "match" and random.randrange(20) == 0:
            words.append("fragment")
        if random.randrange(5) == 0:
            words.append(f"tag {random.choice(_TAGS)}")
        if random.randrange(6) == 0:
            words.append(f"{random.choice(('', '! '))}tagged {random.choice(_TAGS)}")
        if action == "pass" and random.randrange(6) == 0:
            words.append("no state")
        elif action == "pass" and random.randrange(8) == 0:
            words.append("allow-opts")
        if random.randrange(2) and action != "block":
            words.append(self._queue())
        if self._modern:
            words += self._modern_options(action, af)
        return words

    def _modern_options(self, action: str, af: int) -> list[str]:
        random = self._random
        words = []
        if random.randrange(8) == 0:
            words.append(f"{random.choice(('', '! '))}received-on em1")
        if action != "block" and random.randrange(8) == 0:
            words.append("set tos 0x10")
        if action == "match" and af == 4 and random.randrange(4) == 0:
            words.append(random.choice(("nat-to 203.0.113.1", "nat-to (em0)", "rdr-to 192.168.1.20", "nat-to 203.0.113.9 static-port")))
        return words
