"""Scripts are found in articles and get this line's values."""

from pathlib import Path

import pytest

from bench.latency.seeds import NoScript, conditioner, french

_CONDITIONER = """An article.

#!/bin/bash
DOWNLINK=1
UPLINK=2
DEV=x
tc qdisc add dev $DEV root handle 1: htb default 20
tc filter add dev $DEV parent ffff: police rate ${DOWNLINK}kbit drop flowid :1

More of the article.
"""
_FRENCH = """Words about WAN_RATE.
#!/bin/bash -eu
LAN_ETH="a"
LAN_IP="b"
LAN_NET="c"
WAN_IP="d"
WAN_OVERHEAD="26"
WAN_MTU="e"
WAN_RATE="f"
tc class add dev $LAN_ETH parent\N{NO-BREAK SPACE} 1:0
echo 'The end'
Words.
"""


def test_the_conditioner_ends_with_its_policer(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing of the kind")
    (tmp_path / "b.txt").write_text(_CONDITIONER)
    lines = conditioner(tmp_path, 900, 7000).splitlines()
    assert lines[:4] == ["#!/bin/bash", "DOWNLINK=7000", "UPLINK=900", "DEV=eth0"]
    assert lines[-1].endswith("flowid :1")


def test_the_french_script_keeps_its_overhead_and_loses_blanks_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(_FRENCH)
    script = french(tmp_path, 1007, 1448)
    assert "LAN_ETH=eth0\n" in script
    assert 'WAN_OVERHEAD="26"\nWAN_MTU=1448\nWAN_RATE=1007\n' in script
    assert "parent  1:0" in script
    assert "Words" not in script
    assert "The end" not in script


@pytest.mark.parametrize("text", ["", _CONDITIONER.replace("UPLINK=2\n", ""), _CONDITIONER.replace("flowid :1", "")])
def test_an_article_without_the_script_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(NoScript):
        conditioner(tmp_path, 900, 7000)
