"""Converts texts, and says what came out."""

from pfq.convert.convert import Converted, convert
from pfq.convert.losses import LOSSES
from pfq.pf import System, check, read
from pfq.pf.nodes import Anchor, Rule

ALL = frozenset(LOSSES)


def converted(
    text: str, source: str = "openbsd-4.4", target: str = "openbsd-7.6", accept: frozenset[str] = ALL, systems: tuple[System, System] | None = None,
) -> str:
    """The result, which must be there, and which the target must accept."""
    done = convert(text, source, target, accept, systems, open_file=None)
    assert done.good, [(str(one.place), one.code, one.message) for one in done.diagnostics]
    again = check(done.text, target, system=systems[1] if systems else None, open_file=None)
    assert again.status == 0, again.stderr
    return done.text


def lines(text: str, source: str = "openbsd-4.4", target: str = "openbsd-7.6", accept: frozenset[str] = ALL) -> list[str]:
    """The result without comments and empty lines."""
    found = [line.strip() for line in converted(text, source, target, accept).splitlines()]
    return [line for line in found if line and not line.startswith("#") and line != "set reassemble no"]


def refused(text: str, source: str = "openbsd-4.4", target: str = "openbsd-7.6", accept: frozenset[str] = frozenset()) -> Converted:
    """What is said of a text that is not converted."""
    done = convert(text, source, target, accept, open_file=None)
    assert not done.good
    assert done.text == ""
    return done


def codes(text: str, source: str = "openbsd-4.4", target: str = "openbsd-7.6") -> set[str]:
    """The codes of what is lost."""
    return {one.code for one in convert(text, source, target, open_file=None).diagnostics if one.severity == "error"}


def filters(text: str, dialect: str) -> list[tuple[object, ...]]:
    """The pass and block rules that a ruleset comes to, as far as both languages have their parts."""
    found: list[tuple[object, ...]] = []

    def walk(anchor: Anchor) -> None:
        for rule in anchor.rules:
            if rule.anchor is not None:
                walk(rule.anchor)
            elif rule.action in ("pass", "block"):
                found.append(_parts(rule))

    walk(read(text, dialect, open_file=None).reading.main)
    return found


def _parts(rule: Rule) -> tuple[object, ...]:
    # Older releases give an interface's address in an IPv6 rule the mask of an IPv4 rule before it; that is no wish of the ruleset.
    ends = [
        (host.kind, host.af, host.value, host.bits if host.kind == "address" else 0, host.end, host.name, host.modifiers, host.negated)
        for host in (rule.source, rule.destination)
    ]
    ports = [(port.op, port.low, port.high) if port else None for port in (rule.source_port, rule.destination_port)]
    return (
        rule.action, rule.returns, rule.direction, rule.log, rule.log_options, rule.quick, rule.interface, rule.interface_negated, rule.af, rule.proto,
        *ends, *ports, rule.flags, rule.flagset, rule.icmp_type, rule.tos, rule.queue, rule.ack_queue, rule.set_prio, rule.state, rule.probability,
        rule.max_states, rule.max_src_nodes, rule.allow_opts, rule.tag, rule.tagged, rule.tagged_negated, rule.rtable, rule.label,
    )
