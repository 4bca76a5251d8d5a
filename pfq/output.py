"""Writing results: whole or not at all, and nothing lost that was there."""

import contextlib
import hashlib
import json
import os
import stat
import tempfile

from pfq import __version__
from pfq.diagnostics import refuse
from pfq.plan.model import Gateway
from pfq.targets.files import File

MANIFEST = "manifest.json"


def write_file(path: str, text: str | bytes, executable: bool = False) -> None:
    """Writes a temporary file beside `path` and renames it, so that `path` is the old file or the new one at any moment.

    A file that was there keeps its permissions, and its owner where this process may set it; `executable` adds the right to run it for
    those who may read it. A symbolic link stays one: the file that it leads to is written. Raises Refused where that cannot be done, and
    for what is no ordinary file; what was there is then untouched.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    temporary = ""
    try:
        os.makedirs(folder, exist_ok=True)
        old = _ordinary(path, target)
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:40]}.", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        if old is not None and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, old.st_uid, old.st_gid)
        mode = 0o666 & ~_mask() if old is None else stat.S_IMODE(old.st_mode) & 0o777
        os.chmod(temporary, mode | (mode & 0o444) >> 2 if executable else mode)
        os.replace(temporary, target)
        temporary = ""
    except OSError as error:
        raise refuse("unwritable", f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        # Also when somebody has pressed Ctrl-C.
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def _ordinary(path: str, target: str) -> os.stat_result | None:
    """What is known of the file that will be replaced, None where there is none. Raises Refused for what is no ordinary file."""
    try:
        found = os.lstat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise refuse("unwritable", f"{path} is a directory")
    if stat.S_ISLNK(found.st_mode):
        raise refuse("unwritable", f"{path} is a symbolic link that leads nowhere")
    if not stat.S_ISREG(found.st_mode):
        raise refuse("unwritable", f"{path} is no ordinary file", hint="without a file to write to, the result goes to standard output")
    return found


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def manifest(files: list[tuple[Gateway, list[File]]]) -> str:
    """The folder's table of contents: each host's name, target, and files with path and sha256."""
    hosts = [
        {
            "name": gateway.name,
            "target": gateway.system.name,
            "files": [
                {"path": f"{gateway.name}/{file.name}", "sha256": hashlib.sha256(file.text.encode()).hexdigest()} for file in written
            ],
        }
        for gateway, written in files
    ]
    return json.dumps({"pfq": __version__, "hosts": hosts}, indent=2) + "\n"


def write_folder(folder: str, files: list[tuple[Gateway, list[File]]]) -> None:
    """A folder a host, and the manifest last: who reads the manifest finds what it names. Raises Refused."""
    if any(gateway.name == MANIFEST for gateway, _ in files):
        raise refuse("unwritable", f"a host cannot be called {MANIFEST!r} here: its folder would be the manifest's file")
    for gateway, written in files:
        for file in written:
            write_file(os.path.join(folder, gateway.name, file.name), file.text, file.executable)
    write_file(os.path.join(folder, MANIFEST), manifest(files))
