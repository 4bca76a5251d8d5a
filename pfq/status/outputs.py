"""The outputs of the system's own tools: of commands that are run here, or recorded in files."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pfq.diagnostics import Diagnostic, Refused, refuse

# Root's tools are often not on an ordinary user's path.
_MORE_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
_PACKAGES = {"tc": "iproute2", "ip": "iproute2", "nft": "nftables", "unshare": "util-linux", "pfctl": "the base system"}


@dataclass(frozen=True, slots=True)
class Command:
    """A command whose output is wanted. name: of the file that a recording has of it. text: its standard input."""

    name: str
    words: tuple[str, ...]
    text: str = ""

    def typed(self) -> str:
        """The command as a shell takes it."""
        quoted = [f"'{word}'" if " " in word else word for word in self.words]
        return " ".join(quoted)


@dataclass(frozen=True, slots=True)
class Output:
    """text: what the command wrote. error: '' if it succeeded, else what it had to say."""

    text: str
    error: str = ""


Outputs = Mapping[str, Output]


def run(commands: Sequence[Command]) -> Outputs:
    """The output of each command by its name. Raises Refused for a tool that is not there."""
    environment = dict(os.environ, LC_ALL="C", PATH=f"{os.environ.get('PATH', '')}:{_MORE_PATH}")
    found: dict[str, Output] = {}
    missing = []
    for command in commands:
        try:
            done = subprocess.run(command.words, input=command.text, capture_output=True, text=True, errors="replace", env=environment, check=False)
        except FileNotFoundError:
            missing.append(command.words[0])
            continue
        said = (done.stderr.strip() or f"exit status {done.returncode}") if done.returncode else ""
        found[command.name] = Output(done.stdout, said)
    if missing:
        raise Refused([Diagnostic("not-installed", f"{tool} is not here", hint=f"it belongs to {_PACKAGES[tool]}") for tool in dict.fromkeys(missing)])
    return found


def recorded(folder: str, commands: Sequence[Command]) -> Outputs:
    """The same from the files of a folder. Raises Refused with every file that is missing, and the command to record it with."""
    found: dict[str, Output] = {}
    faults = []
    for command in commands:
        path = os.path.join(folder, command.name)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found[command.name] = Output(file.read())
        except OSError as error:
            hint = f"on the gateway, as root: {command.typed()}{' < pfq.nft' if command.text else ''} > {command.name}"
            faults.append(Diagnostic("unreadable", f"{path}: {error.strerror}", hint=hint))
    if faults:
        raise Refused(faults)
    return found


def must(output: Output, command: str) -> str:
    """The text of a command that has no reason to fail. Raises Refused if it did."""
    if output.error:
        raise refuse("failed", f"{command}: {output.error}")
    return output.text
