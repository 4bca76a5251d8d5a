"""A running pf, as pfctl prints it, answers like the text that was loaded."""

import pytest

from pfq.diagnostics import Refused
from pfq.headers.asking import Way
from pfq.pf.evaluate import printed, ruleset
from pfq.pf.loaded import queues_text
from pfq.pf.verdict import Tree, read
from tests.pf.evaluate.packets import ACK, Values, answers, follows, opens, packet, reasons

QUEUES_76 = """\
queue root on em0 bandwidth 1M, max 1M qlimit 50
queue def parent root bandwidth 800K default qlimit 50
  [ pkts:          5  bytes:        420  dropped pkts:      0 bytes:      0 ]
  [ qlength:   0/ 50 ]
queue ack parent root bandwidth 100K qlimit 50
"""
RULES_76 = """\
@0 match out on em0 inet from 192.168.1.0/24 to any nat-to (em0) round-robin
  [ Evaluations: 10        Packets: 3         Bytes: 300         States: 1     ]
@1 match out on em0 proto tcp from any to <servers> port = 80 set (queue(def, ack))
@2 pass all flags S/SA
"""


def test_a_running_openbsd() -> None:
    asked = ruleset(printed("openbsd-7.6", RULES_76, queues=QUEUES_76, tables={"servers": "   198.51.100.7\n   198.51.100.64/26\n"}))
    assert follows(asked, packet()) == "em0:ack"
    assert follows(asked, packet(later_payload=1)) == "em0:def"
    assert follows(asked, packet(destination="203.0.113.9")) == "em0:def"
    assert [(note.place.file, note.place.line) for note in reasons(asked, packet())] == [("pfctl -sr", 4), ("pfctl -sr", 3), ("pfctl -sr", 4)]
    assert ("pfctl -sq", 2) in [(note.place.file, note.place.line) for note in reasons(asked, packet(destination="203.0.113.9"))]


PRIQ = """\
queue q_pri on kue0 priority 7
queue q_def on kue0 priq( default )
"""
RULES_44 = """\
scrub on kue0 all max-mss 1440 fragment reassemble
pass out on kue0 inet proto tcp from any to any flags S/SA keep state queue(q_def, q_pri)
"""
NAT_44 = "nat on kue0 inet from 192.168.1.0/24 to any -> (kue0) round-robin\n"


def test_a_running_altq() -> None:
    asked = ruleset(printed("openbsd-4.4", RULES_44, NAT_44, PRIQ))
    way = Way("em1", "kue0")
    assert follows(asked, packet(), way) == "kue0:q_pri"
    assert opens(asked, packet(flags=ACK, payload=1), way) == "kue0:q_def"


def test_a_line_that_is_no_queue_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        printed("openbsd-4.4", RULES_44, queues="No queue in use\n" + PRIQ)
    assert str(refused.value.diagnostics[0].place) == "pfctl -sq:1:1"


TREES = {
    "openbsd-4.4": """
scrub in all
altq on em0 hfsc bandwidth 10Mb queue { def, bulk }
queue def on em0 bandwidth 20% hfsc(default)
queue bulk on em0 bandwidth 60% { web, mail }
queue web on em0 bandwidth 40%
queue mail on em0 bandwidth 40%
altq on em1 priq bandwidth 10Mb queue { web, def }
queue web on em1 priority 5
queue def on em1 priority 2 priq(default)
nat on em0 inet from 192.168.1.0/24 to any -> 203.0.113.1
pass on em0 queue bulk
pass out on em0 proto tcp to port 80 queue (web, mail)
pass out on em0 proto udp queue mail
""",
    "freebsd-12.1": """
altq on em0 cbq bandwidth 10Mb queue { def, bulk }
queue def on em0 bandwidth 20% cbq(default)
queue bulk on em0 bandwidth 60% cbq { web, mail }
queue web on em0 bandwidth 40% cbq(borrow)
queue mail on em0 bandwidth 40%
rdr on em0 inet proto tcp from any to 203.0.113.1 port 80 -> 192.168.1.5
pass on em0 queue bulk
pass out on em0 proto tcp to port 80 queue (web, mail)
""",
    "openbsd-7.6": """
queue root on em0 bandwidth 10M, max 10M
queue def on em0 parent root bandwidth 1M default
queue bulk on em0 parent root bandwidth 5M
queue web on em0 parent bulk bandwidth 1M
queue mail on em0 parent bulk bandwidth 1M
anchor "shop" on em0 {
  match proto tcp to port 80 set queue (web, mail)
  match proto udp set queue mail
}
match out on em0 inet from 192.168.1.0/24 nat-to 203.0.113.1
pass
block in on em0 proto tcp to port 25
""",
}
PACKETS: list[Values] = [packet(), packet(port=25), packet(protocol=17, port=53), packet(later_payload=1), packet(tos=0x10), packet(port=80, flags=ACK)]


def _parts(tree: Tree) -> tuple[str, str, str]:
    """What the commands print of a tree: rules, translation, queues."""
    lines = tree.verdict.stdout.splitlines(keepends=True)
    queues = [line for line in lines if line.startswith(("queue", "altq"))]
    nat = [line for line in lines if line.startswith(("nat", "rdr", "binat", "no "))]
    return "".join(line for line in lines if line not in queues and line not in nat), "".join(nat), "".join(queues)


@pytest.mark.parametrize("dialect", TREES)
@pytest.mark.parametrize("loaded", [False, True], ids=["-vnf", "-sq"])
def test_what_is_printed_answers_like_what_was_written(dialect: str, loaded: bool) -> None:
    tree = read(TREES[dialect], dialect, verbose=True)
    assert not tree.verdict.status, tree.verdict.stderr
    rules, nat, queues = _parts(tree)
    if loaded and not tree.reading.dialect.queue_trees:
        queues = queues_text(tree.reading)
    shown = printed(dialect, rules, nat, queues)
    assert not shown.verdict.status, shown.verdict.stderr
    one, other = ruleset(tree), ruleset(shown)
    for values in PACKETS:
        assert opens(one, values) == opens(other, values)
        assert follows(one, values) == follows(other, values)
        assert answers(one, values) == answers(other, values)
