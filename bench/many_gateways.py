"""Compiling 10, 100 and 1000 gateways of 10 classes each in one process: the time must grow linearly, under 1 ms of CPU for a further gateway."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.timing import cpu_of
from pfq.compiling import compile_site

SYSTEMS = ("openbsd-4.4", "openbsd-7.6", "freebsd-14", "linux-6.1")
SIZES = (10, 100, 1000)


def model(gateways: int) -> str:
    classes = "\n".join(
        f'  {{ name = "class{n}", match = ["tcp/{8000 + n}", {{ protocol = "udp", port = "{9000 + 10 * n}-{9005 + 10 * n}" }}] }},' for n in range(8)
    )
    head = (
        'accept = ["ipv6-express"]\n[policies.ten]\nclasses = [\n  { name = "first", express = true },\n'
        f'{classes}\n  {{ name = "rest", default = true }},\n]\n'
    )
    hosts = "".join(
        f'[links.line{n}]\nup = "{1000 + n} kbit"\ndown = "{16000 + n} kbit"\nencapsulation = "pppoe-llc"\npolicy = "ten"\n'
        f'[hosts.gateway{n}]\nsystem = "{SYSTEMS[n % len(SYSTEMS)]}"\nlinks.line{n} = {{ interface = "em0", scheduler = "hfsc" }}\n'
        for n in range(gateways)
    )
    return head + hosts


def main() -> int:
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.toml"
        for size in (4, *SIZES):
            path.write_text(model(size))
            times[size] = cpu_of(lambda: compile_site(str(path), None, None, None, several=True))
            print(f"{size:>5} gateways: {times[size] * 1000:8.1f} ms of CPU, {times[size] / size * 1000:.2f} ms a gateway")
    further = (times[1000] - times[100]) / 900 * 1000
    growth = (times[1000] / times[100]) / 10
    print(f"a further gateway: {further:.2f} ms (under 1); 100 to 1000: {growth:.2f} times linear")
    return int(further >= 1 or growth > 1.3)


if __name__ == "__main__":
    sys.exit(main())
