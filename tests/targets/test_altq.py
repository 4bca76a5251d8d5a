"""pf.conf with ALTQ."""

from dataclasses import replace

import pytest

from pfq.diagnostics import Refused
from pfq.pf.verdict import check
from pfq.plan.build import build
from pfq.site.load import load_text
from pfq.targets.altq_queues import priorities
from pfq.targets.registry import compile_gateway
from tests.targets.pf_render import ACKS, LINK, codes, compiled, hartmeier, host, refusals, statements


@pytest.mark.parametrize("interface", ["kue0", "tun0"])
def test_the_ack_article_comes_out_as_it_is_written(interface: str) -> None:
    found = statements(compiled(hartmeier("openbsd-4.4", interface)))
    assert f"altq on {interface} priq bandwidth 100Kb tbrsize" in " ".join(found)
    assert any(line.startswith("queue q_pri priority 7") for line in found)
    assert any(line.startswith("queue q_def priority 1") for line in found)
    assert f"pass on {interface} all queue (q_def, q_pri)" in found


def test_the_article_on_tun_has_the_lowest_class_as_default() -> None:
    found = statements(compiled(hartmeier("openbsd-4.4", "tun0")))
    assert [line.split()[1] for line in found if "priq(default)" in line] == ["q_def"]


def test_3_3_writes_state_and_flags_in_full_and_nothing_that_came_later() -> None:
    found = statements(compiled(hartmeier("openbsd-3.3")))
    assert found[-2:] == [
        "pass on kue0 proto tcp from any to any queue (q_def, q_pri)",
        "pass on kue0 all flags S/SA keep state queue (q_def, q_pri)",
    ]
    assert not any(word in " ".join(found) for word in ("anchor", "no state", "flags any", " on kue0 priority"))


INSIDE = 'inside = { interface = "em1", networks = ["192.168.1.0/24"], speed = "100 Mbit" }'
GATEWAY = '{ interface = "em0", nat = true, mss = 1400, shape_down = "none", one_to_one = [{ inside = "192.168.1.20", outside = "203.0.113.20" }] }'


def _kinds(found: list[str]) -> list[str]:
    """The first word of each statement, without repetitions, anchors' contents left out."""
    words: list[str] = []
    inside = False
    for line in found:
        word = "nat-to" if "nat-to" in line else "rdr-to" if "rdr-to" in line else "scrub" if "scrub (" in line else line.split()[0]
        if not inside and word not in ("queue", "}") and words[-1:] != [word]:
            words.append(word)
        inside = line.endswith("{") or (inside and line != "}")
    return words


@pytest.mark.parametrize(
    ("system", "kinds"),
    [
        ("openbsd-3.5", ["scrub", "altq", "binat", "nat", "pass"]),
        ("openbsd-4.1", ["scrub", "altq", "binat", "nat", "pass"]),
        ("openbsd-4.5", ["scrub", "altq", "binat", "nat", "anchor"]),
        ("openbsd-4.6", ["altq", "binat", "nat", "scrub", "anchor"]),
        ("openbsd-4.7", ["altq", "scrub", "rdr-to", "anchor", "nat-to"]),
        ("openbsd-5.4", ["altq", "scrub", "rdr-to", "anchor", "nat-to"]),
        ("freebsd-15", ["scrub", "altq", "binat", "nat", "anchor"]),
    ],
)
def test_statements_come_in_the_order_and_the_form_of_the_version(system: str, kinds: list[str]) -> None:
    assert _kinds(statements(compiled(LINK + ACKS + host(system, GATEWAY, INSIDE)))) == kinds


def test_translation_statements() -> None:
    found = statements(compiled(LINK + ACKS + host("openbsd-4.4", GATEWAY, INSIDE)))
    assert "scrub on em0 inet all max-mss 1400" in found
    assert "binat on em0 inet from 192.168.1.20 to any -> 203.0.113.20" in found
    assert "nat on em0 inet from 192.168.1.0/24 to any -> (em0)" in found


def test_the_segment_size_of_ipv6_is_20_less() -> None:
    found = statements(compiled(LINK.replace("ipv6 = false", "") + ACKS + host("openbsd-5.4", GATEWAY, INSIDE)))
    assert "match on em0 inet proto tcp from any to any scrub (max-mss 1400)" in found
    assert "match on em0 inet6 proto tcp from any to any scrub (max-mss 1380)" in found


def test_a_gateway_with_one_arm_leaves_the_lan_alone() -> None:
    model = LINK + ACKS + host("openbsd-4.4", '{ interface = "em0", speed = "100 Mbit" }', 'inside = { interface = "em0", networks = "192.168.1.0/24" }')
    found = statements(compiled(model))
    assert found[1].startswith("altq on em0 hfsc bandwidth 100Mb tbrsize ")
    assert found[1].endswith("queue { local, adsl_up }")
    assert any(line.startswith("queue local bandwidth ") and line.endswith("hfsc(default)") for line in found)
    assert any(line.startswith("queue adsl_up bandwidth ") and "hfsc(upperlimit " in line for line in found)
    assert "pass out on em0 inet from any to 192.168.1.0/24 queue local" in found
    assert "pass in on em0 inet from 192.168.1.0/24 to any queue local" in found


def test_priq_cannot_leave_other_traffic_alone() -> None:
    model = LINK + ACKS + host("openbsd-4.4", '{ interface = "em0", scheduler = "priq", shape_down = "inside" }', INSIDE)
    found = statements(compiled(model))
    assert any(line.startswith("altq on em0 priq ") for line in found)
    assert any(line.startswith("altq on em1 hfsc ") for line in found)


def test_cbq_borrows_unless_there_is_a_ceiling() -> None:
    classes = '[policies.acks]\nclasses = [{name="a", match="tcp/1", guarantee="20 kbit", ceiling="20 kbit"}, {name="b", drop="ecn"}]\n'
    attachment = '{ interface = "kue0", scheduler = "cbq", shaped_up = "100 kbit" }'
    found = statements(compiled(LINK + classes + host("openbsd-4.4", attachment)))
    assert "altq on kue0 cbq bandwidth 100Kb" in " ".join(found)
    a, b = (line for line in found if line.startswith("queue "))
    assert a.startswith("queue a bandwidth 20Kb priority 7 ")
    assert "cbq" not in a
    assert b.startswith("queue b bandwidth 80Kb priority 1 ")
    assert b.endswith("cbq(borrow default red ecn)")
    assert codes(LINK + classes.replace('guarantee="20 kbit", ', "") + host("openbsd-4.4", attachment)) == {"unsupported"}


def test_what_altq_cannot_do_is_refused() -> None:
    fair = LINK + ACKS.replace('"q_def"', '"q_def", fair = "flow"')
    assert codes(fair + host("openbsd-4.4")) == {"difference"}
    assert "(accepted: fifo)" in compiled('accept = ["fifo"]\n' + fair + host("openbsd-4.4"))
    codel = LINK + ACKS.replace('"q_def"', '"q_def", drop = "codel"')
    assert codes(codel + host("openbsd-4.4")) == {"unsupported"}
    assert any(line.endswith("priq(codel)") for line in statements(compiled(codel + host("freebsd-12.1"))))
    many = LINK + "[policies.acks]\nclasses = [" + "".join(f'{{name="c{n}", match="tcp/{n}"}},' for n in range(1, 17)) + '{name="rest"}]\n'
    assert codes(many + host("openbsd-4.4", '{ interface = "kue0", scheduler = "priq" }')) == {"too-many-classes"}
    assert not codes(many + host("openbsd-4.4")), "without a word, hfsc is chosen"
    assert codes(LINK + ACKS + host("openbsd-4.4", '{ interface = "kue0", burst = "100 kB" }')) == {"burst-too-large"}
    assert codes(LINK + ACKS + host("freebsd-14", '{ interface = "em0", burst = "100 kB" }')) == set()
    assert "on em1" not in compiled(LINK + ACKS + host("openbsd-3.3", '"kue0"', INSIDE)), "downloads are not shaped there"


def test_hfsc_is_the_way_out_where_there_is_one() -> None:
    ceiling = '[policies.acks]\nclasses = [{name="a", match="tcp/1", ceiling="20 kbit"}, {name="b"}]\n'
    for system, offered in (("openbsd-3.3", False), ("openbsd-4.4", True)):
        (found,) = refusals(LINK + ceiling + host(system, '{ interface = "kue0", scheduler = "cbq" }'))
        assert ("scheduler = 'hfsc'" in found.hint) == offered
    fast = LINK.replace("128 kbit", "10 Gbit").replace("512 kbit", "10 Gbit").replace("pppoe-llc", "ethernet") + ACKS
    for system, offered in (("openbsd-4.4", False), ("freebsd-14", True)):
        (found,) = refusals(fast + host(system, '"ix0"'))
        assert (found.code, "scheduler = 'hfsc'" in found.hint) == ("rate-too-high", offered)
    assert refusals(fast + host("freebsd-14", '{ interface = "ix0", scheduler = "hfsc" }')) == []


def test_parts_of_a_class_whose_share_was_lowered_fit_into_it() -> None:
    parts = '{name="x", share=1}, {name="a", match="tcp/1", parent="x"}, {name="b", parent="x", share=2}'
    parts += ', {name="c", match="tcp/2", parent="b", share=2}, {name="d", match="tcp/3", parent="b", share=3}, {name="r", share=9, default=true}'
    attachment = '{ interface = "kue0", scheduler = "hfsc", shaped_up = "40 kbit" }'
    found = statements(compiled(LINK + f"[policies.acks]\nclasses = [{parts}]\n" + host("openbsd-4.4", attachment)))
    rates = {line.split()[1]: line.split()[3] for line in found if line.startswith("queue ")}
    assert rates["a"] == "1Kb", "raised from 400 bit/s"
    assert rates["b"] == "3Kb", "lowered from 3600 bit/s by that"
    assert sum(int(rates[name].replace("Kb", "000").rstrip("b")) for name in "cd") <= 3000
    verdict = check("\n".join(found) + "\n", "openbsd-4.4")
    assert (verdict.status, verdict.stderr) == (0, "")


def test_a_share_that_the_scheduler_cannot_count_is_refused() -> None:
    many = ", ".join(f'{{name="c{n}", match="tcp/{n}", share=1}}' for n in range(1, 9))
    model = LINK + f'[policies.acks]\nclasses = [{many}, {{name="r", share=1}}]\n'
    for rate, scheduler, refused in (("60 kbit", "cbq", False), ("50 kbit", "cbq", True), ("50 kbit", "hfsc", False)):
        attachment = f'{{ interface = "kue0", scheduler = "{scheduler}", shaped_up = "{rate}" }}'
        assert codes(model + host("openbsd-4.4", attachment)) == ({"too-small"} if refused else set())


def test_the_inbound_policy_blocks_what_no_rule_marks_as_open() -> None:
    inbound = '{ interface = "kue0", inbound = { services = ["tcp/443"], operator = { port = 2222, from = ["198.51.100.0/24"] } } }'
    found = statements(compiled(LINK + ACKS + host("openbsd-4.4", inbound)))
    start = found.index("block in on kue0 all tag pfq_closed")
    end = found.index("block in quick on kue0 all tagged pfq_closed")
    assert found[start + 1 : end] == [
        "pass in on kue0 inet proto icmp all icmp-type unreach code needfrag tag pfq_open",
        "pass in on kue0 proto tcp from any to any port 443 tag pfq_open",
        "pass in on kue0 inet proto tcp from 198.51.100.0/24 to any port 2222 flags any tag pfq_open",
    ]
    assert found[end + 1] == 'anchor "pfq_adsl" {'
    assert codes(LINK + ACKS + host("openbsd-3.3", inbound)) == {"unsupported"}


def test_without_a_word_nothing_is_filtered_and_it_says_so() -> None:
    text = compiled(hartmeier("openbsd-4.4"))
    assert "It filters nothing" in text
    assert not any(line.startswith("block") for line in statements(text))


@pytest.mark.parametrize(("count", "expected"), [(1, [1]), (2, [7, 1]), (3, [7, 4, 1]), (7, [7, 6, 5, 4, 3, 2, 1]), (8, [7, 6, 5, 4, 3, 2, 1, 0])])
def test_priorities_are_spread_as_in_the_article(count: int, expected: list[int]) -> None:
    assert priorities(count) == expected


def test_priorities_of_more_classes_are_all_different_and_within_range() -> None:
    for count in range(1, 17):
        found = priorities(count)
        assert sorted(set(found), reverse=True) == found
        assert len(found) == count
        assert min(found) >= 0
        assert max(found) <= 15


def test_fragments_are_put_together_where_a_fragment_could_go_astray() -> None:
    assert not any(line.startswith("scrub") for line in statements(compiled(hartmeier("openbsd-4.4"))))
    found = statements(compiled(hartmeier("openbsd-4.4").replace('{ name = "q_def" }', '{ name = "web", match = "tcp/80" }, { name = "q_def" }')))
    assert found[0] == "scrub on kue0 all"
    assert not any("scrub" in line for line in statements(compiled(hartmeier("openbsd-5.4"))))


def test_a_low_delay_byte_that_must_be_exact_is_a_difference() -> None:
    model = load_text(LINK + ACKS + host("openbsd-4.1"), "site.toml")
    with pytest.raises(Refused) as refused:
        compile_gateway(build(model), build(model).gateways[0])
    assert [(fault.code, fault.hint) for fault in refused.value.diagnostics] == [("difference", "add accept = ['exact-low-delay'] to the model")]
    accepted = build(replace(model, accept=("exact-low-delay",)))
    assert "packets with ToS 0x10" in compile_gateway(accepted, accepted.gateways[0])[0].text
