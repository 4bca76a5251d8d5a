"""Proofs over two rulesets of 200 and 2,000 rules, of pf and of nftables: under 1 s, under 15 s, and under 1 GiB of memory.

Each proof has a process of its own: memory is that of one.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

SIZES = (200, 2_000)
BOUNDS = {200: 1.0, 2_000: 15.0}
MOST_KB = 1 << 20
QUEUES = ("web", "mail", "voice", "slow")


def rows(size: int) -> list[tuple[str, str, int, str]]:
    """So many rules: protocol, source network, port, queue. The same for the same size."""
    chosen = random.Random(size)
    return [
        (chosen.choice(("tcp", "udp")), f"10.{chosen.randrange(256)}.{chosen.randrange(256)}.0/24", chosen.randrange(1, 65_536), QUEUES[number % len(QUEUES)])
        for number in range(size)
    ]


def pf(rules: list[tuple[str, str, int, str]]) -> str:
    """The rules as a pf.conf of OpenBSD 7.6: the last that matches decides."""
    head = "queue root on em0 bandwidth 1G max 1G\nqueue std parent root bandwidth 100M default\n"
    queues = "".join(f"queue {name} parent root bandwidth 100M\n" for name in QUEUES)
    lines = (f"match out on em0 inet proto {protocol} from {net} to any port {port} set queue {queue}\n" for protocol, net, port, queue in rules)
    return f"{head}{queues}{''.join(lines)}pass\n"


def linux(rules: list[tuple[str, str, int, str]]) -> str:
    """The same for Linux, where the first that matches decides: the last comes first."""
    queues = "".join(f"class add dev em0 parent 1: classid 1:{number + 2} htb rate 100mbit\n" for number, _ in enumerate(QUEUES))
    lines = "".join(
        f"    ip saddr {net} {protocol} dport {port} meta priority set 1:{QUEUES.index(queue) + 2} accept\n" for protocol, net, port, queue in reversed(rules)
    )
    return (
        f"#!/bin/sh\ntc -batch - <<'EOF'\n"
        f"qdisc add dev em0 root handle 1: htb default 1\nclass add dev em0 parent 1: classid 1:1 htb rate 100mbit\n{queues}EOF\n"
        f"nft -f - <<'EOF'\ntable inet t {{\n  chain out {{\n    type filter hook postrouting priority -150; policy accept;\n"
        f"    oifname \"em0\" jump classify\n  }}\n  chain classify {{\n{lines}  }}\n}}\nEOF\n"
    )


def prove(one: str, other: str, words: list[str]) -> tuple[int, float, int]:
    """Exit status of `pfq verify`, seconds of CPU, kilobytes of memory at most; in a process of its own."""
    code = (
        "import sys, json, time, resource\nfrom pfq.cli import main\nbegun = time.process_time()\nsys.stdout = open('/dev/null', 'w')\n"
        f"status = main({['verify', one, other, '--in', 'em1', '--out', 'em0', *words]!r})\n"
        "print(json.dumps([status, time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    status, seconds, kilobytes = json.loads(done.stderr.splitlines()[-1])
    return status, seconds, kilobytes


def main() -> int:
    over = False
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for kind, written, system, change in (
            ("pf, equal", pf, "openbsd-7.6", False), ("pf, one rule changed", pf, "openbsd-7.6", True),
            ("nft, equal", linux, "linux-6.1", False), ("nft, one rule changed", linux, "linux-6.1", True),
        ):
            seconds: dict[int, float] = {}
            for size in SIZES:
                rules = rows(size)
                changed = [*rules[: size // 2], ("tcp", "10.1.2.0/24", 81, "web"), *rules[size // 2 + 1 :]] if change else rules
                one, other = Path(folder) / "one", Path(folder) / "other"
                one.write_text(written(rules))
                other.write_text(written(changed))
                status, seconds[size], kilobytes = prove(str(one), str(other), ["--as", system])
                print(f"{kind}: {size:>5,} rules: {seconds[size]:6.2f} s of CPU (at most {BOUNDS[size]:g}), {kilobytes / 1024:.0f} MiB, exit status {status}")
                over |= seconds[size] > BOUNDS[size] or kilobytes > MOST_KB or status != int(change)
            print(f"{kind}: ten times the rules take {seconds[2_000] / seconds[200]:.1f} times as long")
    print(f"all of this: {time.monotonic() - begun:.0f} s; memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
