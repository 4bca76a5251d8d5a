"""pf.conf with the queues of OpenBSD 5.5 and later."""

import pytest

from pfq.plan.build import plan_site
from pfq.site.load import load_text
from pfq.targets.registry import compile_all
from tests.targets.pf_render import ACKS, LINK, codes, compiled, hartmeier, host, statements


def test_the_ack_article_on_a_current_openbsd() -> None:
    found = statements(compiled(hartmeier("openbsd-7.6")))
    assert "queue root_kue0 on kue0 bandwidth 100K, max 100K" in found
    assert any(line.startswith("queue q_pri parent root_kue0 bandwidth") and ", min " in line for line in found)
    assert any(line.startswith("queue q_def parent root_kue0 bandwidth") and line.endswith("flows 1024 default") for line in found)
    assert "match on kue0 all set queue (q_def, q_pri)" in found
    assert found[-1] == "pass on kue0 all"


INSIDE = 'inside = { interface = "em1", networks = ["192.168.1.0/24"], speed = "100 Mbit" }'


def test_nat_and_1_to_1_are_match_rules_round_the_assignment() -> None:
    pairs = '[{ inside = "192.168.1.20", outside = "203.0.113.20" }]'
    attachment = f'{{ interface = "em0", nat = true, one_to_one = {pairs} }}'
    found = statements(compiled(LINK + ACKS + host("openbsd-7.6", attachment, INSIDE)))
    first = found.index("match in on em0 inet from any to 203.0.113.20 rdr-to 192.168.1.20")
    assignment = found.index("match on em0 all set queue (q_def, q_pri)")
    own = found.index("match out on em0 inet from 192.168.1.20 to any nat-to 203.0.113.20 static-port")
    rest = found.index("match out on em0 inet from 192.168.1.0/24 to any nat-to (em0)")
    assert first < assignment < own < rest


def test_a_gateway_with_one_arm_translates_nothing_that_stays_inside() -> None:
    inside = 'inside = { interface = "em0", networks = ["192.168.1.0/24", "10.0.0.0/8"] }'
    found = statements(compiled(LINK + ACKS + host("openbsd-7.6", '{ interface = "em0", nat = true, exclude = "203.0.113.128/25" }', inside)))
    assert "table <pfq_0_inside4> const { 192.168.1.0/24, 10.0.0.0/8 }" in found
    assert "match out on em0 inet from { 192.168.1.0/24, 10.0.0.0/8 } to ! <pfq_0_inside4> nat-to (em0)" in found
    assert "match out on em0 inet from any to { 203.0.113.128/25, 192.168.1.0/24, 10.0.0.0/8 } set queue local" in found
    found = statements(compiled(LINK + ACKS + host("openbsd-4.4", '{ interface = "em0", nat = true, exclude = "203.0.113.128/25" }', inside)))
    assert "no nat on em0 inet from any to { 192.168.1.0/24, 10.0.0.0/8 }" in found


def test_downloads_have_queues_of_the_same_names_on_the_inside_interface() -> None:
    found = statements(compiled(LINK + ACKS + host("openbsd-7.6", '"pppoe0"', INSIDE)))
    assert "queue root_em1 on em1 bandwidth 100M, max 100M" in found
    assert any(line.startswith("queue local on em1 parent root_em1 bandwidth ") and line.endswith(" default") for line in found)
    assert any(line.startswith("queue adsl_down on em1 parent root_em1 bandwidth ") and ", max " in line for line in found)
    assert any(line.startswith("queue q_def on em1 parent adsl_down ") for line in found)
    assert not any(line.startswith(("match", "pass")) and " on em1" in line for line in found)


def test_fairness_that_is_a_default_gives_way_to_a_given_guarantee() -> None:
    classes = ACKS.replace('"q_def"', '"q_def", guarantee = "20 kbit"')
    text = compiled(LINK + classes + host("openbsd-7.6"))
    line = next(line for line in statements(text) if line.startswith("queue q_def"))
    assert ", min 20K qlimit " in line
    assert "`flows` would be lost" in text
    assert codes(LINK + classes.replace('"20 kbit"', '"20 kbit", fair = "flow"') + host("openbsd-7.6")) == {"unsupported"}


def test_a_computed_guarantee_gives_way_to_fairness() -> None:
    classes = '[policies.acks]\nclasses = [{name="a", match="tcp/1", fair="flow"}, {name="b"}]\n'
    text = compiled(LINK + classes + host("openbsd-7.6"))
    line = next(line for line in statements(text) if line.startswith("queue a "))
    assert line.endswith(" flows 1024")
    assert " min " not in line
    assert "no min: " in text


def test_what_this_pf_cannot_do_is_refused() -> None:
    by_address = LINK + ACKS.replace('"q_def"', '"q_def", fair = "source"')
    assert codes(by_address + host("openbsd-7.6")) == {"difference"}
    assert "(accepted: fair-by-flow)" in compiled('accept = ["fair-by-flow"]\n' + by_address + host("openbsd-7.6"))
    fair = LINK + ACKS.replace('"q_def"', '"q_def", fair = "flow"')
    assert codes(fair + host("openbsd-6.1")) == {"difference"}
    assert codes(fair + host("openbsd-6.2")) == set()
    for drop in ("red", "ecn"):
        assert codes(LINK + ACKS.replace('"q_def"', f'"q_def", drop = "{drop}"') + host("openbsd-7.6")) == {"unsupported"}
    codel = LINK + ACKS.replace('"q_def"', '"q_def", fair = "none", drop = "codel"')
    assert any(line.endswith(" flows 1 default") for line in statements(compiled(codel + host("openbsd-7.6"))))
    assert codes(codel + host("openbsd-6.1")) == {"unsupported"}
    assert codes(LINK + ACKS + host("openbsd-7.6", '{ interface = "kue0", burst = "6 kB" }')) == {"unsupported"}


def test_before_6_2_there_are_no_flows() -> None:
    text = compiled(hartmeier("openbsd-6.1"))
    assert " flows " not in " ".join(statements(text))
    assert "first in, first out" in text


def test_the_inbound_policy_lets_in_what_is_listed_and_the_operators_open_sessions() -> None:
    inbound = '{ interface = "kue0", inbound = { services = ["tcp/443"], operator = { port = 2222, from = ["198.51.100.0/24"] } } }'
    found = statements(compiled(LINK + ACKS + host("openbsd-7.6", inbound)))
    assert found[found.index("block in on kue0 all") :] == [
        "block in on kue0 all",
        "pass out on kue0 proto tcp from any to any flags any no state set queue (q_def, q_pri)",
        "pass in on kue0 inet proto icmp all icmp-type unreach code needfrag",
        "pass in on kue0 proto tcp from any to any port 443",
        "pass in on kue0 inet proto tcp from 198.51.100.0/24 to any port 2222 flags any no state set queue (q_def, q_pri)",
        "pass in on kue0 inet proto tcp from 198.51.100.0/24 to any port 2222",
        "pass out on kue0 all",
    ]


def test_downloads_are_not_queued_where_another_link_s_rules_would_take_them() -> None:
    other = '\nlinks.sdsl = "em1"\n[links.sdsl]\nup = "1 Mbit"\n'
    inside = 'inside = { interface = "em1", networks = "10.0.0.0/8" }'
    found = statements(compiled(LINK + ACKS + host("openbsd-7.6", '"em0"', inside) + other))
    assert "match out on em1 inet from any to 10.0.0.0/8 set queue local" in found
    assert not [line for line in found if line.startswith("queue adsl_down ")]
    above = other.replace('"em1"', '{ interface = "vlan7", queue_on = "em1" }')
    found = statements(compiled(LINK + ACKS + host("openbsd-7.6", '"em0"', inside) + above))
    assert not [line for line in found if line.startswith("match") and " on em1 " in line]
    assert [line for line in found if line.startswith("queue adsl_down ")], "rules of a link on a VLAN leave its parent's packets alone"


@pytest.mark.parametrize("system", ["openbsd-4.4", "openbsd-7.6"])
@pytest.mark.parametrize(("speed", "found"), [("90 kbit", {"contradiction"}), ("101 kbit", {"interface-too-slow"}), ("1 Mbit", set())])
def test_an_interface_that_is_too_slow_is_said_once(system: str, speed: str, found: set[str]) -> None:
    attachment = f'{{ interface = "em0", shaped_up = "100500 bit", exclude = ["10.0.0.0/8"], speed = "{speed}" }}'
    site = load_text('accept = ["exact-low-delay"]\n' + LINK + ACKS.replace('"q_def"', '"q_def", guarantee = "20%"') + host(system, attachment), "m")
    made, faults = plan_site(site)
    compile_all(made, None, faults)
    assert {fault.code for fault in faults} == found
    assert len(faults) == len(found)
