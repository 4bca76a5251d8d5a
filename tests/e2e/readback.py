"""What the kernel says it holds against what the plan asks for, number by number."""

from collections.abc import Iterator
from typing import Any

from pfq.plan.model import Gateway, Queue, ServiceCurve
from pfq.targets.linux_leaves import CAKE_LEAST, CAKE_PACKET, RTTS
from pfq.targets.linux_queues import Planted, Root, addresses, flat_ranks, roots

# struct psched_ratecfg counts whole bytes a second; buffers and curves are kept in units of 64 ns (PSCHED_SHIFT 6), a rate in 2**-n of them.
_TICK_SECONDS = 64e-9


def _near(found: int | None, wanted: float, part: float = 1e-5) -> bool:
    return found is not None and abs(found - wanted) <= 1 + wanted * part


def _bytes(rate: int) -> float:
    return rate / 8


def _walk(queues: tuple[Queue, ...], parent: Queue | None = None) -> Iterator[tuple[Queue, Queue | None]]:
    for queue in queues:
        yield queue, parent
        yield from _walk(queue.children, queue)


def _curve(found: list[int] | None, wanted: ServiceCurve | None, rate: int | None = None) -> bool:
    """Whether the kernel's (m1, d, m2) is the plan's curve, or the straight line of `rate`."""
    if wanted is None and rate is None:
        return found is None
    if found is None:
        return False
    slope = rate if wanted is None else wanted.rate.value
    assert slope is not None
    if not _near(found[2], _bytes(slope), 1e-3):
        return False
    if wanted is not None and wanted.burst is not None:
        return _near(found[0], _bytes(wanted.burst), 1e-3) and _near(found[1], wanted.microseconds, 1e-3)
    return found[1] == 0 or found[0] == found[2]


def _class(root: Root, planted: Planted, queue: Queue, parent: Queue | None, held: dict[str, Any]) -> Iterator[str]:
    """What is wrong with one class."""
    tree = planted.tree
    wanted_parent = planted.parent_of(parent)
    if held["parent"] != wanted_parent:
        yield f"parent {held['parent']}, wanted {wanted_parent}"
    ceiling = min(tree.rate.value, *(each.ceiling.rate.value for each in _above(tree.queues, queue) if each.ceiling), tree.rate.value)
    if root.scheduler == "htb":
        rate = queue.guarantee.rate.value if queue.guarantee else queue.share.value
        if not _near(held["rate"], _bytes(min(rate, ceiling))):
            yield f"rate {held['rate']} bytes/s, wanted {_bytes(rate)}"
        if not _near(held["ceil"], _bytes(ceiling)):
            yield f"ceil {held['ceil']} bytes/s, wanted {_bytes(ceiling)}"
        if not queue.children and held["prio"] != flat_ranks(tree.queues)[queue.name]:
            yield f"prio {held['prio']}, wanted {flat_ranks(tree.queues)[queue.name]}"
        burst = held["buffer"] * _TICK_SECONDS * held["rate"]
        if burst < tree.mtu * 0.98:
            yield f"burst {burst:.0f} bytes is less than a packet of {tree.mtu}"
    if root.scheduler == "hfsc":
        guarantee = None if queue.children else queue.guarantee
        for name, curve, line in (("rt", guarantee, None), ("ls", None, queue.share.value), ("ul", queue.ceiling, None)):
            if not _curve(held.get(name), curve, line):
                yield f"{name} {held.get(name)}, wanted {curve or line}"


def _above(queues: tuple[Queue, ...], wanted: Queue) -> list[Queue]:
    """The queue and those it is in."""
    for queue in queues:
        if queue is wanted:
            return [queue]
        if below := _above(queue.children, wanted):
            return [queue, *below]
    return []


def _leaf(queue: Queue, held: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the discipline at the bottom of a class."""
    wanted = {
        # CoDel keeps times in units of 1024 ns.
        "fq_codel": {"limit": queue.fair_limit.value, "target": queue.target, "interval": queue.interval},
        "pfifo": {"limit": queue.limit.value},
        "sfq": {"limit": max(queue.fair_limit.value, 2)},
        "codel": {},
        "red": {},
        # tc-cake(8): CAKE_ACK_AGGRESSIVE is 2. Its rate is 0 where it is unlimited.
        "cake": {
            "rate": 0, "ack filter": 2, "split": 0, "interval": queue.target * RTTS, "memory": max(queue.limit.value * CAKE_PACKET, CAKE_LEAST),
        },
    }.get(held["kind"])
    if wanted is None:
        yield f"a leaf of kind {held['kind']}"
        return
    for name, value in wanted.items():
        if not _near(held.get(name), value, 0 if name == "limit" else 1e-3):
            yield f"{name} {held.get(name)}, wanted {value}"


def _line(root: Root, held: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the bytes that the root counts for a packet."""
    accounting, encapsulation = root.planted[0].tree.accounting, root.planted[0].uplink.encapsulation
    atm = encapsulation.cells == "atm"
    if root.scheduler == "cake":
        wanted = {"overhead": encapsulation.overhead, "mpu": encapsulation.minimum, "atm": int(atm)}
        yield from (f"{name} {held.get(name)}, wanted {value}" for name, value in wanted.items() if held.get(name) != value)
        return
    table = held.get("stab", {"overhead": 0, "linklayer": 1, "mpu": 0})
    # pkt_sched.h: TC_LINKLAYER_ETHERNET 1, TC_LINKLAYER_ATM 2.
    wanted = {"overhead": encapsulation.overhead - accounting.counted, "linklayer": 2 if atm else 1, "mpu": encapsulation.minimum}
    yield from (f"stab: {name} {table.get(name)}, wanted {value}" for name, value in wanted.items() if table.get(name) != value)


def _root(root: Root, disciplines: dict[str, dict[str, Any]], classes: dict[str, dict[str, Any]]) -> Iterator[str]:
    held = disciplines.get(f"{root.interface} root")
    if held is None or held["kind"] != root.kind or held["handle"] != "1:":
        yield f"at the root {held and held['kind']}, wanted {root.kind}"
        return
    yield from _line(root, held)
    if root.scheduler == "cake":
        rate = root.planted[0].tree.rate.value
        if not _near(held.get("rate"), _bytes(rate)):
            yield f"bandwidth {held.get('rate')} bytes/s, wanted {_bytes(rate)}"
        return
    wanted = set()
    for planted in root.planted:
        top = f"{root.interface} 1:{planted.top:x}"
        wanted.add(top)
        found: Any = classes.get(top, {}).get("rate") if root.scheduler != "hfsc" else (classes.get(top, {}).get("ul") or [0, 0, None])[2]
        if not _near(found, _bytes(planted.tree.rate.value), 1e-3):
            yield f"{top}: rate {found} bytes/s, wanted {_bytes(planted.tree.rate.value)}"
        names = addresses(root, planted)
        for queue, parent in _walk(planted.tree.queues):
            name = f"{root.interface} 1:{planted.numbers[queue.name]:x}"
            if root.scheduler == "prio":
                name = f"{root.interface} {names[queue.name]}" if queue.name in names else ""
            if name:
                wanted.add(name)
                if name not in classes:
                    yield f"{name} ({queue.name}) is missing"
                elif root.scheduler != "prio":
                    yield from (f"{name} ({queue.name}): {fault}" for fault in _class(root, planted, queue, parent, classes[name]))
            if queue.children:
                continue
            below = disciplines.get(name)
            if below is None:
                yield f"{name} ({queue.name}) has no discipline"
            else:
                yield from (f"{name} ({queue.name}): {fault}" for fault in _leaf(queue, below))
    if root.beside is not None:
        wanted.add(f"{root.interface} 1:f")
    here = {name for name in classes if name.startswith(f"{root.interface} ")}
    spare = {name for name in here - wanted if not (root.scheduler == "prio" and name.split()[1].startswith("2:"))}
    # cbq and hfsc show their root as a class.
    yield from (f"{name} is nobody's" for name in sorted(spare) if not name.endswith(" 1:"))


def faults(gateway: Gateway, held: dict[str, Any]) -> list[str]:
    """Everything that the kernel holds otherwise than the plan says. held: from tests.e2e.loading."""
    disciplines, classes = held["disciplines"], held["classes"]
    found = list(held["said"])
    for root in roots(gateway):
        found += [f"{root.interface}: {fault}" for fault in _root(root, disciplines, classes)]
    for uplink in gateway.uplinks:
        arriving = uplink.down is not None and uplink.down.where in ("ingress", "police")
        if arriving != (f"{uplink.interface} ingress" in disciplines):
            found.append(f"{uplink.interface}: a discipline on arrival is missing or too many")
    return found
