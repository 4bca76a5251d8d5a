"""One command in a fresh virtual machine: the host's root to read, one directory to write, output and exit status back."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tests.e2e.kernel import without_xstate
from tests.e2e.kernel.image import Image, prepare
from tests.e2e.kernel.kernels import Kernel, KernelError
from tests.e2e.kernel.packages import find_command

GUEST_VARIABLE = "PFQ_TEST_KERNEL"
TIMED_OUT = 124

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine is given.

    share: a directory the guest may write, seen there under the same path.
    memory: MiB. processors: with one, a packet has been forwarded when the sender's system call returns.
    timeout: seconds of the host's time.
    instruction_clock: the guest's clock counts instructions (2**0 ns each) instead of following the host's,
    so that what it measures does not depend on the host's load (qemu's -icount).
    environment: variables for the command, besides PATH, HOME and those of the host that begin with PFQ_ or PYTHON.
    """

    kernel: Kernel
    share: Path | None = None
    memory: int = 1024
    processors: int = 1
    timeout: float = 300.0
    instruction_clock: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


def _command_file(machine: Machine, command: Sequence[str], directory: Path) -> str:
    """The shell text the guest runs."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(("PFQ_", "PYTHON"))}
    host_path = os.environ.get("PATH", "")
    variables = {"HOME": "/root", "TERM": "dumb", "PATH": f"{host_path}:{_PATH}" if host_path else _PATH}
    variables |= passed | dict(machine.environment) | {GUEST_VARIABLE: machine.kernel.name}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    return "\n".join([f"cd {shlex.quote(str(directory))} || exit 127", *lines, f"exec {shlex.join(command)}", ""])


def _settings(machine: Machine, image: Image) -> str:
    share = str(machine.share) if machine.share else ""
    values = {"share": share, "modules": str(image.modules), "name": machine.kernel.name}
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())


def _qemu(machine: Machine, image: Image, control: Path) -> list[str]:
    """Plain emulation, no network card. The guest sees the host's files through virtio 9p."""
    processors = 1 if machine.instruction_clock else machine.processors
    command = [find_command("qemu-system-x86_64"), "-nodefaults", "-no-reboot", "-display", "none"]
    command += ["-machine", "q35,usb=off", "-cpu", "max", "-smp", str(processors), "-m", str(machine.memory)]
    if machine.instruction_clock:
        command += ["-accel", "tcg", "-icount", "shift=0,sleep=off"]
    else:
        command += ["-accel", "tcg,thread=multi"]
    command += ["-kernel", str(image.kernel), "-initrd", str(image.initramfs), "-device", "virtio-rng-pci"]
    command += ["-serial", f"file:{control}/console"]
    options = "console=ttyS0 loglevel=4 panic=-1 mitigations=off nokaslr tsc=reliable"
    command += ["-append", f"{options} pfq.transport=9p pfq.control={control}"]
    exported = [("root", Path("/"), "on"), ("control", control, "off")]
    if machine.share:
        exported.append(("share", machine.share, "off"))
    for tag, path, read_only in exported:
        escaped = str(path).replace(",", ",,")
        sharing = f"security_model=none,multidevs=remap,readonly={read_only}"
        command += ["-virtfs", f"local,path={escaped},mount_tag={tag},{sharing}"]
    return command


def _user_mode(machine: Machine, image: Image, control: Path) -> list[str]:
    """A kernel that is a process of the host; it sees the host's files through hostfs."""
    command = [sys.executable, without_xstate.__file__]
    command += [str(image.kernel), f"mem={machine.memory}M", f"initrd={image.initramfs}"]
    command += ["con0=null,fd:1", "con=null", "ssl=null", "loglevel=4", "panic=-1"]
    command += [f"{name}={value}" for name, value in without_xstate.GUEST_ENVIRONMENT.items()]
    return [*command, "pfq.transport=hostfs", f"pfq.control={control}"]


def _pass_on(source: BinaryIO, target: BinaryIO) -> None:
    if data := source.read():
        target.write(data)
        target.flush()


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End the machine with all its threads and helper processes: it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(
    machine: Machine,
    command: Sequence[str],
    *,
    directory: Path | None = None,
    stdout: BinaryIO | None = None,
    stderr: BinaryIO | None = None,
) -> int:
    """Run `command` as root in a fresh machine, in `directory` (default: here); returns its exit status, 124 after a timeout.

    Its output goes to `stdout` and `stderr` (default: this process's own) while it runs.
    Raises KernelError if the kernel cannot be had or the machine ends without running the command to its end.
    """
    image = prepare(machine.kernel)
    stdout = stdout or sys.stdout.buffer
    stderr = stderr or sys.stderr.buffer
    with tempfile.TemporaryDirectory(prefix="pfq-kernel-") as name:
        control = Path(name)
        (control / "command").write_text(_command_file(machine, command, directory or Path.cwd()))
        (control / "settings").write_text(_settings(machine, image))
        for file in ("stdout", "stderr", "console"):
            (control / file).touch()
        qemu = machine.kernel.hypervisor == "qemu"
        arguments = (_qemu if qemu else _user_mode)(machine, image, control)
        deadline = time.monotonic() + machine.timeout
        with (
            (control / "console").open("ab") as console,
            (control / "stdout").open("rb") as guest_stdout,
            (control / "stderr").open("rb") as guest_stderr,
        ):
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)
            try:
                while process.poll() is None and time.monotonic() < deadline:
                    _pass_on(guest_stdout, stdout)
                    _pass_on(guest_stderr, stderr)
                    time.sleep(_POLL_SECONDS)
                timed_out = process.poll() is None
            finally:
                _stop(process)
            _pass_on(guest_stdout, stdout)
            _pass_on(guest_stderr, stderr)
        if timed_out:
            return TIMED_OUT
        status = control / "status"
        if not status.is_file() or not status.read_text().strip():
            last = (control / "console").read_text(errors="replace").splitlines()[-8:]
            raise KernelError("\n  ".join([f"the {machine.kernel.name} kernel gave no exit status; its console ends with", *last]))
        return int(status.read_text())
