"""What NAT and fragments hide from ALTQ's rules on the link's interface, as `pfq verify` found it."""

import pytest

from tests.targets.pf_render import LINK, codes, compiled, host, refusals

POLICY = '[policies.acks]\nclasses = [{ name = "q_pri", express = true }, { name = "calls", match = MATCH }, { name = "q_def" }]\n'
INSIDE = 'inside = { interface = "em1", networks = "192.168.1.0/24" }\n'


def model(match: str, attachment: str = '{ interface = "em0", nat = true }', system: str = "freebsd-14") -> str:
    return LINK + POLICY.replace("MATCH", match) + host(system, attachment, INSIDE)


def test_source_ports_are_refused_where_nat_picks_others() -> None:
    (fault,) = refusals(model('{ protocol = "udp", source_port = 5060 }'))
    assert fault.code == "unsupported"
    assert "source ports after NAT" in fault.message


@pytest.mark.parametrize(
    ("match", "attachment", "system"),
    [
        ('{ protocol = "udp", source_port = 5060 }', '"em0"', "freebsd-14"),
        ('{ protocol = "udp", source_port = 5060, opened = "outside" }', '{ interface = "em0", nat = true }', "freebsd-14"),
        ('{ protocol = "udp", source_port = 5060, family = "ipv6" }', '{ interface = "em0", nat = true }', "freebsd-14"),
        # Tagged on the inside, which sees the port.
        ('{ protocol = "udp", source_port = 5060, from = "192.168.1.0/24" }', '{ interface = "em0", nat = true }', "freebsd-14"),
        # From 4.7 on, flows have their queue before they are translated.
        ('{ protocol = "udp", source_port = 5060 }', '{ interface = "em0", nat = true }', "openbsd-5.4"),
    ],
)
def test_source_ports_where_rules_see_them(match: str, attachment: str, system: str) -> None:
    assert codes(model(match, attachment, system)) == set()


def test_fragments_are_put_together_where_flows_are_tagged_by_port() -> None:
    text = compiled(model('{ protocol = "tcp", port = 443, from = "192.168.1.0/24" }'))
    assert "scrub in on $int_if all" in text
    assert "tag calls_1" in text
    for match in ('{ protocol = "tcp", from = "192.168.1.0/24" }', '"tcp/443"'):
        assert "scrub in on $int_if" not in compiled(model(match))
