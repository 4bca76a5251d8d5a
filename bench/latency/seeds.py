"""The seed articles' scripts, read out of the articles when they are needed, with this line's names and rates put in."""

import re
from pathlib import Path

from bench.latency.line import GATEWAY_ADDRESS, LAN


class NoScript(Exception):
    """The folder holds no article with the script; the message says which."""


def _article(folder: Path, mark: str) -> str:
    for path in sorted(folder.glob("*.txt")):
        text = path.read_text(errors="replace")
        if mark in text:
            # A web page's blanks do not all part a shell's words.
            return text.replace("\N{NO-BREAK SPACE}", " ")
    raise NoScript(f"{folder}: no article contains {mark!r}")


def _script(text: str, mark: str) -> str:
    """The article from the beginning of the script with `mark` in it."""
    at = text.index(mark)
    start = text.rindex("#!/bin/bash", 0, at)
    return text[start:]


def _assign(script: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        script, found = re.subn(rf"^{name}=.*$", f"{name}={value}", script, count=1, flags=re.MULTILINE)
        if not found:
            raise NoScript(f"the script sets no {name}")
    return script


def conditioner(folder: Path, up: int, down: int) -> str:
    """The cookbook's HTB conditioner for eth0, rates in kbit/s."""
    mark = "htb default 20"
    script = _script(_article(folder, mark), mark)
    end = re.search(r"police rate .*flowid :1$", script, re.MULTILINE)
    if not end:
        raise NoScript(f"{folder}: the conditioner has no end")
    return _assign(script[: end.end()] + "\n", {"DOWNLINK": str(down), "UPLINK": str(up), "DEV": "eth0"})


def french(folder: Path, up: int, mtu: int) -> str:
    """The French script for an ADSL line, up in kbit/s. It expects a queue on the interface that it can delete."""
    mark = "WAN_OVERHEAD="
    script = _script(_article(folder, mark), mark)
    end = script.index("echo 'The end")
    values = {
        "LAN_ETH": "eth0", "LAN_IP": GATEWAY_ADDRESS, "LAN_NET": LAN, "WAN_IP": GATEWAY_ADDRESS, "WAN_MTU": str(mtu), "WAN_RATE": str(up),
    }
    return "tc qdisc add dev eth0 root pfifo limit 100\n" + _assign(script[:end], values)
