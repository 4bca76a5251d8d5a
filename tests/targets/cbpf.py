"""Classic BPF, interpreted from tc's bytecode text: what the kernel's machine does with a packet (linux/filter.h)."""

from collections.abc import Callable

_M32 = 0xFFFFFFFF
_NET, _AD = -0x100000, -0x1000


def run(bytecode: str, packet: bytes, protocol: int, mark: int, taken: list[int] | None = None) -> int:
    """What the program returns. packet: from the network header on; a load beyond its end ends the program with 0.
    taken: its first number is raised by the instructions that were run."""
    count, *rows = bytecode.split(",")
    program = [tuple(map(int, row.split())) for row in rows]
    assert len(program) == int(count)
    accumulator = index = at = 0
    memory: list[int | None] = [None] * 16
    while True:
        code, yes, no, k = program[at]
        if taken is not None:
            taken[0] += 1
        at += 1
        signed = k - (1 << 32) if k & 0x80000000 else k
        kind = code & 0x07
        if kind in (0, 1):
            value = _load(code, k, signed, index, memory, packet, protocol, mark)
            if value is None:
                return 0
            if kind == 0:
                accumulator = value
            else:
                index = value
        elif kind == 2:
            memory[k] = accumulator
        elif kind == 3:
            memory[k] = index
        elif kind == 4:
            operand = index if code & 0x08 else k
            accumulator = _ALU[code & 0xF0](accumulator, operand) & _M32
        elif kind == 5:
            if code & 0xF0 == 0:
                at += k
                continue
            operand = index if code & 0x08 else k
            at += yes if _TESTS[code & 0xF0](accumulator, operand) else no
        elif kind == 6:
            return accumulator if code & 0x18 == 0x10 else k
        elif code & 0xF8 == 0x80:
            accumulator = index
        else:
            index = accumulator


_ALU: dict[int, Callable[[int, int], int]] = {
    0x00: lambda a, b: a + b,
    0x10: lambda a, b: a - b,
    0x50: lambda a, b: a & b,
    0x60: lambda a, b: a << b,
    0x70: lambda a, b: a >> b,
}
_TESTS: dict[int, Callable[[int, int], bool]] = {0x10: lambda a, b: a == b, 0x20: lambda a, b: a > b, 0x30: lambda a, b: a >= b, 0x40: lambda a, b: bool(a & b)}
_SIZES = {0x00: 4, 0x08: 2, 0x10: 1}


def _load(code: int, k: int, signed: int, index: int, memory: list[int | None], packet: bytes, protocol: int, mark: int) -> int | None:
    mode = code & 0xE0
    if mode == 0x00:
        return k
    if mode == 0x60:
        value = memory[k]
        assert value is not None, f"M[{k}] is loaded before it is stored"
        return value
    offset = signed + (index if mode == 0x40 else 0)
    if _AD <= offset < 0:
        return {0: protocol, 20: mark}[offset - _AD]
    start, size = offset - _NET, _SIZES[code & 0x18]
    assert start >= 0
    return int.from_bytes(packet[start : start + size], "big") if start + size <= len(packet) else None
