"""Edges of the rules for ALTQ."""

import pytest

from tests.lint.lint import codes, lint, only

PRIQ = """altq on tun0 priq bandwidth 1Mb queue { bulk, fast }
queue bulk priority 1 priq(default)
queue fast priority 7
"""


def test_a_misspelled_queue_gets_a_suggestion() -> None:
    rules = "pass out on tun0 inet proto tcp queue (bulk, fsat)\npass out on tun0 inet proto icmp queue fast\n"
    under_it, finding = only(PRIQ + rules, "PFQ201", "freebsd-12.1")
    assert under_it == "fsat"
    assert finding.hint == "did you mean fast?"
    assert finding.fix is not None
    assert not finding.fix.safe


def test_an_inner_queue_of_hfsc_takes_no_packets_and_one_of_cbq_does() -> None:
    text = """altq on em0 {0} bandwidth 10Mb queue {{ top, rest }}
queue top bandwidth 5Mb {{ low }}
queue low bandwidth 2Mb
queue rest bandwidth 5Mb {0}(default)
pass out on em0 queue top
pass out on em0 proto udp queue low
"""
    assert "PFQ201" in codes(text.format("hfsc"), "openbsd-4.4")
    assert "PFQ201" not in codes(text.format("cbq"), "openbsd-4.4")


def test_a_default_missing_on_the_last_interface_is_said_once() -> None:
    text = """altq on em0 priq bandwidth 1Mb queue { up }
queue up priority 1 priq(default)
altq on em1 priq bandwidth 8Mb queue { down }
queue down priority 1
pass on em0 queue down
"""
    found = codes(text, "openbsd-4.4")
    assert found.count("PFQ203") == 1
    assert not any("one default queue" in finding.message for finding in lint(text, "openbsd-4.4").findings)


@pytest.mark.parametrize("dialect", ["openbsd-4.4", "freebsd-12.1", "freebsd-14.0"])
def test_empty_acks_over_ipv6(dialect: str) -> None:
    text = PRIQ + "pass out on tun0 inet6 proto tcp queue (bulk, fast)\n"
    assert "PFQ204" in codes(text, dialect)


@pytest.mark.parametrize("dialect", ["openbsd-5.4", "freebsd-15.0"])
def test_kernels_that_know_acks_over_ipv6(dialect: str) -> None:
    assert "PFQ204" not in codes(PRIQ + "pass out on tun0 inet6 proto tcp queue (bulk, fast)\n", dialect)


def test_rules_without_a_family_get_one_note() -> None:
    result = lint(PRIQ + "pass out on tun0 proto tcp queue (bulk, fast)\npass in on tun0 proto tcp queue (bulk, fast)\n", "openbsd-4.4")
    assert [(finding.code, finding.severity) for finding in result.findings] == [("PFQ204", "note")]


def test_nat_pass_without_queues_is_fine() -> None:
    assert codes("nat pass on em0 inet from 10.0.0.0/8 to any -> (em0)\npass out on em0\n", "freebsd-12.1") == []


def test_an_express_queue_above_the_default_starves_nothing() -> None:
    text = PRIQ.replace("tun0", "em0") + "pass out on em0 inet proto tcp queue (bulk, fast)\n"
    assert codes(text, "openbsd-4.4") == []


def test_a_tunnel_has_no_frames_of_its_own() -> None:
    assert "PFQ206" not in codes(PRIQ + "pass out on tun0 proto udp queue fast\n", "openbsd-4.4")


@pytest.mark.parametrize("rate", ["", "bandwidth 50%"])
def test_the_speed_of_the_port(rate: str) -> None:
    text = f"altq on em0 priq {rate} queue {{ bulk }}\nqueue bulk priority 1 priq(default)\n"
    assert codes(text, "freebsd-12.1") == ["PFQ207"]


def test_a_tunnel_without_a_rate_is_said_once() -> None:
    assert codes("altq on tun0 priq bandwidth 50% queue { bulk }\nqueue bulk priority 1 priq(default)\n", "openbsd-4.4") == ["PFQ208"]


def test_rates_of_64_bits_do_not_wrap() -> None:
    text = "altq on em0 hfsc bandwidth 5Gb queue { bulk }\nqueue bulk bandwidth 100% hfsc(default)\n"
    assert codes(text, "freebsd-12.1") == []
    assert "PFQ209" in codes(text, "openbsd-4.4")


def test_a_bare_number_that_is_too_big_is_for_pfctl_to_say() -> None:
    text = "altq on em0 cbq bandwidth 5000000000 queue { bulk }\nqueue bulk bandwidth 100% cbq(default)\n"
    assert "PFQ209" not in codes(text, "openbsd-4.4")
    assert "PFQ001" in codes(text, "openbsd-4.4")


def test_a_priority_of_cbq_counts() -> None:
    text = """altq on em0 cbq bandwidth 10Mb queue { bulk, voice }
queue bulk bandwidth 80% cbq(default)
queue voice bandwidth 20% priority 7
pass out on em0 queue voice
"""
    assert codes(text, "openbsd-4.4") == []


def test_the_ruleset_of_the_ack_article_is_clean() -> None:
    text = """altq on kue0 priq bandwidth 100Kb queue { q_pri, q_def }
queue q_pri priority 7
queue q_def priority 1 priq(default)
pass out on kue0 inet proto tcp from kue0 to any flags S/SA keep state queue (q_def, q_pri)
pass in on kue0 inet proto tcp from any to kue0 flags S/SA keep state queue (q_def, q_pri)
"""
    assert codes(text, "openbsd-4.4") == []


@pytest.mark.parametrize(("dialect", "exact"), [("openbsd-4.4", True), ("openbsd-5.4", False), ("freebsd-12.1", False)])
def test_kernels_that_leave_out_the_ecn_bits(dialect: str, exact: bool) -> None:
    assert ("PFQ214" in codes(PRIQ + "pass out on tun0 inet proto udp tos 0x10 queue fast\n", dialect)) == exact


def test_a_second_queue_of_another_scheduler_has_no_order() -> None:
    text = """altq on tun0 cbq bandwidth 1Mb queue { a, b }
queue a bandwidth 500Kb priority 3 cbq(default)
queue b bandwidth 500Kb priority 1
pass out on tun0 inet proto tcp queue (a, b)
"""
    assert codes(text, "openbsd-4.4") == []


def test_a_queue_in_other_letters_is_meant() -> None:
    text = "altq on em0 priq bandwidth 1Mb queue { qACK, qDefault }\nqueue qACK priority 7\nqueue qDefault priq(default)\npass out queue (qDefault, qAck)\n"
    assert only(text, "PFQ201", "openbsd-4.4")[1].hint == "did you mean qACK?"
