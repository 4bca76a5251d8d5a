"""Which class of a device's queues a packet waits in, over all packets at once.

Sources: sch_htb.c htb_classify, sch_hfsc.c hfsc_classify, sch_prio.c prio_classify, sch_cbq.c cbq_classify, sch_cake.c cake_select_tin (Linux 6.1, cbq
5.10).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pfq.diagnostics import Place
from pfq.headers.algebra import Condition
from pfq.headers.asking import Decision
from pfq.headers.bits import any_of, masked
from pfq.headers.decide import decide
from pfq.headers.fields import TOS
from pfq.linux.cake import TINS, tin_of_code_point, tin_order
from pfq.linux.filters import run
from pfq.linux.queues import ROOT, Devices, Filter, Qdisc, QueueClass, name
from pfq.linux.state import Packet
from pfq.linux.tc import CLASSFUL

_PRIOMAP = "1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
_MOST_DEPTH = 8
# A packet that passes a device's queues by.
PAST = ""

Leaves = list[tuple[str, Condition]]


class _Taken(NamedTuple):
    number: int | None
    where: Condition


class Queues:
    """The queues of all devices."""

    def __init__(self, devices: Devices) -> None:
        self._roots: dict[str, Qdisc] = {}
        self._below: dict[tuple[str, int], Qdisc] = {}
        self._classes: dict[tuple[str, int], list[QueueClass]] = {}
        self._filters: dict[tuple[str, int], list[Filter]] = {}
        for qdisc in devices.qdiscs:
            if qdisc.parent == ROOT and qdisc.handle:
                self._roots[qdisc.device] = qdisc
            elif qdisc.parent != ROOT:
                self._below[qdisc.device, qdisc.parent] = qdisc
        for own in devices.classes:
            self._classes.setdefault((own.device, own.number >> 16), []).append(own)
        for each in devices.filters:
            parent = each.parent
            if parent == ROOT and each.device in self._roots:
                parent = self._roots[each.device].handle
            self._filters.setdefault((each.device, parent), []).append(each)

    def has(self, device: str) -> bool:
        """Whether a device has queues that were made for it."""
        return device in self._roots

    def filters(self, device: str, parent: int) -> Sequence[Filter]:
        """The filters that hang somewhere."""
        return self._filters.get((device, parent), ())

    def leaves(self, device: str, packet: Packet, where: Condition) -> dict[str, Condition]:
        """The class, as tc writes it, in which packets wait on a device; PAST where none holds them. What is thrown away is dropped."""
        root = self._roots[device]
        found: dict[str, list[Condition]] = {}
        for leaf, here in self._descend(root, name(root.handle), packet, where):
            found.setdefault(leaf, []).append(here)
        return {leaf: any_of(packet.view.algebra, conditions) for leaf, conditions in found.items()}

    def _descend(self, qdisc: Qdisc, above: str, packet: Packet, where: Condition) -> Leaves:
        """Leaves below a discipline, which stands in the class `above`."""
        if not where.satisfiable():
            return []
        classify = {"htb": self._htb, "hfsc": self._hfsc, "prio": self._prio, "cbq": self._cbq}.get(qdisc.kind)
        if qdisc.kind == "cake":
            return self._cake(qdisc, above, packet, where)
        if classify is not None:
            return classify(qdisc, packet, where)
        inner = next((own for (device, parent), own in self._below.items() if device == qdisc.device and parent >> 16 == qdisc.handle >> 16), None)
        return self._descend(inner, above, packet, where) if inner is not None else [(above, where)]

    def _in_class(self, device: str, number: int, packet: Packet, where: Condition) -> Leaves:
        inner = self._below.get((device, number))
        return self._descend(inner, name(number), packet, where) if inner is not None else [(name(number), where)]

    def _of(self, qdisc: Qdisc) -> dict[int, QueueClass]:
        return {own.number: own for own in self._classes.get((qdisc.device, qdisc.handle >> 16), [])}

    def _by_priority(self, numbers: Iterable[int], packet: Packet, where: Condition) -> tuple[list[tuple[int, Condition]], Condition]:
        """Where the priority is one of these numbers, and where it is none."""
        algebra = packet.view.algebra
        cases = decide(algebra, [(masked(algebra, packet.priority, number), number, True) for number in numbers], -1)
        taken = [(number, where & here) for number, here in cases.items() if number != -1]
        return [(number, here) for number, here in taken if here.satisfiable()], where & cases.get(-1, algebra.nothing)

    def _ask(self, device: str, parent: int, packet: Packet, where: Condition) -> tuple[list[_Taken], Condition]:
        """What the filters at a discipline or class say; and where none matches."""
        filters = self.filters(device, parent)
        if not filters or not where.satisfiable():
            return [], where
        outcome = run(filters, packet, where)
        taken = [_Taken(number, here & packet.alive) for number, here, _ in outcome.chosen]
        gone = any_of(packet.view.algebra, (here for _, here, _ in outcome.redirected))
        return taken, outcome.unmatched & packet.alive & ~gone

    @staticmethod
    def _say(packet: Packet, where: Condition, place: Place, text: str, why: str) -> None:
        packet.note(where, Decision(place, text, why))

    # --- htb

    def _htb(self, qdisc: Qdisc, packet: Packet, where: Condition) -> Leaves:
        classes = self._of(qdisc)
        inner = {own.parent for own in classes.values()}
        found: Leaves = []
        direct = [packet.view.algebra.nothing]
        default: list[Condition] = []
        numbers = [qdisc.handle, *classes]
        by_priority, rest = self._by_priority(numbers, packet, where)

        def ask(parent: int, here: Condition, depth: int) -> None:
            taken, unmatched = self._ask(qdisc.device, parent, packet, here)
            default.append(unmatched)
            for number, there in taken:
                if number == qdisc.handle:
                    direct.append(there)
                elif number is None or number not in classes or depth > _MOST_DEPTH:
                    default.append(there)
                elif number in inner:
                    ask(number, there, depth + 1)
                else:
                    found.extend(self._in_class(qdisc.device, number, packet, there))

        for number, here in by_priority:
            if number == qdisc.handle:
                direct.append(here)
                self._say(packet, here, qdisc.place, qdisc.text, f"its priority is {name(number)}, the discipline itself: past all classes")
            elif number in inner:
                ask(number, here, 0)
            else:
                self._say(packet, here, classes[number].place, classes[number].text, f"its priority is {name(number)}, this class")
                found += self._in_class(qdisc.device, number, packet, here)
        ask(qdisc.handle, rest, 0)
        found += self._default(qdisc, classes, inner, packet, any_of(packet.view.algebra, default), direct)
        past = any_of(packet.view.algebra, direct)
        return [*found, (PAST, past)] if past.satisfiable() else found

    def _default(
        self, qdisc: Qdisc, classes: dict[int, QueueClass], inner: set[int], packet: Packet, where: Condition, direct: list[Condition]
    ) -> Leaves:
        number = qdisc.handle | int(qdisc.options.get("default", "0"), 16) & 0xFFFF
        if number not in classes or number in inner:
            direct.append(where)
            self._say(packet, where, qdisc.place, qdisc.text, "nothing names a class for it, and there is no default class: past all classes")
            return []
        self._say(packet, where, qdisc.place, qdisc.text, f"nothing names a class for it: the default class {name(number)}")
        return self._in_class(qdisc.device, number, packet, where)

    # --- hfsc

    def _hfsc(self, qdisc: Qdisc, packet: Packet, where: Condition) -> Leaves:
        classes = self._of(qdisc)
        inner = {own.parent for own in classes.values()}
        found: Leaves = []
        default: list[Condition] = []
        by_priority, rest = self._by_priority([number for number in classes if number not in inner], packet, where)
        for number, here in by_priority:
            self._say(packet, here, classes[number].place, classes[number].text, f"its priority is {name(number)}, this class")
            found += self._in_class(qdisc.device, number, packet, here)

        def ask(parent: int, here: Condition, depth: int) -> None:
            taken, unmatched = self._ask(qdisc.device, parent, packet, here)
            default.append(unmatched)
            for number, there in taken:
                # A filter may only point downwards.
                if number is None or number not in classes or depth > _MOST_DEPTH or number == parent:
                    default.append(there)
                elif number in inner:
                    ask(number, there, depth + 1)
                else:
                    found.extend(self._in_class(qdisc.device, number, packet, there))

        ask(qdisc.handle, rest, 0)
        left = any_of(packet.view.algebra, default)
        number = qdisc.handle | int(qdisc.options.get("default", "0"), 16) & 0xFFFF
        if number not in classes or number in inner:
            self._say(packet, left, qdisc.place, qdisc.text, "nothing names a class for it, and there is no default class: dropped")
            packet.drop(left)
            return found
        self._say(packet, left, qdisc.place, qdisc.text, f"nothing names a class for it: the default class {name(number)}")
        return found + self._in_class(qdisc.device, number, packet, left)

    # --- prio

    def _prio(self, qdisc: Qdisc, packet: Packet, where: Condition) -> Leaves:
        algebra = packet.view.algebra
        bands = int(qdisc.options.get("bands", "3"))
        order = [int(word) for word in qdisc.options.get("priomap", _PRIOMAP).split()]
        order += [0] * (16 - len(order))
        own = where & masked(algebra, packet.priority, qdisc.handle, 0xFFFF0000)
        found: list[tuple[int, Condition]] = []

        def named(here: Condition) -> None:
            """By the number in the priority."""
            by_number, rest = self._by_priority([qdisc.handle | band + 1 for band in range(bands)], packet, here)
            for number, there in by_number:
                self._say(packet, there, qdisc.place, qdisc.text, f"its priority is {name(number)}, this band")
                found.append(((number & 0xFFFF) - 1, there))
            found.append((order[0], rest))

        named(own)
        filters = self.filters(qdisc.device, qdisc.handle)
        taken, rest = self._ask(qdisc.device, qdisc.handle, packet, where & ~own)
        for number, here in taken:
            band = (number or 0) & 0xFFFF
            found.append((band - 1 if 0 < band <= bands else order[0], here))
        # The priority below 16 is looked up; a class of another discipline counts as 0.
        foreign = rest & ~masked(algebra, packet.priority, 0, 0xFFFF0000)
        found.append((order[0], foreign))
        cases = decide(algebra, [(masked(algebra, packet.priority, number, 0xF), order[number], True) for number in range(16)], order[0])
        for band, here in cases.items():
            plain = rest & ~foreign & here
            self._say(packet, plain, qdisc.place, qdisc.text, f"by the priority map: band {band + 1}" if not filters else f"no filter matches: band {band + 1}")
            found.append((band, plain))
        leaves: Leaves = []
        for band in sorted({band for band, _ in found}):
            here = any_of(algebra, (there for other, there in found if other == band))
            if here.satisfiable():
                leaves += self._in_class(qdisc.device, qdisc.handle | band + 1, packet, here)
        return leaves

    # --- cbq

    def _cbq(self, qdisc: Qdisc, packet: Packet, where: Condition) -> Leaves:
        algebra = packet.view.algebra
        classes = self._of(qdisc)
        inner = {own.parent for own in classes.values()}
        maps = {number: self._defaults(classes, number) for number in (qdisc.handle, *classes)}
        found: list[tuple[int, Condition]] = []
        by_priority, rest = self._by_priority(list(classes), packet, where)
        for number, here in by_priority:
            self._say(packet, here, classes[number].place, classes[number].text, f"its priority is {name(number)}, this class")
            found.append((number, here))

        def fall_back(head: int, here: Condition) -> None:
            plain = here & masked(algebra, packet.priority, 0, 0xFFFF0000)
            found.append((head, here & ~plain))
            own = maps[head]
            steps = [(masked(algebra, packet.priority, number, 0xF), own[number] or own[0] or head, True) for number in range(16)]
            for number, there in decide(algebra, steps, head).items():
                self._say(packet, plain & there, qdisc.place, qdisc.text, f"nothing names a class for it: the default class {name(number)}")
                found.append((number, plain & there))

        def ask(head: int, here: Condition, depth: int) -> None:
            taken, unmatched = self._ask(qdisc.device, head, packet, here)
            fall_back(head, unmatched)
            for said, there in taken:
                # A class without a major number is looked up as a priority is.
                number = maps[head][said & 0xF] or maps[head][0] if said is not None and said >> 16 == 0 else said
                if not number or number not in classes or depth > _MOST_DEPTH:
                    fall_back(head, there)
                elif number in inner:
                    ask(number, there, depth + 1)
                else:
                    found.append((number, there))

        ask(qdisc.handle, rest, 0)
        leaves: Leaves = []
        for number, here in found:
            if here.satisfiable():
                leaves += self._in_class(qdisc.device, number, packet, here)
        return leaves

    @staticmethod
    def _defaults(classes: dict[int, QueueClass], split: int) -> list[int]:
        """For each priority below 16 the class that asks for it at this class (`split S defmap M[/CHANGE]`); 0 for none."""
        found = [0] * 16
        for own in classes.values():
            words = own.options.get("split")
            if words is None:
                continue
            major, _, minor = words.partition(":")
            if (int(major or "0", 16) << 16 | int(minor or "0", 16)) != split:
                continue
            wanted = int(own.options.get("defmap", "0").partition("/")[0], 16)
            for number in range(16):
                if wanted >> number & 1:
                    found[number] = own.number
        return found

    # --- cake

    def _cake(self, qdisc: Qdisc, above: str, packet: Packet, where: Condition) -> Leaves:
        algebra = packet.view.algebra
        mode = next((word for word in qdisc.options if word in TINS), "diffserv3")
        count, order = TINS[mode], tin_order(mode)
        names = {tin: name(qdisc.handle | place + 1) for place, tin in enumerate(order)}
        if count == 1:
            # One tin below a class is no other place than the class.
            return [(names[0] if qdisc.parent == ROOT else above, where)]
        steps: list[tuple[Condition, str, bool]] = []
        mask = int(qdisc.options.get("fwmark", "0") or "0", 0)
        if mask:
            shift = (mask & -mask).bit_length() - 1
            steps += [(masked(algebra, packet.mark, (place + 1) << shift, mask), names[tin], True) for place, tin in enumerate(order)]
        steps += [(masked(algebra, packet.priority, qdisc.handle | place + 1), names[tin], True) for place, tin in enumerate(order)]
        codes = packet.view.bits[TOS][:6]
        steps += [(masked(algebra, codes, code), names[tin_of_code_point(mode, code)], True) for code in range(64)]
        found = []
        for leaf, here in decide(algebra, steps, names[0]).items():
            self._say(packet, where & here, qdisc.place, qdisc.text, f"tin {leaf}, by its priority, mark or code point")
            found.append((leaf, where & here))
        return found


__all__ = ["CLASSFUL", "PAST", "Queues"]
