"""Numbers, addresses and comments as pf.conf spells them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from pfq.plan.model import Figure
from pfq.site.model import Network

# Comments are wrapped here; statements are not.
COLUMNS = 110

# Official names of /etc/protocols, so that a rule reads alike everywhere; any other protocol is written as its number.
PROTOCOLS = {1: "icmp", 2: "igmp", 4: "ipencap", 6: "tcp", 17: "udp", 47: "gre", 50: "esp", 51: "ah", 58: "ipv6-icmp", 132: "sctp"}

_FACTORS = ((10**9, "G"), (10**6, "M"), (10**3, "K"))


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and the comment lines that stand above it."""

    text: str
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """Statements under a title; inside an inline anchor where `anchor` names one."""

    title: str
    statements: tuple[Statement, ...]
    notes: tuple[str, ...] = ()
    anchor: str = ""


def _spell(rate: int, bits: str, plain: str) -> str:
    for factor, letter in _FACTORS:
        if rate >= factor and rate % factor == 0:
            return f"{rate // factor}{letter}{bits}"
    return f"{rate}{plain}"


def altq_rate(rate: int) -> str:
    """A rate (bit/s) with a unit that every ALTQ parser takes: `100Kb`, `103898b`. OpenBSD 3.3 takes no bare number, 4.4 no `100K`."""
    return _spell(rate, "b", "b")


def queue_rate(rate: int) -> str:
    """A rate (bit/s) as OpenBSD 5.5 and later read it: `100K`, `103898`."""
    return _spell(rate, "", "")


def _wrapped(text: str) -> list[str]:
    """Lines of at most COLUMNS characters, broken at blanks; a longer word has a line of its own."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > COLUMNS:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


@lru_cache(maxsize=4096)
def comment(text: str) -> tuple[str, ...]:
    """The text as comment lines: printable ASCII, and no backslash at an end, where it would swallow the next line. An indented text is
    a statement and stays on one line."""
    clean = text if text.isascii() and text.isprintable() else "".join(c if " " <= c <= "~" else "?" for c in text)
    lines = [clean] if len(clean) <= COLUMNS or clean.startswith("    ") else _wrapped(clean)
    return tuple(f"{line} (backslash)" if line.endswith("\\") else line for line in lines)


def comments(texts: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for text in texts:
        found += comment(text)
    return tuple(found)


def reason(figure: Figure) -> str:
    """Where a number comes from: given or computed, and how."""
    return f"{'given' if figure.given else 'computed'}, {figure.why}" if figure.why else "given" if figure.given else "computed"


def ports(ranges: tuple[tuple[int, int], ...]) -> str:
    """` port 53`, ` port { 80, 8000:8100 }`, or nothing."""
    if not ranges:
        return ""
    texts = [str(low) if low == high else f"{low}:{high}" for low, high in ranges]
    return f" port {braces(texts)}"


def braces(texts: list[str]) -> str:
    """A list as pf takes it, on one line (OpenBSD 3.3 takes no other)."""
    return texts[0] if len(texts) == 1 else f"{{ {', '.join(texts)} }}"


def network(item: Network) -> str:
    """`10.0.0.0/8`, or the address alone where the network is one host."""
    return str(item.network_address) if item.prefixlen == item.max_prefixlen else str(item)
