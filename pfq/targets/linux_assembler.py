"""Classic BPF: opcodes, and an assembler that gives tc's bytecode.

Sources: linux/filter.h, linux/bpf_common.h (opcodes, BPF_MAXINSNS 4096); tc_filter.c of iproute2, whose message of 16384 bytes holds
2040 instructions of eight bytes and nothing else.
"""

from itertools import accumulate

# Opcodes.
LD_W_ABS, LD_H_ABS, LD_B_ABS = 0x20, 0x28, 0x30
LD_W_IND, LD_H_IND, LD_B_IND = 0x40, 0x48, 0x50
LD_IMM, LD_MEM, LDX_MEM, ST, STX, TAX, TXA, LDX_IMM = 0x00, 0x60, 0x61, 0x02, 0x03, 0x07, 0x87, 0x01
ADD_K, SUB_K, MUL_K, AND_K, LSH_K, RSH_K, ADD_X, SUB_X = 0x04, 0x14, 0x24, 0x54, 0x64, 0x74, 0x0C, 0x1C
JA, JEQ, JGT, JGE, JSET, RET_K, RET_A = 0x05, 0x15, 0x25, 0x35, 0x45, 0x06, 0x16


# What a tc message holds beside a filter's actions.
MOST_INSTRUCTIONS = 1900
# A conditional jump has eight bits for each outcome.
_FARTHEST = 255


class TooLong(ValueError):
    """The program exceeds what tc loads."""


class Assembler:
    """Instructions with labels. All jumps go forward; a conditional one that reaches too far takes a far jump along."""

    def __init__(self) -> None:
        self.code: list[tuple[int, int, str | None, str | None]] = []
        self.labels: dict[str, int] = {}
        self.fresh = 0

    def put(self, opcode: int, k: int = 0) -> None:
        self.code.append((opcode, k & 0xFFFFFFFF, None, None))

    def jump(self, target: str) -> None:
        self.code.append((JA, 0, target, None))

    def branch(self, opcode: int, k: int, then: str | None = None, otherwise: str | None = None) -> None:
        """Goes to `then` if the condition holds, else to `otherwise`; None is the next instruction."""
        self.code.append((opcode, k & 0xFFFFFFFF, then, otherwise))

    def label(self, name: str) -> None:
        self.labels[name] = len(self.code)

    def targets(self) -> set[str]:
        """The labels that something goes to so far."""
        return {target for _, _, *outcomes in self.code for target in outcomes if target is not None}

    def new(self) -> str:
        self.fresh += 1
        return f".{self.fresh}"

    def _places(self) -> tuple[list[int], set[tuple[int, int]]]:
        """Where each instruction stands, and which outcomes of which conditional ones need a far jump: as few as there can be."""
        conditional = [
            (index, then, otherwise) for index, (opcode, _, then, otherwise) in enumerate(self.code) if opcode != JA and (then or otherwise)
        ]
        far: set[tuple[int, int]] = set()
        while True:
            sizes = [1] * len(self.code)
            for index, _ in far:
                sizes[index] += 1
            places = [0, *accumulate(sizes)]
            more = {
                (index, outcome)
                for index, *targets in conditional
                for outcome, target in enumerate(targets)
                if target is not None and (index, outcome) not in far and places[self.labels[target]] - places[index] - 1 > _FARTHEST
            }
            if not more:
                return places, far
            far |= more

    def bytecode(self) -> str:
        """tc's form: 'COUNT,opcode jt jf k,...'. Raises TooLong."""
        places, far = self._places()
        if places[-1] > MOST_INSTRUCTIONS:
            raise TooLong(places[-1])
        out = []
        for index, (opcode, k, then, otherwise) in enumerate(self.code):
            here = places[index]
            if opcode == JA and then is not None:
                out.append(f"{JA} 0 0 {places[self.labels[then]] - here - 1}")
                continue
            # Far jumps stand right behind: that of `then` first. Without one, an outcome goes to its label or past the far jumps.
            jumps = [outcome for outcome in (0, 1) if (index, outcome) in far]
            reach = []
            for outcome, target in enumerate((then, otherwise)):
                if outcome in jumps:
                    reach.append(jumps.index(outcome))
                else:
                    reach.append(len(jumps) if target is None else places[self.labels[target]] - here - 1)
            out.append(f"{opcode} {reach[0]} {reach[1]} {k}")
            for number, outcome in enumerate(jumps, 1):
                target = (then, otherwise)[outcome]
                assert target is not None
                out.append(f"{JA} 0 0 {places[self.labels[target]] - here - number - 1}")
        return f"{len(out)},{','.join(out)}"
