"""The simulation against real kernels: five network namespaces on Linux 6.1, the modem made of netem, both directions full (numbers measured there).

Both ends CUBIC, 31 ms idle; htb with fq_codel, or CAKE, in both directions; two transfers up, four down.
"""

from dataclasses import replace

import pytest

from pfq.simulate.comparison import simulate, subject_of
from pfq.simulate.packet import SECOND
from pfq.simulate.scenario import BUILT_IN, Buffer, Phase, flow
from pfq.site.load import load_text

# What was measured: nine tenths of the line down, ACKs first, htb's bucket as deep as a millisecond and a packet.
SITE = """
accept = ["soft-order"]
[links.l]
up = "{up}"
down = "{down}"
encapsulation = "ip"
policy = "acks"
[policies.acks]
classes = [{{ name = "express", express = true }}, {{ name = "ping", match = "icmp" }}, {{ name = "bulk", default = true }}]
[hosts.gw]
system = "linux-6.1"
links.l = {{ interface = "eth0", {scheduler}, shape_down = "ingress", shaped_down = "{shaped}" }}
"""
FULL = replace(
    BUILT_IN["both"], up_buffer=Buffer(packets=64), down_buffer=Buffer(packets=64), phases=(Phase("both", 25 * SECOND, 60 * SECOND),),
    flows=(
        flow("ping", 0, 60 * SECOND, every=SECOND * 3 // 10), flow("tcp", 0, 60 * SECOND, "up", count=2), flow("tcp", 0, 60 * SECOND, "down", count=4),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("up", "down", "shaped", "scheduler", "ping", "most", "download", "upload"),
    [
        ("1020 kbit", "8 Mbit", "7200 kbit", "htb", 48, 60, 6962, 759), ("2 Mbit", "20 Mbit", "18 Mbit", "htb", 39, 43, 16972, 1420),
        ("1020 kbit", "8 Mbit", "7200 kbit", "cake", 49, 59, 6963, 842), ("2 Mbit", "20 Mbit", "18 Mbit", "cake", 40, 45, 16911, 1629),
    ],
)
def test_shaped_both_ways(up: str, down: str, shaped: str, scheduler: str, ping: int, most: int, download: int, upload: int) -> None:
    words = "scheduler = 'htb', leaf = 'fq_codel', burst = '1700 bytes'" if scheduler == "htb" else "scheduler = 'cake'"
    site = load_text(SITE.format(up=up, down=down, shaped=shaped, scheduler=words), "site.toml")
    phase = simulate(subject_of(site, [], None, None), FULL, "plan", 1, "run").phases[0]
    assert phase.ping.mean is not None
    assert phase.ping.mean / 1e6 == pytest.approx(ping, rel=0.08)
    assert phase.ping.most / 1e6 == pytest.approx(most, rel=0.1)
    assert phase.down / 1000 == pytest.approx(download, rel=0.05)
    assert phase.up / 1000 == pytest.approx(upload, rel=0.1)
