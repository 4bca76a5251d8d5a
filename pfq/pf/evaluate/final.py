"""The rule that decides: the last pass or block rule that matches, or the first quick one, for every packet at once."""

from collections.abc import Mapping
from dataclasses import dataclass

from pfq.headers.algebra import Bits, Condition
from pfq.headers.asking import PASS
from pfq.headers.bits import constant, masked
from pfq.pf.evaluate.steps import Step
from pfq.pf.evaluate.walk import Walk
from pfq.pf.nodes import Rule

# What a rule says, from the most significant bit of its number down: flags, then queues, ToS byte and which rule it is.
_FLAGS = 5
_TOS = 8


@dataclass(frozen=True)
class Final:
    """Where the final rule passes packets, keeps state, allows IP options, names a queue, sets ToS, and to what.

    steps: where it is this very rule, for those of which it matters. none: where it is the implicit one, which passes and keeps no state.
    """

    passed: Condition
    keeps: Condition
    allows: Condition
    queued: Condition
    first: Bits
    second: Bits
    with_tos: Condition
    tos: Bits
    steps: Mapping[Step, Condition]
    none: Condition


def final(walk: Walk, queues: Mapping[str, int], width: int, every: bool) -> Final:
    """The final rule of a walk. `every`: whether it matters of every rule that it is this one, not only of those that translate."""
    algebra = walk.view.algebra
    deciding = {index: hit.step for index, hit in enumerate(walk.hits) if hit.step is not None and hit.step.rule.action != "match"}
    particular = [step for step in deciding.values() if every or (step.rule.action == PASS and (step.rule.nat or step.rule.rdr))]
    numbers = {step: number for number, step in enumerate(particular, start=1)}
    for_steps = len(numbers).bit_length()
    whole = _FLAGS + 2 * width + _TOS + for_steps
    values = {
        index: constant(algebra, _number(step.rule, queues, width) << for_steps | numbers.get(step, 0), whole) for index, step in deciding.items()
    }
    run = walk.run(values, whole)
    bits = tuple(run.where & bit for bit in run.value)
    passes, keeps, allows, queued, with_tos = bits[:_FLAGS]
    first, second, tos, which = (
        bits[start : start + size]
        for start, size in ((_FLAGS, width), (_FLAGS + width, width), (_FLAGS + 2 * width, _TOS), (_FLAGS + 2 * width + _TOS, for_steps))
    )
    told = ((step, masked(algebra, which, number)) for step, number in numbers.items())
    steps = {step: where for step, where in told if where.satisfiable()}
    return Final(passes | ~run.where, keeps, allows, queued, first, second, with_tos, tos, steps, ~run.where)


def _number(rule: Rule, queues: Mapping[str, int], width: int) -> int:
    passes = rule.action == PASS
    number = 0
    for flag in (passes, passes and rule.state, rule.allow_opts, rule.queue, rule.set_tos >= 0):
        number = number << 1 | bool(flag)
    number = number << width | queues.get(rule.queue, 0)
    number = number << width | queues.get(rule.ack_queue or rule.queue, 0)
    return number << _TOS | max(rule.set_tos, 0)
