"""Names of queues, roots and macros."""

import pytest

from pfq.pf.verdict import check
from pfq.site.systems import parse_system
from pfq.targets import altq, queue
from tests.targets.pf_render import ACKS, LINK, codes, compiled, host, refusals, statements

INSIDE = 'inside = { interface = "em1", networks = ["192.168.1.0/24"] }'
TWO = """
[links.dsl]
up = "1 Mbit"
down = "8 Mbit"
ipv6 = false
[links.dsl-2]
up = "1 Mbit"
down = "8 Mbit"
ipv6 = false
[hosts.gw]
system = "SYSTEM"
inside = { interface = "em9", networks = "192.168.1.0/24" }
links.dsl = "em0"
links.dsl-2 = "em1"
"""


@pytest.mark.parametrize("system", ["openbsd-4.4", "freebsd-12.1", "openbsd-7.6"])
@pytest.mark.parametrize("name", ["local", "adsl_down", "adsl_up", "adsl", "ext_if", "Queue", "root"])
def test_names_that_pfq_would_choose_itself_are_left_to_classes(system: str, name: str) -> None:
    text = compiled(LINK + ACKS.replace("q_def", name) + host(system, '"kue0"', INSIDE))
    verdict = check(text, system)
    assert (verdict.status, verdict.stderr) == (0, "")
    assert sum(line.startswith(f"queue {name} ") for line in statements(text)) == 2


def test_the_root_that_altq_makes_itself_is_no_class() -> None:
    model = LINK + ACKS.replace("q_def", "root_kue0")
    assert codes(model + host("openbsd-4.4")) == {"same-name"}
    assert "queue root_kue0_2 on kue0 " in " ".join(statements(compiled(model + host("openbsd-7.6"))))


@pytest.mark.parametrize("system", ["openbsd-4.4", "freebsd-12.1", "openbsd-7.6"])
def test_with_several_links_a_queue_has_the_name_of_its_link_too(system: str) -> None:
    text = compiled(TWO.replace("SYSTEM", system))
    assert (check(text, system).status, check(text, system).stderr) == (0, "")
    found = statements(text)
    assert any(line.startswith("queue dsl_bulk on em0 ") for line in found)
    assert any(line.startswith("queue dsl-2_bulk on em1 ") for line in found)
    assert 'dsl_2_if = "em1"' in text


def test_names_of_link_and_class_that_come_to_the_same_are_told_apart() -> None:
    same = """
[policies.one]
classes = [{ name = "c", match = "tcp/1" }, { name = "rest" }]
[policies.two]
classes = [{ name = "b_c", match = "tcp/1" }, { name = "other" }]
[links.a_b]
up = "1 Mbit"
policy = "one"
[links.a]
up = "1 Mbit"
policy = "two"
[hosts.gw]
system = "openbsd-7.6"
links.a_b = "em0"
links.a = "em1"
"""
    assert codes(same) == {"same-name"}


def test_a_long_link_name_is_no_anchor() -> None:
    name = "l" * 63
    (fault,) = refusals((LINK + ACKS + host("openbsd-7.6")).replace("links.adsl", f"links.{name}"))
    assert fault.code == "long-name"
    assert "anchor" in fault.message


def test_every_fault_is_reported_at_once_with_its_place() -> None:
    model = LINK + ACKS.replace('"q_def"', '"default", drop = "red", fair = "source"') + host("openbsd-7.6", '{ interface = "kue0", burst = "6 kB" }')
    found = refusals(model)
    assert {fault.code for fault in found} == {"reserved-name", "unsupported", "difference"}
    assert all(fault.place and fault.place.line > 1 and fault.hint for fault in found)


@pytest.mark.parametrize("name", ["openbsd-3.3", "openbsd-4.4", "openbsd-5.4", "freebsd-12", "freebsd-13", "freebsd-15", "openbsd-5.5", "openbsd-7.6"])
def test_abilities_say_what_each_system_has(name: str) -> None:
    system = parse_system(name)
    module = altq if system.family == "altq" else queue
    found = {item.feature: item for item in module.abilities(system)}
    assert found["express class, IPv6"].has == (name in ("openbsd-5.4", "freebsd-15", "openbsd-5.5", "openbsd-7.6"))
    assert found["fair sharing"].has == (name == "openbsd-7.6")
    assert found["inbound policy"].has == (name != "openbsd-3.3")
    assert all(item.note for item in found.values())
