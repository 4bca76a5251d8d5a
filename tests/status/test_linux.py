"""Recorded outputs of Linux's tools: the counts under the model's names, and what is found when something was changed behind pfq's back."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from pfq.diagnostics import Refused
from pfq.plan.build import build
from pfq.plan.model import Gateway
from pfq.site.load import load_text
from pfq.status import linux
from pfq.status.linux_commands import queue_commands, rule_commands
from pfq.status.outputs import Output, recorded
from pfq.status.script import Script, read_script
from pfq.status.state import Look, with_rates
from tests.status.recording import RECORDINGS

_NAMES = sorted(path.parent.name for path in RECORDINGS.glob("*/pfq.sh"))
Change = Callable[[str], str]


@cache
def _recording(name: str) -> tuple[Gateway, Script, dict[str, Output]]:
    """The gateway, the script that was compiled when the recording was made, and the outputs."""
    folder: Path = RECORDINGS / name
    script = read_script((folder / "pfq.sh").read_text())
    plan = build(load_text((folder / "site.toml").read_text(), "site.toml"))
    return plan.gateways[0], script, dict(recorded(str(folder), [*queue_commands(script), *rule_commands(script)]))


def _look(name: str, file: str = "", change: Change | None = None, at: float = 0.0) -> Look:
    """What is seen; `change` makes another text of one output."""
    gateway, script, outputs = _recording(name)
    if change is not None:
        before = outputs[file].text
        after = change(before)
        assert after != before
        outputs = {**outputs, file: Output(after)}
    return linux.look(gateway, script, outputs, at)


def _said(look: Look) -> list[str]:
    return [f"{each.code}: {each.message}" for each in look.findings]


@pytest.mark.parametrize("name", _NAMES)
def test_what_was_just_started_is_as_it_was_compiled(name: str) -> None:
    """Refresh the recordings with `python3 -m tests.status.recording`."""
    assert _said(_look(name)) == []


_COUNTED = {
    "htb": {"up": {"ack": (3, 318), "calls": (2, 424), "rest": (2, 1378)}, "down": {"ack": (0, 0), "calls": (0, 0), "rest": (1, 1219)}},
    "hfsc": {"up": {"ack": (3, 270), "office": (0, 0), "pages": (0, 0), "mail": (0, 0), "rest": (4, 1488)}, "down": {"rest": (1, 1078)}},
    "prio": {"up": {"express": (3, 270), "interactive": (0, 0), "bulk": (4, 1488)}, "down": {"bulk": (1, 1078)}},
    "cake": {"up": {"express": (3, 198), "interactive": (0, 0), "bulk": (4, 1392)}, "down": {"express": (0, 0), "bulk": (1, 1054)}},
    "police": {"up": {"express": (3, 318), "bulk": (4, 1802)}, "down": {linux.ALL: (1, 1040)}},
}


@pytest.mark.parametrize("name", _NAMES)
def test_counts_are_under_the_models_names(name: str) -> None:
    groups = {group.direction: group for group in _look(name).groups if group.link}
    for direction, wanted in _COUNTED[name].items():
        found = {each.name: (each.counters.packets, each.counters.bytes) for each in groups[direction].classes if each.counters}  # type: ignore[index]
        assert {key: found[key] for key in wanted} == wanted
    assert groups["up"].express_packets() == 3


def test_a_class_with_classes_inside_has_their_sum() -> None:
    assert (RECORDINGS / "hfsc" / "tc-qdisc").read_text().count('"parent":"1:40"') == 2
    counted = re.compile(r'("dev":"eth0","parent":"1:(?:30|40)".*?"bytes":)0,"packets":0,"drops":0')
    look = _look("hfsc", "tc-qdisc", lambda text: counted.sub(r'\g<1>700,"packets":5,"drops":2', text))
    classes = {each.name: each.counters for each in look.groups[0].classes}
    assert classes["pages"] == classes["mail"] != classes["rest"]
    office = classes["office"]
    assert office
    assert (office.packets, office.bytes, office.dropped) == (10, 1400, 4)


# Output, change, what is said.
_CHANGES: dict[str, tuple[str, str, Change, str]] = {
    "another rate": ("htb", "tc-class-eth0", lambda t: t.replace("rate 806600bit", "rate 806700bit"), "class 1:10: rate 806700bit instead of 806600bit"),
    "another ceiling": ("htb", "tc-class-eth0", lambda t: t.replace("ceil 800Kbit", "ceil 801Kbit"), "class 1:20: ceil 801Kbit instead of 800000bit"),
    "another priority": ("htb", "tc-class-eth0", lambda t: t.replace("prio 1 ", "prio 2 "), "class 1:20: prio 2 instead of 1"),
    "another quantum": ("htb", "tc-class-eth0", lambda t: t.replace("quantum 1643", "quantum 1500"), "class 1:10: quantum 1500 instead of 1643"),
    "another burst": ("htb", "tc-class-eth0", lambda t: t.replace("burst 1642b", "burst 3000b", 1), "class 1:10: burst 3000b/1 instead of 1643b"),
    "a missing class": (
        "htb", "tc-class-eth0", lambda t: re.sub(r"class htb 1:20.*?\n\n", "", t, flags=re.DOTALL), "missing-class: eth0: class 1:20 is missing",
    ),
    "a class too many": ("htb", "tc-class-eth0", lambda t: t + t.split("\n\n")[1].replace("1:10", "1:99"), "class 1:99 is not the model's"),
    "another limit": ("htb", "tc-qdisc", lambda t: t.replace('"limit":16}', '"limit":17}', 1), "eth0: pfifo at 1:20: limit 17 instead of 16"),
    "another target": ("htb", "tc-qdisc", lambda t: t.replace('"target":9977', '"target":4999'), "fq_codel at 1:30: target 4999 instead of 9978us"),
    "another default": ("htb", "tc-qdisc", lambda t: t.replace('"default":"0x30"', '"default":"0x20"', 1), "htb at root: default 0x20 instead of 30"),
    "another leaf": ("htb", "tc-qdisc", lambda t: t.replace('"kind":"fq_codel"', '"kind":"sfq"', 1), "at 1:30 is sfq instead of fq_codel"),
    "no size table": ("htb", "tc-qdisc", lambda t: re.sub(r'"stab":{[^}]*},', "", t, count=1), "htb at root: no size table (stab)"),
    "a foreign root": (
        "htb", "tc-qdisc", lambda t: t.replace('"kind":"htb","handle":"1:"', '"kind":"tbf","handle":"7:"', 1), "at the root is tbf 7: instead of htb 1:",
    ),
    "no queues": ("htb", "tc-qdisc", lambda t: t.replace('"kind":"htb","handle":"1:"', '"kind":"pfifo_fast","handle":"0:"', 1), "no-queues: eth0"),
    "no ingress": ("htb", "tc-qdisc", lambda t: t.replace('"parent":"ffff:fff1"', '"parent":"9:1"'), "eth0: at ingress is nothing instead of ingress"),
    "a missing interface": ("htb", "ip-link", lambda t: t.replace('"ifname":"eth0"', '"ifname":"wan0"'), "no-interface: there is no interface eth0"),
    "an interface that is down": ("htb", "ip-link", lambda t: t.replace('"UP",', ""), "interface-down: the interface eth0 is down"),
    "another queue length": ("htb", "ip-link", lambda t: t.replace('"txqlen":500', '"txqlen":1000'), "eth0: txqueuelen 1000 instead of 500"),
    "forwarding is off": ("htb", "proc-net-ipv4-ip_forward", lambda _: "0\n", "/proc/sys/net/ipv4/ip_forward is 0 instead of 1"),
    "another program": (
        "htb", "tc-filter-ifb-wan-1", lambda t: t.replace(",2 0 0 3,", ",2 0 0 4,", 1), "filters of 1: the filter of preference 1 (bpf) is another",
    ),
    "another action": ("htb", "tc-filter-eth0-ffff", lambda t: t.replace("device ifb-wan", "device eth1"), "the filter of preference 3 (matchall) is another"),
    "a missing filter": ("htb", "tc-filter-eth0-30", lambda _: "", "the filter of preference 1 (flow) is missing"),
    "a filter too many": (
        "htb", "tc-filter-eth0-1", lambda _: "filter protocol all pref 9 matchall chain 0 handle 0x1 flowid 1:f", "preference 9 (matchall) is not the model's",
    ),
    "another curve": ("hfsc", "tc-class-eth0", lambda t: t.replace("m2 15808Kbit", "m2 15Mbit"), "class 1:30: ul: m2 15Mbit instead of 15808000bit"),
    "no guarantee": ("hfsc", "tc-class-eth0", lambda t: t.replace("sc m1 0bit d 0us m2 2964Kbit", "ls m1 0bit d 0us m2 2964Kbit"), "class 1:10: no rt curve"),
    "in another class": ("hfsc", "tc-class-eth0", lambda t: t.replace("hfsc 1:30 parent 1:20", "hfsc 1:30 parent 1:1"), "class 1:30: in 1:1 instead of 1:20"),
    "another default of hfsc": ("hfsc", "tc-qdisc", lambda t: t.replace("{default 50 }", "{default 10 }"), "hfsc at root: default 10 instead of 50"),
    "red without marks": ("hfsc", "tc-qdisc", lambda t: t.replace('"ecn":true,"harddrop"', '"ecn":false,"harddrop"', 1), "red at 1:30: not ecn"),
    "another band": ("prio", "tc-qdisc", lambda t: t.replace('"priomap":[0,0', '"priomap":[1,0'), "prio at 1:1: priomap 1 0"),
    "another band's filter": ("prio", "tc-filter-eth1-1", lambda t: t.replace("gt 131071", "gt 65535"), "the filter of preference 1 (basic) is another"),
    "another bandwidth": ("cake", "tc-qdisc", lambda t: t.replace('"bandwidth":2470000', '"bandwidth":2500000'), "cake at root: bandwidth 2500000"),
    "no ack-filter": ("cake", "tc-qdisc", lambda t: t.replace('"ack-filter":"enabled"', '"ack-filter":"disabled"'), "cake at root: not ack-filter"),
    "another policer": (
        "police", "tc-filter-eth0-ffff", lambda t: re.sub(r"police 0x1 rate \S+", "police 0x1 rate 99Mbit", t),
        "the filter of preference 50 (matchall) is another",
    ),
    "another network": ("police", "tc-filter-eth0-ffff", lambda t: t.replace("c0000200", "c0000300"), "the filter of preference 1 (u32) is another"),
    "another configuration": (
        "htb", "nft", lambda t: re.sub(r"config_[0-9a-f]+", "config_0123456789abcdef", t), "the rules of another configuration are loaded: 0123456789abcdef",
    ),
    "no rules": ("htb", "nft", lambda _: '{"nftables": []}', "no rules of pfq's are loaded"),
    "a missing rule": ("htb", "nft", lambda t: _without_rule(t, "wan/opened/inside"), "chain wan/opened/inside: 3 rules instead of 4"),
    "another rule": ("htb", "nft", lambda t: t.replace("5060", "5061", 1), "chain wan/opened/inside: rule 3 is another"),
    "another hook": ("htb", "nft", lambda t: t.replace('"prio": -150', '"prio": -149', 1), "chain postrouting: its hook, priority or policy is another"),
    "a missing chain": ("htb", "nft", lambda t: t.replace('"wan/in"', '"wan/out"'), "chain wan/in is missing"),
}


def _without_rule(text: str, chain: str) -> str:
    objects = json.loads(text)["nftables"]
    first = next(each for each in objects if "rule" in each and each["rule"]["chain"] == chain)
    return json.dumps({"nftables": [each for each in objects if each is not first]})


@pytest.mark.parametrize("name", _CHANGES)
def test_a_change_behind_its_back_is_found(name: str) -> None:
    recording, file, change, wanted = _CHANGES[name]
    look = _look(recording, file, change)
    assert any(wanted in said for said in _said(look)), _said(look)
    assert all(each.severity == "warning" for each in look.findings)


def test_handles_counters_and_the_order_of_sets_are_no_change() -> None:
    def change(text: str) -> str:
        found = json.loads(re.sub(r'"handle": \d+', '"handle": 999', text))
        for each in found["nftables"]:
            for expression in each.get("rule", {}).get("expr", []):
                if "vmap" in expression:
                    expression["vmap"]["data"]["set"].reverse()
        return json.dumps(found)

    assert _said(_look("htb", "nft", change)) == []


def test_rules_that_cannot_be_read_are_said_not_to_be_compared() -> None:
    gateway, script, outputs = _recording("htb")
    seen = {name: output for name, output in outputs.items() if not name.startswith("nft")}
    assert _said(linux.look(gateway, script, seen, 0.0)) == ["not-compared: the packet rules were not compared: only root may read them"]
    failed = {**outputs, "nft-compiled": Output("", "unshare: Operation not permitted")}
    (said,) = _said(linux.look(gateway, script, failed, 0.0))
    assert said.endswith("unshare: Operation not permitted")


def test_rates_are_bits_between_two_looks() -> None:
    before = _look("htb", at=10.0)
    more = replace(_look("htb", "tc-qdisc", lambda text: text.replace('"bytes":1378', '"bytes":3878')), at=14.0)
    rates = {each.name: each.rate for each in with_rates(before, more).groups[0].classes}
    assert rates == {"ack": 0, "calls": 0, "rest": 5000}
    assert with_rates(before, more).groups[0].rate() == 5000
    # Counters that began anew.
    assert with_rates(more, replace(before, at=20.0)).groups[0].classes[2].rate is None


@pytest.mark.parametrize(("file", "text"), [("tc-qdisc", "qdisc htb 1: root"), ("tc-qdisc", '[{"kind":'), ("nft", "table inet pfq"), ("ip-link", "1: lo"),
                                           ("tc-class-eth0", "Cannot find device"), ("tc-filter-eth0-1", "Error: something")])
def test_an_output_that_is_not_what_its_name_says_is_refused(file: str, text: str) -> None:
    with pytest.raises(Refused) as refused:
        _look("htb", file, lambda _: text)
    assert refused.value.diagnostics[0].code == "unreadable"
    assert file in refused.value.diagnostics[0].message
