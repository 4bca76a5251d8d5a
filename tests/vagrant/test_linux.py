"""vagrant/check with stand-ins for ip, tc and nft. What they print is as iproute2 6.1 prints it."""

from pathlib import Path

import pytest

from tests.vagrant.standins import Machine, machine

PLAN = """\
host tux linux-6.1 tux/pfq.sh
interface eth0 ethernet
interface eth0.7 vlan
interface ppp0 ppp
tree eth0.7 egress htb ceil=1976000
queue express rate=645540
queue rest rate=233815
tree ppp0 ingress hfsc ul=14400000
queue express ls=1440000 rt=1440000
tree ppp0 police police police=800000
tree eth0 egress cake bandwidth=49400000
"""

SCRIPT = 'echo "script $1" >>"$STANDINS/calls"\n. "$STANDINS/script"\n'

CLASSES = """\
class htb 1:1 root rate 1976Kbit ceil 1976Kbit burst 4113b cburst 4113b
class htb 1:10 parent 1:1 leaf 10: prio 0 rate 645536bit ceil 1976Kbit burst 1643b cburst 4113b
class htb 1:20 parent 1:1 leaf 20: prio 3 rate 233Kbit ceil 1976Kbit burst 1643b cburst 4113b
"""

HFSC = """\
class hfsc 1: root
class hfsc 1:1 parent 1: ls m1 0bit d 0us m2 14400Kbit ul m1 0bit d 0us m2 14400Kbit
class hfsc 1:10 parent 1:1 leaf 10: sc m1 0bit d 0us m2 1440Kbit
"""

CAKE = "qdisc cake 1: root refcnt 2 bandwidth 49400Kbit diffserv4 dual-srchost nonat nowash ack-filter split-gso rtt 100ms noatm overhead 38\n"

POLICE = """\
filter protocol all pref 50 matchall chain 0
filter protocol all pref 50 matchall chain 0 handle 0x1
  not_in_hw
	action order 1:  police 0x1 rate 800Kbit burst 2500b mtu 2Kb action drop overhead 0b
	ref 1 bind 1
"""


@pytest.fixture
def linux(tmp_path: Path) -> Machine:
    made = machine(tmp_path, "Linux", "6.1.0-25-amd64")
    made.ruleset("site", PLAN, {"tux/pfq.sh": SCRIPT})
    (tmp_path / "script").write_text("")
    devices = "1: lo: <LOOPBACK,UP> mtu 65536\n2: eth0.7@eth0: <UP> mtu 1500\n3: eth0: <UP> mtu 1500\n4: ppp0: <UP> mtu 1500\n5: ifb-dsl: <UP> mtu 1500\n"
    made.answer("ip -o link show", devices)
    made.answer("ip -o link show type ifb", "5: ifb-dsl: <UP> mtu 1500\n")
    made.answer("tc class show dev eth0.7", CLASSES)
    made.answer("tc class show dev eth0", "")
    made.answer("tc class show dev ifb-dsl", HFSC)
    made.answer("tc qdisc show dev eth0.7", "qdisc htb 1: root refcnt 2 r2q 10 default 0x50\n")
    made.answer("tc qdisc show dev eth0", CAKE)
    made.answer("tc filter show dev ppp0 ingress", POLICE)
    return made


def outcome(machine: Machine) -> tuple[int, str]:
    done = machine.check()
    (line,) = done.stdout.splitlines()
    return done.returncode, line


def failure(machine: Machine) -> str:
    status, line = outcome(machine)
    assert status == 1
    return line.removeprefix("FAILED site tux: ")


def test_what_is_as_planned_is_ok(linux: Machine) -> None:
    assert outcome(linux) == (0, "ok site tux")


def test_everything_happens_in_a_namespace_that_goes_afterwards(linux: Machine) -> None:
    linux.check()
    calls = linux.calls()
    changing = [call for call in calls if call.startswith("ip ") and not call.startswith(("ip netns", "ip -o link show"))]
    assert calls[0] == "ip netns del pfq-check"
    assert calls[-1] == "ip netns del pfq-check"
    assert len([call for call in calls if call.startswith("ip netns exec pfq-check ip ") and "show" not in call]) == len(changing)
    assert linux.left() == []


def test_interfaces_get_the_names_of_the_ruleset(linux: Machine) -> None:
    linux.check()
    assert {
        "ip link add eth0 type veth peer name peer91",
        "ip link add link eth0 name eth0.7 type vlan id 7",
        "ip tuntap add dev ppp0 mode tun",
        "ip link set eth0.7 up",
    } <= set(linux.calls())


def test_the_script_is_started_twice_and_stopped(linux: Machine) -> None:
    linux.check()
    assert [call for call in linux.calls() if call.startswith("script")] == ["script start", "script start", "script stop"]


def test_a_wrong_rate(linux: Machine) -> None:
    linux.answer("tc class show dev eth0.7", CLASSES.replace("645536bit", "645Kbit").replace("233Kbit", "235Kbit"))
    assert failure(linux) == "eth0.7 egress: no class for rest with rate=233815"


def test_a_missing_class(linux: Machine) -> None:
    linux.answer("tc class show dev eth0.7", CLASSES.replace("645536bit", "233Kbit"))
    assert failure(linux) == "eth0.7 egress: no class for express with rate=645540"


def test_a_class_counts_once(linux: Machine) -> None:
    linux.ruleset("site", PLAN.replace("queue rest rate=233815", "queue rest rate=645540"), {})
    assert failure(linux) == "eth0.7 egress: no class for rest with rate=645540"


def test_a_tree_that_is_not_bounded(linux: Machine) -> None:
    linux.answer("tc class show dev ifb-dsl", HFSC.replace(" ul m1 0bit d 0us m2 14400Kbit", ""))
    assert failure(linux) == "ppp0 ingress: no hfsc with ul=14400000"


def test_a_policer_and_a_cake_at_other_rates(linux: Machine) -> None:
    linux.answer("tc filter show dev ppp0 ingress", POLICE.replace("800Kbit", "80Kbit"))
    linux.answer("tc qdisc show dev eth0", CAKE.replace("bandwidth 49400Kbit", "unlimited"))
    assert failure(linux) == "ppp0 police: no police with police=800000; eth0 egress: no cake with bandwidth=49400000"


def test_a_script_that_fails(linux: Machine) -> None:
    (linux.folder / "script").write_text("echo 'pfq: no such interface'\nexit 1\n")
    assert failure(linux) == "pfq.sh start: pfq: no such interface"
    assert linux.calls()[-1] == "ip netns del pfq-check"


def test_a_second_start_that_changes_something(linux: Machine) -> None:
    (linux.folder / "script").write_text('[ -e "$STANDINS/once" ] && cp "$STANDINS/other" "$STANDINS/answers/nft_list_ruleset"; : >"$STANDINS/once"\n')
    (linux.folder / "other").write_text("table inet pfq {\n}\n")
    assert failure(linux) == "a second start changes something: > table inet pfq {; stop leaves something changed: > table inet pfq {"


def test_a_stop_that_leaves_something(linux: Machine) -> None:
    (linux.folder / "script").write_text('cp "$STANDINS/other" "$STANDINS/answers/nft_list_ruleset"\n')
    (linux.folder / "other").write_text("table inet pfq {\n}\n")
    assert failure(linux) == "stop leaves something changed: > table inet pfq {"


def test_counters_and_passing_numbers_are_no_change(linux: Machine) -> None:
    (linux.folder / "script").write_text('[ "$1" = stop ] || echo "counter packets $$ bytes $$" >"$STANDINS/answers/nft_list_ruleset"\n')
    assert failure(linux) == "stop leaves something changed: > counter "


def test_a_kernel_without_cbq(linux: Machine) -> None:
    linux.ruleset("site", "host tux linux-5.10 tux/pfq.sh\ninterface ppp0 ppp\ntree ppp0 egress cbq rate=220000\n", {})
    linux.answer("tc qdisc add dev ppp0 root", error="Error: Specified qdisc kind is unknown.\n", status=2)
    done = linux.check()
    assert done.stdout == "not for this system: site tux (this kernel has no cbq)\n"
    assert done.returncode == 1
    assert "script start" not in linux.calls()


def test_without_tun_a_card_stands_for_a_line(linux: Machine) -> None:
    linux.answer("ip tuntap add", error="open: No such file or directory\n", status=1)
    assert outcome(linux) == (0, "ok site tux (ppp0 is a veth here)")


def test_an_interface_that_cannot_be_made(linux: Machine) -> None:
    linux.answer("ip link add eth0 type", error="Error: Unknown device type.\n", status=2)
    assert failure(linux) == "interface eth0: Error: Unknown device type."


def test_a_signal_half_way_takes_the_namespace_away(linux: Machine) -> None:
    linux.answer("ip address", kill="TERM")
    assert linux.check().returncode == 130
    assert linux.calls()[-1] == "ip netns del pfq-check"
    assert linux.left() == []
