"""Runs on a test kernel: the very scripts that pfq prints, in the laboratory; what each step did, as plain data."""

import contextlib
import os
import re
import tempfile
from typing import Any

from tests.e2e.lab import GATEWAY, Lab, Observation
from tests.e2e.namespaces import LabError
from tests.e2e.packet import Packet, read
from tests.e2e.ports import Port

# Sequence numbers are the same in every packet, which conntrack must not mind.
_SETTINGS = {"net/netfilter/nf_conntrack_tcp_be_liberal": 1}


def port_of(data: dict[str, Any]) -> Port:
    """A Port out of its JSON form."""
    return Port(
        data["device"],
        tuple(data["addresses"]),
        tuple(data["hosts"]),
        tuple((destination, hop) for destination, hop in data["routes"]),
        data["kind"],
        data["parent"],
        data["tag"],
    )


def listing(lab: Lab, handles: bool = True) -> dict[str, str]:
    """The gateway's queues, rules (with their handles), interfaces and settings, without counters."""
    batch = "qdisc show\n"
    for name in lab.devices():
        batch += f"class show dev {name}\nfilter show dev {name}\nfilter show dev {name} ingress\n"
    queues = lab.run_gateway(["tc", "-batch", "-"], batch, check=False, settle=False).stdout
    rules = lab.run_gateway(["nft", *(["-a"] if handles else []), "list", "ruleset"], settle=False).stdout
    return {
        # What fq_codel, sfq and cake call classes are the queues of flows.
        "queues": "".join(line + "\n" for line in queues.splitlines() if not line.startswith(("class fq_codel", "class sfq", "class cake"))),
        "rules": re.sub(r"counter packets \d+ bytes \d+", "counter", rules),
        "links": lab.run_gateway(["sh", "-c", "ip -o link show; cat /proc/sys/net/ipv4/ip_forward"], settle=False).stdout,
    }


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Lines that are in one of two listings only."""
    return [
        f"{name}: {line}"
        for name in before
        if before[name] != after[name]
        for line in sorted(set(before[name].splitlines()) ^ set(after[name].splitlines())) or ["the order"]
    ]


def _out(observation: Observation, device: str) -> list[str]:
    """Source and destination of the first packet that left by a device."""
    for port, data in observation.arrived:
        if port == device:
            packet: Packet = read(data)
            return [packet.source, packet.destination]
    return []


def _step(lab: Lab, step: dict[str, Any]) -> dict[str, Any]:
    if step["command"]:
        lab.run_gateway(step["command"])
        return {"counted": {}, "out": []}
    data = [bytes.fromhex(each) for each in step["data"]]
    origin = step["origin"]
    seen = lab.send_frame(origin, *data) if step["frame"] else lab.send(origin, *data, segment=step["segment"], padding=step["padding"])
    counted = {device: {name: count.packets for name, count in classes.items()} for device, classes in seen.counted.items()}
    return {"counted": counted, "out": _out(seen, step["out"]) if step["out"] else []}


def _gateway(argument: dict[str, Any], folder: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    script = os.path.join(folder, "pfq.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(argument["script"])
    with Lab((port_of(argument["inside"]),), tuple(port_of(port) for port in argument["links"])) as lab:
        for command in argument["before"]:
            lab.run_gateway(command)
        found = listing(lab)
        result["started"] = lab.run_gateway(["sh", script, "start"]).stderr
        for name, value in _SETTINGS.items():
            with contextlib.suppress(LabError):
                lab.set_gateway(name, value)
        running = listing(lab)
        result["seen"] = [_step(lab, step) for step in argument["steps"]]
        result["again"] = lab.run_gateway(["sh", script, "start"]).stderr
        result["changed"] = differences(running, listing(lab))
        result["stopped"] = lab.run_gateway(["sh", script, "stop"]).stderr
        result["left"] = differences(found, listing(lab))
    return result


def measure(arguments: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each gateway by name: what start, start again and stop said and changed, and what each step did.

    argument: name, script, inside, links (Ports), before (commands), steps (origin, data, segment, padding, frame, out: a device, command).
    """
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for argument in arguments:
            try:
                results[argument["name"]] = _gateway(argument, folder)
            except LabError as error:
                results[argument["name"]] = {"error": str(error)}
    return results


__all__ = ["GATEWAY", "measure"]
