"""Classic BPF over all packets at once: what a program returns for each. Programs only jump forward, so each instruction is met once, with the
states of all ways to it merged.

Sources: linux/filter.h, linux/bpf_common.h, net/core/filter.c (a load beyond the packet ends the program with 0), cls_bpf.c.
"""

from collections.abc import Sequence
from functools import lru_cache

from pfq.headers.algebra import Algebra, Bits, Condition
from pfq.headers.bits import add, any_of, at_least, choose, constant, masked, same, subtract, widened
from pfq.headers.decide import decide
from pfq.linux.packet import IPV4_TYPE, IPV6_TYPE
from pfq.linux.state import Packet

Instruction = tuple[int, int, int, int]

_NET, _LINK, _ANCILLARY = (1 << 32) - 0x100000, (1 << 32) - 0x200000, (1 << 32) - 0x1000
_PROTOCOL, _MARK, _QUEUE, _VLAN_TAG, _VLAN_PRESENT = 0, 20, 24, 44, 48
_ANCILLARIES = frozenset({_PROTOCOL, _MARK, _QUEUE, _VLAN_TAG, _VLAN_PRESENT})
_SIZES = {0x00: 4, 0x08: 2, 0x10: 1}
# Registers by number: A, X, then the 16 words of memory.
_A, _X, _M, _COUNT = 0, 1, 2, 18
# An index that can be more numbers than this is nothing that a packet's headers give.
_FEW_VALUES, _MOST_VALUES = 64, 512
# The longest packet.
_MOST_BYTES = 0xFFFF
_LINK_HEADER = 14

_ADD, _SUB, _MUL, _OR, _AND, _LSH, _RSH, _NEG, _XOR = 0x00, 0x10, 0x20, 0x40, 0x50, 0x60, 0x70, 0x80, 0xA0
_JA, _JEQ, _JGT, _JGE, _JSET = 0x00, 0x10, 0x20, 0x30, 0x40
_LOADS = {0x00, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x80, 0x01, 0x61, 0x81, 0xB1}
_ALU_OF_NUMBER = {_ADD, _SUB, _MUL, _OR, _AND, _LSH, _RSH, _NEG, _XOR}
_ALU_OF_INDEX = {_ADD, _SUB, _OR, _AND, _XOR}


def fault(program: Sequence[Instruction]) -> str:
    """What of a program is not modelled or no valid instruction; '' if nothing."""
    for at, (code, yes, no, k) in enumerate(program):
        kind = code & 7
        known = (
            code in _LOADS if kind in (0, 1)
            else True if kind in (2, 3)
            else (code & 0xF0 in (_ALU_OF_INDEX if code & 8 else _ALU_OF_NUMBER)) if kind == 4
            else code & 0xF0 in (_JA, _JEQ, _JGT, _JGE, _JSET) if kind == 5
            else code & 0xF8 in (0x00, 0x10) if kind == 6
            else code in (0x07, 0x87)
        )  # fmt: skip
        if not known:
            return f"instruction {at} (code {code:#x})"
        if code in (0x20, 0x28, 0x30) and k >= _ANCILLARY and k - _ANCILLARY not in _ANCILLARIES:
            return f"instruction {at}, which loads the ancillary value {k - _ANCILLARY}"
        if kind in (2, 3) and k >= 16:
            return f"instruction {at}, which stores into memory word {k}"
        furthest = at + 1 + (k if code == 5 else max(yes, no)) if kind == 5 else at + 1
        if kind != 6 and furthest >= len(program):
            return f"instruction {at}, which leads behind the program's end"
    return ""


def _next(program: Sequence[Instruction], at: int) -> tuple[int, ...]:
    """Where an instruction leads."""
    code, yes, no, k = program[at]
    if code & 7 == 6:
        return ()
    if code & 7 != 5:
        return (at + 1,)
    return (at + 1 + k,) if code & 0xF0 == _JA else (at + 1 + yes, at + 1 + no)


def _uses(instruction: Instruction) -> tuple[set[int], set[int]]:
    """Registers that an instruction reads, and those it writes."""
    code, _, _, k = instruction
    kind, mode = code & 7, code & 0xE0
    if kind in (0, 1):
        reads = {_X} if mode == 0x40 else {_M + k} if mode == 0x60 else set()
        return reads, {_A if kind == 0 else _X}
    if kind in (2, 3):
        return {_A if kind == 2 else _X}, {_M + k}
    if kind == 4:
        return {_A} | ({_X} if code & 8 else set()), {_A}
    if kind == 5:
        return (set() if code & 0xF0 == _JA else {_A} | ({_X} if code & 8 else set())), set()
    if kind == 6:
        return ({_A} if code & 0x18 == 0x10 else set()), set()
    return ({_X}, {_A}) if code & 0xF8 == 0x80 else ({_A}, {_X})


@lru_cache(maxsize=64)
def _shape(program: tuple[Instruction, ...]) -> tuple[tuple[frozenset[int], ...], tuple[int, ...], tuple[int, ...]]:
    """For each instruction: registers that are read from there on; how many others lead to it; and where one ends up that follows unconditional jumps."""
    size = len(program)
    live: list[frozenset[int]] = [frozenset()] * (size + 1)
    for at in range(size - 1, -1, -1):
        reads, writes = _uses(program[at])
        after: set[int] = set().union(*(live[each] for each in _next(program, at)))
        live[at] = frozenset(after - writes | reads)
    ends = list(range(size + 1))
    for at in range(size - 1, -1, -1):
        if program[at][0] == 5:
            ends[at] = ends[at + 1 + program[at][3]]
    ways = [0] * (size + 1)
    for at in range(size):
        if program[at][0] != 5:
            for each in _next(program, at):
                ways[ends[each]] += 1
    return tuple(live), tuple(ways), tuple(ends)


class _Path:
    """How a state has come about: by what held since another one. What differs between states that meet is told apart by that alone, which is little."""

    __slots__ = ("depth", "since", "test", "where")

    def __init__(self, since: "_Path | None", test: Condition, where: Condition) -> None:
        self.since = since
        self.test = test
        self.where = where
        self.depth: int = since.depth + 1 if since is not None else 0

    def then(self, test: Condition) -> "_Path":
        """Where a test holds as well."""
        return _Path(self, test, self.where & test)


def _parted(one: _Path, other: _Path) -> tuple[_Path, Condition | None, Condition | None]:
    """The last path that two have in common, and what held of each since (None: everything)."""
    mine: Condition | None = None
    theirs: Condition | None = None
    while one is not other:
        if one.depth >= other.depth:
            mine = one.test if mine is None else one.test & mine
            assert one.since is not None, "all paths begin alike"
            one = one.since
        else:
            theirs = other.test if theirs is None else other.test & theirs
            assert other.since is not None, "all paths begin alike"
            other = other.since
    return one, mine, theirs


State = tuple[_Path, tuple[Bits, ...]]


class _Machine:
    def __init__(self, program: tuple[Instruction, ...], packet: Packet, link_header: bool) -> None:
        self.program = program
        self.packet = packet
        self.algebra: Algebra = packet.view.algebra
        self.layout = packet.layout
        self.link = _LINK_HEADER if link_header else 0
        self.live, self.ways, self.ends = _shape(program)
        self.waiting: dict[int, list[State]] = {}
        self.results: dict[int, list[Condition]] = {}
        self.zero = constant(self.algebra, 0, 32)
        self.numbers: dict[int, Bits] = {}
        self.tables: dict[Bits, list[tuple[int, Condition]]] = {}

    def number(self, value: int) -> Bits:
        found = self.numbers.get(value)
        if found is None:
            found = self.numbers[value] = constant(self.algebra, value, 32)
        return found

    def run(self, where: Condition) -> dict[int, Condition]:
        self.waiting[self.ends[0]] = [(_Path(None, where, where), (self.zero,) * _COUNT)]
        for at in range(len(self.program)):
            states = self.waiting.pop(at, None)
            if states:
                self._step(at, *self._merged(at, states))
        return {value: any_of(self.algebra, conditions) for value, conditions in self.results.items()}

    def _go(self, at: int, path: _Path, registers: tuple[Bits, ...]) -> None:
        if path.where.satisfiable():
            self.waiting.setdefault(self.ends[at], []).append((path, registers))

    def _returns(self, value: int, where: Condition) -> None:
        if where.satisfiable():
            self.results.setdefault(value, []).append(where)

    def _merged(self, at: int, states: list[State]) -> State:
        """All ways that lead here as one state; registers that nothing reads any more are dropped."""
        live = self.live[at]
        while len(states) > 1:
            states = [self._both(states[i], states[i + 1], live) if i + 1 < len(states) else states[i] for i in range(0, len(states), 2)]
        return states[0]

    def _both(self, one: State, other: State, live: frozenset[int]) -> State:
        common, here, there = _parted(one[0], other[0])
        if here is None or there is None:
            # One of them holds what the other split off: told apart by the whole of their conditions.
            here, there = one[0].where, other[0].where
        registers = one[1] if one[1] is other[1] else tuple(
            a if a is b else self.zero if index not in live else a if a == b else choose(here, a, b)
            for index, (a, b) in enumerate(zip(one[1], other[1], strict=True))
        )
        return _Path(common, here | there, one[0].where | other[0].where), registers

    # --- instructions

    def _step(self, at: int, path: _Path, registers: tuple[Bits, ...]) -> None:
        code, _, _, k = self.program[at]
        kind = code & 7
        if kind in (0, 1):
            loaded, ok = self._load(code, k, path.where, registers)
            if (~ok).satisfiable():
                self._returns(0, path.where & ~ok)
                path = path.then(ok)
            self._set(at, path, registers, _A if kind == 0 else _X, loaded)
        elif kind in (2, 3):
            self._set(at, path, registers, _M + k, registers[_A if kind == 2 else _X])
        elif kind == 4:
            self._set(at, path, registers, _A, self._alu(code, k, registers))
        elif kind == 5:
            self._branches(at, path, registers)
        elif kind == 6:
            if code & 0x18 == 0x10:
                for value, here in self._values(registers[_A], path.where):
                    self._returns(value, path.where & here)
            else:
                self._returns(k, path.where)
        else:
            source, target = (_X, _A) if code & 0xF8 == 0x80 else (_A, _X)
            self._set(at, path, registers, target, registers[source])

    def _set(self, at: int, path: _Path, registers: tuple[Bits, ...], register: int, value: Bits) -> None:
        self._go(at + 1, path, (*registers[:register], value, *registers[register + 1 :]))

    def _alu(self, code: int, k: int, registers: tuple[Bits, ...]) -> Bits:
        a, algebra = registers[_A], self.algebra
        operation = code & 0xF0
        if operation in (_LSH, _RSH):
            shift = min(k, 32)
            return a[shift:] + self.zero[:shift] if operation == _LSH else self.zero[:shift] + a[: 32 - shift]
        if operation == _MUL:
            total = self.zero
            for place in range(32):
                if k >> place & 1:
                    total = add(algebra, total, a[place:] + self.zero[:place])
            return total
        if operation == _NEG:
            return subtract(algebra, self.zero, a)
        b = registers[_X] if code & 8 else self.number(k)
        if operation == _ADD:
            return add(algebra, a, b)
        if operation == _SUB:
            return subtract(algebra, a, b)
        pairs = zip(a, b, strict=True)
        if operation == _AND:
            return tuple(x & y for x, y in pairs)
        return tuple(x | y for x, y in pairs) if operation == _OR else tuple(x ^ y for x, y in pairs)

    def _test(self, at: int, registers: tuple[Bits, ...]) -> Condition:
        code, _, _, k = self.program[at]
        a, algebra = registers[_A], self.algebra
        operation = code & 0xF0
        if code & 8:
            b = registers[_X]
            if operation == _JEQ:
                return same(algebra, a, b)
            if operation == _JSET:
                return any_of(algebra, (x & y for x, y in zip(a, b, strict=True)))
            return _above(algebra, a, b, operation == _JGE)
        if operation == _JEQ:
            return masked(algebra, a, k)
        if operation == _JGT:
            return at_least(algebra, a, k + 1)
        return at_least(algebra, a, k) if operation == _JGE else ~masked(algebra, a, 0, k)

    def _branches(self, at: int, path: _Path, registers: tuple[Bits, ...]) -> None:
        """A comparison and those that follow it without another way to them: the first that leaves decides, over all at once."""
        steps: list[tuple[Condition, int, bool]] = []
        while True:
            _, yes, no, _ = self.program[at]
            then, otherwise = self.ends[at + 1 + yes], self.ends[at + 1 + no]
            test = self._test(at, registers)
            if self._alone(otherwise):
                steps.append((test, then, True))
                at = otherwise
            elif self._alone(then):
                steps.append((~test, otherwise, True))
                at = then
            else:
                steps.append((test, then, True))
                break
        for target, here in decide(self.algebra, steps, otherwise).items():
            self._go(target, path.then(here), registers)

    def _alone(self, at: int) -> bool:
        """Whether an instruction is a comparison that only one other leads to."""
        return self.ways[at] == 1 and at < len(self.program) and self.program[at][0] & 7 == 5 and self.program[at][0] != 5

    # --- loads

    def _load(self, code: int, k: int, where: Condition, registers: tuple[Bits, ...]) -> tuple[Bits, Condition]:
        everything = self.algebra.everything
        mode = code & 0xE0
        if mode == 0x00:
            return self.number(k), everything
        if mode == 0x60:
            return registers[_M + k], everything
        if mode == 0x80:
            return add(self.algebra, widened(self.algebra, self.layout.length, 32), self.number(self.link)), everything
        if code == 0xB1:
            bits, ok = self._at(k, 1, where)
            return (*self.zero[:26], *bits[-4:], *self.zero[:2]), ok
        size = _SIZES[code & 0x18]
        if mode == 0x20:
            return self._at(k, size, where)
        (index, _), *others = self._values(registers[_X], where)
        value, ok = self._at((k + index) & 0xFFFFFFFF, size, where)
        for index, here in others:
            bits, fine = self._at((k + index) & 0xFFFFFFFF, size, where)
            value, ok = choose(here, bits, value), here.ite(fine, ok)
        return value, ok

    def _at(self, offset: int, size: int, where: Condition) -> tuple[Bits, Condition]:
        """Bytes at an offset as programs give it."""
        algebra = self.algebra
        if offset >= _ANCILLARY:
            return self._ancillary(offset - _ANCILLARY), algebra.everything
        if offset >= _NET:
            return self._network(offset - _NET, size, where)
        start = offset - _LINK if offset >= _LINK else offset
        if start >= self.link:
            return self._network(start - self.link, size, where)
        kind = choose(self.layout.six, constant(algebra, IPV6_TYPE, 16), constant(algebra, IPV4_TYPE, 16))
        frame = (*constant(algebra, 0, 96), *kind)
        bits = frame[8 * start : 8 * (start + size)]
        return widened(algebra, bits, 32), algebra.everything if start + size <= self.link else algebra.nothing

    def _network(self, offset: int, size: int, where: Condition) -> tuple[Bits, Condition]:
        if offset > _MOST_BYTES:
            return self.zero, self.algebra.nothing
        six = self.layout.six
        base = "network" if (where & six).satisfiable() and (where & ~six).satisfiable() else "IPv6" if (where & six).satisfiable() else "IPv4"
        bits, ok = self.layout.load(base, 8 * offset, 8 * size)
        return widened(self.algebra, bits, 32), ok

    def _ancillary(self, which: int) -> Bits:
        if which == _PROTOCOL:
            return choose(self.layout.six, self.number(IPV6_TYPE), self.number(IPV4_TYPE))
        return self.packet.mark if which == _MARK else self.zero

    def _values(self, bits: Bits, where: Condition) -> list[tuple[int, Condition]]:
        """The numbers that bits can be where a condition holds, and where they are which (which may be said of packets elsewhere too)."""
        if bits not in self.tables:
            try:
                self.tables[bits] = self._numbers(bits, self.algebra.everything, _FEW_VALUES)
            except TooManyValues:
                self.tables[bits] = []
        return self.tables[bits] or self._numbers(bits, where, _MOST_VALUES)

    @staticmethod
    def _numbers(bits: Bits, where: Condition, most: int) -> list[tuple[int, Condition]]:
        found = [(0, where)]
        for bit in bits:
            split: list[tuple[int, Condition]] = []
            for value, here in found:
                for digit, there in ((0, here & ~bit), (1, here & bit)):
                    if there.satisfiable():
                        split.append((value << 1 | digit, there))
            found = split
            if len(found) > most:
                raise TooManyValues
        return found


class TooManyValues(Exception):
    """A program computes an offset, or a class, that can be too many different numbers."""


def _above(algebra: Algebra, one: Bits, other: Bits, or_equal: bool) -> Condition:
    """Where one number is above another."""
    result = algebra.everything if or_equal else algebra.nothing
    for a, b in zip(reversed(one), reversed(other), strict=True):
        result = (a ^ b).ite(a, result)
    return result


def returns(program: tuple[Instruction, ...], packet: Packet, where: Condition, link_header: bool) -> dict[int, Condition]:
    """What a program returns for packets where `where` holds: number -> where.

    link_header: whether offsets from the frame's beginning count an Ethernet header. Raises TooManyValues.
    """
    return _Machine(program, packet, link_header).run(where)
