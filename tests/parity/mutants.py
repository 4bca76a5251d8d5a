"""Outputs broken on purpose: a token changed, a line dropped, two lines the other way round."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A changed text, and what was changed in it."""

    what: str
    text: str


# A pattern whose group is a token, and what stands for it instead.
Tokens = tuple[tuple[str, Callable[[str], list[str]]], ...]
_PF: Tokens = (
    (r"\bport (\d+)", lambda m: [str(int(m) + 1)]),
    (r"\bport \d+:(\d+)", lambda m: [str(int(m) - 1)]),
    (r"\bproto (tcp|udp|icmp|ipv6-icmp)", lambda m: ["udp" if m == "tcp" else "tcp"]),
    (r"(?:match|pass|block) (in|out)\b", lambda m: ["out" if m == "in" else "in"]),
    (r"^\t?(match|pass|block)\b", lambda m: ["block" if m == "pass" else "pass"]),
    (r"\b(inet6?)\b", lambda m: ["inet" if m == "inet6" else "inet6"]),
    (r"\bflags (any)", lambda m: ["S/SA"]),
    (r"( no state)", lambda m: [""]),
    (r" (keep state)", lambda m: ["no state"]),
    (r"queue \((\w+), ", lambda m: ["express", "rest"]),
    (r"queue \(\w+, (\w+)\)", lambda m: ["rest", "voice"]),
    (r"set queue (\w+)", lambda m: ["rest"]),
    (r"\btagged (\w+)", lambda m: ["nobody"]),
    (r"\btag (\w+)", lambda m: ["nobody"]),
    (r"\b(quick) ", lambda m: [""]),
    (r"from (\d+\.\d+\.\d+\.\d+/\d+)", lambda m: ["10.99.0.0/16", "any"]),
    (r"\bmax-mss (\d+)", lambda m: ["1000"]),
    (r"\b(default)\b", lambda m: [""]),
)
_LINUX: Tokens = (
    (r"\b[ds]port (\d+)", lambda m: [str(int(m) + 1)]),
    (r"port \{ (\d+)", lambda m: [str(int(m) + 1)]),
    (r"\d+-(\d+)", lambda m: [str(int(m) - 1)]),
    (r"\b(tcp|udp) dport", lambda m: ["udp" if m == "tcp" else "tcp"]),
    (r"& (0x10) ==", lambda m: ["0x08"]),
    (r"& 0x0100 == (0x0100)", lambda m: ["0x0000"]),
    (r"& (0x1fff) !=", lambda m: ["0x3fff"]),
    (r"priority set \d:(\w+)", lambda m: ["10", "50"]),
    (r"(0x[0-9a-f]{8}) :", lambda m: ["0x00010000"]),
    (r"& (0x[0-9a-f]{8}) vmap", lambda m: ["0x000f0000"]),
    (r"\| (0x[0-9a-f]{8})$", lambda m: ["0x00010000"]),
    (r"(?:goto|jump) (\S+)", lambda m: ["line/up/rest"]),
    (r"\b(original)\b", lambda m: ["reply"]),
    (r"\b(ipv4)\b", lambda m: ["ipv6"]),
    (r"(oifname|iifname) ", lambda m: ["iifname" if m == "oifname" else "oifname"]),
    (r"flags & (\w+) == ack", lambda m: ["syn"]),
    (r"\b(accept)$", lambda m: ["drop", "return"]),
    (r"\b(return)$", lambda m: ["accept"]),
    (r"priority (-?\d+);", lambda m: ["50"]),
    (r"classid \d:(\w+) htb rate", lambda m: ["77"]),
    (r"htb default (\w+)", lambda m: ["10"]),
    (r"(\d+\.\d+\.\d+\.\d+/\d+)", lambda m: ["10.99.0.0/16"]),
)


def _body(text: str, linux: bool) -> tuple[int, int]:
    """The lines that hold statements: of a script, its here-documents."""
    lines = text.split("\n")
    if not linux:
        return 0, len(lines)
    first = next(number for number, line in enumerate(lines) if line.startswith("cat <<'PFQ_QUEUES'") or "PFQ_QUEUES'" in line)
    last = next(number for number, line in enumerate(lines) if line == "PFQ_RULES")
    return first + 1, last


def mutants(text: str, linux: bool) -> Iterator[Mutant]:
    """Every change of one token, every dropped line, every two neighbours exchanged."""
    lines = text.split("\n")
    first, last = _body(text, linux)

    def changed(number: int, *new: str, width: int = 1) -> str:
        return "\n".join([*lines[:number], *new, *lines[number + width :]])

    for number in range(first, last):
        line = lines[number]
        bare = line.strip()
        if not bare or bare.startswith("#") or bare in ("{", "}") or "PFQ_" in bare:
            continue
        for pattern, words in _LINUX if linux else _PF:
            for found in re.finditer(pattern, line):
                for word in words(found[1]):
                    if word != found[1]:
                        new = line[: found.start(1)] + word + line[found.end(1) :]
                        yield Mutant(f"{number + 1}: {bare}: {found[1]!r} becomes {word!r}", changed(number, new))
        if not bare.endswith("{"):
            yield Mutant(f"{number + 1}: {bare}: dropped", changed(number))
            after = lines[number + 1].strip() if number + 1 < last else ""
            if after and not after.startswith(("#", "}")) and not after.endswith("{"):
                yield Mutant(f"{number + 1}: {bare}: behind the next", changed(number, lines[number + 1], line, width=2))
