"""The half of the benchmark that runs on the test kernel."""

import sys
import time
from typing import Any

from bench.latency.line import GATEWAY, line
from bench.latency.scenarios import SCENARIOS
from bench.latency.traffic import LOW_DELAY, Traffic
from tests.e2e.namespaces import run_inside

# Neighbours are found, and what the last scenario left in the buffers has gone.
_REST_SECONDS = 4


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(task: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each configuration and scenario of a profile. task: what `bench.latency.__main__` puts together."""
    rows: list[dict[str, Any]] = []
    for configuration in task["configurations"]:
        with line(task["up"], task["down"], task["delay"], task["mtu"], task["offloads"]):
            remark = _configure(configuration)
            for name in ["idle", *task["scenarios"]] if not rows else task["scenarios"]:
                began = time.monotonic()
                counts = Traffic(SCENARIOS[name], task["interval"]).run(task["settle"] if name != "idle" else 1, task["seconds"])
                lost = {tos: counts.sent[tos] - len(counts.pings[tos]) for tos in (0, LOW_DELAY)}
                rows.append(
                    {
                        "configuration": configuration["name"], "scenario": name, "pings": counts.pings[0], "pings_low_delay": counts.pings[LOW_DELAY],
                        "lost": lost[0], "lost_low_delay": lost[LOW_DELAY], "upload": counts.up, "download": counts.down, "keys": counts.keys,
                        "pages": counts.pages, "remark": remark,
                    }
                )
                mean = sum(counts.pings[0]) / max(len(counts.pings[0]), 1)
                where = f"{task['profile']} {configuration['name']} {name}"
                pings = f"ping {mean:.1f} ms of {len(counts.pings[0])} (lost {lost[0]})"
                goodput = f"down {counts.down / 1000:.0f}, up {counts.up / 1000:.0f} kbit/s"
                _say(f"{where}: {pings}, {goodput}; {time.monotonic() - began:.0f} s there")
                time.sleep(_REST_SECONDS)
            if task["show"]:
                for device in ("eth0", "ifb-line"):
                    _say(run_inside(GATEWAY, ["tc", "-s", "class", "show", "dev", device]).stdout)
                    _say(run_inside(GATEWAY, ["tc", "-s", "qdisc", "show", "dev", device]).stdout)
    return rows


def _configure(configuration: dict[str, Any]) -> str:
    """Runs the configuration's script on the gateway; its remark. A line of it that fails is said, and is an error where it must not."""
    if not configuration["script"]:
        return ""
    done = run_inside(GATEWAY, ["bash"], configuration["script"])
    said = (done.stdout + done.stderr).strip()
    if done.returncode and not configuration["lenient"]:
        raise RuntimeError(f"{configuration['name']}: exit status {done.returncode}\n{said[-3000:]}")
    refused = sum(line.startswith(("Error", "RTNETLINK", "Unknown", "We have an error")) for line in said.splitlines())
    return f"the kernel refused {refused} of its commands" if refused else ""
