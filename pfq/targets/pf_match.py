"""What a flow rule of the plan matches, as pf.conf writes it: shared by all dialects."""

from dataclasses import dataclass
from functools import lru_cache

from pfq.site.model import Match, Network
from pfq.targets.pf_text import PROTOCOLS, braces, network, ports

# Longer lists of addresses become tables: pf expands a list to a rule for each entry.
LIST_MOST = 20

AF = {4: "inet ", 6: "inet6 "}


@dataclass(frozen=True, slots=True)
class Selector:
    """One combination of conditions. `af` is '' or ends with a space, `tos` is '' or begins with one; `protocol` is '' or a name."""

    af: str
    protocol: str
    hosts: str
    tos: str

    def text(self) -> str:
        """The conditions but for ToS, in the order of the grammar."""
        return f"{self.af}proto {self.protocol} {self.hosts}" if self.protocol else f"{self.af}{self.hosts}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of networks, for a list that is too long to be written out."""

    name: str
    networks: tuple[Network, ...]


@dataclass(frozen=True, slots=True)
class Expanded:
    """A flow rule as selectors, and the tables these name."""

    selectors: tuple[Selector, ...]
    tables: tuple[Table, ...]


def families(match: Match) -> frozenset[int]:
    """The IP versions that a match can hold for."""
    found = {4, 6} if match.family is None else {match.family}
    for side in (match.sources, match.destinations):
        if side:
            found &= {item.version for item in side}
    return frozenset(found)


@lru_cache(maxsize=8192)
def expand(match: Match, label: str, tos_exact: bool) -> Expanded:
    """The selectors of a match. label: what names of tables begin with. tos_exact: all four ECN values of a code point are written out."""
    versions = families(match)
    tables: list[Table] = []
    source = _side(match.sources, versions, f"{label}_from", tables)
    destination = _side(match.destinations, versions, f"{label}_to", tables)
    source += ports(match.source_ports)
    destination += ports(match.ports)
    hosts = "all" if source == destination == "any" else f"from {source} to {destination}"
    one = AF[next(iter(versions))] if len(versions) == 1 else ""
    marks = [f" tos 0x{value:02x}" for code in match.dscp for value in range(code << 2, (code << 2) + (4 if tos_exact else 1))] or [""]
    if match.protocol == "icmp":
        kinds = [(AF[version], PROTOCOLS[1 if version == 4 else 58]) for version in sorted(versions)]
    elif match.protocol is None:
        kinds = [(one, "")]
    else:
        kinds = [(one, PROTOCOLS.get(match.protocol, str(match.protocol)))]
    return Expanded(tuple(Selector(af, protocol, hosts, mark) for af, protocol in kinds for mark in marks), tuple(tables))


def _side(networks: tuple[Network, ...], versions: frozenset[int], name: str, tables: list[Table]) -> str:
    usable = tuple(item for item in networks if item.version in versions)
    if not usable:
        return "any"
    if len(usable) > LIST_MOST:
        tables.append(Table(name, usable))
        return f"<{name}>"
    return braces([network(item) for item in usable])


def listed(networks: tuple[Network, ...], version: int) -> list[str]:
    """The networks of one IP version, as pf writes them."""
    return [network(item) for item in networks if item.version == version]
