"""Each trap of pf's queueing, by its name, for one packet and among all packets. The releases: ALTQ of OpenBSD 4.4 and FreeBSD 12.1, queues of 7.6."""

import pytest

from pfq.headers.asking import Way
from tests.pf.evaluate.packets import ACK, ICMP, INWARD, PUSH, RST, SYN, TCP, UDP, answers, follows, opens, packet, rules

ALTQ = """
altq on em0 priq bandwidth 1Mb queue { def, ack, voice }
queue def priority 2 priq(default)
queue ack priority 5
queue voice priority 7
"""
QUEUES = """
queue root on em0 bandwidth 1M, max 1M
queue def on em0 parent root bandwidth 800K default
queue ack on em0 parent root bandwidth 100K
queue voice on em0 parent root bandwidth 100K
"""
ALTQ_RELEASES = ("openbsd-4.4", "freebsd-12.1")
SIX = ("2001:db8:2::5", "2001:db8:3::7")


# --- 1: the second queue


@pytest.mark.parametrize(("dialect", "queues"), [("openbsd-4.4", ALTQ), ("freebsd-12.1", ALTQ), ("openbsd-7.6", QUEUES)])
def test_empty_acks_and_low_delay_take_the_second_queue(dialect: str, queues: str) -> None:
    asked = rules(queues + "pass out on em0 queue (def, ack)\n", dialect)
    assert opens(asked, packet()) == "em0:def"
    assert opens(asked, packet(tos=0x10)) == "em0:ack"
    for flags in (ACK, SYN | ACK, RST | ACK):
        assert follows(asked, packet(later_flags=flags)) == "em0:ack"
    assert follows(asked, packet(later_payload=1)) == "em0:def"
    assert follows(asked, packet(later_payload=1, later_tos=0x10)) == "em0:ack"
    assert follows(asked, packet(later_flags=RST)) == "em0:def"
    assert follows(asked, packet(later_offset_words=8)) == "em0:ack"
    assert opens(asked, packet(protocol=UDP, port=53)) == "em0:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_ipv6_never_takes_the_second_queue_under_altq(dialect: str) -> None:
    asked = rules(ALTQ + "pass out on em0 queue (def, ack)\n", dialect)
    assert follows(asked, packet(*SIX)) == "em0:def"
    assert follows(asked, packet(*SIX, later_tos=0x10)) == "em0:def"


def test_ipv6_takes_the_second_queue_in_newer_releases() -> None:
    asked = rules(QUEUES + "pass out on em0 queue (def, ack)\n")
    assert follows(asked, packet(*SIX)) == "em0:ack"
    assert opens(asked, packet(*SIX, tos=0x10)) == "em0:ack"


def test_expedited_forwarding_has_the_low_delay_bit_and_class_selector_five_has_not() -> None:
    asked = rules(QUEUES + "pass out on em0 queue (def, ack)\n")
    for dscp, expected in ((46, "ack"), (44, "ack"), (36, "ack"), (40, "def"), (34, "def"), (10, "def")):
        assert opens(asked, packet(protocol=UDP, tos=dscp << 2)) == f"em0:{expected}"


def test_one_queue_is_both_queues() -> None:
    assert follows(rules(QUEUES + "pass out on em0 queue voice\n"), packet()) == "em0:voice"


def test_ecn_bits_hide_tos_from_the_oldest_release_only() -> None:
    text = ALTQ + "pass out on em0 tos 0x08 queue voice\n"
    assert opens(rules(text, "openbsd-4.4"), packet(tos=0x08)) == "em0:voice"
    assert opens(rules(text, "openbsd-4.4"), packet(tos=0x0A)) == "em0:def"
    assert opens(rules(text, "freebsd-12.1"), packet(tos=0x0A)) == "em0:voice"
    assert opens(rules(QUEUES + "pass out on em0 tos 0x08 queue voice\n"), packet(tos=0x0A)) == "em0:voice"
    assert opens(rules(text, "freebsd-12.1"), packet(*SIX, tos=0x08)) == "em0:def"


def test_altq_reads_tos_after_scrub_has_set_it() -> None:
    asked = rules("scrub on em0 all set-tos 0x10\n" + ALTQ + "pass out on em0 queue (def, ack)\n", "openbsd-4.4")
    assert opens(asked, packet(payload=1)) == "em0:ack"


def test_newer_releases_read_tos_before_they_set_it() -> None:
    here = rules(QUEUES + "pass out on em0 set tos 0x10 set queue (def, ack)\n".replace(" set queue", " queue"))
    assert opens(here, packet()) == "em0:def"
    before = rules(QUEUES + "pass in on em1 set tos 0x10\npass out on em0 queue (def, ack)\n")
    assert opens(before, packet()) == "em0:ack"
    assert follows(before, packet(later_payload=1)) == "em0:ack"


# --- 1: which rule supplies the queues


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_altq_takes_the_queue_of_the_last_match_or_of_the_first_quick_one(dialect: str) -> None:
    text = "pass out on em0 queue def\npass out on em0 proto tcp queue voice\npass out on em0 proto tcp to port 25 queue ack\n"
    assert opens(rules(ALTQ + text, dialect), packet()) == "em0:voice"
    assert opens(rules(ALTQ + text, dialect), packet(port=25)) == "em0:ack"
    assert opens(rules(ALTQ + text.replace("on em0 proto tcp queue", "quick on em0 proto tcp queue"), dialect), packet(port=25)) == "em0:voice"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_stateless_rules_give_both_queues_under_altq(dialect: str) -> None:
    asked = rules(ALTQ + "pass out on em0 no state queue (def, ack)\n", dialect)
    assert opens(asked, packet(flags=ACK)) == "em0:ack"
    assert follows(asked, packet(later_payload=1)) == "em0:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_translation_that_passes_leaves_packets_in_the_default_queue(dialect: str) -> None:
    text = "nat {} on em0 inet from 192.168.1.0/24 to any -> 203.0.113.1\npass out on em0 queue voice\n"
    assert opens(rules(ALTQ + text.format("pass"), dialect), packet()) == "em0:def"
    assert follows(rules(ALTQ + text.format("pass"), dialect), packet(later_payload=1)) == "em0:def"
    assert opens(rules(ALTQ + text.format(""), dialect), packet()) == "em0:voice"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_filter_rules_see_translated_addresses_under_altq(dialect: str) -> None:
    text = "nat on em0 inet from 192.168.1.0/24 to any -> 203.0.113.1\npass out on em0 from {} queue voice\n"
    assert opens(rules(ALTQ + text.format("192.168.1.5"), dialect), packet()) == "em0:def"
    assert opens(rules(ALTQ + text.format("203.0.113.1"), dialect), packet()) == "em0:voice"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_a_tag_from_the_inside_tells_hosts_apart_behind_nat(dialect: str) -> None:
    text = "nat on em0 inet from 192.168.1.0/24 to any -> 203.0.113.1\npass in on em1 from 192.168.1.5 tag boss\npass out on em0 tagged boss queue voice\n"
    asked = rules(ALTQ + text, dialect)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet("192.168.1.6")) == "em0:def"
    assert follows(asked, packet(later_payload=1)) == "em0:voice"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_no_nat_keeps_the_address(dialect: str) -> None:
    text = "no nat on em0 from 192.168.1.5 to any\nnat on em0 from 192.168.1.0/24 to any -> (em0)\npass out on em0 from 192.168.1.0/24 queue voice\n"
    assert opens(rules(ALTQ + text, dialect), packet()) == "em0:voice"
    assert opens(rules(ALTQ + text, dialect), packet("192.168.1.6")) == "em0:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_translation_keeps_state_whatever_the_rule_says(dialect: str) -> None:
    text = "nat on em0 from 192.168.1.0/24 to any -> (em0)\npass out on em0 proto tcp flags S/SA no state queue voice\n"
    asked = rules(ALTQ + text, dialect)
    assert follows(asked, packet()) == "em0:voice"
    assert follows(rules(ALTQ + text.partition("\n")[2], dialect), packet()) == "em0:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_one_to_one_translation_works_from_either_end(dialect: str) -> None:
    text = "binat on em0 from 192.168.1.20 to any -> 203.0.113.20\npass on em0 queue def\npass in on em0 to 192.168.1.20 queue voice\n"
    asked = rules(ALTQ + text + "pass out on em0 from 203.0.113.20 queue ack\n", dialect)
    inward = packet("198.51.100.7", "203.0.113.20", later_payload=1)
    assert opens(asked, inward, INWARD) == "-"
    assert answers(asked, inward, INWARD) == "em0:voice"
    assert opens(asked, packet("192.168.1.20")) == "em0:ack"
    assert opens(asked, packet("192.168.1.21")) == "em0:def"


def test_match_rules_add_up() -> None:
    text = "match on em0 set queue def\nmatch on em0 proto tcp set queue voice\nmatch out on em0 set prio 5\npass on em0\n"
    assert opens(rules(QUEUES + text), packet()) == "em0:voice"
    assert opens(rules(QUEUES + text), packet(protocol=UDP)) == "em0:def"


def test_the_final_pass_beats_every_match_wherever_it_stands() -> None:
    assert opens(rules(QUEUES + "pass out on em0 set queue ack\nmatch out on em0 set queue voice\n"), packet()) == "em0:ack"
    assert opens(rules(QUEUES + "match out on em0 set queue voice\npass out on em0 set queue ack\n"), packet()) == "em0:ack"


def test_a_match_is_lost_without_a_state() -> None:
    match = "match out on em0 set queue voice\n"
    assert opens(rules(QUEUES + match), packet()) == "em0:def"
    assert opens(rules(QUEUES + match + "pass out on em0 no state\n"), packet()) == "em0:def"
    assert opens(rules(QUEUES + match + "pass out on em0\n"), packet()) == "em0:voice"
    assert follows(rules(QUEUES + match + "pass out on em0\n"), packet(later_payload=1)) == "em0:voice"


def test_a_queue_on_a_stateless_pass_counts() -> None:
    asked = rules(QUEUES + "pass out on em0 proto tcp flags any no state set queue (def, ack)\n")
    assert opens(asked, packet(flags=ACK)) == "em0:ack"
    assert follows(asked, packet(later_payload=1)) == "em0:def"


def test_a_match_with_nat_to_changes_what_later_rules_see() -> None:
    nat = "match out on em0 inet from 192.168.1.0/24 nat-to 203.0.113.1\n"
    match = "match out on em0 from 192.168.1.5 set queue voice\n"
    assert opens(rules(QUEUES + nat + match + "pass\n"), packet()) == "em0:def"
    assert opens(rules(QUEUES + match + nat + "pass\n"), packet()) == "em0:voice"
    assert opens(rules(QUEUES + nat + match.replace("192.168.1.5", "203.0.113.1") + "pass\n"), packet()) == "em0:voice"


def test_a_pass_with_nat_to_translates_after_the_rules() -> None:
    text = "match out on em0 from 192.168.1.0/24 set queue voice\npass out on em0 inet from 192.168.1.0/24 nat-to 203.0.113.1\n"
    asked = rules(QUEUES + text + "match out on em0 from 192.168.1.5 set queue ack\n")
    assert opens(asked, packet()) == "em0:ack"
    assert opens(asked, packet("192.168.1.6")) == "em0:voice"


def test_received_on_tells_where_a_packet_came_in() -> None:
    asked = rules(QUEUES + "match out on em0 received-on em1 set queue voice\npass\n")
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(), way=INWARD.back()) == "em0:voice"
    other = rules(QUEUES + "match out on em0 received-on em2 set queue voice\npass\n")
    assert opens(other, packet()) == "em0:def"


# --- 1: states


@pytest.mark.parametrize(("dialect", "queues"), [("openbsd-4.4", ALTQ), ("openbsd-7.6", QUEUES)])
def test_the_state_of_a_flow_from_outside_queues_its_answers(dialect: str, queues: str) -> None:
    asked = rules(queues + "pass in on em0 proto tcp to port 80 queue (voice, ack)\npass out on em0 queue def\n", dialect)
    flow = packet("198.51.100.7", "192.168.1.5", later_payload=1)
    assert answers(asked, flow, INWARD) == "em0:voice"
    assert answers(asked, flow | {"later_payload": 0}, INWARD) == "em0:ack"


@pytest.mark.parametrize(("dialect", "queues"), [("openbsd-4.4", ALTQ), ("freebsd-12.1", ALTQ), ("openbsd-7.6", QUEUES)])
def test_pass_keeps_state_and_begins_with_a_syn(dialect: str, queues: str) -> None:
    asked = rules(queues + "block\npass out on em0 proto tcp queue voice\npass on em1\n", dialect)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(flags=ACK)) == "block"
    assert follows(asked, packet(later_payload=9)) == "em0:voice"
    assert follows(asked, packet(flags=ACK)) == "block"


def test_connections_from_before_the_load_match_flags_any_only() -> None:
    asked = rules(QUEUES + "pass out on em0 proto tcp set queue ack\npass out on em0 proto tcp to port 22 flags any set queue voice\n")
    assert opens(asked, packet(flags=ACK, payload=1)) == "em0:def"
    assert opens(asked, packet(flags=ACK, payload=1, port=22)) == "em0:voice"
    assert follows(asked, packet(flags=ACK, payload=1, port=22, later_payload=1)) == "em0:voice"


def test_a_blocked_opener_leaves_no_state() -> None:
    asked = rules(QUEUES + "block out on em0 proto tcp flags S/SA\npass out on em0 proto tcp flags A/A no state set queue voice\n")
    assert opens(asked, packet()) == "block"
    assert follows(asked, packet(later_payload=1)) == "em0:voice"


def test_a_stateless_flow_is_judged_packet_by_packet_in_its_own_direction() -> None:
    asked = rules(QUEUES + "pass in on em0 no state\npass out on em0 proto tcp from port 80 no state set queue voice\n")
    flow = packet("198.51.100.7", "192.168.1.5", later_payload=1)
    assert answers(asked, flow, INWARD) == "em0:voice"
    assert answers(asked, flow | {"destination_port": 81}, INWARD) == "em0:def"


def test_the_implicit_pass_keeps_no_state() -> None:
    asked = rules(QUEUES + "block out on em0 proto tcp from port 80\n")
    assert answers(asked, packet("198.51.100.7", "192.168.1.5"), INWARD) == "block"


def test_icmp_answers_without_a_state_pass_over_stateful_rules_in_newer_releases() -> None:
    reply = packet(protocol=ICMP, icmp_type=0)
    assert opens(rules(QUEUES + "pass out on em0 set queue voice\n"), reply) == "em0:def"
    assert opens(rules(QUEUES + "pass out on em0 set queue voice\n"), packet(protocol=ICMP, icmp_type=8)) == "em0:voice"
    assert opens(rules(ALTQ + "pass out on em0 queue voice\n", "openbsd-4.4"), reply) == "em0:voice"


def test_icmp_errors_keep_no_state_so_that_a_match_is_lost_on_them() -> None:
    text = "match out on em0 set queue voice\npass out on em0\n"
    assert opens(rules(QUEUES + text), packet(protocol=ICMP, icmp_type=3)) == "em0:def"
    assert opens(rules(QUEUES + text), packet(protocol=ICMP, icmp_type=8)) == "em0:voice"


# --- 1: fragments


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_fragments_match_only_rules_without_ports_unless_scrub_puts_them_together(dialect: str) -> None:
    text = ALTQ + "pass out on em0 queue def\npass out on em0 proto udp to port 80 queue voice\n"
    first, later = packet(protocol=UDP, fragment=1, payload=1400), packet(protocol=UDP, fragment=2, payload=1400)
    assert opens(rules(text, dialect), first) == opens(rules(text, dialect), later) == "em0:def"
    assert opens(rules("scrub on em0 all\n" + text, dialect), first) == "em0:voice"
    assert opens(rules("scrub on em0 all fragment crop\n" + text, dialect), first) == "em0:def"


def test_fragments_behind_the_first_lose_their_queue_in_the_oldest_release() -> None:
    text = "scrub all\n" + ALTQ + "pass out on em0 queue voice\n"
    later = packet(protocol=UDP, fragment=2, payload=1400)
    assert opens(rules(text, "openbsd-4.4"), later) == "em0:def"
    assert opens(rules(text, "freebsd-12.1"), later) == "em0:voice"


def test_newer_releases_put_fragments_together_unless_told_otherwise() -> None:
    text = QUEUES + "pass out on em0 proto udp to port 80 set queue voice\n"
    for fragment in (1, 2):
        whole = packet(protocol=UDP, fragment=fragment, payload=1400)
        assert opens(rules(text), whole) == "em0:voice"
        assert opens(rules("set reassemble no\n" + text), whole) == "em0:def"


def test_a_fragment_rule_is_for_fragments() -> None:
    text = "set reassemble no\n" + QUEUES + "pass out on em0 fragment set queue voice\n"
    assert opens(rules(text), packet(protocol=UDP, fragment=2)) == "em0:voice"
    assert opens(rules(text), packet(protocol=UDP)) == "em0:def"


# --- 1: crossing interfaces


@pytest.mark.parametrize(("dialect", "queues"), [("openbsd-4.4", ALTQ), ("openbsd-7.6", QUEUES)])
def test_a_queue_from_the_inside_sticks_unless_the_outside_names_one(dialect: str, queues: str) -> None:
    inside = "pass in on em1 queue voice\n"
    assert opens(rules(queues + inside, dialect), packet()) == "em0:voice"
    assert opens(rules(queues + inside + "pass out on em0\n", dialect), packet()) == "em0:voice"
    assert opens(rules(queues + inside + "pass out on em0 queue ack\n", dialect), packet()) == "em0:ack"
    assert follows(rules(queues + inside + "pass out on em0\n", dialect), packet(later_payload=1)) == "em0:voice"


BOTH = QUEUES + """
queue down on em1 bandwidth 10M, max 10M
queue def on em1 parent down bandwidth 8M default
queue voice on em1 parent down bandwidth 1M
"""


def test_downloads_are_shaped_on_the_inside_by_the_state_of_that_side() -> None:
    asked = rules(BOTH + "pass in on em1 set queue voice\npass out on em0 set queue ack\n")
    assert opens(asked, packet()) == "em0:ack"
    assert answers(asked, packet(later_payload=1)) == "em1:voice"


def test_a_name_on_both_interfaces_shapes_both_directions_from_one_rule() -> None:
    asked = rules(BOTH + "pass out on em0 set queue voice\n")
    assert opens(asked, packet()) == "em0:voice"
    assert answers(asked, packet(later_payload=1)) == "em1:voice"


def test_a_name_that_the_device_does_not_know_means_its_default() -> None:
    asked = rules(BOTH + "pass out on em0 set queue ack\n")
    assert answers(asked, packet(later_payload=1)) == "em1:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_a_typo_in_a_queue_name_is_the_default_queue(dialect: str) -> None:
    assert opens(rules(ALTQ + "pass out on em0 queue voise\n", dialect), packet()) == "em0:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_a_queue_that_is_announced_and_never_defined_is_the_default_queue(dialect: str) -> None:
    text = ALTQ.replace("voice }", "voice, ghost }") + "pass out on em0 queue ghost\n"
    assert opens(rules(text, dialect), packet()) == "em0:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_a_missing_default_drops_what_no_rule_names(dialect: str) -> None:
    last = "altq on em1 priq bandwidth 1Mb queue { other }\nqueue other priq(default)\n"
    asked = rules(ALTQ.replace("priq(default)", "") + last + "pass out on em0 proto tcp queue voice\n", dialect)
    assert opens(asked, packet()) == "em0:voice"
    assert opens(asked, packet(protocol=UDP)) == "block"


HFSC = """
altq on em0 hfsc bandwidth 1Mb queue { bulk, def }
queue def bandwidth 20% hfsc(default)
queue bulk bandwidth 70% hfsc { web, mail }
queue web bandwidth 50%
queue mail bandwidth 50%
"""


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_an_inner_class_of_hfsc_is_the_default_queue_and_one_of_cbq_is_not(dialect: str) -> None:
    assert opens(rules(HFSC + "pass out on em0 queue bulk\n", dialect), packet()) == "em0:def"
    cbq = HFSC.replace("hfsc bandwidth", "cbq bandwidth").replace("hfsc(default)", "cbq(default)").replace("70% hfsc", "70% cbq")
    assert opens(rules(cbq + "pass out on em0 queue bulk\n", dialect), packet()) == "em0:bulk"


def test_rules_on_pppoe_feed_the_queues_of_its_parent() -> None:
    text = QUEUES + "match on pppoe0 set queue voice\npass\n"
    assert opens(rules(text, carriers={"pppoe0": "em0"}), packet(), Way("em1", "pppoe0")) == "em0:voice"
    assert opens(rules(text), packet(), Way("em1", "pppoe0")) == "-"


def test_a_skipped_interface_classifies_nothing_and_clears_nothing() -> None:
    assert opens(rules("set skip on em0\n" + QUEUES + "pass in on em1 set queue voice\nblock out on em0\n"), packet()) == "em0:voice"
    assert opens(rules("set skip on { em0 em1 }\n" + QUEUES + "pass set queue voice\n"), packet()) == "em0:def"


@pytest.mark.parametrize("dialect", ALTQ_RELEASES)
def test_a_queue_on_the_anchor_line_does_nothing(dialect: str) -> None:
    assert opens(rules(ALTQ + "anchor out on em0 queue voice {\n pass out on em0 proto tcp\n}\n", dialect), packet()) == "em0:def"
    assert opens(rules(ALTQ + "anchor out on em0 {\n pass out on em0 proto tcp queue voice\n}\n", dialect), packet()) == "em0:voice"


# --- 2 and 10: definitions


def test_a_child_bound_to_an_interface_overrides_a_floating_one() -> None:
    text = """
queue root on em0 bandwidth 1M, max 1M
queue def parent root bandwidth 500K default
queue voice parent root bandwidth 100K
queue voice on em0 parent root bandwidth 200K
pass out on em0 set queue voice
"""
    assert opens(rules(text), packet()) == "em0:voice"


def test_of_two_defaults_the_last_wins() -> None:
    text = "queue root on em0 bandwidth 1M\nqueue one parent root bandwidth 1K default\nqueue two parent root bandwidth 1K default\n"
    assert opens(rules(text + "pass\n"), packet()) == "em0:two"


def test_a_root_of_flows_alone_has_one_place_to_wait() -> None:
    assert opens(rules("queue fq on em0 flows 1024\npass\n"), packet()) == "em0:fq"


# --- what pf drops without asking


def test_options_are_dropped_unless_the_rule_allows_them() -> None:
    for extra, expected in (("", "block"), (" allow-opts", "em0:voice")):
        asked = rules(QUEUES + f"pass{extra}\npass out on em0{extra} set queue voice\n")
        assert opens(asked, packet(header_words=6)) == expected
        assert opens(asked, packet(*SIX, extension_words=1)) == expected
        assert follows(asked, packet(later_header_words=6, later_payload=1)) == expected
    old = rules(ALTQ + "pass out on em0 queue voice\n", "openbsd-4.4")
    assert opens(old, packet(header_words=6)) == "block"
    assert opens(old, packet(*SIX, extension_words=1)) == "em0:voice"


@pytest.mark.parametrize("flags", [0, SYN | RST, PUSH, SYN | PUSH])
def test_impossible_flags_are_dropped_where_tcp_is_checked(flags: int) -> None:
    assert opens(rules(QUEUES + "pass no state\n"), packet(flags=flags)) == "block"
    assert opens(rules(ALTQ + "pass no state\n", "openbsd-4.4"), packet(flags=flags)) == "em0:def"
    assert opens(rules("scrub all\n" + ALTQ + "pass no state\n", "openbsd-4.4"), packet(flags=flags)) == "block"


@pytest.mark.parametrize(("dialect", "queues"), [("openbsd-4.4", ALTQ), ("freebsd-12.1", ALTQ), ("openbsd-7.6", QUEUES)])
def test_icmp_of_the_other_family_and_udp_to_port_zero_are_dropped(dialect: str, queues: str) -> None:
    asked = rules(queues + "pass\n", dialect)
    assert opens(asked, packet(protocol=58, icmp_type=128)) == "block"
    assert opens(asked, packet(*SIX, protocol=1, icmp_type=8)) == "block"
    assert opens(asked, packet(protocol=UDP, port=0)) == "block"
    assert opens(asked, packet(protocol=TCP, port=0)) == "em0:def"
