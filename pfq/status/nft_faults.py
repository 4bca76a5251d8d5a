"""The packet rules in the kernel against the compiled ones, both as one and the same nft lists them.

A rule is listed otherwise than it was written, and not the same by every version of nft; two listings of one version are the same
where the rules are.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pfq.diagnostics import refuse
from pfq.targets.linux_names import TABLE

# Handles and counters differ between two listings of one ruleset.
_PASSING = ("handle", "index")


@dataclass(slots=True)
class Listing:
    """Tables named pfq: chains with their rules, sets with their elements, by family and name; each as JSON text."""

    chains: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    heads: dict[tuple[str, str], str] = field(default_factory=dict)
    sets: dict[tuple[str, str], str] = field(default_factory=dict)

    def config(self) -> str | None:
        """The configuration that the rules say they are; None if none of pfq's is there."""
        names = [name for _, name in self.chains if name.startswith("config_")]
        return names[0].removeprefix("config_") if names else None


def _plain(value: Any) -> Any:
    """The value without what differs between listings, and sets in one order."""
    if isinstance(value, dict):
        found = {key: _plain(item) for key, item in value.items() if key not in _PASSING}
        for key in ("set", "elem"):
            if isinstance(found.get(key), list):
                found[key] = sorted(found[key], key=lambda item: json.dumps(item, sort_keys=True))
        return found
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return json.dumps(_plain(value), sort_keys=True)


def read_listing(text: str, name: str) -> Listing:
    """The tables of pfq's in what `nft -j list ruleset` prints. Raises Refused, naming the output."""
    found = Listing()
    try:
        objects = json.loads(text)["nftables"] if text.strip() else []
        for item in objects:
            for kind, value in item.items():
                if kind not in ("chain", "rule", "set", "map") or value["table"] != TABLE:
                    continue
                if kind == "chain":
                    key = value["family"], value["name"]
                    found.chains.setdefault(key, [])
                    found.heads[key] = _text(value)
                elif kind == "rule":
                    found.chains.setdefault((value["family"], value["chain"]), []).append(_text(value["expr"]))
                else:
                    found.sets[value["family"], value["name"]] = _text(value)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise refuse("unreadable", f"{name}: this is no listing of nft's: {error}", hint="is it what the command printed?") from None
    return found


def rule_faults(wanted: Listing, held: Listing) -> Iterator[str]:
    """What is wrong with the rules, a line for each chain."""
    if held.config() is None:
        yield "no rules of pfq's are loaded"
        return
    if held.config() != wanted.config():
        yield f"the rules of another configuration are loaded: {held.config()} instead of {wanted.config()}"
        return
    for key, rules in wanted.chains.items():
        chain = f"table {key[0]} {TABLE}, chain {key[1]}"
        if key not in held.chains:
            yield f"{chain} is missing"
        elif held.heads[key] != wanted.heads[key]:
            yield f"{chain}: its hook, priority or policy is another"
        elif held.chains[key] != rules:
            yield f"{chain}: {_difference(rules, held.chains[key])}"
    for family, name in held.chains.keys() - wanted.chains.keys():
        yield f"table {family} {TABLE}, chain {name} is not the model's"
    for family, name in sorted(wanted.sets.keys() | held.sets.keys()):
        if wanted.sets.get((family, name)) != held.sets.get((family, name)):
            yield f"table {family} {TABLE}, set {name} is another, missing or not the model's"


def _difference(wanted: list[str], held: list[str]) -> str:
    if len(wanted) != len(held):
        return f"{len(held)} rules instead of {len(wanted)}"
    number = next(index for index, (one, other) in enumerate(zip(wanted, held, strict=True), 1) if one != other)
    return f"rule {number} is another"
