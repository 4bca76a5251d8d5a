"""What is made of the measurements, and what the gateways are told to do."""

from typing import Any

import pytest

from bench.latency.configurations import configurations
from bench.latency.profiles import PROFILES
from bench.latency.report import summary, table


def _row(**more: Any) -> dict[str, Any]:
    return {
        "configuration": "x", "scenario": "both", "pings": [float(n) for n in range(1, 201)], "pings_low_delay": [5.0], "lost": 1, "lost_low_delay": 0,
        "upload": 800_000.0, "download": 7_000_000.0, "keys": [], "pages": [], "remark": "",
    } | more  # fmt: skip


def test_mean_percentile_and_greatest() -> None:
    (record,) = summary("1020/8000", [_row()], 30.0)
    assert record["ping"] == {"mean": 100.5, "p99": 198.0, "max": 200.0}
    assert (record["download"], record["upload"], record["lost"]) == (7000, 800, 1)
    assert record["ratios"]["mean_to_idle"] == pytest.approx(100.5 / 30)
    assert record["ratios"]["download_to_limit"] == pytest.approx(7000 / record["limit"]["download"], abs=1e-3)


def test_where_nothing_came_back_there_is_no_figure() -> None:
    (record,) = summary("1020/8000", [_row(pings=[], scenario="upload")], 30.0)
    assert record["ping"]["mean"] is None
    assert record["ratios"]["download_to_limit"] is None
    assert "| x | - | - | - |" in table([record])


def test_the_table_says_what_was_refused_and_what_else_was_measured() -> None:
    text = table(summary("1020/8000", [_row(remark="the kernel refused 3 of its commands", keys=[50.0, 70.0])], 30.0))
    assert text.startswith("### 1020/8000, both\n")
    assert "x: the kernel refused 3 of its commands" in text
    assert "x: typed characters come back after 60 ms" in text


@pytest.mark.parametrize("name", PROFILES)
def test_without_the_articles_two_configurations_are_left_out(name: str) -> None:
    found = configurations(PROFILES[name], None)
    assert list(found) == ["none", "wondershaper", "fireqos", "htb+fq_codel", "cake", "pfq", "pfq-htb", "pfq-hfsc", "pfq-prio", "pfq-cake"]
    assert "prio bands 3" in found["pfq"].script
    assert f"{PROFILES[name].up * 96 // 100}bit" in found["cake"].script
