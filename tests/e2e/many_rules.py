"""Runs on a test kernel: packets that arrive at a gateway whose rules take several programs."""

import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.lab import CLIENT, SERVER, Lab
from tests.e2e.packet import ACK, SYN, TCP, Packet


def arriving(argument: dict[str, Any]) -> dict[str, Any]:
    """argument: script, device, ports. Where the first packet to each port of the gateway is counted on the device, where the answer to a
    connection from inside to that port is, and how many programs there are."""
    found: dict[str, Any] = {"opening": {}, "answer": {}}
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        script = Path(folder) / "pfq.sh"
        script.write_text(argument["script"])
        lab.run_gateway(["sh", str(script), "start"])
        shown = lab.run_gateway(["tc", "filter", "show", "dev", argument["device"]]).stdout
        found["programs"] = shown.count(" bytecode ")
        for number, port in enumerate(argument["ports"]):
            opening = Packet("198.51.100.7", "203.0.113.2", TCP, 30_000 + number, port, SYN)
            found["opening"][str(port)] = lab.send(SERVER, opening).class_on(argument["device"])
            lab.send(CLIENT, Packet("192.168.1.10", "198.51.100.7", TCP, 40_000 + number, port, SYN))
            answer = Packet("198.51.100.7", "203.0.113.2", TCP, port, 40_000 + number, SYN | ACK, payload=9)
            found["answer"][str(port)] = lab.send(SERVER, answer).class_on(argument["device"])
    return found
