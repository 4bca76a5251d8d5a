"""Runs on a test kernel: queues and rules of many gateways, each loaded onto bare devices, and what the kernel says it holds."""

import socket
import struct
import subprocess
from typing import Any

from tests.e2e.counters import CLASSFUL, INGRESS, ROOT, CounterSocket, Held, attributes, name_of
from tests.e2e.namespaces import run

# linux/pkt_sched.h: attributes of each kind.
_HTB_PARAMETERS, _HTB_GLOBAL, _HTB_RATE64, _HTB_CEIL64 = 1, 2, 6, 7
_HFSC_CURVES = {1: "rt", 2: "ls", 3: "ul"}
_CBQ_RATE = 5
_FQ_CODEL = {1: "target", 2: "limit", 3: "interval"}
_CAKE = {2: "rate", 3: "diffserv", 4: "atm", 5: "flow mode", 6: "overhead", 7: "interval", 10: "memory", 11: "nat", 14: "mpu", 15: "ingress", 16: "ack filter",
         17: "split"}
_SIZES = ("overhead", "linklayer", "mpu", "mtu", "tsize")


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=len(data) == 4)


def _class_options(kind: str, data: bytes) -> dict[str, Any]:
    """Rates in bytes a second, times in microseconds, buffers in ticks of 64 ns."""
    values = dict(attributes(data))
    if kind == "htb":
        rate, ceil, buffer, most, quantum, _, priority = struct.unpack_from("=8xI8xIIIIII", values[_HTB_PARAMETERS])
        rate64, ceil64 = (_number(values.get(key, b"")) for key in (_HTB_RATE64, _HTB_CEIL64))
        return {"rate": rate64 or rate, "ceil": ceil64 or ceil, "buffer": buffer, "cbuffer": most, "quantum": quantum, "prio": priority}
    if kind == "hfsc":
        return {name: list(struct.unpack_from("=III", values[key])) for key, name in _HFSC_CURVES.items() if key in values}
    if kind == "cbq" and _CBQ_RATE in values:
        return {"rate": struct.unpack_from("=8xI", values[_CBQ_RATE])[0]}
    return {}


def _qdisc_options(kind: str, data: bytes) -> dict[str, Any]:
    if kind in ("pfifo", "bfifo"):
        return {"limit": struct.unpack_from("=I", data)[0]}
    if kind == "sfq":
        return {"limit": struct.unpack_from("=8xI", data)[0]}
    if kind == "prio":
        bands, *priomap = struct.unpack_from("=i16B", data)
        return {"bands": bands, "priomap": priomap}
    names = {"fq_codel": _FQ_CODEL, "cake": _CAKE}.get(kind)
    if names:
        return {names[key]: _number(value) for key, value in attributes(data) if key in names}
    if kind == "htb":
        return {"default": struct.unpack_from("=8xI", dict(attributes(data))[_HTB_GLOBAL])[0]}
    return {}


def _described(held: Held) -> dict[str, Any]:
    options = _class_options if held.is_class else _qdisc_options
    found: dict[str, Any] = {"kind": held.kind, "handle": name_of(held.handle), **options(held.kind, held.options)}
    found["parent"] = {ROOT: "root", INGRESS: "ingress"}.get(held.parent) or name_of(held.parent)
    if held.size_table:
        sizes = dict(attributes(held.size_table))[1]
        found["stab"] = dict(zip(_SIZES, struct.unpack_from("=4xiIIII", sizes), strict=True))
    return found


def held() -> dict[str, Any]:
    """Every class by DEVICE HANDLE and every discipline by DEVICE PARENT, of the namespace this process is in."""
    names = dict(socket.if_nameindex())
    classes, disciplines = {}, {}
    with CounterSocket() as reader:
        for each in reader.objects():
            described = _described(each)
            if not each.is_class:
                disciplines[f"{names[each.index]} {described['parent']}"] = described
            elif each.kind in CLASSFUL:
                classes[f"{names[each.index]} {described['handle']}"] = described
    return {"classes": classes, "disciplines": disciplines}


def _try(command: list[str], text: str) -> str:
    """What a command has to say against its input; '' if it takes it silently."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    return f"{' '.join(command)} ({done.returncode}): {said[:800]}" if done.returncode or said else ""


def _load(gateway: dict[str, Any]) -> dict[str, Any]:
    made = "".join(f"link add {name} type dummy\nlink set {name} up\n" for name in gateway["devices"])
    made += "".join(f"link add {name} type ifb\nlink set {name} up\n" for name in gateway["ifbs"])
    run(["ip", "-batch", "-"], made)
    try:
        said = [_try(["tc", "-batch", "-"], gateway["queues"])]
        if gateway["rules"]:
            said += [_try(["nft", "-f", "-"], gateway["rules"]) for _ in range(2)]
        return {"said": [each for each in said if each], **held()}
    finally:
        run(["ip", "-batch", "-"], "".join(f"link del {name}\n" for name in (*gateway["devices"], *gateway["ifbs"])))
        if gateway["rules"]:
            run(["nft", "flush", "ruleset"])


def load(gateways: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What each gateway's queues and rules became. A gateway: devices, ifbs, queues (for tc), rules (for nft, loaded twice; '' for none)."""
    return [_load(gateway) for gateway in gateways]
