"""Shares, guarantees, ceilings and limits, worked out by hand."""

import pytest

from pfq.plan.queues import ranks
from tests.plan.planned import model, queues_of, uplink_of

# Linux on plain IP: 98.8 % of the line up, 90 % down, and no bytes beside the packet's.
IP = 'encapsulation = "ip"\n'


def up(classes: str, rate: str = "1 Mbit", down: str = "") -> dict[str, tuple[int, int | None, int | None]]:
    """Share, guarantee and ceiling of each class, up."""
    tree = uplink_of(model(classes, up=rate, down=down, link=IP, attachment='"ppp0"')).up
    return {
        name: (q.share.value, q.guarantee.rate.value if q.guarantee else None, q.ceiling.rate.value if q.ceiling else None)
        for name, q in queues_of(tree).items()
    }


def test_a_single_class_has_everything() -> None:
    assert up('{ name = "b" }') == {"b": (988_000, None, None)}


def test_strict_classes_have_a_tenth_and_the_default_has_the_rest() -> None:
    assert up('{ name = "v", match = "icmp" }, { name = "b" }') == {"v": (98_800, 98_800, None), "b": (889_200, None, None)}


def test_shares_divide_what_guarantees_leave() -> None:
    found = up('{ name = "v", match = "icmp", guarantee = "188 kbit" }, { name = "a", match = "tcp/80", share = 3 }, { name = "b", share = 1 }')
    assert found == {"v": (188_000, 188_000, None), "a": (600_000, None, None), "b": (200_000, None, None)}


def test_shares_alone() -> None:
    assert up('{ name = "a", match = "tcp/80", share = 3 }, { name = "b", share = 1 }') == {"a": (741_000, None, None), "b": (247_000, None, None)}


def test_a_class_with_a_share_gets_its_guarantee_at_least() -> None:
    found = up('{ name = "a", match = "tcp/80", share = 1, guarantee = "50%" }, { name = "b", share = 9 }')
    assert found == {"a": (494_000, 494_000, None), "b": (494_000, None, None)}


def test_guarantees_may_fill_the_line() -> None:
    found = up('{ name = "a", match = "tcp/80", guarantee = "50%" }, { name = "b", guarantee = "50%" }')
    assert found == {"a": (494_000, 494_000, None), "b": (494_000, 494_000, None)}


def test_many_strict_classes_share_three_quarters() -> None:
    found = up(", ".join(f'{{ name = "c{n}", match = "tcp/{n + 1}" }}' for n in range(30)) + ', { name = "b" }')
    assert [found[f"c{n}"][1] for n in range(30)] == [988_000 * 75 // 100 // 30] * 30


def test_classes_within_classes_keep_within_three_quarters_too() -> None:
    strict = ", ".join(f'{{ name = "c{n}", match = "tcp/{n + 1}" }}' for n in range(8))
    inner = ", ".join(f'{{ name = "d{n}", match = "udp/{n + 1}", parent = "p" }}' for n in range(8))
    found = up(f'{strict}, {{ name = "p" }}, {inner}, {{ name = "b", parent = "p" }}')
    assert 0.70 * 988_000 < sum(guarantee or 0 for _, guarantee, _ in found.values()) <= 0.75 * 988_000


def test_computed_guarantees_leave_room_for_given_ones() -> None:
    found = up('{ name = "a", match = "tcp/80" }, { name = "c", match = "tcp/81" }, { name = "v", match = "icmp", guarantee = "70%" }, { name = "b" }')
    # A quarter of the 30 % that are left, for both.
    assert found["a"][1] == found["c"][1] == 988_000 * 30 // 100 // 4 // 2 // 10 * 10


def test_the_express_class_has_what_the_acks_need_and_a_quarter_more() -> None:
    # 10 Mbit/s of 1500 bytes are 834 packets a second, 417 ACKs of 52 bytes: 173.5 kbit/s.
    found = up('{ name = "e", express = true }, { name = "b" }', down="10 Mbit")
    assert found["e"][1] == 173_472 * 125 // 100 // 100 * 100


def test_the_express_class_has_a_tenth_at_least() -> None:
    assert up('{ name = "e", express = true }, { name = "b" }', down="1 Mbit")["e"][1] == 98_800


def test_a_class_within_a_class_takes_its_part() -> None:
    found = up(
        '{ name = "p", share = 1 }, { name = "a", match = "tcp/80", parent = "p", guarantee = "50%" },'
        ' { name = "c", match = "tcp/81", parent = "p", share = 1 }, { name = "b", share = 1 }'
    )
    assert found == {"p": (494_000, None, None), "a": (247_000, 247_000, None), "c": (247_000, None, None), "b": (494_000, None, None)}


def test_a_ceiling_within_a_class_may_be_above_the_class_s_share() -> None:
    found = up('{ name = "p", share = 1 }, { name = "a", match = "tcp/80", parent = "p", ceiling = "80%" }, { name = "b", share = 1 }')
    assert found["a"][2] == 988_000 * 80 // 100


def test_a_ceiling_within_a_class_with_a_ceiling_is_a_part_of_that() -> None:
    found = up('{ name = "p", ceiling = "50%" }, { name = "a", match = "tcp/80", parent = "p", ceiling = "50%" }, { name = "b" }')
    assert found["a"][2] == 247_000


def test_a_share_is_no_more_than_the_ceiling() -> None:
    assert up('{ name = "a", match = "tcp/80", share = 9, ceiling = "10%" }, { name = "b", share = 1 }')["a"] == (98_800, None, 98_800)


def test_a_computed_guarantee_is_no_more_than_the_ceiling() -> None:
    assert up('{ name = "a", match = "tcp/80", ceiling = "5%" }, { name = "b" }')["a"] == (49_400, 49_400, 49_400)


def test_demands_may_differ_by_direction() -> None:
    uplink = uplink_of(model('{ name = "v", match = "icmp", guarantee = { up = "20%", down = "300 kbit" } }, { name = "b" }', link=IP, attachment='"ppp0"'))
    assert uplink.down
    curves = [queues_of(tree)["v"].guarantee for tree in (uplink.up, uplink.down)]
    assert [curve.rate.value for curve in curves if curve] == [197_600, 300_000]


def test_a_demand_for_one_direction_leaves_the_other_to_be_computed() -> None:
    uplink = uplink_of(model('{ name = "v", match = "icmp", guarantee = { up = "20%" } }, { name = "b" }', link=IP, attachment='"ppp0"'))
    assert uplink.down
    curve = queues_of(uplink.down)["v"].guarantee
    assert curve
    assert (curve.rate.given, curve.rate.value) == (False, 972_000)


def test_a_curve_of_two_pieces() -> None:
    classes = '{ name = "v", match = "icmp", guarantee = { rate = "5%", burst = "100 kbit", for = "20 ms" } }, { name = "b" }'
    curve = queues_of(uplink_of(model(classes, link=IP, attachment='"ppp0"')).up)["v"].guarantee
    assert curve
    assert (curve.rate.value, curve.burst, curve.microseconds) == (49_400, 100_000, 20_000)


@pytest.mark.parametrize(
    ("limit", "packets"), [("50 packets", 50), ("1 packet", 1), ("200 ms", 17), ("10 ms", 1), ("60 s", 4940)], ids=str
)
def test_limits_of_the_model(limit: str, packets: int) -> None:
    # 988 kbit/s of 1500 bytes are 82.3 packets a second.
    queue = queues_of(uplink_of(model(f'{{ name = "b", limit = "{limit}" }}', link=IP, attachment='"ppp0"')).up)["b"]
    assert (queue.limit.value, queue.limit.given) == (packets, True)


def test_a_limit_of_the_model_is_cut_only_where_no_queue_can_count_on() -> None:
    queue = queues_of(uplink_of(model('{ name = "b", limit = "1 s" }', up="1 Gbit", down="", link=IP, attachment='"ppp0"')).up)["b"]
    assert (queue.limit.value, queue.limit.given, queue.limit.why) == (65_535, True, "at most 65535 packets")


@pytest.mark.parametrize(("rate", "packets", "fair"), [("64 kbit", 8, 64), ("10 Mbit", 206, 824), ("10 Gbit", 1000, 10_000)])
def test_computed_limits(rate: str, packets: int, fair: int) -> None:
    queue = queues_of(uplink_of(model('{ name = "b" }', up=rate, down="", link=IP, attachment='"ppp0"')).up)["b"]
    assert (queue.limit.value, queue.fair_limit.value) == (packets, fair)


def test_the_default_class_is_fair_by_flow_unless_the_model_says_otherwise() -> None:
    tree = uplink_of(model('{ name = "v", match = "icmp" }, { name = "b" }')).up
    assert [(q.fair, q.fair_given) for q in tree.leaves()] == [("none", False), ("flow", False)]
    tree = uplink_of(model('{ name = "v", match = "icmp", fair = "source" }, { name = "b", fair = "none" }')).up
    assert [(q.fair, q.fair_given) for q in tree.leaves()] == [("source", True), ("none", True)]


def test_target_and_interval_follow_the_packet_time() -> None:
    slow, fast = (queues_of(uplink_of(model('{ name = "b" }', up=rate, link=IP, attachment='"ppp0"')).up)["b"] for rate in ("100 kbit", "100 Mbit"))
    assert (fast.target, fast.interval) == (5_000, 100_000)
    # 1500 bytes at 98.8 kbit/s take 121.5 ms.
    assert slow.target == pytest.approx(182_000, rel=0.01)
    assert slow.interval == 2 * slow.target


def test_ranks() -> None:
    from pfq.site.load import load_text

    classes = (
        '{ name = "a", match = "tcp/1" }, { name = "b", match = "tcp/2", share = 1 }, { name = "c", match = "tcp/3", share = 2 },'
        ' { name = "d", match = "tcp/4" }, { name = "e", share = 1 }'
    )
    assert ranks(list(load_text(model(classes), "m").policies["p"].classes)) == [0, 1, 1, 2, 3]
