"""Anchors: nested, loaded, quick."""

import pytest

from tests.pf.evaluate.packets import UDP, opens, packet, rules
from tests.pf.evaluate.test_traps import ALTQ, ALTQ_RELEASES, QUEUES

BOTH = [("openbsd-4.4", ALTQ), ("freebsd-12.1", ALTQ), ("openbsd-7.6", QUEUES)]


@pytest.mark.parametrize(("dialect", "queues"), BOTH)
def test_a_rule_in_an_anchor_is_as_good_as_one_outside(dialect: str, queues: str) -> None:
    asked = rules(queues + "pass out on em0 queue def\nanchor out on em0 proto tcp {\n  pass to any queue voice\n}\n", dialect)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(protocol=UDP)) == "em0:def"


@pytest.mark.parametrize(("dialect", "queues"), BOTH)
def test_quick_inside_an_anchor_ends_everything(dialect: str, queues: str) -> None:
    asked = rules(queues + "anchor on em0 {\n  pass quick proto tcp queue voice\n}\npass out on em0 queue ack\n", dialect)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(protocol=UDP)) == "em0:ack"


@pytest.mark.parametrize(("dialect", "queues"), BOTH)
def test_a_quick_anchor_ends_everything_if_a_rule_in_it_matches(dialect: str, queues: str) -> None:
    asked = rules(queues + "anchor quick on em0 {\n  pass proto tcp queue voice\n}\npass out on em0 queue ack\n", dialect)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(protocol=UDP)) == "em0:ack"


def test_match_rules_do_not_make_a_quick_anchor_end() -> None:
    asked = rules(QUEUES + "anchor quick on em0 {\n  match proto tcp set queue voice\n}\npass out on em0 set queue ack\n")
    assert opens(asked, packet()) == "em0:ack"


NESTED = "anchor quick on em0 {\n  pass proto tcp queue voice\n  anchor {\n    pass proto PROTO queue ack\n  }\n}\npass out on em0 queue def\n"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_older_releases_forget_a_match_when_they_go_into_the_next_anchor(dialect: str) -> None:
    assert opens(rules(ALTQ + NESTED.replace("PROTO", "tcp"), dialect), packet()) == "em0:ack"
    assert opens(rules(ALTQ + NESTED.replace("PROTO", "udp"), dialect), packet()) == "em0:def"


def test_newer_releases_ask_whether_the_last_match_stands_in_the_quick_anchor_itself() -> None:
    assert opens(rules(QUEUES + NESTED.replace("PROTO", "tcp")), packet()) == "em0:def"
    assert opens(rules(QUEUES + NESTED.replace("PROTO", "udp")), packet()) == "em0:voice"


@pytest.mark.parametrize(("dialect", "queues"), BOTH)
def test_anchors_that_are_loaded(dialect: str, queues: str) -> None:
    files = {"a.conf": "pass out on em0 proto tcp queue voice\n", "b.conf": "pass out on em0 proto udp queue ack\n"}
    text = queues + 'anchor "shop/*"\nanchor "empty"\nload anchor "shop/a" from "a.conf"\nload anchor "shop/b" from "b.conf"\n'
    asked = rules(text, dialect, files=files)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(protocol=UDP)) == "em0:ack"
    assert opens(asked, packet(protocol=47)) == "em0:def"


@pytest.mark.parametrize(("dialect", "queues"), BOTH)
def test_the_tag_of_an_anchor_is_set_for_what_goes_in(dialect: str, queues: str) -> None:
    asked = rules(queues + "anchor proto tcp tag seen {\n  block proto udp\n}\npass out on em0 tagged seen queue voice\n", dialect)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(protocol=UDP)) == "em0:def"


def test_translation_in_loaded_anchors() -> None:
    text = ALTQ.strip("\n") + '\nnat-anchor "shop"\npass out on em0 from 203.0.113.1 queue voice\nload anchor shop from "shop.conf"\n'
    asked = rules(text, "openbsd-4.4", files={"shop.conf": "nat on em0 from 192.168.1.0/24 to any -> 203.0.113.1\n"})
    assert opens(asked, packet()) == "em0:voice"
