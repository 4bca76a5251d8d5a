"""`pfq status` on a real kernel: the counts under the model's names, and a warning for each thing that is changed behind its back."""

from functools import cache
from typing import Any

import pytest

from pfq.plan.build import build
from pfq.site.load import load_text
from pfq.status.script import read_script
from pfq.targets import linux
from tests.e2e.kernel.call import call
from tests.status.recording import RECORDINGS

pytestmark = pytest.mark.kernel

_MODEL = (RECORDINGS / "htb" / "site.toml").read_text()
_PLAN = build(load_text(_MODEL, "site.toml"))
_SCRIPT = linux.render(_PLAN, _PLAN.gateways[0], None)[0].text


def _again(start: str) -> str:
    """The compiled statement that begins so, as a command that puts things back."""
    words = next(" ".join(words) for words in read_script(_SCRIPT).statements if " ".join(words).startswith(start))
    return f"tc {words.replace(' add ', ' change ', 1)}"


_CLASS, _LEAF = _again("class add dev eth0 parent 1:1 classid 1:20 "), _again("qdisc add dev eth0 parent 1:20 ")
_CHANGES = {
    "rate": (_CLASS.replace("rate 400000bit", "rate 300kbit"), _CLASS),
    "limit": (_LEAF.replace("limit 16", "limit 17"), _LEAF),
    "filter": ("tc filter add dev eth0 parent 1: protocol all prio 9 matchall classid 1:f", "tc filter del dev eth0 parent 1: prio 9"),
    "rule": ("nft insert rule inet pfq wan/up counter",
             "nft delete rule inet pfq wan/up handle $(nft -a list chain inet pfq wan/up | sed -n 's/.*counter.*# handle //p')"),
    "forwarding": ("echo 0 >/proc/sys/net/ipv4/ip_forward", "echo 1 >/proc/sys/net/ipv4/ip_forward"),
    "length": ("ip link set dev eth0 txqueuelen 77", "ip link set dev eth0 txqueuelen 500"),
    "down": ("ip link set dev ifb-wan down", "ip link set dev ifb-wan up"),
}
# What a warning says of each.
_SAID = {
    "rate": "different-queue: eth0: class 1:20: rate 300Kbit instead of 400000bit",
    "limit": "different-queue: eth0: pfifo at 1:20: limit 17 instead of 16",
    "filter": "different-filter: eth0, filters of 1: a filter of preference 9 (matchall) is not the model's",
    "rule": "different-rules: table inet pfq, chain wan/up: 6 rules instead of 5",
    "forwarding": "different-setting: /proc/sys/net/ipv4/ip_forward is 0 instead of 1",
    "length": "different-setting: eth0: txqueuelen 77 instead of 500",
    "down": "interface-down: the interface ifb-wan is down",
}


@cache
def _looks() -> dict[str, Any]:
    argument = {"model": _MODEL, "script": _SCRIPT, "outside": "203.0.113.2", "changes": _CHANGES}
    return call("current", "tests.e2e.status_cases:changed_behind_its_back", argument)  # type: ignore[no-any-return]


def _said(name: str) -> list[str]:
    return [f"{each['code']}: {each['message']}" for each in _looks()[name]["seen"]["findings"]]


def test_packets_are_counted_under_the_models_names() -> None:
    look = _looks()["started"]
    assert (look["status"], look["said"], _said("started")) == (0, "", [])
    counted = {link["direction"]: {each["class"]: each["packets"] for each in link["classes"]} for link in look["seen"]["links"] if link["link"]}
    assert counted == {"up": {"ack": 3, "calls": 2, "rest": 2}, "down": {"ack": 0, "calls": 0, "rest": 1}}
    assert look["seen"]["links"][0]["express_packets"] == 3
    # Nothing was sent in the second between the two looks.
    assert look["seen"]["links"][0]["rate"] == 0


@pytest.mark.parametrize("name", _CHANGES)
def test_what_was_changed_behind_its_back_is_said_and_nothing_else(name: str) -> None:
    assert _looks()[name]["status"] == 1
    assert _said(name) == [_SAID[name]]


def test_what_was_undone_is_as_it_was_compiled() -> None:
    assert (_looks()["undone"]["status"], _said("undone")) == (0, [])


def test_without_root_queues_are_shown_and_rules_are_said_not_to_be_compared() -> None:
    assert _looks()["nobody"]["status"] == 1
    assert _said("nobody") == ["not-compared: the packet rules were not compared: only root may read them"]
    assert _looks()["nobody"]["seen"]["links"][0]["express_packets"] == 3


def test_after_a_stop_everything_is_missing() -> None:
    assert _looks()["stopped"]["status"] == 1
    said = _said("stopped")
    assert "no-queues: eth0: no queues of pfq's, but noqueue" in said
    assert "no-interface: there is no interface ifb-wan" in said
    assert "different-rules: no rules of pfq's are loaded" in said
