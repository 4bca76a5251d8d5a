"""Writing results: whole or not at all, and nothing lost that was there."""

import hashlib
import json
import os
import tempfile

from pfq import __version__
from pfq.diagnostics import refuse
from pfq.plan.model import Gateway
from pfq.targets.files import File

MANIFEST = "manifest.json"


def write_file(path: str, text: str, executable: bool = False) -> None:
    """Writes a temporary file beside `path` and renames it, so that `path` is the old file or the new one at any moment.

    Raises Refused where that cannot be done; the old file is then untouched.
    """
    folder, name = os.path.split(os.path.abspath(path))
    temporary = ""
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.isdir(path):
            raise refuse("unwritable", f"{path} is a directory")
        handle, temporary = tempfile.mkstemp(prefix=f".{name[:40]}.", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, (0o777 if executable else 0o666) & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise refuse("unwritable", f"{path} cannot be written: {error.strerror or error}") from None


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
