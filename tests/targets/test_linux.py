"""The Linux target's text: what is written, what is refused, what cannot get in."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfq.diagnostics import Diagnostic, Refused
from pfq.plan.build import build
from pfq.plan.model import Plan
from pfq.site.load import load_text
from pfq.site.systems import parse_system
from pfq.targets import linux
from pfq.targets.linux_assembler import Assembler, TooLong
from pfq.targets.linux_marks import MARK_MASK, flow_marks
from pfq.targets.linux_names import ifb_name, remark
from tests.strategies import LINUX, models

_MODEL = """
name = "{site}"
accept = {accept}
[links.wan]
up = "1020 kbit"
{down}
encapsulation = "pppoe-llc"
policy = "p"
[policies.p]
classes = {classes}
[hosts.gw]
system = "{system}"
inside = {{ interface = "eth1", networks = ["192.168.1.0/24"] }}
[hosts.gw.links.wan]
interface = "eth0"
{more}
"""
_CLASSES = """[
 { name = "express", express = true },
 { name = "interactive", match = ["icmp", "udp/53"] },
 { name = "bulk" },
]"""


def _plan(
    more: str = "", system: str = "linux-6.1", classes: str = _CLASSES, accept: str = "[]", site: str = "s", down: str = 'down = "8 Mbit"'
) -> Plan:
    return build(load_text(_MODEL.format(more=more, system=system, classes=classes, accept=accept, site=site, down=down), "site.toml"))


def _script(plan: Plan) -> str:
    return linux.render(plan, plan.gateways[0], None)[0].text


def _part(script: str, name: str) -> list[str]:
    return script.partition(f"<<'{name}'\n")[2].partition(f"\n{name}\n")[0].splitlines()


def _queues(plan: Plan) -> list[str]:
    return [line for line in _part(_script(plan), "PFQ_QUEUES") if not line.startswith("#")]


def _rules(plan: Plan) -> str:
    return "\n".join(_part(_script(plan), "PFQ_RULES"))


def _refused(plan: Plan) -> list[tuple[str, int]]:
    with pytest.raises(Refused) as caught:
        _script(plan)
    return [(each.code, each.place.line if each.place else 0) for each in caught.value.diagnostics]


def test_htb_on_a_line_with_cells() -> None:
    plan = _plan('scheduler = "htb"')
    lines = _queues(plan)
    rate, burst = plan.gateways[0].uplinks[0].up.rate.value, plan.gateways[0].uplinks[0].up.burst.value
    assert lines[0] == "qdisc add dev eth0 root handle 1: stab linklayer atm overhead 26 htb default 30"
    assert lines[1].startswith(f"class add dev eth0 parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst}b cburst {burst}b")
    assert [line.split()[7] for line in lines if " parent 1:1 classid" in line and "eth0" in line] == ["1:10", "1:20", "1:30"]
    assert [line.partition(" prio ")[2].split()[0] for line in lines if "parent 1:1 " in line and "eth0" in line] == ["0", "1", "2"]


@pytest.mark.parametrize("scheduler", ["htb", "prio", "hfsc"])
def test_every_number_has_its_reason_beside_it(scheduler: str) -> None:
    lines = _part(_script(_plan(f'scheduler = "{scheduler}"')), "PFQ_QUEUES")
    for line, before in zip(lines[1:], lines, strict=False):
        if line.startswith("class add") or (line.startswith("qdisc add") and " parent " in line):
            assert before.startswith("#")


def test_a_size_table_counts_single_bytes() -> None:
    plan = _plan()
    model = _MODEL.format(more="", system="linux-6.1", classes=_CLASSES, accept="[]", site="", down='down = "8 Mbit"')
    plan = build(load_text(model.replace("pppoe-llc", "ethernet"), "site.toml"))
    assert _queues(plan)[0] == "qdisc add dev eth0 root handle 1: stab linklayer ethernet mtu 2048 tsize 2048 mpu 84 overhead 24 htb default 1"


def test_cake_counts_from_the_ip_packet() -> None:
    plan = _plan('scheduler = "cake"\nnat = true', accept="['soft-order']")
    lines = _queues(plan)
    rate = plan.gateways[0].uplinks[0].up.rate.value
    assert lines[0] == (
        f"qdisc add dev eth0 root handle 1: cake bandwidth {rate}bit diffserv4 triple-isolate nat nowash ack-filter atm overhead 40 mpu 0"
    )
    assert "no-ack-filter ingress" in lines[1]
    assert [re.findall(r"priority (1:\d)", line) for line in lines if "skbedit priority" in line] == [["1:4"], ["1:3"], ["1:2"]]


@pytest.mark.parametrize(
    ("more", "system", "express", "thinned"),
    [
        ("", "linux-6.1", "", True),
        ('scheduler = "htb"', "linux-4.19", "", True),
        ("", "linux-4.18", "", False),
        ('leaf = "pfifo"', "linux-6.1", "", False),
        ("", "linux-6.1", ', limit = "100 ms"', False),
        ("", "linux-6.1", ', fair = "flow"', False),
        ("", "linux-6.1", ', drop = "codel"', False),
    ],
)
def test_acks_that_are_out_of_date_are_dropped_on_the_way_up(more: str, system: str, express: str, thinned: bool) -> None:
    classes = _CLASSES.replace("express = true", f"express = true{express}")
    queues = [line for line in _queues(_plan(more, system, classes, accept='["ipv6-extension-express"]')) if "ack-filter-aggressive" in line]
    assert [line.split()[3] for line in queues] == (["eth0"] if thinned else [])


def test_links_that_meet_on_one_interface_get_a_scheduler_that_holds_several() -> None:
    link = '[links.{}]\nup = "9 Mbit"\n{}encapsulation = "ip"\n'
    attached = 'links.a = {{ interface = "{}"{} }}\nlinks.b = {{ interface = "{}"{} }}\n'
    host = '[hosts.gw]\nsystem = "linux-6.1"\ninside = { interface = "eth1", networks = ["192.168.1.0/24"] }\n'
    links = link.format("a", 'down = "9 Mbit"\n') + link.format("b", 'down = "9 Mbit"\n')
    apart = build(load_text(links + host + attached.format("eth0", "", "eth2", ""), "m"))
    inside = build(load_text(links + host + attached.format("eth0", ', shape_down = "inside"', "eth2", ', shape_down = "inside"'), "m"))
    assert [uplink.scheduler for uplink in apart.gateways[0].uplinks] == ["prio", "prio"]
    assert [uplink.scheduler for uplink in inside.gateways[0].uplinks] == ["htb", "htb"]
    assert _script(inside).count("htb rate") > 2


def test_bands_are_reached_through_the_default_class() -> None:
    lines = _queues(_plan('scheduler = "prio"', down=""))
    assert "htb default 1" in lines[0]
    assert lines[2] == f"qdisc add dev eth0 parent 1:1 handle 2: prio bands 3 priomap{' 0' * 16}"
    assert "meta priority set 2:3 accept" in _rules(_plan('scheduler = "prio"', down=""))


def test_bands_beside_other_traffic_are_reached_through_a_filter() -> None:
    lines = _queues(_plan('scheduler = "prio"\nshape_down = "inside"'))
    inside = [line for line in lines if " eth1 " in line]
    assert "htb default f" in inside[0]
    assert inside[-1].endswith("basic match meta( priority gt 131071 ) classid 1:1")


def test_hfsc_curves() -> None:
    classes = '[{ name = "voice", match = "udp/5060", guarantee = { rate = "64 kbit", burst = "128 kbit", for = "20 ms" } }, { name = "bulk" }]'
    lines = _queues(_plan('scheduler = "hfsc"', classes=classes))
    assert any("hfsc rt m1 128000bit d 20000us m2 64000bit ls m2 64000bit" in line for line in lines)


def test_cbq_bounds_the_line_and_sends_the_rest_to_the_default_class() -> None:
    lines = _queues(_plan('scheduler = "cbq"\nshape_down = "none"', system="linux-5.10", accept="['ipv6-extension-express']"))
    assert lines[1].endswith("bounded isolated")
    assert [line.partition(" classid ")[2].split()[0] for line in lines if "defmap ffff" in line] == ["1:30"]


def test_shares_of_one_rank_become_quanta() -> None:
    classes = '[{ name = "a", match = "tcp/1", share = 3 }, { name = "b", match = "tcp/2", share = 1 }, { name = "c", share = 200 }]'
    lines = _queues(_plan(classes=classes))
    quanta = {line.split()[7]: int(line.rsplit(" ", 1)[1]) for line in lines if " parent 1:1 classid" in line and "eth0" in line}
    assert quanta["1:20"] == 1643
    assert 3 * 1643 - 1643 < quanta["1:10"] <= 3 * 1643 + 1643
    assert quanta["1:30"] == 200_000


@pytest.mark.parametrize(
    ("fair", "more", "wanted"),
    [
        ("source", "", "flow hash keys src divisor 1024"),
        ("source", "nat = true", "flow hash keys nfct-src divisor 1024"),
        ("destination", "nat = true", "flow hash keys dst divisor 1024"),
    ],
)
def test_sharing_by_address(fair: str, more: str, wanted: str) -> None:
    lines = _queues(_plan(more, classes=f'[{{ name = "bulk", fair = "{fair}" }}]', down=""))
    assert lines[-1].endswith(wanted)


def test_hosts_behind_nat_cannot_be_told_apart_as_packets_arrive() -> None:
    classes = '[{ name = "bulk", fair = "destination" }]'
    assert [code for code, _ in _refused(_plan("nat = true", classes=classes))] == ["difference"]
    script = _script(_plan("nat = true", classes=classes, accept="['fair-by-flow']"))
    assert "# accepted: fair-by-flow: " in script
    assert " flow hash keys dst " in "\n".join(line for line in _part(script, "PFQ_QUEUES") if " eth0 " in line)


def test_the_empty_ack_test_by_kernel() -> None:
    assert "@ih,0,8 >= 0 return" in _rules(_plan())
    old = _rules(_plan(system="linux-5.10", accept="['ipv6-extension-express']", more='shape_down = "none"'))
    assert "@ih" not in old
    assert "typeof ip hdrlength . tcp doff . ip length" in old
    assert old.count(" . ") > 121 * 2
    assert "accepted: ipv6-extension-express" in _script(_plan(system="linux-5.10", accept="['ipv6-extension-express']", more='shape_down = "none"'))
    assert [code for code, _ in _refused(_plan(system="linux-5.10", more='shape_down = "none"'))] == ["difference"]


def test_nat_mss_and_inbound() -> None:
    rules = _rules(_plan('nat = true\none_to_one = [{ inside = "192.168.1.9", outside = "203.0.113.9" }]\ninbound = { services = ["tcp/443"] }'))
    assert 'oifname "eth0" snat to ip saddr map { 192.168.1.9 : 203.0.113.9 }' in rules
    assert 'iifname "eth0" dnat to ip daddr map { 203.0.113.9 : 192.168.1.9 }' in rules
    assert rules.index("snat to ip saddr map") < rules.index("ip saddr 192.168.1.0/24 ip daddr != 192.168.1.0/24 masquerade")
    assert "meta nfproto ipv4 tcp option maxseg size > 1408 tcp option maxseg size set 1408" in rules
    assert "meta nfproto ipv6 tcp option maxseg size > 1388 tcp option maxseg size set 1388" in rules
    filtering = rules.partition("chain wan/filter/in {")[2].partition("}\n\n")[0]
    assert filtering.index("ct state established,related accept") < filtering.index("tcp dport 22 accept") < filtering.index("\t\tdrop")
    assert "tcp dport 443 accept" in filtering


def test_without_an_inbound_policy_nothing_is_dropped_and_the_output_says_so() -> None:
    script = _script(_plan())
    assert "drop" not in "\n".join(_part(script, "PFQ_RULES"))
    assert "# link wan: no packet is filtered; the model asks for no inbound policy" in script


def test_a_flow_keeps_its_class_when_others_come_and_go() -> None:
    before = flow_marks(_plan().gateways[0])["wan"]
    after = flow_marks(_plan(classes=_CLASSES.replace(' { name = "bulk" }', ' { name = "more", match = "tcp/1" }, { name = "bulk" }')).gateways[0])["wan"]
    assert {name: after.classes[name] for name in before.classes} == before.classes
    assert after.mask == before.mask == MARK_MASK
    assert all(mark and mark & MARK_MASK == mark for mark in after.classes.values())
    assert len(set(after.classes.values())) == len(after.classes)


def test_other_bits_of_the_mark_are_left_alone() -> None:
    rules = _rules(_plan())
    assert all(line.strip().startswith("ct mark set (ct mark & 0x0000ffff) | ") for line in rules.splitlines() if "mark set" in line)


def _links(classes: list[int], exclude: bool = False) -> Plan:
    """A gateway with a link for each number of classes."""
    model = "accept = ['soft-order']\n"
    for index, count in enumerate(classes):
        names = ", ".join(f'{{ name = "c{n}", share = 1, match = "tcp/{n + 1}" }}' for n in range(count - 1))
        model += f'[links.l{index}]\nup = "100 Mbit"\npolicy = "p{index}"\n[policies.p{index}]\nclasses = [{names}{", " if names else ""}'
        model += '{ name = "rest", share = 1 }]\n'
    model += '[hosts.gw]\nsystem = "linux-6.1"\n'
    for index in range(len(classes)):
        more = ', exclude = ["203.0.113.0/24"]' if exclude else ""
        model += f'links.l{index} = {{ interface = "eth{index}"{more} }}\n'
    return build(load_text(model, "site.toml"))


@pytest.mark.parametrize("counts", [[1], [3, 3], [15, 15, 1, 1], [200, 200], [250, 60, 1], [1] * 16, [30, 30, 30], [6, 2, 2, 2, 2, 1]])
@pytest.mark.parametrize("exclude", [False, True])
def test_each_link_has_a_field_of_the_mark(counts: list[int], exclude: bool) -> None:
    if exclude and len(counts) == 16:
        counts = counts[:8]
    marks = list(flow_marks(_links(counts, exclude).gateways[0]).values())
    for index, own in enumerate(marks):
        values = [*own.classes.values(), *([own.unshaped] if exclude else [])]
        assert all(value and value & own.mask == value for value in values)
        assert len(set(values)) == len(values) == counts[index] + exclude
        assert not any(own.mask & other.mask for other in marks if other is not own)
        assert own.mask & MARK_MASK == own.mask


@pytest.mark.parametrize("counts", [[1] * 17, [300, 300], [40, 40, 40], [2] * 9])
def test_classes_that_do_not_fit_into_the_mark_are_refused(counts: list[int]) -> None:
    found = _refused(_links(counts))
    assert [code for code, _ in found] == ["too-many-classes"]


def test_refusals_are_told_together_with_their_places() -> None:
    classes = "[" + ", ".join(f'{{ name = "c{n}", match = "tcp/{n}" }}' for n in range(1, 9)) + ', { name = "x", fair = "flow", drop = "red" }]'
    found = _refused(_plan(system="linux-4.4", classes=classes, more='shape_down = "none"\nscheduler = "htb"'))
    assert {code for code, _ in found} == {"too-many-classes", "unsupported"}
    assert len(found) == 3
    assert all(line for _, line in found)


def test_strange_names_in_a_plan_do_not_reach_the_script() -> None:
    plan = _plan()
    gateway = plan.gateways[0]
    for name in ("eth0; reboot", "$(reboot)", "a b", "x\ny", "'", "-rf", ""):
        uplink = replace(gateway.uplinks[0], interface=name)
        with pytest.raises(Refused, match="1 faults"):
            linux.render(plan, replace(gateway, uplinks=(uplink,)), None)


def test_a_site_name_stays_in_its_comment() -> None:
    script = _script(_plan(site="x`reboot` $(reboot) é"))
    assert [line for line in script.splitlines() if "reboot" in line] == ["# pfq: gateway gw (linux-6.1), site x`reboot` $(reboot) ?"]
    assert remark("a\nb\x1b") == "a?b?"


def test_names_of_ifb_devices_fit() -> None:
    names = {ifb_name("a" * 40 + str(n)) for n in range(50)} | {ifb_name("wan")}
    assert "ifb-wan" in names
    assert len(names) == 51
    assert all(len(name) <= 15 for name in names)


def test_files_beside_the_script() -> None:
    plan = _plan()
    names = [file.name for file in linux.render(plan, plan.gateways[0], None)]
    assert names == ["pfq.sh", "pfq.service"]
    model = _MODEL.format(more="", system="linux-6.1", classes=_CLASSES, accept="[]", site="", down="").replace('"eth0"', '"ppp0"')
    plan = build(load_text(model, "site.toml"))
    hook = next(file for file in linux.render(plan, plan.gateways[0], None) if file.name == "ip-up.d/pfq")
    assert hook.executable
    assert "ppp0) exec /etc/pfq/pfq.sh start ;;" in hook.text


def test_parts() -> None:
    plan = _plan()
    (queues,) = linux.render(plan, plan.gateways[0], "queues")
    (rules,) = linux.render(plan, plan.gateways[0], "rules")
    assert "nft" not in queues.text.replace("pfq", "")
    assert "#   eth0: wan bulk 2:3" in queues.text
    assert rules.text.startswith("#!/usr/sbin/nft -f\n")
    assert "tc " not in rules.text


def test_the_same_plan_gives_the_same_text_and_another_another_digest() -> None:
    first, again, other = _script(_plan()), _script(_plan()), _script(_plan("txqueuelen = 50"))
    assert first == again
    digests = [re.findall(r"^config=([0-9a-f]{16})$", script, re.MULTILINE) for script in (first, other)]
    assert len(digests[0]) == len(digests[1]) == 1
    assert digests[0] != digests[1]
    assert f"chain config_{digests[0][0]} {{" in first


def test_far_jumps() -> None:
    a = Assembler()
    a.branch(0x15, 7, "end", "next")
    a.label("next")
    for _ in range(300):
        a.put(0x00, 1)
    a.label("end")
    a.put(0x06, 0)
    count, first, far, near, *_ = a.bytecode().split(",")
    # Only the outcome that is too far away takes a jump of its own.
    assert (count, first, far, near) == ("303", "21 0 1 7", "5 0 0 300", "0 0 0 1")
    for _ in range(4000):
        a.put(0x00, 1)
    with pytest.raises(TooLong):
        a.bytecode()


def test_abilities_follow_the_version() -> None:
    by_system = {name: {each.feature: each.has for each in linux.abilities(parse_system(name))} for name in ("linux-4.4", "linux-5.10", "linux-6.12")}
    assert [rows["scheduler cbq"] for rows in by_system.values()] == [True, True, False]
    assert [rows["scheduler cake"] for rows in by_system.values()] == [False, True, True]
    assert [rows["exact empty ACKs, IPv6"] for rows in by_system.values()] == [False, False, True]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(model=models(LINUX), data=st.data())
def test_random_models_are_written_or_refused(model: str, data: st.DataObject) -> None:
    try:
        plan = build(load_text(model, "site.toml"))
    except Refused:
        return
    gateway = data.draw(st.sampled_from(plan.gateways))
    refused: tuple[Diagnostic, ...] = ()
    try:
        files = linux.render(plan, gateway, None)
    except Refused as error:
        refused = error.diagnostics
    assert all(each.place and each.hint for each in refused)
    if refused:
        return
    script = files[0].text
    for name in ("PFQ_PIECES", "PFQ_QUEUES", "PFQ_RULES"):
        assert script.count(f"\n{name}\n") == 1
    assert max(map(len, re.findall(r"^\tchain (\S+) \{$", script, re.MULTILINE))) < (32 if gateway.system.version < (4, 14) else 128)


@pytest.mark.parametrize("shell", ["dash", "busybox sh", "bash --posix"])
def test_shells_read_the_script(shell: str) -> None:
    words = shell.split()
    assert shutil.which(words[0]), f"{words[0]} is not installed"
    for file in linux.render(_plan(), _plan().gateways[0], None):
        if file.executable:
            done = subprocess.run([*words, "-n"], input=file.text, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")
