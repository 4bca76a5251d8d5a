"""Why a packet is in a queue: the lines that decided, in the order in which pf came to them."""

from pfq.headers.algebra import Condition, Exactly
from pfq.headers.asking import Decision, Ruleset, later_view, opening_view
from tests.pf.evaluate.packets import ACK, DIAGRAMS, OUTWARD, UDP, Values, exactly, packet, reasons, rules
from tests.pf.evaluate.test_traps import ALTQ, QUEUES

AFTER = QUEUES.count("\n")


def _said(notes: list[Decision], first: int = AFTER) -> list[tuple[int, str]]:
    """Lines counted from the first behind the queues, and why."""
    return [(note.place.line - first, note.why) for note in notes]


def _later(asked: Ruleset, values: Values, reply: bool = False) -> list[Decision]:
    notes: list[Decision] = []
    algebra = Exactly(values)
    memory = asked.opening(OUTWARD, opening_view(algebra, []))[1]
    asked.following(memory, OUTWARD.back() if reply else OUTWARD, later_view(algebra, reply, notes))
    return notes


def test_the_rules_that_decide_and_those_that_name_the_queue() -> None:
    asked = rules(QUEUES + "match out on em0 set queue voice\nmatch out on em0 proto tcp set queue (def, ack)\npass out\nblock quick on em0 proto udp\n")
    nothing = "in on em1: no rule matches: it passes, and no state is kept"
    assert _said(reasons(asked, packet())) == [
        (1 - AFTER, nothing), (2, "out on em0: match: queue (def, ack): the first of them"), (3, "out on em0: last match"),
    ]
    assert _said(reasons(asked, packet(protocol=UDP)))[-1] == (4, "out on em0: quick, blocks")


def test_a_state_remembers() -> None:
    asked = rules(QUEUES + "match out on em0 set queue (def, ack)\npass\n")
    empty = "the state made by line {} remembers it: queue (def, ack): ACK without payload"
    assert _said(_later(asked, packet())) == [
        (2, f"in on em1: the state made by line {AFTER + 2} remembers it"),
        (1, f"out on em0: {empty.format(AFTER + 1)}"),
        (2, f"out on em0: the state made by line {AFTER + 2} remembers it"),
    ]
    assert [why for _, why in _said(_later(asked, packet(later_payload=1, later_tos=0x10)))][1].endswith("queue (def, ack): ToS bit 0x10")
    assert [why.partition(":")[0] for _, why in _said(_later(asked, packet(), reply=True))] == ["in on em0", "in on em0", "out on em1"]


def test_a_lost_match_is_said() -> None:
    asked = rules(QUEUES + "match out on em0 set queue voice\npass out on em0 no state\n")
    said = _said(reasons(asked, packet()))
    assert (1, "out on em0: match: its queue is lost, since there is no state to keep it") in said
    assert (2, "out on em0: last match, keeps no state") in said
    assert said[-1] == (3 - AFTER, "default queue: no rule names one")


def test_the_default_queue_says_why() -> None:
    asked = rules(ALTQ + "pass out on em0 queue voise\n", "openbsd-4.4")
    assert reasons(asked, packet())[-1].why == "default queue: there is no voise on em0"
    assert reasons(asked, packet())[-1].text == "queue def priority 2 priq( default )"


def test_what_pf_drops_by_itself_says_why() -> None:
    asked = rules(QUEUES + "pass\n")
    assert reasons(asked, packet(flags=0))[0].why == "in on em1: dropped: TCP flags that no TCP sends"
    assert reasons(asked, packet(header_words=6))[0].why == "in on em1: dropped: IP options, and the rule has no allow-opts"
    assert [note.why for note in _later(asked, packet(later_header_words=6))][-1] == "in on em1: dropped: IP options, and the state's rule has no allow-opts"


def test_translation_is_said() -> None:
    asked = rules(ALTQ + "nat on em0 from 192.168.1.0/24 to any -> (em0)\npass\n", "openbsd-4.4")
    notes = reasons(asked, packet(flags=ACK, payload=1))
    assert [note.why for note in notes if note.text.startswith("nat")] == ["out on em0: translation: first match"]


def test_rules_in_anchors_and_loaded_files_have_their_own_places() -> None:
    text = QUEUES + 'anchor "here" {\n  match out on em0 set queue voice\n}\nanchor "there"\nload anchor "there" from "there.conf"\n'
    asked = rules(text, files={"there.conf": "\n\npass out on em0 set queue ack\n"})
    places = [str(note.place) for note in reasons(asked, packet())]
    assert places[-1] == "there.conf:3:1"
    assert f"pf.conf:{AFTER + 2}:1" not in places, "the final rule's queue beats the match"


def test_among_all_packets_each_reason_knows_which_it_is_about() -> None:
    asked = rules(QUEUES + "match out on em0 proto tcp set queue (def, ack)\npass\nblock out on em0 proto udp to port 53\n")
    regions: dict[Decision, Condition] = {}
    asked.opening(OUTWARD, opening_view(DIAGRAMS, regions=regions))
    for values in (packet(), packet(tos=0x10), packet(protocol=UDP, port=53), packet(protocol=UDP), packet(header_words=6)):
        one = exactly(DIAGRAMS, values)
        assert {note for note, where in regions.items() if (where & one).satisfiable()} == {*reasons(asked, values)}
