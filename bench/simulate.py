"""How fast the simulator is: against a general library of discrete events (simpy) on the same scenario, against the bare cost of an event, and
what the ACK article's ten minutes and a 100 Mbit/s minute take. Ratios are within one run; packets a second are of this machine, this moment.
"""

import sys
from collections.abc import Callable, Generator
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.timing import cpu_of
from pfq.simulate.comparison import load_subject, simulate, subject_of
from pfq.simulate.events import Events
from pfq.simulate.line import Line
from pfq.simulate.packet import SECOND, Packet
from pfq.simulate.scenario import BUILT_IN, Scenario, flow, load_scenario, of_length
from pfq.simulate.world import Result
from pfq.site.encapsulation import ENCAPSULATIONS
from pfq.site.load import load_text

ARTICLE = Path(__file__).parent.parent / "rulesets/hartmeier"
RATE, SIZE, SOURCES, BUFFER, DELAY = 10_000_000, 1000, 20, 50, 15_000_000
FAST = "accept=['soft-order']\n[links.f]\nup = '20 Mbit'\ndown = '100 Mbit'\n[hosts.gw]\nsystem = '{system}'\nlinks.f = {{ interface = 'eth0'{scheduler} }}\n"
DEFAULT = "pfq's plan for Linux"
# Twice as many packets as the line carries come in: half of them are dropped.
EVERY = SIZE * 8 * SECOND * SOURCES // (2 * RATE)


def ours(seconds: int) -> int:
    """Twenty senders into one line with a buffer; returns how many packets arrived."""
    events, arrived = Events(), [0]
    line = Line(events, RATE, ENCAPSULATIONS["ip"], DELAY, BUFFER)

    def sink(_now: int, _packet: Packet) -> None:
        arrived[0] += 1

    def send(now: int, source: int) -> None:
        line.send(now, [SIZE, 0, source, sink, 0, now, None, 0, 0, 0])
        events.at(now + EVERY, send, source)

    for source in range(SOURCES):
        events.at(source * 1000, send, source)
    events.run(seconds * SECOND)
    return arrived[0]


def theirs(seconds: int) -> int:
    """The same with simpy: a process a sender, one for the line, one for each packet on its way."""
    import simpy

    environment, arrived = simpy.Environment(), [0]
    queue: Any = simpy.Store(environment)
    waiting = [0]

    def fly() -> Generator[Any, Any, None]:
        yield environment.timeout(DELAY)
        arrived[0] += 1

    def line() -> Generator[Any, Any, None]:
        while True:
            yield queue.get()
            yield environment.timeout(SIZE * 8 * SECOND // RATE)
            waiting[0] -= 1
            environment.process(fly())

    def sender(source: int) -> Generator[Any, Any, None]:
        yield environment.timeout(source * 1000)
        while True:
            # One is being sent.
            if waiting[0] <= BUFFER:
                waiting[0] += 1
                queue.put((SIZE, source))
            yield environment.timeout(EVERY)

    environment.process(line())
    for source in range(SOURCES):
        environment.process(sender(source))
    environment.run(until=seconds * SECOND)
    return arrived[0]


def bare(events: int) -> None:
    """So many events that do nothing, fifty of them waiting at any time."""
    heap: list[Any] = []
    order = count()

    def nothing(_now: int, _argument: None) -> None:
        pass

    for time in range(50):
        heappush(heap, (time, next(order), nothing, None))
    for _ in range(events):
        time, _order, call, argument = heappop(heap)
        call(time, argument)
        heappush(heap, (time + 50, next(order), call, argument))


def minute(direction: str) -> Scenario:
    flows = (flow("ping", 0, 60 * SECOND), flow("tcp", 0, 60 * SECOND, "down", count=4))
    whole = BUILT_IN["download"] if direction == "down" else BUILT_IN["both"]
    return Scenario(**{name: getattr(whole, name) for name in whole.__slots__} | ({"flows": flows} if direction == "down" else {}))


def timed(label: str, run: Callable[[], Result], event: float) -> float:
    """Prints packets a second; returns how many bare events a packet costs."""
    found: list[Result] = []
    seconds = cpu_of(lambda: found.append(run()), runs=2)
    packets = found[0].packets
    print(f"{label}: {packets} packets in {seconds:.2f} s, {packets / seconds:,.0f} a second, {seconds / packets / event:.1f} bare events each")
    return seconds / packets / event


def main() -> int:
    failed = 0
    event = cpu_of(lambda: bare(200_000)) / 200_000
    try:
        arrived = theirs(20)
        ratio = cpu_of(lambda: theirs(20), runs=2) / cpu_of(lambda: ours(20), runs=2)
        print(f"twenty senders into one line, {arrived} packets: simpy takes {ratio:.1f} times as long (at least 4)")
        assert abs(ours(20) - arrived) <= 2, "both must simulate the same"
        failed += ratio < 4
    except ImportError:
        print("simpy is not installed: nothing to compare with")
    article = load_subject(str(ARTICLE / "site.toml"), "kue0", None)
    ten_minutes = load_scenario(str(ARTICLE / "scenario.toml"))
    for manner in ("none", "plan"):
        timed(f"the ACK article's ten minutes, {manner}", lambda manner=manner: simulate(article, ten_minutes, manner, 1, ""), event)  # type: ignore[misc]
    fast = {
        name: subject_of(load_text(FAST.format(system=system, scheduler=scheduler and f", scheduler = '{scheduler}'"), "site.toml"), [], None, None)
        for name, system, scheduler in (
            ("ALTQ priq", "freebsd-14", "priq"), ("ALTQ cbq", "freebsd-14", "cbq"), ("OpenBSD hfsc", "openbsd-7.6", "hfsc"), (DEFAULT, "linux-6.1", ""),
            ("Linux prio", "linux-6.1", "prio"), ("Linux htb", "linux-6.1", "htb"), ("Linux hfsc", "linux-6.1", "hfsc"), ("Linux cbq", "linux-5.10", "cbq"),
            ("Linux cake", "linux-6.1", "cake"),
        )
    }
    for manner in ("none", "plan"):
        cost = timed(f"a 100 Mbit/s minute, {DEFAULT}, {manner}", lambda m=manner: simulate(fast[DEFAULT], minute("down"), m, 1, ""), event)  # type: ignore[misc]
        failed += cost > (15 if manner == "none" else 40)
    for name, subject in fast.items():
        cost = timed(f"20/100 Mbit/s both ways, {name}", lambda s=subject: simulate(s, of_length(minute("both"), 10 * SECOND), "plan", 1, ""), event)  # type: ignore[misc]
        failed += cost > (40 if name == DEFAULT else 80)
    print(f"a bare event takes {event * 1e9:.0f} ns; a packet without shaping at most 15 of them, with pfq's own plan 40, with another scheduler 80")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
