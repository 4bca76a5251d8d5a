"""ALTQ: rates worked out, curves that do not fit, what each release says."""

import pytest

from pfq.pf import check, read
from pfq.pf.loaded import queues_text
from tests.pf.answers import FREEBSD, MIDDLE, OLD, printed, said

ALTQ = (OLD, FREEBSD, MIDDLE)


@pytest.mark.parametrize(
    ("rate", "shown", "bucket"),
    [("900Kb", "900Kb", 1500), ("8Mb", "8Mb", 6000), ("150Mb", "150Mb", 12000), ("1Gb", "1Gb", 36000), ("2.5Mb", "2.50Mb", 6000)],
)
@pytest.mark.parametrize("dialect", ALTQ)
def test_token_bucket_regulator(dialect: str, rate: str, shown: str, bucket: int) -> None:
    lines = printed(f"altq on em0 priq bandwidth {rate} queue q\nqueue q priq(default)\n", dialect)
    assert lines[0] == f"altq on em0 priq bandwidth {shown} tbrsize {bucket} queue {{ q }}"


@pytest.mark.parametrize("dialect", ALTQ)
def test_cbq(dialect: str) -> None:
    text = "altq on em0 cbq bandwidth 10Mb queue { up down }\nqueue up bandwidth 30% priority 5 cbq(borrow ecn)\n"
    text += "queue down bandwidth 6Mb qlimit 90 cbq(default)\n"
    assert printed(text, dialect)[1:] == [
        "queue up bandwidth 30% priority 5 cbq( red ecn borrow )", "queue down bandwidth 6Mb qlimit 90 cbq( default )",
    ]


@pytest.mark.parametrize("dialect", ALTQ)
def test_hfsc_curves(dialect: str) -> None:
    text = "altq on em0 hfsc bandwidth 10Mb queue { up down }\nqueue up bandwidth 2Mb hfsc(realtime (3Mb 20 1Mb) upperlimit 40%)\n"
    text += "queue down bandwidth 5Mb hfsc(default linkshare 4Mb)\n"
    assert printed(text, dialect)[1:] == [
        "queue up bandwidth 2Mb hfsc( realtime(3Mb 20 1Mb) upperlimit 40% )", "queue down bandwidth 5Mb hfsc( default linkshare 4Mb )",
    ]


_HFSC = "altq on em0 hfsc bandwidth 10Mb queue {{ a b }}\nqueue a bandwidth 1Mb {}\nqueue b bandwidth 1Mb hfsc(default)\n"


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        ("hfsc(realtime 9Mb)", "pfctl: real-time sc exceeds 80% of the interface bandwidth (8Mb)"),
        ("hfsc(realtime (1Mb 10 2Mb))", "pfctl: m1 must be zero for convex curve: a"),
        ("hfsc(realtime 3Mb upperlimit 2Mb)", "pfctl: upper-limit sc smaller than real-time sc"),
        ("hfsc(realtime 1Mb realtime 2Mb)", "stdin:2: realtime already specified"),
        ("hfsc(nosuch)", 'stdin:2: unknown hfsc flag "nosuch"'),
        ("cbq", "stdin:2: exactly one scheduler type per interface allowed"),
        ("priority 300", "stdin:2: priority out of range: max 255"),
    ],
)
@pytest.mark.parametrize("dialect", ALTQ)
def test_queues_that_cannot_be(dialect: str, queue: str, message: str) -> None:
    assert said(_HFSC.format(queue), dialect)[0] == message


def test_children_beyond_their_parent() -> None:
    text = "altq on em0 cbq bandwidth 4Mb queue { a b }\nqueue a bandwidth 3Mb cbq(default)\nqueue b bandwidth 3Mb\n"
    assert check(text, OLD).stderr == 'pfctl: the sum of the child bandwidth higher than parent "root_em0"\n'
    assert check(text, FREEBSD).stderr == 'pfctl: the sum of the child bandwidth (6000000) higher than parent "root_em0" (4000000)\n'


def test_rate_above_the_parent_is_held_in_freebsd() -> None:
    text = "altq on em0 hfsc bandwidth 4Mb queue { a b }\nqueue a bandwidth 2Mb { c }\nqueue b bandwidth 1Mb hfsc(default)\nqueue c bandwidth 3Mb\n"
    assert said(text, OLD)[0] == "pfctl: bandwidth for c higher than parent"
    assert printed(text, FREEBSD)[3] == "queue c bandwidth 2Mb"


def test_priorities_are_unique() -> None:
    text = "altq on em0 priq bandwidth 4Mb queue { a b }\nqueue a priority 3\nqueue b priority 3 priq(default)\n"
    assert said(text, OLD)[0] == "pfctl: a and b have the same priority"
    assert said(text, FREEBSD)[0] == "pfctl: b does not have a unique priority on interface em0"


@pytest.mark.parametrize("dialect", ALTQ)
@pytest.mark.parametrize("kind", ["cbq", "priq", "hfsc"])
def test_default_queue(dialect: str, kind: str) -> None:
    assert said(f"altq on em0 {kind} bandwidth 4Mb queue a\nqueue a\n", dialect) == [
        "pfctl: should have one default queue on em0", "pfctl: errors in altq config",
    ]


@pytest.mark.parametrize("dialect", ALTQ)
def test_queue_that_nobody_announced(dialect: str) -> None:
    assert said("queue a\n", dialect) == ["stdin:1: queue a has no parent", "stdin:1: errors in queue definition"]


def test_more_than_32_bits() -> None:
    text = "altq on em0 priq bandwidth 5Gb queue a\nqueue a priq(default)\n"
    assert check(text, FREEBSD).stderr == (
        "pfctl: interface em0 bandwidth limited to 4294967295 bps because selected scheduler is 32-bit limited\n\n"
    )


def test_too_slow_for_cbq() -> None:
    text = "altq on em0 cbq bandwidth 1Mb queue { a b }\nqueue a bandwidth 1Kb\nqueue b bandwidth 500Kb cbq(default)\n"
    assert check(text, FREEBSD).stderr == "pfctl: queue bandwidth must be larger than 5.59Kb\ncbq: queue a is too slow!\n"


def test_interface_without_a_speed() -> None:
    assert said("altq on tun0 priq queue a\nqueue a priq(default)\n", OLD)[0] == (
        "interface tun0 does not know its bandwidth, please specify an absolute bandwidth"
    )


@pytest.mark.parametrize("dialect", [OLD, FREEBSD])
def test_queues_before_rules(dialect: str) -> None:
    assert said("pass\naltq on em0 priq bandwidth 1Mb queue a\nqueue a priq(default)\n", dialect)[0].startswith("stdin:2: Rules must be in order")


def test_loaded_queues() -> None:
    tree = read("altq on em0 cbq bandwidth 10Mb queue { a }\nqueue a bandwidth 3Mb cbq(default)\n", OLD)
    assert queues_text(tree.reading) == (
        "queue root_em0 on em0 bandwidth 10Mb priority 0 cbq( wrr root ) {a}\n  [ qid=1 ifname=em0 ifbandwidth=10Mb ]\n"
        "queue  a on em0 bandwidth 3Mb cbq( default ) \n  [ qid=2 ifname=em0 ifbandwidth=10Mb ]\n"
    )
