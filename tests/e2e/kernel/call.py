"""Call a Python function on a test kernel and get its result back."""

import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.kernel.kernels import KERNELS, KernelError
from tests.e2e.kernel.machine import Machine, run

HOST = "host"
_PROJECT = Path(__file__).parents[3]


class CallError(Exception):
    """The function raised; the message is its traceback on the test kernel."""


def call(
    kernel: str,
    function: str,
    argument: object = None,
    *,
    timeout: float = 900.0,
    memory: int = 1024,
    instruction_clock: bool = False,
) -> Any:
    """Result of `function` ("package.module:name") called with `argument` as root, in a fresh machine with `kernel`.

    Argument and result travel as JSON. kernel: a name in KERNELS, or "host" for this machine's own kernel (a process of its own).
    Raises CallError with the traceback if the function raises, KernelError if the machine cannot be had or takes
    longer than `timeout` seconds.
    """
    with tempfile.TemporaryDirectory(prefix="pfq-call-") as name:
        share = Path(name)
        (share / "request.json").write_text(json.dumps({"function": function, "argument": argument}))
        command = [sys.executable, "-m", "tests.e2e.kernel.inside", name]
        if kernel == HOST:
            done = subprocess.run(command, cwd=_PROJECT, capture_output=True, text=True, timeout=timeout, check=False)
            status, said = done.returncode, done.stdout + done.stderr
        else:
            machine = Machine(KERNELS[kernel], share, memory=memory, timeout=timeout, instruction_clock=instruction_clock)
            output = io.BytesIO()
            status = run(machine, command, directory=_PROJECT, stdout=output, stderr=output)
            said = output.getvalue().decode(errors="replace")
        answer = share / "answer.json"
        if not answer.is_file():
            raise KernelError(f"{function} on {kernel}: no answer, exit status {status}\n{said[-2000:]}")
        result = json.loads(answer.read_text())
    if "error" in result:
        raise CallError(f"{function} on {kernel}:\n{result['error']}{said[-2000:]}")
    return result["result"]
