"""Ping and goodput on a full line behind each of several gateways, on a test kernel whose clock counts instructions.

python -m bench.latency [--profile NAME] [--scenario NAME] [--configuration NAME] [--seeds DIR] [--seconds N] [--format table|json]
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from bench.latency.configurations import configurations
from bench.latency.profiles import DELAY_MS, PROFILES, Profile
from bench.latency.report import summary, table
from bench.latency.scenarios import SCENARIOS
from bench.latency.seeds import NoScript
from tests.e2e.kernel.kernels import KERNELS, KernelError
from tests.e2e.kernel.machine import Machine, run

_PROJECT = Path(__file__).parents[2]
_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
_DEFAULT_PROFILES = ("1020/8000", "1020/8000-atm", "128/512", "2000/20000")


def measure(task: dict[str, Any], timeout: float) -> list[dict[str, Any]]:
    """`bench.latency.guest.measure(task)` on the test kernel; what it says on standard error passes through. Raises KernelError."""
    with tempfile.TemporaryDirectory(prefix="pfq-latency-") as name:
        share = Path(name)
        (share / "request.json").write_text(json.dumps({"function": "bench.latency.guest:measure", "argument": task}))
        machine = Machine(KERNELS["current"], share, timeout=timeout, instruction_clock=True)
        command = [sys.executable, "-m", "tests.e2e.kernel.inside", name]
        status = run(machine, command, directory=_PROJECT, stdout=sys.stderr.buffer)
        answer = share / "answer.json"
        if not answer.is_file():
            raise KernelError(f"no answer, exit status {status}")
        result = json.loads(answer.read_text())
    if "error" in result:
        raise KernelError(str(result["error"]))
    rows: list[dict[str, Any]] = result["result"]
    return rows


def _records(profile: Profile, given: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures one line: every configuration in one machine, the idle line first."""
    known = configurations(profile, given.seeds)
    for each in [each for each in known.values() if each.program and shutil.which(each.program, path=_PATH) is None]:
        print(f"left out, not installed: {each.name} (Debian package {each.program})", file=sys.stderr)
        del known[each.name]
    wanted = given.configuration or list(known)
    missing = [name for name in wanted if name not in known]
    if missing:
        hint = "" if given.seeds else " (the seeds' scripts need --seeds)"
        raise NoScript(f"no configuration {', '.join(missing)}{hint}; there are {', '.join(known)}")
    task = {
        "profile": profile.name, "up": profile.netem(profile.up), "down": profile.netem(profile.down), "delay": DELAY_MS, "mtu": profile.mtu,
        "offloads": given.offloads, "settle": profile.settle, "seconds": given.seconds, "interval": profile.interval, "show": given.show,
        "scenarios": given.scenario,
        "configurations": [{"name": each.name, "script": each.script, "lenient": each.lenient} for name in wanted for each in [known[name]]],
    }
    rows = measure(task, given.timeout)
    pings = rows[0]["pings"]
    # The first row is the idle line's.
    return summary(profile.name, rows[1:], sum(pings) / len(pings))


def main(arguments: list[str]) -> int:
    """0; 2 for wrong use or a machine that cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", action="append", choices=list(PROFILES), help=f"a line (default: {', '.join(_DEFAULT_PROFILES)})")
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS), help="what is done (default: both)")
    parser.add_argument("--configuration", action="append", metavar="NAME", help="a gateway's queues (default: all)")
    parser.add_argument("--seeds", type=Path, metavar="DIR", help="folder of the seed articles, for their two scripts")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="N", help="how long each is counted (default: 20)")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--offloads", action="store_true", help="leave TSO, GSO and GRO on")
    parser.add_argument("--show", action="store_true", help="print the queues' statistics on standard error")
    parser.add_argument("--timeout", type=float, default=7200.0, metavar="SECONDS", help="of real time for one line (default: 7200)")
    given = parser.parse_args(arguments)
    given.scenario = given.scenario or ["both"]
    if given.seeds is None:
        print("left out without --seeds: conditioner, french (the seed articles' scripts)", file=sys.stderr)
    try:
        records = [record for name in given.profile or _DEFAULT_PROFILES for record in _records(PROFILES[name], given)]
    except (KernelError, NoScript) as error:
        print(f"bench.latency: {error}", file=sys.stderr)
        return 2
    print(json.dumps(records, indent=2) if given.format == "json" else table(records))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
