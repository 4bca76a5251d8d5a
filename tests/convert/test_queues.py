"""altq and queue statements."""

import pytest

from pfq.pf import Interface, System, read
from pfq.pf.queues import Curve, Queue
from tests.convert.converting import ALL, codes, converted, lines

ACKS = """\
# a line that is shared by downloads and uploads
wan = "kue0"

altq on $wan priq bandwidth 100Kb queue { fast, slow }
queue fast priority 7
queue slow priority 1 priq(default)

pass out on $wan proto tcp from $wan to any flags S/SA \\
        keep state queue (slow, fast)
pass in on $wan proto tcp from any to $wan flags S/SA \\
        keep state queue (slow, fast)
"""


def trees(text: str, target: str = "openbsd-7.6") -> dict[tuple[str, str], Queue]:
    """The queues of a result, by interface and name."""
    found: dict[tuple[str, str], Queue] = {}

    def walk(queue: Queue, interface: str) -> None:
        found[interface, queue.name] = queue
        for child in queue.children:
            walk(child, interface)

    for root in read(text, target, open_file=None).reading.root_queues:
        assert isinstance(root, Queue)
        walk(root, root.interface)
    return found


def rates(curve: Curve | None) -> tuple[int, int, int] | None:
    return (curve.rate, curve.burst, curve.milliseconds) if curve else None


def test_the_seed_of_it_all() -> None:
    done = converted(ACKS)
    assert lines(ACKS) == [
        'wan = "kue0"',
        "queue root_kue0 on $wan bandwidth 100K, max 100K",
        "queue fast parent root_kue0 bandwidth 10K, min 10K",
        "queue slow parent root_kue0 bandwidth 90K default",
        "pass out on $wan proto tcp from $wan to any flags S/SA \\",
        "keep state set queue (slow, fast)",
        "pass in on $wan proto tcp from any to $wan flags S/SA \\",
        "keep state set queue (slow, fast)",
    ]
    assert "# a line that is shared by downloads and uploads\n" in done
    assert "# Accepted soft-order: " in done
    assert codes(ACKS) == {"soft-order"}


def test_guarantees_of_many_priq_queues_leave_something_for_the_default_one() -> None:
    names = [f"q{number}" for number in range(15)]
    text = f"altq on em0 priq bandwidth 1Mb queue {{ d {' '.join(names)} }}\nqueue d priority 0 priq(default)\n"
    text += "".join(f"queue {name} priority {number + 1}\n" for number, name in enumerate(names))
    found = trees(converted(text))
    floors = [rates(found["em0", name].minimum) for name in names]
    assert floors == [(50_000, 0, 0)] * 15
    assert rates(found["em0", "d"].bandwidth) == (250_000, 0, 0)
    assert found["em0", "d"].minimum is None


def test_hfsc_has_the_same_curves() -> None:
    text = """\
altq on em0 hfsc bandwidth 10Mb queue { a b }
queue a bandwidth 40% qlimit 20 hfsc(default linkshare (35% 10 25%) upperlimit 5Mb)
queue b bandwidth 3Mb priority 7 hfsc(realtime (2Mb 20 500Kb)) { c }
queue c bandwidth 50%
"""
    found = trees(converted(text))
    a, b, c = (found["em0", name] for name in "abc")
    assert rates(found["em0", "root_em0"].maximum) == (10_000_000, 0, 0)
    assert (rates(a.bandwidth), rates(a.minimum), rates(a.maximum)) == ((2_500_000, 3_500_000, 10), None, (5_000_000, 0, 0))
    assert (a.default, a.qlimit) == (True, 20)
    assert (rates(b.bandwidth), rates(b.minimum)) == ((3_000_000, 0, 0), (500_000, 2_000_000, 20))
    assert (c.parent, rates(c.bandwidth)) == ("b", (1_500_000, 0, 0))
    assert codes(text) == set()


def test_cbq_without_borrow_has_a_limit() -> None:
    text = """\
altq on em0 cbq bandwidth 1Mb queue { a b }
queue a bandwidth 60% cbq(default borrow)
queue b bandwidth 40%
"""
    found = trees(converted(text, accept=frozenset()))
    assert found["em0", "a"].maximum is None
    assert rates(found["em0", "b"].maximum) == (400_000, 0, 0)


def test_cbq_priorities_are_a_loss() -> None:
    text = "altq on em0 cbq bandwidth 1Mb queue { a b }\nqueue a bandwidth 60% cbq(default borrow)\nqueue b priority 5 bandwidth 40% cbq(borrow)\n"
    assert codes(text) == {"cbq-priority"}
    found = trees(converted(text))
    assert found["em0", "a"].minimum is None
    assert rates(found["em0", "b"].minimum) == (400_000, 0, 0)


def test_packets_in_an_inner_queue_get_one_of_their_own() -> None:
    text = """\
altq on em0 cbq bandwidth 1Mb queue { a b }
queue a bandwidth 60% cbq(borrow) { c }
queue c bandwidth 50% cbq(borrow)
queue b bandwidth 40% cbq(default borrow)
pass out on em0 queue a
pass out on em0 proto udp queue (c, a)
"""
    assert codes(text) == {"inner-queue"}
    assert lines(text)[2:] == [
        "queue a_own parent a bandwidth 300K", "queue c parent a bandwidth 300K", "queue b parent root_em0 bandwidth 400K default",
        "pass out on em0 set queue a_own", "pass out on em0 proto udp set queue (c, a_own)",
    ]


def test_one_name_on_two_interfaces() -> None:
    text = """\
altq on { em0 em1 } cbq bandwidth 2Mb queue { std low }
queue std on em0 bandwidth 75% cbq(default borrow)
queue std on em1 bandwidth 50% cbq(default borrow)
queue low bandwidth 25% cbq(borrow)
pass queue (std, low)
"""
    found = trees(converted(text, accept=frozenset()))
    assert rates(found["em0", "std"].bandwidth) == (1_500_000, 0, 0)
    assert rates(found["em1", "std"].bandwidth) == (1_000_000, 0, 0)
    assert rates(found["em1", "low"].bandwidth) == (500_000, 0, 0)


@pytest.mark.parametrize(
    ("option", "code"),
    [("red", "red"), ("rio", "red"), ("ecn", "ecn")],
)
def test_early_drops_are_a_loss(option: str, code: str) -> None:
    text = f"altq on em0 cbq bandwidth 1Mb queue {{ a }}\nqueue a bandwidth 60% cbq(default {option})\n"
    assert codes(text) == {code}
    assert option not in lines(text)[1]


def test_codel_is_a_flow_queue_where_there_is_no_guarantee() -> None:
    text = "altq on em0 hfsc bandwidth 1Mb queue { a b }\nqueue a bandwidth 60% hfsc(default codel)\nqueue b bandwidth 10% hfsc(codel realtime 10%)\n"
    assert codes(text, "freebsd-12.1") == {"codel"}
    assert lines(text, "freebsd-12.1")[1:] == [
        "queue a parent root_em0 bandwidth 600K flows 1 default", "queue b parent root_em0 bandwidth 100K, min 100K",
    ]
    assert "flows" not in "".join(lines(text, "freebsd-12.1", "openbsd-5.5"))
    assert lines("altq on em0 codelq(target 5) bandwidth 1Mb queue\n", "freebsd-12.1") == ["queue root_em0 on em0 bandwidth 1M, max 1M flows 1 default"]


def test_the_token_bucket_is_a_loss() -> None:
    text = "altq on em0 cbq bandwidth 1Mb tbrsize 3000 queue { a }\nqueue a cbq(default)\n"
    assert codes(text) == {"tbrsize"}


def test_the_speed_of_an_interface_must_be_known() -> None:
    text = "altq on em0 hfsc bandwidth 50% queue { a }\nqueue a bandwidth 100% hfsc(default)\n"
    assert codes(text) == {"interface-speed"}
    systems = (System("openbsd", (4, 4)), System("openbsd", (7, 6)))
    for system in systems:
        system.add(Interface("em0", speed=20_000_000))
    assert rates(trees(converted(text, accept=frozenset(), systems=systems))["em0", "root_em0"].maximum) == (10_000_000, 0, 0)


def test_rates_that_would_wrap_round() -> None:
    text = "altq on em0 hfsc bandwidth 10Gb queue { a }\nqueue a bandwidth 100% hfsc(default)\n"
    assert codes(text, "freebsd-12.1") == {"rate-too-high"}
    assert rates(trees(converted(text, "freebsd-12.1"))["em0", "a"].bandwidth) == (2**32 - 1, 0, 0)


def test_a_missing_default() -> None:
    text = "altq on em0 cbq bandwidth 1Mb queue { a }\nqueue a\naltq on em1 cbq bandwidth 1Mb queue { b }\nqueue b cbq(default)\n"
    assert codes(text) == {"no-default"}
    assert trees(converted(text))["em0", "a"].default


def test_queues_that_are_announced_and_never_defined() -> None:
    text = "altq on em0 cbq bandwidth 1Mb queue { a }\naltq on em1 cbq bandwidth 1Mb queue { b }\nqueue b cbq(default)\n"
    assert lines(text)[0] == "queue root_em0 on em0 bandwidth 1M, max 1M default"


def test_names_that_the_newer_pf_keeps_for_itself() -> None:
    text = "altq on em0 hfsc bandwidth 1Mb queue { _a }\nqueue _a hfsc(default)\n"
    assert codes(text, target="openbsd-6.0") == {"rejected"}
    assert codes(text) == set()


def test_a_rate_stays_in_its_macro() -> None:
    text = 'up = "900Kb"\naltq on em0 hfsc bandwidth $up queue { a }\nqueue a bandwidth $up hfsc(default)\n'
    assert lines(text)[1:] == ["queue root_em0 on em0 bandwidth $up, max $up", "queue a parent root_em0 bandwidth 900K default"]


def test_a_rate_that_the_old_pf_cut_off_does_not_stay_in_its_macro() -> None:
    text = 'up = "5Gb"\naltq on em0 hfsc bandwidth $up queue { a }\nqueue a bandwidth 10% hfsc(default)\n'
    assert lines(text)[1] == "queue root_em0 on em0 bandwidth 705032704, max 705032704"


def test_queues_below_their_rules_move_up() -> None:
    text = "pass out on em0 queue a  # to a\naltq on em0 hfsc bandwidth 1Mb queue { a }\nqueue a hfsc(default) # it\npass in\n"
    assert lines(text, "openbsd-5.4") == [
        "queue root_em0 on em0 bandwidth 1M, max 1M", "queue a parent root_em0 bandwidth 1M default # it", "pass out on em0 set queue a  # to a", "pass in",
    ]


def test_every_loss_is_accepted_by_its_code_alone() -> None:
    assert converted(ACKS, accept=frozenset(["soft-order"])).count("# Accepted") == 1
    assert converted(ACKS, accept=ALL) == converted(ACKS, accept=frozenset(["soft-order"]))
