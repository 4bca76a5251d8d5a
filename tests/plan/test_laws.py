"""What holds of every plan."""

import json
from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given, settings

from pfq.plan.build import build
from pfq.plan.model import Figure, Queue, Tree
from pfq.plan.show import as_json, as_text
from pfq.site.load import load_text
from tests.strategies import models, seeded

PLANS = settings(max_examples=60, deadline=None)


def trees(text: str) -> list[Tree]:
    plan = build(load_text(text, "m"))
    return [tree for gateway in plan.gateways for uplink in gateway.uplinks for tree in (uplink.up, uplink.down) if tree]


def levels(rate: int, queues: tuple[Queue, ...]) -> Iterator[tuple[int, tuple[Queue, ...]]]:
    """Every set of siblings with what there is for them."""
    yield rate, queues
    for queue in queues:
        if queue.children:
            yield from levels(queue.share.value, queue.children)


def every(queues: tuple[Queue, ...]) -> Iterator[Queue]:
    for queue in queues:
        yield queue
        yield from every(queue.children)


@given(models())
@PLANS
def test_the_same_twice(text: str) -> None:
    one, two = (build(load_text(text, "m")) for _ in range(2))
    assert one == two
    assert as_json(one) == as_json(two)
    assert as_text(one) == as_text(two)


@given(models())
@PLANS
def test_shares_of_siblings_are_at_most_what_there_is(text: str) -> None:
    for tree in trees(text):
        for rate, siblings in levels(tree.rate.value, tree.queues):
            assert sum(queue.share.value for queue in siblings) <= rate
            assert all(queue.share.value >= 1 for queue in siblings)


@given(models())
@PLANS
def test_guarantees_are_at_most_the_rate_and_computed_ones_leave_a_quarter(text: str) -> None:
    for tree in trees(text):
        rates = [queue.guarantee.rate for queue in every(tree.queues) if queue.guarantee]
        given, computed = (sum(rate.value for rate in rates if rate.given is which) for which in (True, False))
        assert given + computed <= tree.rate.value
        assert computed <= max(tree.rate.value * 75 // 100 - given, (tree.rate.value - given) // 4)


@given(models())
@PLANS
def test_nobody_s_guarantee_or_share_is_above_their_ceiling(text: str) -> None:
    for tree in trees(text):
        for queue in every(tree.queues):
            if queue.ceiling:
                assert queue.share.value <= queue.ceiling.rate.value <= tree.rate.value
                assert queue.guarantee is None or queue.guarantee.rate.value <= queue.ceiling.rate.value


@given(models())
@PLANS
def test_who_shares_gets_their_guarantee_at_least(text: str) -> None:
    for tree in trees(text):
        for queue in every(tree.queues):
            if queue.guarantee and queue.guarantee.rate.given and not queue.ceiling:
                assert queue.share.value >= queue.guarantee.rate.value


@given(models())
@PLANS
def test_limits_targets_and_bursts_are_in_range(text: str) -> None:
    for tree in trees(text):
        # Linux sends a packet on credit.
        assert tree.burst.value >= (1 if tree.accounting.exact else tree.mtu) or tree.burst.given
        for queue in every(tree.queues):
            assert 1 <= queue.limit.value <= 65_535
            assert 1 <= queue.fair_limit.value <= 65_535
            assert 5_000 <= queue.target < queue.interval


@given(models())
@PLANS
def test_ranks_rise_by_one_at_most(text: str) -> None:
    for tree in trees(text):
        for _, siblings in levels(tree.rate.value, tree.queues):
            ranks = [queue.rank for queue in siblings]
            assert ranks[0] == 0
            assert all(after - before in (0, 1) for before, after in pairwise(ranks))


@given(models())
@PLANS
def test_every_class_is_reached(text: str) -> None:
    for gateway in build(load_text(text, "m")).gateways:
        for uplink in gateway.uplinks:
            found = uplink.classifier
            reached = {rule.queue for rule in found.rules} | {found.default} | ({found.express.queue} if found.express else set())
            for tree in (uplink.up, uplink.down):
                if tree:
                    assert {queue.name for queue in tree.leaves()} == reached
                    assert [queue.name for queue in tree.leaves() if queue.default] == [found.default]
            assert found.unclassified is None or found.unclassified in reached


@given(models())
@PLANS
def test_every_number_has_a_reason_of_one_line(text: str) -> None:
    def check(figure: Figure | None) -> None:
        assert figure is None or (figure.why and "\n" not in figure.why)

    for tree in trees(text):
        check(tree.rate)
        check(tree.burst)
        for queue in every(tree.queues):
            for figure in (queue.share, queue.limit, queue.fair_limit, *(curve.rate for curve in (queue.guarantee, queue.ceiling) if curve)):
                check(figure)


@given(models())
@PLANS
def test_the_shown_plan(text: str) -> None:
    plan = build(load_text(text, "m"))
    shown = as_text(plan)
    assert shown.endswith("\n")
    assert not shown.endswith("\n\n")
    assert all(f"gateway {gateway.name} " in shown for gateway in plan.gateways)
    read = json.loads(as_json(plan))
    assert [gateway["name"] for gateway in read["gateways"]] == [gateway.name for gateway in plan.gateways]
    assert [link["up"]["rate"]["value"] for link in read["gateways"][0]["links"]] == [uplink.up.rate.value for uplink in plan.gateways[0].uplinks]


def test_a_seed_is_a_model() -> None:
    assert seeded(7) == seeded(7)
    assert len({seeded(seed) for seed in range(50)}) == 50
