"""Rows of measurements as a table and as JSON, against idle and against what physics leaves."""

import math
from typing import Any

from bench.latency.profiles import PROFILES, Limit, limit
from bench.latency.scenarios import SCENARIOS


def _figures(pings: list[float]) -> dict[str, float]:
    """Mean, 99th percentile and greatest, in milliseconds."""
    if not pings:
        return {"mean": math.nan, "p99": math.nan, "max": math.nan}
    ordered = sorted(pings)
    return {"mean": sum(ordered) / len(ordered), "p99": ordered[math.ceil(len(ordered) * 0.99) - 1], "max": ordered[-1]}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return value


def summary(profile_name: str, rows: list[dict[str, Any]], idle: float) -> list[dict[str, Any]]:
    """One flat record a row: milliseconds, kbit/s, and ratios to `idle` milliseconds and to the line's limit."""
    found = []
    for row in rows:
        scenario = SCENARIOS[row["scenario"]]
        least: Limit = limit(PROFILES[profile_name], idle, scenario.uploads > 0, scenario.downloads > 0, scenario.family)
        ping, low_delay = _figures(row["pings"]), _figures(row["pings_low_delay"])
        record = {
            "profile": profile_name, "configuration": row["configuration"], "scenario": row["scenario"],
            "ping": ping, "ping_low_delay": low_delay, "lost": row["lost"], "lost_low_delay": row["lost_low_delay"],
            "download": row["download"] / 1000, "upload": row["upload"] / 1000, "pings": len(row["pings"]),
            "limit": {"mean": least.mean, "max": least.most, "download": least.download, "upload": least.upload, "unacknowledged": least.unacknowledged},
            "ratios": {
                "mean_to_idle": ping["mean"] / idle, "mean_to_limit": ping["mean"] / least.mean, "max_to_limit": ping["max"] / least.most,
                "download_to_limit": row["download"] / 1000 / least.download if least.download else math.nan,
                "upload_to_limit": row["upload"] / 1000 / least.upload if least.upload else math.nan,
            },
            "remark": row["remark"],
        }
        if row["keys"]:
            record["keys"] = _figures(row["keys"])
        if row["pages"]:
            record["pages"] = _figures(row["pages"])
        found.append(_rounded(record))
    return found


_HEADING = ("configuration", "mean", "p99", "max", "lost", "0x10 mean", "p99", "max", "down", "up", "x idle", "x limit", "max", "down", "up")


def _number(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def table(records: list[dict[str, Any]]) -> str:
    """Records as Markdown tables, one a profile and scenario, the limit first."""
    lines: list[str] = []
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["profile"], record["scenario"]), []).append(record)
    for (profile, scenario), group in groups.items():
        least = group[0]["limit"]
        lines += [f"### {profile}, {scenario}", "", "| " + " | ".join(_HEADING) + " |", "| --- |" + " ---: |" * (len(_HEADING) - 1)]
        cells = ["limit", _number(least["mean"], 1), "", _number(least["max"], 1), "", "", "", "", _number(least["download"], 0), _number(least["upload"], 0)]
        lines.append("| " + " | ".join([*cells, "", "", "", "", ""]) + " |")
        for record in group:
            ping, low, ratios = record["ping"], record["ping_low_delay"], record["ratios"]
            cells = [record["configuration"], *(_number(ping[key], 1) for key in ("mean", "p99", "max")), str(record["lost"])]
            cells += [*(_number(low[key], 1) for key in ("mean", "p99", "max")), _number(record["download"], 0), _number(record["upload"], 0)]
            cells += [_number(ratios[key], 2) for key in ("mean_to_idle", "mean_to_limit", "max_to_limit")]
            cells += [_number(ratios[key], 3) for key in ("download_to_limit", "upload_to_limit")]
            lines.append("| " + " | ".join(cells) + " |")
        for record in group:
            for key, what in (("keys", "typed characters come back after"), ("pages", "pages take")):
                if key in record:
                    mean, p99, most = (_number(record[key][part], 0) for part in ("mean", "p99", "max"))
                    lines += ["", f"{record['configuration']}: {what} {mean} ms (p99 {p99}, max {most})"]
            if record["remark"]:
                lines += ["", f"{record['configuration']}: {record['remark']}"]
        lines.append("")
    return "\n".join(lines)
