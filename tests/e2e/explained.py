"""Runs on a test kernel: a gateway's script in the laboratory; what each step did, and how the kernel lists its rules and queues."""

import contextlib
import os
import tempfile
from typing import Any

from tests.e2e.gateways import _SETTINGS, _step, port_of
from tests.e2e.lab import Lab
from tests.e2e.namespaces import LabError


def _listings(lab: Lab) -> dict[str, dict[str, str]]:
    """By how they were asked for: name (the command) -> text."""
    found: dict[str, dict[str, str]] = {"plain": {}, "JSON": {}}
    for kind, options in (("plain", []), ("JSON", ["-a"])):
        command = ["nft", *options, "list", "ruleset"] if options else ["nft", "-s", "list", "ruleset"]
        found[kind][" ".join(command)] = lab.run_gateway(command, settle=False).stdout
    for name in lab.devices():
        shown = lab.run_gateway(["tc", "qdisc", "show", "dev", name], settle=False).stdout
        # Filters below the root are listed only where one asks for their parent.
        inner = [line.split()[2] for line in shown.splitlines() if line.split()[1] in ("prio", "htb", "hfsc") and " root " not in line]
        for what in ("qdisc show", "class show", "filter show", "filter show {} ingress", *(f"filter show {{}} parent {handle}" for handle in inner)):
            words, _, hook = what.partition(" {}")
            command = ["tc", *words.split(), "dev", name, *hook.split()]
            text = lab.run_gateway(command, settle=False).stdout
            found["plain"][" ".join(command)] = text
            # iproute2 6.1 prints classes as text and programs without their bytecode, whatever it is asked for.
            as_json = words == "qdisc show" or (words == "filter show" and " bpf " not in text and " basic " not in text and " police " not in text)
            found["JSON"][" ".join(command)] = lab.run_gateway([command[0], "-j", *command[1:]], settle=False).stdout if as_json else text
    return found


def _gateway(argument: dict[str, Any], folder: str) -> dict[str, Any]:
    script = os.path.join(folder, "pfq.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(argument["script"])
    with Lab((port_of(argument["inside"]),), tuple(port_of(port) for port in argument["links"])) as lab:
        lab.run_gateway(["sh", script, "start"])
        for name, value in _SETTINGS.items():
            with contextlib.suppress(LabError):
                lab.set_gateway(name, value)
        return {"listings": _listings(lab), "seen": [_step(lab, step) for step in argument["steps"]]}


def measure(arguments: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """For each gateway by name: its listings, and what each step did. argument: as of tests.e2e.gateways.measure."""
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for argument in arguments:
            try:
                results[argument["name"]] = _gateway(argument, folder)
            except LabError as error:
                results[argument["name"]] = {"error": str(error)}
    return results
