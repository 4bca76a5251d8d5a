"""What a ruleset does not say itself: interface addresses and groups, the contents of tables.

Interface addresses are those that the caller gives, else those of the tree's System, which invents addresses of 192.0.2.0/24 (RFC 5737)
for interfaces that nobody described. Where there is none of a family, it is 198.18.0.1 (RFC 2544) or 2001:db8:ffff::1 (RFC 3849).
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_interface

from pfq.pf.nodes import Host, Table, TableFile
from pfq.pf.system import Interface
from pfq.pf.verdict import Tree

# Family, value, prefix bits.
Network = tuple[int, int, int]

_RESERVED: Mapping[int, Network] = {4: (4, 0xC6120001, 24), 6: (6, 0x20010DB8FFFF << 80 | 1, 64)}
_WIDTH = {4: 32, 6: 128}
_LINK_LOCAL = 0x3FA


class Facts:
    """The machine and the tables of a tree."""

    def __init__(self, tree: Tree, addresses: Mapping[str, Sequence[str]], carriers: Mapping[str, str]) -> None:
        self._tree = tree
        self._known = {*addresses, *carriers, *carriers.values()}
        self._given = {name: [_network(text) for text in listed] for name, listed in addresses.items()}
        self._tables: dict[str, Table] = {}
        for reading in (tree.reading, *tree.loaded):
            for table in reading.tables:
                self._tables.setdefault(table.name, table)

    def addresses(self, name: str, modifiers: tuple[str, ...]) -> list[Network]:
        """What `(name:modifiers)` stands for: addresses with all bits, or networks."""
        names = [*self._tree.reading.system.interfaces] if name == "self" else [name]
        found: list[Network] = []
        for one in names:
            found += self._of(one, modifiers)
        return list(dict.fromkeys(found))

    def _of(self, name: str, modifiers: tuple[str, ...]) -> list[Network]:
        known = self._tree.reading.system.interface(name)
        own = self._given.get(name) or (list(known.addresses) if known is not None else [])
        # pf takes a link-local address for translation only if there is no other: nobody has said what the global one is.
        for family, address in _RESERVED.items():
            if not any(af == family and value >> 118 != _LINK_LOCAL for af, value, _ in own):
                own = [*own, address]
        if "peer" in modifiers:
            return [(*known.peer, _WIDTH[known.peer[0]])] if known is not None and known.peer is not None else []
        if "0" in modifiers:
            firsts: dict[int, Network] = {}
            for one in own:
                if one[1] >> 118 != _LINK_LOCAL or one[0] == 4:
                    firsts.setdefault(one[0], one)
            own = list(firsts.values())
        if "network" in modifiers:
            return [(af, value, bits) for af, value, bits in own if af == 4 or value >> 118 != _LINK_LOCAL]
        if "broadcast" in modifiers:
            return [(4, value | (1 << 32 - bits) - 1, 32) for af, value, bits in own if af == 4 and (known is None or known.broadcast)]
        return [(af, value, _WIDTH[af]) for af, value, _ in own]

    def is_interface(self, name: str) -> bool:
        """Whether a name is that of one interface; otherwise it is that of a group."""
        return name[-1:].isdigit() or name in self._known or name in self._tree.reading.system.interfaces

    def group(self, name: str) -> frozenset[str] | None:
        """The interfaces of a group that somebody has described; None where nobody has."""
        members = self._tree.reading.system.group(name)
        return frozenset(one.name for one in members) if members else None

    def interface(self, name: str) -> Interface | None:
        """What is known of an interface."""
        return self._tree.reading.system.interface(name)

    def table(self, name: str) -> list[Host] | None:
        """The addresses of a table, with those of its files; None if the text does not define it."""
        table = self._tables.get(name)
        if table is None:
            return None
        found: list[Host] = []
        for part in table.parts:
            found += self._file(part.path) if isinstance(part, TableFile) else part
        return found

    def _file(self, path: str) -> list[Host]:
        reading = self._tree.reading
        text = reading.open_file(path) if reading.open_file is not None else ""
        found: list[Host] = []
        for line in text.split("\n"):
            for word in line.partition("#")[0].partition(";")[0].split():
                if word == "weight":
                    break
                for host in reading.resolver.resolve(word.lstrip("!")) or []:
                    host.negated = word.startswith("!")
                    found.append(host)
        return found


def _network(text: str) -> Network:
    address = ip_interface(text)
    return address.version, int(address.ip), address.network.prefixlen
