"""A ruleset that stands alone: a pf.conf, a script for Linux, or what was recorded of one that runs."""

import os
import re
import sys
from dataclasses import dataclass

from pfq.diagnostics import refuse
from pfq.headers.asking import Ruleset
from pfq.pf.nodes import Rule

# The interfaces that nft rules name.
_NAMED = re.compile(r'\b[io]if(?:name)?\s+(?:!=\s*)?"?([A-Za-z0-9_.-]+)"?')
# What a text for Linux has, and no pf.conf.
_LINUX = re.compile(r"^\s*(?:qdisc |class |tc |\[?\{\"|table (?:inet|ip|ip6|netdev) \S+ \{)|^#!", re.MULTILINE)


@dataclass(frozen=True)
class Loaded:
    """A ruleset ready to be asked. interfaces: those that it names, the ones with queues first."""

    name: str
    system: str
    ruleset: Ruleset
    interfaces: tuple[str, ...]

    @property
    def is_linux(self) -> bool:
        return self.system.startswith("linux")


def load(path: str, system: str | None) -> Loaded:
    """The ruleset in a file, in a folder of files, or on standard input ('-'); the system is guessed where None. Raises Refused."""
    texts = _texts(path)
    everything = "".join(texts.values())
    chosen = system or ("linux" if _LINUX.search(everything) else _guessed(everything))
    if chosen.partition("-")[0] == "linux":
        return _linux(path, chosen, texts)
    return _pf(path, chosen, next(iter(texts)), everything)


def _texts(path: str) -> dict[str, str]:
    try:
        if path == "-":
            return {"<stdin>": sys.stdin.buffer.read().decode("utf-8", "surrogateescape")}
        paths = sorted(entry.path for entry in os.scandir(path) if entry.is_file()) if os.path.isdir(path) else [path]
        found = {}
        for one in paths:
            with open(one, encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                found[one] = file.read()
    except (OSError, ValueError) as error:
        raise refuse("unreadable", f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not found:
        raise refuse("no-files", f"there is no file in {path}")
    return found


def _guessed(text: str) -> str:
    from pfq.lint.dialect_guess import guess

    return guess(text)[0]


def _linux(path: str, system: str, texts: dict[str, str]) -> Loaded:
    from pfq.linux import read
    from pfq.linux.evaluate import ruleset

    tree = read(texts)
    redirected = {action.device for filter_ in tree.devices.filters for action in filter_.actions if action.redirect}
    queued = [qdisc.device for qdisc in tree.devices.qdiscs if qdisc.device not in redirected]
    named = [name for text in texts.values() for name in _NAMED.findall(text)]
    return Loaded(path, system, ruleset(tree), tuple(dict.fromkeys([*queued, *named])))


def _pf(path: str, system: str, file: str, text: str) -> Loaded:
    import pfq.pf
    import pfq.pf.evaluate
    from pfq.pf.evaluate.devices import devices

    try:
        tree = pfq.pf.read(text, system, file_name=file)
    except pfq.pf.UnknownDialect as error:
        raise refuse("not-modelled", f"not modelled: {error}", hint="--as says the system: openbsd-7.6, freebsd-14.0, linux") from None
    ruleset = pfq.pf.evaluate.ruleset(tree, file_name=file)
    named = [rule.interface for rule in _rules(tree.reading.main.rules) if rule.interface and rule.interface[-1:].isdigit()]
    return Loaded(path, system, ruleset, tuple(dict.fromkeys([*devices(tree, file), *named])))


def _rules(rules: list[Rule]) -> list[Rule]:
    found = []
    for rule in rules:
        found += [rule, *(_rules(rule.anchor.rules) if rule.anchor else [])]
    return found
