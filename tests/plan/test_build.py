"""What each gateway must do, from where it stands."""

import pytest

from pfq.diagnostics import Refused
from tests.plan.planned import gateway_of, model, plan_of, uplink_of

INSIDE = 'inside = { interface = "em1", networks = "192.168.1.0/24" }\n'


@pytest.mark.parametrize(
    ("system", "attachment", "host", "where", "interface"),
    [
        ("linux-6.1", '"eth0"', "", "ingress", "eth0"),
        ("linux-6.1", '"eth0"', 'inside = "eth1"\n', "ingress", "eth0"),
        ("linux-6.1", '{ interface = "eth0", shape_down = "inside" }', 'inside = "eth1"\n', "inside", "eth1"),
        ("linux-6.1", '{ interface = "eth0", shape_down = "police" }', "", "police", "eth0"),
        ("linux-5.10", '"eth0"', 'inside = "eth1"\n', "ingress", "eth0"),
        ("linux-5.10", '{ interface = "eth0", shape_down = "police" }', "", "police", "eth0"),
        ("openbsd-7.6", '"em0"', 'inside = "em1"\n', "inside", "em1"),
        ("freebsd-14", '"em0"', 'inside = { interface = "em1", networks = "10.0.0.0/8" }\n', "inside", "em1"),
    ],
)
def test_where_downloads_are_shaped(system: str, attachment: str, host: str, where: str, interface: str) -> None:
    down = uplink_of(model(system=system, attachment=attachment, host=host)).down
    assert down
    assert (down.where, down.interface) == (where, interface)


@pytest.mark.parametrize(
    ("system", "attachment", "host", "rate"),
    [
        ("openbsd-7.6", '"em0"', "", "10 Mbit"),
        ("openbsd-3.4", '"em0"', 'inside = "em1"\n', "10 Mbit"),
        ("openbsd-7.6", '"em0"', 'inside = ["em1", "em2"]\n', "10 Mbit"),
        ("freebsd-14", '"em0"', 'inside = "vlan7"\n', "10 Mbit"),
        ("openbsd-7.6", '{ interface = "em0", shape_down = "none" }', 'inside = "em1"\n', "10 Mbit"),
        ("linux-6.1", '"eth0"', "", ""),
    ],
)
def test_where_they_are_not(system: str, attachment: str, host: str, rate: str) -> None:
    assert uplink_of(model(system=system, attachment=attachment, host=host, down=rate)).down is None


@pytest.mark.parametrize(
    ("system", "attachment", "classes", "scheduler"),
    [
        ("openbsd-4.4", '"em0"', "", "priq"),
        ("freebsd-14", '"em0"', "", "priq"),
        ("openbsd-7.6", '"em0"', "", "hfsc"),
        ("linux-6.1", '"eth0"', "", "prio"),
        ("openbsd-4.4", '"em0"', '{ name = "a", match = "icmp", share = 1 }, { name = "b", share = 2 }', "hfsc"),
        ("openbsd-3.3", '"em0"', '{ name = "a", match = "icmp", share = 1 }, { name = "b", share = 2 }', "cbq"),
        ("openbsd-4.4", '{ interface = "em0", exclude = "10.0.0.0/8" }', "", "hfsc"),
        ("openbsd-4.4", '{ interface = "vlan7", queue_on = "em0" }', "", "hfsc"),
        ("linux-6.1", '"eth0"', '{ name = "a", match = "icmp", guarantee = { rate = "5%", burst = "9%", for = "9 ms" } }, { name = "b" }', "hfsc"),
        ("linux-6.1", '{ interface = "eth0", scheduler = "prio" }', "", "prio"),
    ],
)
def test_the_scheduler_can_do_what_is_asked(system: str, attachment: str, classes: str, scheduler: str) -> None:
    uplink = uplink_of(model(classes, system=system, attachment=attachment))
    assert (uplink.scheduler, uplink.scheduler_given) == (scheduler, "scheduler" in attachment)


@pytest.mark.parametrize(
    ("attachment", "host", "beside"),
    [
        ('"em0"', "", None),
        ('"em0"', INSIDE, None),
        ('{ interface = "em0", exclude = "10.0.0.0/8" }', "", 10**9),
        ('{ interface = "em0", exclude = "10.0.0.0/8", speed = "100 Mbit" }', "", 10**8),
        ('"em0"', INSIDE.replace("em1", "em0"), 10**9),
        ('{ interface = "vlan7", queue_on = "em0" }', "", 10**9),
        ('{ interface = "pppoe0", queue_on = "em0" }', "", None),
    ],
)
def test_other_traffic_on_the_interface(attachment: str, host: str, beside: int | None) -> None:
    assert uplink_of(model(system="openbsd-7.6", attachment=attachment, host=host)).up.beside == beside


def test_two_links_whose_queues_share_an_interface_leave_room_for_each_other() -> None:
    text = (
        '[links.a]\nup = "1 Mbit"\n[links.b]\nup = "2 Mbit"\n[hosts.gw]\nsystem = "openbsd-7.6"\n'
        'links.a = { interface = "pppoe0", queue_on = "em0" }\nlinks.b = { interface = "pppoe1", queue_on = "em0", speed = "1 Gbit" }\n'
    )
    assert [uplink.up.beside for uplink in gateway_of(text).uplinks] == [10**9, 10**9]


@pytest.mark.parametrize(
    ("link", "mtu", "given"),
    [
        ("", 1500, False),
        ('encapsulation = "pppoe-llc"\n', 1448, False),
        ('encapsulation = "pppoe-ptm"\n', 1492, False),
        ("mtu = 1400\n", 1400, True),
    ],
)
def test_mtu(link: str, mtu: int, given: bool) -> None:
    figure = uplink_of(model(link=link)).mtu
    assert (figure.value, figure.given) == (mtu, given)


@pytest.mark.parametrize(
    ("link", "mss", "size"),
    [
        ("", "", None),
        ("", "mss = true", 1460),
        ('encapsulation = "pppoe-llc"\n', "", 1408),
        ('encapsulation = "pppoe-llc"\n', "mss = false", None),
        ('encapsulation = "pppoe-llc"\n', "mss = 1300", 1300),
    ],
)
def test_mss(link: str, mss: str, size: int | None) -> None:
    uplink = uplink_of(model(link=link, attachment=f'{{ interface = "eth0"{", " if mss else ""}{mss} }}'))
    assert (uplink.mss.value if uplink.mss else None) == size


@pytest.mark.parametrize(
    ("interface", "more", "length"), [("eth0", "", None), ("eth0.7", "", 1000), ("vlan7", "", 1000), ("eth0", ", txqueuelen = 50", 50)]
)
def test_txqueuelen(interface: str, more: str, length: int | None) -> None:
    figure = uplink_of(model(attachment=f'{{ interface = "{interface}"{more} }}')).txqueuelen
    assert (figure.value if figure else None) == length


def test_what_the_model_says_is_taken_as_it_is() -> None:
    uplink = uplink_of(model(attachment='{ interface = "eth0", shaped_up = "900 kbit", shaped_down = "9 Mbit", burst = "3 kB" }'))
    assert uplink.down
    figures = (uplink.up.rate, uplink.down.rate, uplink.up.burst)
    assert [(figure.value, figure.given) for figure in figures] == [(900_000, True), (9_000_000, True), (3000, True)]
    assert "988 kbit/s" in uplink.up.rate.why


def test_a_download_that_needs_more_acks_than_there_is_room_for_is_noted() -> None:
    uplink = uplink_of(model(up="64 kbit", down="100 Mbit"))
    assert "slower" in uplink.up.notes[0]


def test_a_gateway_of_a_faulty_policy_does_not_hide_the_others() -> None:
    text = model() + '[links.other]\nup = "9 bit"\n[hosts.gw2]\nsystem = "linux-6.1"\nlinks.other = "eth0"\n'
    with pytest.raises(Refused) as found:
        plan_of(text)
    assert [d.code for d in found.value.diagnostics] == ["too-slow"]


def test_two_hosts_alike_have_queues_alike() -> None:
    text = model() + '[hosts.gw2]\nsystem = "linux-6.1"\nlinks.dsl = "eth0"\n'
    one, two = plan_of(text).gateways
    assert one.uplinks[0].up.queues is two.uplinks[0].up.queues


ODD = {
    "absurd rates": model(up="10 Tbit", down="10 Tbit"),
    "slow": model(up="8.2 kbit", down=""),
    "ACKs above the uplink": model(up="64 kbit", down="1 Gbit"),
    "more up than down": model(up="1 Gbit", down="64 kbit"),
    "a thousand classes": model(",\n".join(f'{{ name = "c{n}", match = "udp/{n + 1}" }}' for n in range(999)) + ',\n{ name = "b" }', up="1 Gbit"),
    "a thousand shares": model(",\n".join(f'{{ name = "c{n}", match = "udp/{n + 1}", share = {n + 1} }}' for n in range(999)) + ',\n{ name = "b" }'),
    "a thousandth of a percent": model('{ name = "a", match = "icmp", share = 1, guarantee = "0.001%", ceiling = "0.001%" }, { name = "b" }'),
    "six levels": model(",\n".join(f'{{ name = "c{n}"{"" if n == 0 else f", parent = {chr(34)}c{n - 1}{chr(34)}"} }}' for n in range(6))),
    "a class called like a key": model('{ name = "default" }'),
    "names of text": 'name = "a \'b\' \\"c\\" $(d) `e` # é日本"\n' + model(),
    "a long name": 'name = "' + "é" * 80 + '"\n' + model(),
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_models_are_planned(text: str) -> None:
    uplink = uplink_of(text)
    assert sum(queue.share.value for queue in uplink.up.queues) <= uplink.up.rate.value


def test_a_rate_for_downloads_that_are_not_shaped_is_a_fault() -> None:
    with pytest.raises(Refused) as refused:
        plan_of(model(system="openbsd-7.6", attachment='{ interface = "em0", shaped_down = "1 Mbit" }'))
    assert [fault.code for fault in refused.value.diagnostics] == ["contradiction"]


@pytest.mark.parametrize(
    ("system", "classes", "scheduler"), [("linux-6.1", 16, "prio"), ("linux-6.1", 17, "hfsc"), ("freebsd-14", 16, "priq")]
)
def test_a_scheduler_with_enough_steps_of_order_is_chosen(system: str, classes: int, scheduler: str) -> None:
    written = "".join(f'{{ name = "c{n}", match = "tcp/{n + 1}" }}, ' for n in range(classes - 1))
    text = f'[links.l]\nup = "9 Mbit"\npolicy = "p"\n[policies.p]\nclasses = [{written}{{ name = "rest" }}]\n[hosts.h]\nsystem = "{system}"\nlinks.l = "em0"\n'
    assert uplink_of(text).scheduler == scheduler


@pytest.mark.parametrize(("interface", "burst"), [("eth0", 65_536), ("ppp0", 14_038)])
def test_policing_lets_a_packet_of_generic_receive_offload_through(interface: str, burst: int) -> None:
    down = uplink_of(model(system="linux-6.1", attachment=f'{{ interface = "{interface}", shape_down = "police", shaped_down = "1 Mbit" }}')).down
    assert down
    assert down.burst.value == burst
