"""Translation statements: binat, nat and rdr, which come before the filter rules. Source: pf_match_translation and pf_get_translation of pf.c."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pfq.headers.algebra import Condition
from pfq.headers.bits import choose, constant
from pfq.headers.fields import DESTINATION, DESTINATION_PORT, SOURCE, SOURCE_PORT
from pfq.pf.evaluate.matching import Matcher, Spot, World
from pfq.pf.evaluate.packet import OUT, Packet, whole
from pfq.pf.evaluate.runs import outcomes
from pfq.pf.evaluate.steps import Step
from pfq.pf.evaluate.translating import choices, destination_port, from_pool, renumbered, source_port
from pfq.pf.nodes import ADDRESS, Host, Rule

_ADDRESSING = (SOURCE, DESTINATION, SOURCE_PORT, DESTINATION_PORT)


def statement_translation(
    world: World, statements: Mapping[str, Sequence[Step]], packet: Packet, spot: Spot, among: Condition
) -> tuple[Packet, Condition, Condition]:
    """The packet after them; where one translated it; and where that one says `pass`, so that no filter rule is asked."""
    algebra, original = packet.algebra, packet
    # Where no earlier kind has translated it; fragments are not translated.
    left, moved, bare = whole(packet.view), algebra.nothing, algebra.nothing
    for kind in ("binat", "nat") if spot.direction == OUT else ("rdr", "binat"):
        matcher = Matcher(world, spot, original.view)
        steps = _flat(statements.get(kind, ()), matcher, world, original, spot, algebra.everything)
        taken = algebra.nothing
        for step, there in outcomes(algebra, [(where, where, step) for step, where in steps]).items():
            if step is None:
                continue
            where = there & left
            rule = step.rule
            if rule.tag:
                tag = constant(algebra, world.tags[rule.tag], world.tag_width)
                packet = replace(packet, tag=choose(where, tag, packet.tag))
            packet.view.note(where & among & packet.alive, step.place, step.text, "translation: first match")
            if rule.action != kind:
                continue
            new = _moved(world, original, rule, spot.direction)
            bits = {name: choose(where, new.view.bits[name], packet.view.bits[name]) for name in _ADDRESSING}
            packet = packet.seen(**bits)
            taken = taken | where
            if rule.nat_pass:
                bare = bare | where
        moved, left = moved | taken, left & ~taken
    return packet, moved, bare


def _flat(
    steps: Sequence[Step], matcher: Matcher, world: World, packet: Packet, spot: Spot, within: Condition
) -> list[tuple[Step, Condition]]:
    found: list[tuple[Step, Condition]] = []
    for step in steps:
        where = within & _matches(matcher, step.rule, packet, world, spot)
        if not where.satisfiable():
            continue
        if step.calls is None:
            found.append((step, where))
        for ruleset in step.calls or ():
            found += _flat(ruleset, matcher, world, packet, spot, where)
    return found


def _matches(matcher: Matcher, rule: Rule, packet: Packet, world: World, spot: Spot) -> Condition:
    if rule.action != "binat" or spot.direction == OUT or rule.pool is None:
        return matcher.matches(rule) & matcher.tagged(rule, packet.tag)
    # What comes in for the outer address is asked from the other end.
    turned = rule.copy()
    turned.source, turned.destination = rule.destination, outer_host(rule, world)
    return matcher.matches(turned) & matcher.tagged(turned, packet.tag)


def outer_host(rule: Rule, world: World) -> Host:
    """The outer address of a binat rule, or its network."""
    assert rule.pool is not None
    host = rule.pool.hosts[0]
    ((value, bits),) = choices(rule.pool, world.facts, rule.af)[:1]
    return host if host.kind == ADDRESS else Host(ADDRESS, rule.af, value, bits)


def _moved(world: World, packet: Packet, rule: Rule, direction: str) -> Packet:
    view = packet.view
    assert rule.pool is not None
    if rule.action == "nat":
        view = source_port(from_pool(view, world.facts, rule.pool, rule.af, SOURCE), rule.pool)
    elif rule.action == "rdr":
        view = destination_port(from_pool(view, world.facts, rule.pool, rule.af, DESTINATION), rule.pool, rule)
    elif direction == OUT:
        outer = outer_host(rule, world)
        view = view.seen(**{SOURCE: renumbered(view, view.bits[SOURCE], rule.af, outer.value, outer.bits)})
    else:
        inner = rule.source
        value = inner.value
        if inner.kind != ADDRESS:
            value = world.facts.addresses(inner.name, inner.modifiers)[0][1]
        view = view.seen(**{DESTINATION: renumbered(view, view.bits[DESTINATION], rule.af, value, inner.bits)})
    return replace(packet, view=view)
