"""Network namespaces entered from one process, because starting a process is dear on an emulated machine."""

import ctypes
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_NEW_NETWORK = 0x40000000
_DIRECTORY = "/run/netns"


class LabError(Exception):
    """The laboratory could not be built, or a command in it failed."""


_libc = ctypes.CDLL(None, use_errno=True)


def _enter(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(descriptor, _NEW_NETWORK):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
    finally:
        os.close(descriptor)


@contextmanager
def within(name: str) -> Iterator[None]:
    """Sockets opened in this block, and /proc/sys/net, belong to the namespace `name`. Sockets stay there afterwards."""
    here = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(f"{_DIRECTORY}/{name}")
        yield
    finally:
        if _libc.setns(here, _NEW_NETWORK):
            raise LabError("cannot return to the first network namespace")
        os.close(here)


def connect(descriptor: int, address: bytes) -> None:
    """connect(2) with an address of a family that Python's sockets do not know. Raises OSError."""
    if _libc.connect(descriptor, address, len(address)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def run(command: Sequence[str], text: str | None = None) -> str:
    """Standard output of a command given `text`. Raises LabError with its messages if it fails."""
    done = subprocess.run(command, input=text or "", capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_inside(name: str, command: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a namespace, with that namespace's /sys as well; its status is the caller's business."""
    command = ["ip", "netns", "exec", name, *command]
    return subprocess.run(command, input=text or "", capture_output=True, text=True, check=False)


def write_setting(name: str, value: object) -> None:
    """Set a sysctl by its path below /proc/sys, in the current namespace. Raises LabError if the kernel has none of that name."""
    try:
        with open(f"/proc/sys/{name}", "w") as file:
            file.write(str(value))
    except OSError as error:
        raise LabError(f"sysctl {name}: {error}") from error
