"""What pfctl prints, written after its printing code: pfctl_queue.c 1.2 and later (OpenBSD 5.5 and later), pfctl_qstats.c (OpenBSD 4.4,
FreeBSD), print_status of pfctl_parser.c. The recordings of openbsd-4.4 and openbsd-7.6 are one round of -v; that of freebsd-14 is two of -vv."""

import re
from functools import cache

import pytest

from pfq.diagnostics import Refused
from pfq.plan.build import build
from pfq.plan.model import Gateway
from pfq.site.load import load_text
from pfq.status import pf
from pfq.status.outputs import Output, recorded
from pfq.status.state import Counters, Look
from tests.status.recording import RECORDINGS

_NAMES = ("openbsd-4.4", "openbsd-7.6", "freebsd-14")


@cache
def _recording(name: str) -> tuple[Gateway, str, dict[str, Output]]:
    folder = RECORDINGS / name
    plan = build(load_text((folder / "site.toml").read_text(), "site.toml"))
    return plan.gateways[0], (folder / "pf.conf").read_text(), dict(recorded(str(folder), pf.COMMANDS))


def _look(name: str, file: str = "", old: str = "", new: str = "") -> Look:
    gateway, text, outputs = _recording(name)
    if file:
        before = outputs[file].text
        assert old in before
        outputs = {**outputs, file: Output(before.replace(old, new))}
    return pf.look(gateway, text, outputs, 0.0)


@pytest.mark.parametrize("name", _NAMES)
def test_what_pfctl_prints_of_the_compiled_queues_is_as_compiled(name: str) -> None:
    assert _look(name).findings == ()


def test_counts_are_under_the_models_names_on_each_interface() -> None:
    """Queues of one name on two interfaces, told apart by the root above them."""
    up, down, other = _look("openbsd-7.6").groups
    for group, factor, interface in ((up, 1, "em0"), (down, 2, "em1")):
        assert (group.link, group.interface) == ("wan", interface)
        found = {each.name: each.counters for each in group.classes}
        assert {name: (each.packets, each.bytes, each.dropped, each.waiting) for name, each in found.items() if each} == {
            "express": (9121 * factor, 966826 * factor, 0, 0),
            "interactive": (212 * factor, 18020 * factor, 0, 0),
            "bulk": (11084 * factor, 15980114 * factor, 37, 6),
        }
    assert up.express_packets() == 9121
    assert (other.link, other.classes[0].address) == ("", "local")


def test_the_queues_of_the_article() -> None:
    (group,) = _look("openbsd-4.4").groups
    counters = {each.name: each.counters for each in group.classes}
    priority, default = counters["q_pri"], counters["q_def"]
    assert priority
    assert default
    assert (priority.packets, default.packets, default.dropped, default.waiting) == (4020, 5113, 212, 8)
    assert [(each.name, each.express, each.default) for each in group.classes] == [("q_pri", True, False), ("q_def", False, True)]


def test_of_several_rounds_the_last_counts_with_the_rates_that_pfctl_measured() -> None:
    up, down, _ = _look("freebsd-14").groups
    classes = {each.name: each for each in up.classes}
    assert classes["ack"].counters == Counters(1602, 86508, 0, 0, None)
    assert (classes["ack"].rate, classes["rest"].rate) == (69210, 1_920_000)
    assert classes["office"].rate == (classes["pages"].rate or 0) + (classes["mail"].rate or 0) == 115_460
    assert {each.name: each.depth for each in down.classes} == {"ack": 0, "office": 0, "pages": 1, "mail": 1, "rest": 0}


@pytest.mark.parametrize(
    ("name", "file", "old", "new", "wanted"),
    [
        ("openbsd-7.6", "pfctl-vsq", "19080K, max 19080K", "20M, max 20M", "different-queue: em0: 'queue root_em0 on em0 bandwidth 20M, max 20M' instead of"),
        ("openbsd-7.6", "pfctl-vsq", "flows 1024 bandwidth 15260K default", "bandwidth 15260K default", "different-queue: em0: 'queue bulk parent root_em0"),
        ("openbsd-7.6", "pfctl-vsq", "queue interactive parent wan_down", "queue other parent wan_down", "missing-class: em1: queue interactive is missing"),
        ("openbsd-7.6", "pfctl-vsq", "queue interactive parent wan_down", "queue other parent wan_down", "spare-class: em1: queue other is not the model's"),
        ("openbsd-7.6", "pfctl-si", "Enabled", "Disabled", "disabled: pf is disabled"),
        ("openbsd-4.4", "pfctl-vsq", "priority 7", "priority 6", "different-queue: kue0: 'queue q_pri on kue0 priority 6"),
        ("openbsd-4.4", "pfctl-vsq", "qlimit 8 ", "", "different-queue: kue0: 'queue q_def on kue0'"),
        ("freebsd-14", "pfctl-vsq", "{pages, mail}", "{pages, mail, more}", "different-queue: em0: 'queue office on em0"),
        ("freebsd-14", "pfctl-vsq", " on em1 ", " on em2 ", "no-queues: em1: no queues"),
    ],
)
def test_a_change_behind_its_back_is_found(name: str, file: str, old: str, new: str, wanted: str) -> None:
    said = [f"{each.code}: {each.message}" for each in _look(name, file, old, new).findings]
    assert any(wanted in each for each in said), said


def test_no_queue_in_use() -> None:
    gateway, text, outputs = _recording("freebsd-14")
    look = pf.look(gateway, text, {**outputs, "pfctl-vsq": Output("No queue in use\n")}, 0.0)
    assert [each.code for each in look.findings] == ["no-queues", "no-queues"]
    assert all(each.counters is None for group in look.groups for each in group.classes)


def test_what_pfctl_refuses_is_refused() -> None:
    gateway, text, outputs = _recording("freebsd-14")
    with pytest.raises(Refused) as refused:
        pf.look(gateway, text, {**outputs, "pfctl-vsq": Output("", "pfctl: /dev/pf: No such file or directory")}, 0.0)
    assert "/dev/pf" in refused.value.diagnostics[0].message


def test_the_recordings_have_pfctls_columns() -> None:
    for name in _NAMES:
        for line in (RECORDINGS / name / "pfctl-vsq").read_text().splitlines():
            assert re.fullmatch(
                r"queue .*|  \[ pkts: +\d+  bytes: +\d+  dropped pkts: +\d+ bytes: +\d+ \]|  \[ qlength: +\d+/ *\d+ \]|  \[ measured: .*/s \]|", line
            ), line
