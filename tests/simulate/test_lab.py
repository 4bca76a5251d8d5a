"""The simulation against real kernels: five network namespaces on Linux 6.1, the modem made of netem, both directions full (numbers measured there).

Both ends CUBIC, 31 ms idle; htb and fq_codel in both directions; two transfers up, four down.
"""

from dataclasses import replace

import pytest

from pfq.simulate.comparison import simulate, subject_of
from pfq.simulate.packet import SECOND
from pfq.simulate.scenario import BUILT_IN, Buffer, Phase, flow
from pfq.site.load import load_text

SITE = (
    "[links.l]\nup = '{up}'\ndown = '{down}'\nencapsulation = 'ip'\n"
    "[hosts.gw]\nsystem = 'linux-6.1'\nlinks.l = {{ interface = 'eth0', scheduler = 'htb', leaf = 'fq_codel', shape_down = 'ingress' }}\n"
)
FULL = replace(
    BUILT_IN["both"], up_buffer=Buffer(packets=64), down_buffer=Buffer(packets=64), phases=(Phase("both", 25 * SECOND, 60 * SECOND),),
    flows=(
        flow("ping", 0, 60 * SECOND, every=SECOND * 3 // 10), flow("tcp", 0, 60 * SECOND, "up", count=2), flow("tcp", 0, 60 * SECOND, "down", count=4),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("up", "down", "ping", "most", "download", "upload"),
    [("1020 kbit", "8 Mbit", 48, 60, 6962, 759), ("2 Mbit", "20 Mbit", 39, 43, 16972, 1420)],
)
def test_shaped_both_ways(up: str, down: str, ping: int, most: int, download: int, upload: int) -> None:
    phase = simulate(subject_of(load_text(SITE.format(up=up, down=down), "site.toml"), [], None, None), FULL, "plan", 1, "run").phases[0]
    assert phase.ping.mean is not None
    assert phase.ping.mean / 1e6 == pytest.approx(ping, rel=0.08)
    assert phase.ping.most / 1e6 == pytest.approx(most, rel=0.1)
    assert phase.down / 1000 == pytest.approx(download, rel=0.05)
    assert phase.up / 1000 == pytest.approx(upload, rel=0.1)
