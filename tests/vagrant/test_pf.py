"""vagrant/check with stand-ins for pfctl and ifconfig. What they print is as pfctl_queue.c, pfctl_altq.c and pfctl_qstats.c print it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.vagrant.standins import CHECK, Machine, machine

PLAN = """\
# made by hand
host gate openbsd-7.6 gate/pf.conf
interface em0 ethernet
interface pppoe0 pppoe
tree pppoe0 egress hfsc max=101430
queue ack bandwidth=10260 min=10260
queue rest bandwidth=91170

host old openbsd-4.4 old/pf.conf
interface kue0 ethernet
tree kue0 egress priq interface=100000
queue q_pri rank=0
"""

CONF = """\
ext_if = "pppoe0"
int_if = "em0"
queue root_em0 on em0 bandwidth 1G
match on em0 from em0:network to !(em0)
"""

QUEUES = """\
queue root_pppoe0 on pppoe0 bandwidth 101430 , max 101430  qlimit 50
  [ pkts:          0  bytes:          0  dropped pkts:      0 bytes:      0 ]
  [ qlength:   0/ 50 ]
  [ qid=2 parent_qid=0 ifname=pppoe0]
queue ack parent root_pppoe0 bandwidth 10260 , min 10260  qlimit 59
  [ pkts:          0  bytes:          0  dropped pkts:      0 bytes:      0 ]
  [ qlength:   0/ 59 ]
  [ qid=3 parent_qid=2 ifname=pppoe0]
queue rest parent root_pppoe0 flows 1024 bandwidth 91170  default
  [ pkts:         12  bytes:        984  dropped pkts:      0 bytes:      0 ]
  [ qlength:   0/1024 ]
  [ qid=4 parent_qid=2 ifname=pppoe0]
"""

ALTQ_PLAN = """\
host gate freebsd-14.0 gate/pf.conf
interface igb0 ethernet
interface ng0 ng
tree igb0 egress priq interface=45000247
queue first rank=0
queue last rank=1
tree ng0 egress hfsc interface=1448000|upperlimit=1448000
queue ack bandwidth=341040 realtime=341040
"""

ALTQ_QUEUES = """\
queue first on igb0 priority 15 qlimit 60
  [ pkts:          0  bytes:          0  dropped pkts:      0 bytes:      0 ]
  [ qlength:   0/ 60 ]
  [ qid=1 ifname=igb0 ifbandwidth=45.00Mb ]
queue last on igb0 priq( default )
  [ pkts:          0  bytes:          0  dropped pkts:      0 bytes:      0 ]
  [ qlength:   0/ 50 ]
  [ qid=2 ifname=igb0 ifbandwidth=45.00Mb ]
queue root_ng0 on ng0 bandwidth 1.45Mb priority 0 {ack}
  [ qid=3 ifname=ng0 ifbandwidth=1.45Mb ]
queue  ack on ng0 bandwidth 341.04Kb hfsc( default realtime 341.04Kb linkshare(1Mb 20 341.04Kb) )
  [ qid=4 ifname=ng0 ifbandwidth=1.45Mb ]
"""


@pytest.fixture
def openbsd(tmp_path: Path) -> Machine:
    made = machine(tmp_path, "OpenBSD", "7.8")
    made.ruleset("site", PLAN, {"gate/pf.conf": CONF})
    made.answer("pfctl -gvsq", QUEUES)
    return made


@pytest.fixture
def freebsd(tmp_path: Path) -> Machine:
    made = machine(tmp_path, "FreeBSD", "14.3-RELEASE-p2")
    made.ruleset("site", ALTQ_PLAN, {"gate/pf.conf": "altq on igb0 priq bandwidth 45000247b\n"})
    made.answer("pfctl -gvsq", ALTQ_QUEUES)
    return made


def outcome(machine: Machine) -> tuple[int, list[str]]:
    done = machine.check()
    return done.returncode, done.stdout.splitlines()


def test_what_is_as_planned_is_ok(openbsd: Machine) -> None:
    status, lines = outcome(openbsd)
    assert lines == ["ok site gate (em0 is vether91 here)", "not for this system: site old (openbsd-4.4)"]
    assert status == 0


def test_it_is_parsed_then_loaded_then_looked_at_then_restored(openbsd: Machine) -> None:
    openbsd.check()
    calls = [call for call in openbsd.calls() if call.startswith("pfctl")]
    restored = f"pfctl -q -f {openbsd.folder / 'etc_pf.conf'}"
    assert calls == ["pfctl -s info", "pfctl -nf pf.conf", "pfctl -f pf.conf", "pfctl -gvsq", restored]


def test_interfaces_are_made_with_addresses_and_taken_away(openbsd: Machine) -> None:
    openbsd.interface("vio0")
    openbsd.check()
    assert openbsd.interfaces() == {"vio0"}
    assert "ifconfig pppoe0 create" in openbsd.calls()
    assert "ifconfig vether91 inet 198.18.91.1/24 up" in openbsd.calls()
    assert openbsd.left() == []


def test_only_whole_names_of_interfaces_are_replaced(openbsd: Machine) -> None:
    openbsd.check()
    assert openbsd.loaded() == CONF.replace("em0", "vether91").replace("root_vether91", "root_em0")


def test_a_name_that_is_taken_is_replaced_and_the_plan_follows(openbsd: Machine) -> None:
    openbsd.interface("pppoe0")
    openbsd.answer("pfctl -gvsq", QUEUES.replace("pppoe0", "pppoe92"))
    status, lines = outcome(openbsd)
    assert lines[0] == "ok site gate (em0 is vether91 here, pppoe0 is pppoe92 here)"
    assert status == 0
    assert openbsd.interfaces() == {"pppoe0"}


def failure(machine: Machine) -> str:
    status, lines = outcome(machine)
    assert status == 1
    (line,) = [line for line in lines if line.startswith("FAILED site gate: ")]
    return line.removeprefix("FAILED site gate: ").partition(" (")[0]


def test_a_wrong_rate(openbsd: Machine) -> None:
    openbsd.answer("pfctl -gvsq", QUEUES.replace("min 10260 ", "min 10261 "))
    assert failure(openbsd) == "pppoe0 egress ack: min=10260 wanted, found bandwidth=10260 min=10261"


def test_a_root_that_limits_nothing(openbsd: Machine) -> None:
    openbsd.answer("pfctl -gvsq", QUEUES.replace(" , max 101430", ""))
    assert failure(openbsd) == "pppoe0 egress: no hfsc with max=101430"


def test_a_missing_queue(openbsd: Machine) -> None:
    openbsd.answer("pfctl -gvsq", QUEUES.replace("queue rest", "queue bulk"))
    assert failure(openbsd) == "pppoe0 egress: no queue rest"


def test_no_queues_at_all(openbsd: Machine) -> None:
    openbsd.answer("pfctl -gvsq", "")
    assert failure(openbsd) == "pppoe0 egress: no hfsc with max=101430; pppoe0 egress: no queue ack; pppoe0 egress: no queue rest"


def test_a_queue_on_another_interface_does_not_count(openbsd: Machine) -> None:
    openbsd.answer("pfctl -gvsq", QUEUES.replace("qid=3 parent_qid=2 ifname=pppoe0", "qid=3 parent_qid=2 ifname=vether91"))
    assert failure(openbsd) == "pppoe0 egress: no queue ack"


def test_a_ruleset_that_does_not_parse_is_not_loaded(openbsd: Machine) -> None:
    openbsd.answer("pfctl -nf", error="pf.conf:3: syntax error\n", status=1)
    assert failure(openbsd) == "pfctl -nf: pf.conf:3: syntax error"
    assert openbsd.loaded() == ""
    assert openbsd.interfaces() == set()


def test_a_ruleset_that_does_not_load(openbsd: Machine) -> None:
    openbsd.answer("pfctl -f pf.conf", error="pfctl: DIOCXCOMMIT: Device not configured\n", status=1)
    assert failure(openbsd) == "pfctl -f: pfctl: DIOCXCOMMIT: Device not configured"
    assert openbsd.calls()[-1].startswith("ifconfig")
    assert f"pfctl -q -f {openbsd.folder / 'etc_pf.conf'}" in openbsd.calls()


def test_queues_that_cannot_be_shown(openbsd: Machine) -> None:
    openbsd.answer("pfctl -gvsq", error="pfctl: DIOCGETQSTATS: Bad file descriptor\n", status=1)
    assert failure(openbsd) == "pfctl -gvsq: pfctl: DIOCGETQSTATS: Bad file descriptor"


def test_a_remark_of_pfctl_is_passed_on(openbsd: Machine) -> None:
    openbsd.answer("pfctl -f pf.conf", error="pfctl: something odd\n")
    status, lines = outcome(openbsd)
    assert lines[0] == "ok site gate (em0 is vether91 here, pfctl says: pfctl: something odd)"
    assert status == 0


def test_pf_that_was_off_is_off_again(openbsd: Machine) -> None:
    openbsd.answer("pfctl -s info", "Status: Disabled\n")
    openbsd.check()
    calls = [call for call in openbsd.calls() if call.startswith(("pfctl", "stdin"))]
    assert calls[3:] == ["pfctl -q -e", "pfctl -gvsq", "pfctl -q -f -", "stdin: pass", "pfctl -q -d"]


def test_an_output_that_is_not_there(openbsd: Machine) -> None:
    (openbsd.folder / "rulesets/site/out/gate/pf.conf").unlink()
    assert failure(openbsd) == "out/gate/pf.conf is not there"


def test_a_folder_without_a_plan(openbsd: Machine) -> None:
    (openbsd.folder / "rulesets/site/expected").unlink()
    status, lines = outcome(openbsd)
    assert lines == ["FAILED site: no file expected; python3 vagrant/expect.py makes it"]
    assert status == 1


def test_a_newer_target_is_tried_and_said(tmp_path: Path) -> None:
    made = machine(tmp_path, "OpenBSD", "7.4")
    made.ruleset("site", PLAN, {"gate/pf.conf": CONF})
    made.answer("pfctl -gvsq", QUEUES)
    status, lines = outcome(made)
    assert lines[0] == "ok site gate (em0 is vether91 here, compiled for openbsd-7.6, this is openbsd 7.4)"
    assert status == 0


def test_nothing_for_this_system_is_no_success(freebsd: Machine) -> None:
    freebsd.ruleset("site", PLAN, {"gate/pf.conf": CONF})
    done = freebsd.check()
    assert done.returncode == 1
    assert done.stderr == "check: nothing here is for freebsd 14.3-RELEASE-p2\n"


def test_only_the_named_folders(openbsd: Machine) -> None:
    openbsd.ruleset("other", PLAN, {"gate/pf.conf": CONF})
    done = openbsd.check(str(openbsd.folder / "rulesets"), "other")
    assert done.stdout.splitlines()[0] == "ok other gate (em0 is vether91 here)"
    assert "site" not in done.stdout


def test_one_failure_does_not_stop_the_others(openbsd: Machine) -> None:
    openbsd.ruleset("another", PLAN.replace("queue rest", "queue bulk"), {"gate/pf.conf": CONF})
    status, lines = outcome(openbsd)
    assert [line.split(" (")[0] for line in lines if not line.startswith("not for")] == [
        "FAILED another gate: pppoe0 egress: no queue bulk",
        "ok site gate",
    ]
    assert status == 1


def test_altq_rates_within_what_pfctl_prints(freebsd: Machine) -> None:
    status, lines = outcome(freebsd)
    assert lines == ["ok site gate"]
    assert status == 0
    assert {"ifconfig epair91a name igb0", "ifconfig tun92 name ng0", "kldload -n pf"} <= set(freebsd.calls())
    assert freebsd.interfaces() == set()


def test_an_altq_rate_beyond_what_pfctl_rounds(freebsd: Machine) -> None:
    freebsd.answer("pfctl -gvsq", ALTQ_QUEUES.replace("45.00Mb", "45.02Mb"))
    assert failure(freebsd) == "igb0 egress: no priq with interface=45000247"


def test_altq_priorities_in_the_wrong_order(freebsd: Machine) -> None:
    freebsd.answer("pfctl -gvsq", ALTQ_QUEUES.replace("queue last on igb0 ", "queue last on igb0 priority 15 "))
    assert failure(freebsd) == "igb0 egress last: priority 15 is not below that of first, 15"


def test_an_altq_queue_that_waits_for_its_interface(freebsd: Machine) -> None:
    freebsd.answer("pfctl -gvsq", ALTQ_QUEUES.replace("queue  ack", "INACTIVE queue  ack"))
    assert failure(freebsd) == "ng0 egress: no queue ack"


def test_a_taken_card_name_on_freebsd(freebsd: Machine) -> None:
    freebsd.interface("igb0")
    freebsd.answer("pfctl -gvsq", ALTQ_QUEUES.replace("igb0", "epair91a"))
    status, lines = outcome(freebsd)
    assert lines == ["ok site gate (igb0 is epair91a here)"]
    assert status == 0
    assert freebsd.loaded() == "altq on epair91a priq bandwidth 45000247b\n"
    assert freebsd.interfaces() == {"igb0"}


def test_a_kernel_without_altq(freebsd: Machine) -> None:
    freebsd.answer("pfctl -f pf.conf", error="No ALTQ support in kernel\nALTQ related functions disabled\n")
    assert failure(freebsd) == "this kernel has no ALTQ, see vagrant/README.md"


@pytest.mark.parametrize("signal", ["HUP", "INT", "TERM"])
def test_a_signal_half_way_restores(openbsd: Machine, signal: str) -> None:
    openbsd.answer("pfctl -f pf.conf", kill=signal)
    done = openbsd.check()
    assert done.returncode == 130
    assert f"pfctl -q -f {openbsd.folder / 'etc_pf.conf'}" in openbsd.calls()
    assert openbsd.interfaces() == set()
    assert openbsd.left() == []


def test_the_watchdog_restores_what_a_killed_check_left(openbsd: Machine) -> None:
    restored = f"pfctl -q -f {openbsd.folder / 'etc_pf.conf'}"
    openbsd.answer("pfctl -f pf.conf", kill="KILL")
    command = ["sh", str(CHECK), str(openbsd.folder / "rulesets")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=openbsd.environment()) as running:
        assert running.wait(timeout=60) == -9
        assert restored not in openbsd.calls()
        assert openbsd.interfaces() == {"vether91", "pppoe0"}
        # Time passes for the watchdog; its end closes the pipe.
        with open(openbsd.folder / "time", "w") as time:
            time.write("up\n")
        running.communicate(timeout=60)
    assert restored in openbsd.calls()
    assert openbsd.interfaces() == set()
    assert openbsd.left() == []


def test_a_load_that_hangs_until_the_watchdog_comes_is_a_failure(openbsd: Machine) -> None:
    pfctl = openbsd.folder / "bin" / "pfctl"
    hangs = '"-f pf.conf") echo up >"$STANDINS/time"; while [ -e "$STANDINS/interfaces/pppoe0" ]; do :; done; '
    pfctl.write_text(pfctl.read_text().replace('"-f pf.conf")', hangs))
    assert failure(openbsd) == "took longer than 120 seconds; the watchdog came first"
    assert openbsd.interfaces() == set()


def test_who_is_not_root_loads_nothing(tmp_path: Path) -> None:
    made = machine(tmp_path, "OpenBSD", "7.8", root=False)
    made.ruleset("site", PLAN, {"gate/pf.conf": CONF})
    done = made.check()
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "check: only root can load rulesets\n")
    assert made.calls() == []


def test_another_system(tmp_path: Path) -> None:
    done = machine(tmp_path, "Darwin", "23").check()
    assert (done.returncode, done.stderr) == (2, "check: Darwin is none of OpenBSD, FreeBSD, Linux\n")


def test_wrong_use(openbsd: Machine) -> None:
    assert subprocess.run(["sh", CHECK], capture_output=True, text=True, check=False).stderr == "check: usage: check RULESETS [NAME...]\n"
    for words in (["nowhere"], [str(openbsd.folder / "rulesets"), "nowhere"]):
        assert openbsd.check(*words).returncode == 2
    assert os.listdir(openbsd.folder / "tmp") == []
