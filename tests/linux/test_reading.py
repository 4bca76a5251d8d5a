"""What is read, what is refused, and where faults are said to be."""

from pathlib import Path

import pytest

from pfq.diagnostics import Refused
from pfq.linux import read

_RULESETS = sorted((Path(__file__).parents[2] / "rulesets").glob("*/out/*/pfq.sh"))


def _refused(text: str) -> list[str]:
    with pytest.raises(Refused) as caught:
        read({"f": text})
    return [f"{each.code} {each.place} {each.message}" for each in caught.value.diagnostics]


@pytest.mark.parametrize("path", _RULESETS, ids=lambda path: "/".join(path.parts[-4:-1]))
def test_the_scripts_of_the_rulesets_are_read(path: Path) -> None:
    tree = read({"pfq.sh": path.read_text()})
    assert {(table.family, table.name) for table in tree.tables} >= {("inet", "pfq")}
    assert tree.devices.qdiscs
    # The statements that only try what the kernel has are none of the configuration.
    assert all(each.device != "pfq-probe" for each in tree.devices.qdiscs)
    assert all(each.device != "pfq-probe" for each in tree.devices.filters)


def test_places_are_those_of_the_script() -> None:
    text = "#!/bin/sh\ntc -batch - <<'A'\nqdisc add dev eth0 root handle 1: prio\nA\nnft -f - <<'B'\ntable ip t {\n\tchain c {\n\t\tcounter drop\n\t}\n}\nB\n"
    tree = read({"s.sh": text})
    assert str(tree.devices.qdiscs[0].place) == "s.sh:3:1"
    assert [str(rule.place) for rule in tree.tables[0].chains["c"].rules] == ["s.sh:8:3"]
    assert tree.tables[0].chains["c"].rules[0].text == "counter drop"


def test_files_of_one_kind_are_told_by_what_is_in_them() -> None:
    tree = read({
        "a": "# queues\nqdisc add dev eth0 root handle 1: htb default 1\nclass add dev eth0 parent 1: classid 1:1 htb rate 1mbit\n",
        "b": "#!/usr/sbin/nft -f\nflush ruleset\ntable inet t {\n}\n",
        "tc class show dev eth1": "class htb 1:10 root leaf 10: prio 0 rate 1Mbit ceil 1Mbit burst 1600b cburst 1600b \n",
        "tc -j qdisc show dev eth1": '[{"kind":"htb","handle":"1:","dev":"eth1","root":true,"refcnt":2,"options":{"r2q":10,"default":"0x10"}}]',
    })
    assert [(each.device, each.kind, each.handle >> 16) for each in tree.devices.qdiscs] == [("eth0", "htb", 1), ("eth1", "htb", 1)]
    assert [(each.device, each.number) for each in tree.devices.classes] == [("eth0", 0x10001), ("eth1", 0x10010)]
    assert [table.name for table in tree.tables] == ["t"]


def test_what_is_taken_away_is_not_in_force() -> None:
    tree = read({
        "f": "table ip t {\n chain c {\n drop\n }\n}\nadd rule ip t c accept\nflush chain ip t c\nadd rule ip t c reject\n"
             "table ip6 u { }\ndelete table ip6 u\n",
        "q": "qdisc add dev eth0 root handle 1: prio\nqdisc add dev eth0 parent 1:1 handle 10: pfifo\nqdisc del dev eth0 root\n"
             "filter add dev eth1 parent 1: protocol all prio 1 matchall classid 1:1\nfilter del dev eth1 parent 1: prio 1\n",
    })  # fmt: skip
    assert [(table.name, [rule.text for rule in table.chains["c"].rules]) for table in tree.tables] == [("t", ["reject"])]
    assert not tree.devices.qdiscs
    assert not tree.devices.filters


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("limit rate 5/second accept", "a decision by a rate"),
        ("ip ttl 5 drop", "a decision by ip ttl"),
        ("ether saddr 02:00:00:00:00:01 accept", "a decision by ether saddr"),
        ("tcp option maxseg size > 1400 drop", "a decision by tcp option maxseg size"),
        ("meta skuid 1000 accept", "a decision by meta skuid"),
        ("queue num 1", "queue"),
        ("@ih,0,8 == 0x16 accept", "a decision by the content of a payload"),
        ("snat to 192.0.2.1-192.0.2.9", "snat to a choice of addresses"),
        ("meta l4proto nonsense accept", "'nonsense' as inet_proto"),
        ("tproxy to :80", "tproxy"),
        ("flow add @f", "flow"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name_and_place(statement: str, what: str) -> None:
    found = _refused(f"table inet t {{\n\tchain c {{\n\t\t{statement}\n\t}}\n}}\n")
    assert len(found) == 1
    assert found[0].startswith("not-modelled f:3:")
    assert what in found[0]


@pytest.mark.parametrize(
    "statement",
    [
        'limit rate 5/second log prefix "x"',
        "ip ttl 5 counter",
        "tcp option maxseg size > 1400 tcp option maxseg size set 1400",
        "tcp option maxseg size set rt mtu",
    ],
)
def test_what_has_no_say_about_packets_may_look_at_anything(statement: str) -> None:
    tree = read({"f": f"table inet t {{\n chain c {{\n {statement}\n }}\n}}\n"})
    assert tree.tables[0].chains["c"].rules == []


def test_all_faults_are_said_at_once() -> None:
    found = _refused("table ip t {\n chain c {\n queue\n tcp dport 70000 drop\n jump nowhere\n ip saddr 10.0.0.300 drop\n }\n}\n")
    assert [each.split()[:2] for each in found] == [["not-modelled", "f:3:2"], ["syntax", "f:4:12"], ["syntax", "f:6:11"], ["syntax", "f:5:2"]]


def test_chains_that_lead_back_are_refused() -> None:
    assert "lead back" in _refused("table ip t {\n chain a {\n jump b\n }\n chain b {\n goto a\n }\n}\n")[0]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("qdisc add dev eth0 root handle 1: qfq", "the queueing discipline qfq"),
        ("filter add dev eth0 parent 1: protocol ip prio 1 route to 5 classid 1:1", "a filter of kind route"),
        ("filter add dev eth0 parent 1: protocol all prio 1 bpf object-file x.o classid 1:1", "bpf object-file"),
        ("filter add dev eth0 parent 1: protocol all prio 1 bpf bytecode '1,52 0 0 1' classid 1:1", "instruction 0"),
        ("filter add dev eth0 parent 1: protocol all prio 1 bpf bytecode '1,21 0 0 1' classid 1:1", "instruction 0"),
        ("filter add dev eth0 parent 1: protocol all prio 1 u32 link 1: match u32 0 0", "u32 link"),
        ("filter add dev eth0 parent 1: protocol all prio 1 matchall action nat egress 1.2.3.4 5.6.7.8", "action nat"),
        ("filter add dev eth0 parent 1: protocol all prio 1 basic match meta( rt_classid eq 5 ) classid 1:1", "the ematch"),
    ],
)
def test_what_tc_is_told_that_is_not_modelled(line: str, what: str) -> None:
    found = _refused(f"# queues\n{line}\n")
    assert len(found) == 1
    assert found[0].startswith("not-modelled f:2:")
    assert what in found[0]


def test_text_that_a_shell_would_change_is_not_guessed_at() -> None:
    assert "the shell would change" in _refused("#!/bin/sh\nnft -f - <<A\ntable ip t {\n chain $NAME { }\n}\nA\n")[0]
    assert "the shell would change" in _refused("#!/bin/sh\ntc qdisc add dev $DEV root handle 1: htb\n")[0]


_BROKEN = (
    "", "table", "table ip t {", "table ip t { chain c {", "qdisc add", "qdisc add dev", "[", "[{}]", "\0", "qdisc add dev eth0 root handle zz: htb",
    "filter add dev eth0 parent 1: prio x u32", "table ip t { set s { elements = { 1 } } }", "filter add dev eth0 parent 1: prio 1 u32 match ip src x",
)  # fmt: skip


@pytest.mark.parametrize("text", _BROKEN)
def test_broken_text_is_a_fault_and_never_a_traceback(text: str) -> None:
    faults = []
    try:
        read({"f": text})
    except Refused as refused:
        faults = list(refused.diagnostics)
    assert all(each.place is not None for each in faults)
    assert faults or not text or text == "[{}]"
