"""Run a command as root on a test kernel: python -m tests.e2e.kernel.run [--kernel NAME] -- COMMAND..."""

import argparse
import sys
from pathlib import Path

from tests.e2e.kernel.image import prepare
from tests.e2e.kernel.kernels import KERNELS, KernelError
from tests.e2e.kernel.machine import TIMED_OUT, Machine, run

CANNOT_RUN = 125


def main(arguments: list[str]) -> int:
    """Exit status of the command; 124 after the timeout, 125 where the machine could not be had or broke down."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.kernel.run", description=__doc__)
    parser.add_argument("--kernel", choices=sorted(KERNELS), default="current")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS")
    parser.add_argument("--share", type=Path, metavar="DIR", help="directory the command may write to")
    parser.add_argument("--memory", type=int, default=1024, metavar="MIB")
    parser.add_argument("--processors", type=int, default=1, metavar="N")
    parser.add_argument("--instruction-clock", action="store_true", help="the guest's clock counts instructions")
    parser.add_argument("--setup", action="store_true", help="only fetch and unpack the kernel")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    given = parser.parse_args(arguments)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    try:
        if given.setup:
            prepare(KERNELS[given.kernel])
            return 0
        if not command:
            parser.error("no command")
        if given.share and not given.share.is_dir():
            parser.error(f"{given.share} is not a directory")
        machine = Machine(
            kernel=KERNELS[given.kernel],
            share=given.share.resolve() if given.share else None,
            memory=given.memory,
            processors=given.processors,
            timeout=given.timeout,
            instruction_clock=given.instruction_clock,
        )
        status = run(machine, command)
    except KernelError as error:
        print(f"test kernel: {error}", file=sys.stderr)
        return CANNOT_RUN
    if status == TIMED_OUT:
        print(f"test kernel: stopped after {given.timeout:g} s", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
