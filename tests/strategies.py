"""Random models that are valid: they load and plan. As TOML text, quick enough for thousands, the same text for the same seed.

    seeded(7)                       a model, from a seed
    model_text(random.Random(7))    the same, from any random.Random
    models()                        a hypothesis strategy of models, which shrinks

Each takes `systems`: the systems that gateways run, such as ALTQ, QUEUE, LINUX or ("freebsd-14",).

Every kind of thing that a model can say appears: links of all encapsulations, policies with an order, shares, guarantees, ceilings, curves and
classes within classes, gateways of all systems, one-armed ones, groups and parents with `queue_on`, VLANs, NAT, 1:1, inbound policies.
`accept` names every difference, so that a system that does something a little differently is no reason to refuse.
"""

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from pfq.site.differences import DIFFERENCES
from pfq.site.encapsulation import ENCAPSULATIONS
from pfq.site.systems import System, parse_system, schedulers, shapes_down

ALTQ = ("openbsd-3.3", "openbsd-3.4", "openbsd-3.9", "openbsd-4.4", "openbsd-4.7", "openbsd-5.4", "freebsd-12.1", "freebsd-14", "freebsd-15")
QUEUE = ("openbsd-5.5", "openbsd-6.2", "openbsd-7.6")
LINUX = ("linux-4.4", "linux-4.19", "linux-5.10", "linux-5.16", "linux-6.1", "linux-6.12")
SYSTEMS = ALTQ + QUEUE + LINUX

_CLASS_NAMES = ("voice", "games", "names", "shell", "web", "mail", "backup", "video", "sync", "lab", "guest", "cams", "print", "news", "x", "A-b_3")
# kbit/s; with several links on an inside interface of 1 Gbit/s all must fit.
_RATES = (64, 128, 256, 512, 1000, 1020, 2000, 5000, 10_000, 16_000, 20_000, 50_000, 100_000, 200_000)
_FAST = (*_RATES, 500_000, 900_000)
_SITE_NAMES = ("Site", "Zürich", "agence n°3", "two  spaces", "a'b \"c\" $(d) `e` #f", "日本", "%s {x} {{y}}", "-n")
# Code points that are a match of their own, and those that narrow another match.
_ALONE_DSCP, _NARROW_DSCP = ("cs1", "af41", "ef", "cs6"), ("le", "lowdelay", "va", "af13")
_ALONE_PROTOCOLS = ("icmp", "gre", "esp", "ah", "sctp", "igmp", "ipencap")


def model_text(random: Random, systems: Sequence[str] = SYSTEMS) -> str:
    """A valid model, made of the choices of `random`."""
    return _Model(random, systems).text()


def seeded(seed: int, systems: Sequence[str] = SYSTEMS) -> str:
    """The valid model of a seed."""
    return model_text(Random(seed), systems)


def models(systems: Sequence[str] = SYSTEMS) -> st.SearchStrategy[str]:
    """Valid models."""
    return st.randoms(use_true_random=False).map(lambda random: model_text(random, systems))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _inline(table: dict[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"


def _list(items: Sequence[str]) -> str:
    return "[" + ", ".join(items) + "]"


def _one_or_list(items: Sequence[str], random: Random) -> str:
    return items[0] if len(items) == 1 and random.randrange(2) else _list(items)


def _rate(kilobits: int, random: Random) -> str:
    """The same rate, in one of the ways to write it."""
    ways = [f"{kilobits} kbit", f"{kilobits}Kb", f"{kilobits * 1000} bit/s"]
    if kilobits % 1000 == 0:
        ways += [f"{kilobits // 1000} Mbit", f"{kilobits // 1000}M"]
    elif kilobits > 1000:
        ways.append(f"{kilobits // 1000}.{kilobits % 1000:03d} Mbit")
    return _quoted(random.choice(ways))


class _Matches:
    """Matches of a policy. Each has a port, a network, a protocol or a code point of its own, so that none takes what a later one is for."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.used = 0
        self.alone = [f'"{name}"' for name in _ALONE_PROTOCOLS] + [f'{{ dscp = "{word}" }}' for word in _ALONE_DSCP]
        random.shuffle(self.alone)

    def some(self) -> str:
        return _one_or_list([self._one() for _ in range(self.random.choice((1, 1, 2, 3)))], self.random)

    def _one(self) -> str:
        random = self.random
        self.used += 1
        kind = random.randrange(10)
        if kind == 0 and self.alone:
            return self.alone.pop()
        if kind < 4:
            return _quoted(f"{random.choice(('tcp', 'udp'))}/{self._port()}")
        return _inline(self._table())

    def _port(self) -> str:
        first = self.used * 100
        return f"{first}-{first + self.random.randrange(1, 99)}" if self.random.randrange(4) == 0 else str(first)

    def _table(self) -> dict[str, str]:
        random = self.random
        table: dict[str, str] = {}
        family = random.choice((4, 4, 6))
        if random.randrange(3):
            table["protocol"] = _quoted(random.choice(("tcp", "udp")))
            if random.randrange(4):
                table["port"] = random.choice((_quoted(self._port()), _list([str(self.used * 100), _quoted(f"{self.used * 100 + 5}-{self.used * 100 + 9}")])))
            else:
                table["source_port"] = str(self.used * 100)
        if "protocol" not in table or random.randrange(3) == 0:
            table[random.choice(("from", "to"))] = self._networks(family)
        if random.randrange(8) == 0:
            table["dscp"] = _list([_quoted(word) for word in random.sample(_NARROW_DSCP, random.randrange(1, 3))])
        if random.randrange(8) == 0:
            table["family"] = f'"ipv{family}"'
        if random.randrange(5) == 0:
            table["opened"] = _quoted(random.choice(("inside", "outside", "both")))
        return table

    def _networks(self, family: int) -> str:
        number = self.used
        if family == 6:
            return f'"2001:db8:{number:x}::/48"'
        return self.random.choice((f'"10.{number // 256}.{number % 256}.0/24"', f'["10.{number // 256}.{number % 256}.7/32", "172.16.{number % 256}.0/25"]'))


class _Policy:
    """A policy for links of at least `least` kbit/s in each direction."""

    def __init__(self, name: str, random: Random, systems: tuple[System, ...], least: int, modest: bool) -> None:
        self.name = name
        self.random = random
        self.matches = _Matches(random)
        self.names = random.sample(_CLASS_NAMES, len(_CLASS_NAMES))
        self.least = least
        # Where ACKs may take most of the line there is no room for guarantees.
        self.modest = modest
        self.linux = all(system.family == "linux" for system in systems)
        self.plain = random.randrange(3) == 0
        self.curved = not self.plain and random.randrange(3) == 0 and not any(system.name == "openbsd-3.3" for system in systems)
        self.has_curve = False
        self.guaranteed = 0
        self.classes: list[dict[str, str]] = []
        self._fill()

    @property
    def ordered(self) -> bool:
        """Whether the classes have nothing but an order, which every scheduler can keep."""
        return not any(key in item for item in self.classes for key in ("share", "guarantee", "ceiling", "parent"))

    def text(self) -> str:
        lines = [f"[policies.{self.name}]"]
        leaves = [item["name"] for item in self.classes if item["name"] not in {other.get("parent") for other in self.classes}]
        if self.random.randrange(6) == 0:
            lines.append(f"unclassified = {self.random.choice(leaves)}")
        if self.random.randrange(4) == 0:
            for item in self.classes:
                lines += [f"[[policies.{self.name}.classes]]", *(f"{key} = {value}" for key, value in item.items())]
        else:
            lines += ["classes = [", *(f"  {_inline(item)}," for item in self.classes), "]"]
        return "\n".join(lines)

    def _fill(self) -> None:
        random = self.random
        if random.randrange(5):
            express = {"name": '"express"', "express": "true"}
            if not self.plain and random.randrange(6) == 0:
                express["ceiling"] = f'"{random.randrange(85, 101)}%"'
            self.classes.append(express)
        for _ in range(random.choice((0, 1, 2, 2, 3, 4, 5))):
            if not self.plain and random.randrange(5) == 0:
                self._nest(None, random.choice((1, 1, 2)))
            else:
                self.classes.append(self._leaf(None))
        rest = {"name": '"rest"'} | self._demands(None) | self._queueing()
        if random.randrange(2):
            rest["default"] = "true"
        self.classes.insert(random.randrange(len(self.classes) + 1) if random.randrange(4) == 0 else len(self.classes), rest)
        if random.randrange(8) == 0:
            self.classes.insert(0, self.classes.pop())

    def _nest(self, parent: str | None, depth: int) -> None:
        name = _quoted(self.names.pop())
        inner = {"name": name} | ({"parent": parent} if parent else {}) | self._demands(parent)
        self.classes.append(inner)
        for _ in range(self.random.choice((1, 2, 3))):
            if len(self.names) < 8:
                break
            if depth > 1 and self.random.randrange(3) == 0:
                self._nest(name, depth - 1)
            else:
                self.classes.append(self._leaf(name))
        if inner is self.classes[-1]:
            self.classes.append(self._leaf(name))

    def _leaf(self, parent: str | None) -> dict[str, str]:
        leaf = {"name": _quoted(self.names.pop()), "match": self.matches.some()}
        if parent:
            leaf["parent"] = parent
        leaf |= self._demands(parent) | self._queueing()
        if self.random.randrange(8) == 0:
            leaf["upgrade"] = "false"
        return leaf

    def _demands(self, parent: str | None) -> dict[str, str]:
        random = self.random
        found: dict[str, str] = {}
        if self.plain:
            return found
        if random.randrange(3) == 0:
            found["share"] = str(random.choice((1, 2, 3) if parent else (1, 1, 2, 3, 5, 10)))
        if self.modest and random.randrange(3) == 0 and self.guaranteed < 20:
            percent = random.randrange(1, 8)
            self.guaranteed += percent
            found["guarantee"] = self._demand(percent, absolute=parent is None)
        if random.randrange(4) == 0:
            found["ceiling"] = random.choice((f'"{random.randrange(30, 101)}%"', _inline({"up": f'"{random.randrange(30, 101)}%"'})))
        return found

    def _demand(self, percent: int, absolute: bool) -> str:
        random = self.random
        rate = f'"{percent}%"'
        if absolute and random.randrange(3) == 0:
            rate = _rate(max(1, self.least * percent // 200), random)
        way = random.randrange(4)
        if way == 0 and self.curved:
            self.has_curve = True
            return _inline({"rate": rate, "burst": f'"{percent + random.randrange(1, 5)}%"', "for": _quoted(random.choice(("5 ms", "20 ms", "100ms")))})
        if way == 1:
            return _inline({"up": rate, "down": _inline({"rate": f'"{percent}.5%"'})})
        return _inline({"rate": rate}) if way == 2 else rate

    def _queueing(self) -> dict[str, str]:
        random = self.random
        found: dict[str, str] = {}
        if random.randrange(5) == 0:
            found["limit"] = _quoted(random.choice(("50 packets", "1 packet", "200 ms", "1.5 s", "1000 packets", "30 ms")))
        if random.randrange(4) == 0:
            found["fair"] = _quoted(random.choice(("none", "flow", "source", "destination")))
        if random.randrange(6) == 0:
            found["drop"] = _quoted(random.choice(("tail", "red", "ecn", "codel") if self.linux else ("tail", "tail", "red")))
        return found


class _Link:
    def __init__(self, name: str, random: Random, rates: tuple[int, ...]) -> None:
        self.name = name
        self.up = random.choice(rates)
        self.modest = random.randrange(3) > 0
        ratio = 8 if self.modest else 60
        self.down = None if random.randrange(6) == 0 else random.choice([rate for rate in rates if self.up <= rate * ratio and rate <= self.up * ratio])
        self.encapsulation = random.choice(list(ENCAPSULATIONS))
        self.policy: str | None = None
        self.random = random

    @property
    def least(self) -> int:
        return min(self.up, self.down or self.up)

    def text(self) -> str:
        random = self.random
        table = {"up": _rate(self.up, random)}
        if self.down:
            table["down"] = _rate(self.down, random)
        if self.encapsulation != "ethernet" or random.randrange(2):
            table["encapsulation"] = _quoted(self.encapsulation)
        if self.policy:
            table["policy"] = _quoted(self.policy)
        if random.randrange(4) == 0:
            table["ipv6"] = random.choice(("true", "false"))
        if random.randrange(6) == 0:
            table["mtu"] = random.choice(("1492", "1400", "1280", "1448"))
        if random.randrange(8) == 0:
            table["segments_per_ack"] = random.choice(("2", "4"))
        if random.randrange(4) == 0:
            return f"links.{self.name} = {_inline(table)}"
        return "\n".join([f"[links.{self.name}]", *(f"{key} = {value}" for key, value in table.items())])


class _Model:
    def __init__(self, random: Random, systems: Sequence[str]) -> None:
        self.random = random
        self.names = [random.choice(systems) for _ in range(random.choice((1, 1, 2, 3, 5)))]
        self.systems = tuple(parse_system(name) for name in self.names)
        count = random.choice((1, 1, 1, 2, 3))
        self.links = [_Link(f"{random.choice(('dsl', 'fibre', 'line', 'cable'))}{number}", random, _FAST if count == 1 else _RATES) for number in range(count)]
        self.policies = self._policies()

    def _policies(self) -> dict[str, _Policy]:
        random = self.random
        found: dict[str, _Policy] = {}
        for number in range(random.choice((0, 1, 1, 2))):
            chosen = [link for link in self.links if link.policy is None and random.randrange(3)]
            if chosen:
                name = f"p{number}"
                for link in chosen:
                    link.policy = name
                found[name] = _Policy(name, random, self.systems, min(link.least for link in chosen), all(link.modest for link in chosen))
        return found

    def text(self) -> str:
        random = self.random
        accept = _list([_quoted(name) for name in DIFFERENCES])
        head = [f"name = {_quoted(random.choice(_SITE_NAMES))}"] if random.randrange(2) else []
        links = [link.text() for link in self.links]
        # `links.x = { ... }` belongs to the top of the file, before any header.
        top = [text for text in links if text.startswith("links.")]
        tables = [text for text in links if not text.startswith("links.")]
        hosts = [self._host(number, name) for number, name in enumerate(self.names)]
        blocks = ["\n".join([*head, f"accept = {accept}", *top]), *tables, *(policy.text() for policy in self.policies.values()), *hosts]
        return "\n\n".join(blocks) + "\n"

    # --- hosts

    def _host(self, number: int, system: str) -> str:
        random = self.random
        linux = system.startswith("linux")
        driver = "eth" if linux else random.choice(("em", "kue", "re", "igb"))
        links = random.sample(self.links, random.randrange(1, len(self.links) + 1))
        arms = [f"{driver}{9 - index}" for index in range(random.choice((0, 1, 1, 1, 1, 2)))]
        one_armed = len(links) == 1 and random.randrange(6) == 0
        attachments = [self._interface(system, driver, index) for index in range(len(links))]
        inside = [self._inside(arm, index, number) for index, arm in enumerate(arms)]
        if one_armed and "queue_on" not in attachments[0]:
            inside.append(_inline({"interface": attachments[0]["interface"], "networks": f'["192.168.{200 + number}.0/24"]'}))
        else:
            one_armed = False
        lines = [f"[hosts.{random.choice(('gw', 'node', 'fw'))}-{number}]", f"system = {_quoted(system)}"]
        if inside:
            lines.append(f"inside = {_one_or_list(inside, random)}")
        networks = any("networks" in item for item in inside)
        for link, table in zip(links, attachments, strict=True):
            self._fill(table, link, parse_system(system), len(arms), one_armed, networks)
            value = table["interface"] if len(table) == 1 and random.randrange(2) else _inline(table)
            lines.append(f"links.{link.name} = {value}")
        return "\n".join(lines)

    def _inside(self, arm: str, index: int, number: int) -> str:
        random = self.random
        if random.randrange(4) == 0:
            return _quoted(arm)
        networks = [f'"192.168.{100 + number * 4 + index}.0/24"'] + (['"fd00:1::/64"'] if random.randrange(3) == 0 and index == 0 else [])
        table = {"interface": _quoted(arm), "networks": _one_or_list(networks, random)}
        if random.randrange(5) == 0:
            table["speed"] = '"1 Gbit"'
        return _inline(table)

    def _interface(self, system: str, driver: str, index: int) -> dict[str, str]:
        random = self.random
        real = f"{driver}{index}"
        if system.startswith("linux"):
            name = random.choice((real, real, f"ppp{index}", f"{real}.{2417 + index}", f"tun{index}", f"vlan{index + 3}", f"wg{index}"))
            return {"interface": _quoted(name)} | ({"queue_on": _quoted(real)} if name == f"{real}.{2417 + index}" and random.randrange(3) == 0 else {})
        free = system.startswith("freebsd")
        way = random.randrange(7)
        if way == 0:
            return {"interface": f'"vlan{index + 20}"'} | ({"queue_on": _quoted(real)} if free or random.randrange(2) else {})
        if way == 1 and not free:
            return {"interface": f'"pppoe{index}"'} | ({"queue_on": _quoted(real)} if random.randrange(3) == 0 else {})
        if way == 2:
            return {"interface": f'"wan{"abc"[index]}"', "queue_on": _quoted(real)}
        return {"interface": _quoted(random.choice((real, real, f"tun{index}", f"ng{index}" if free else f"pppoe{index}")))}

    def _fill(self, table: dict[str, str], link: _Link, system: System, arms: int, one_armed: bool, networks: bool) -> None:
        """The rest of an attachment's keys."""
        random = self.random
        linux = system.family == "linux"
        beside = one_armed or ("queue_on" in table and table["interface"].startswith(('"vlan', '"eth')))
        if random.randrange(6) == 0:
            table["exclude"] = random.choice(('"203.0.113.10/32"', '["10.9.0.0/16", "2001:db8:99::/48"]'))
            beside = True
        if random.randrange(4) == 0:
            able = self._able(link, system, beside)
            if able:
                table["scheduler"] = _quoted(random.choice(able))
        if link.down and random.randrange(3) == 0:
            places = ["none", *(place for place in shapes_down(system) if place != "inside" or arms == 1)]
            table["shape_down"] = _quoted(random.choice(places))
        if random.randrange(8) == 0:
            table["shaped_up"] = _rate(link.up * random.choice((80, 95, 100)) // 100, random)
        if linux and random.randrange(6) == 0:
            table["leaf"] = _quoted(random.choice(("fq_codel", "sfq", "pfifo")))
        if linux and random.randrange(8) == 0:
            table["txqueuelen"] = "500"
        if random.randrange(8) == 0:
            table["burst"] = random.choice(('"6 kB"', '"12000 bytes"', '"3 kB"'))
        if random.randrange(6) == 0:
            table["mss"] = random.choice(("true", "false", "1400"))
        if networks and random.randrange(2):
            table["nat"] = random.choice(("true", "true", "false", '"198.51.100.7"'))
        if random.randrange(6) == 0:
            table["one_to_one"] = random.choice((
                '[{ inside = "192.168.100.2", outside = "198.51.100.20" }]',
                '[{ inside = "192.168.100.3", outside = "198.51.100.21" }, { inside = "192.168.100.4", outside = "198.51.100.22" }]',
            ))
        if random.randrange(4) == 0:
            table["inbound"] = random.choice((
                "{}", '{ services = ["tcp/443", "udp/5000-5010", "icmp/echo"] }',
                '{ services = ["tcp/25"], operator = { port = 2222, from = "198.51.100.0/24" } }',
            ))

    def _able(self, link: _Link, system: System, beside: bool) -> list[str]:
        """The schedulers that can do what the link's policy asks for."""
        policy = self.policies.get(link.policy or "")
        able = [name for name in schedulers(system) if name in ("cbq", "hfsc", "htb")]
        if policy and policy.has_curve:
            able = [name for name in able if name == "hfsc"]
        if policy is None or policy.ordered:
            able += [name for name in schedulers(system) if name == "prio" or (name in ("priq", "cake") and not beside)]
        return able
