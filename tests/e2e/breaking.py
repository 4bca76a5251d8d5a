"""Runs on a kernel: starts that are broken at each call of a tool, one after another, and what they leave behind."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from typing import Any

from tests.e2e.gateways import differences, listing
from tests.e2e.lab import Lab
from tests.e2e.namespaces import LabError

_TOOLS = ("ip", "tc", "nft")

# A tool that fails at the Nth call of any of them, instead of or after doing its work, or ends the shell that called it, or all of the script's.
_STAND_IN = """#!/bin/sh
number=$(($(cat {folder}/calls) + 1))
echo "$number" >{folder}/calls
if [ "$number" -eq "${{PFQ_BREAK_AT:-0}}" ]; then
    case $PFQ_BREAK_HOW in
    fail) echo "broken on purpose" >&2; exit 1 ;;
    late) {real} "$@" >/dev/null; echo "broken on purpose" >&2; exit 1 ;;
    shell) kill -KILL $PPID; exit 1 ;;
    script) kill -KILL $(cat {state}/*/lock/pid) $PPID; exit 1 ;;
    esac
fi
exec {real} "$@"
"""


@dataclass(frozen=True, slots=True)
class _Place:
    """A gateway and the folders of its scripts, tools and state."""

    lab: Lab
    folder: str

    def run(self, script: str, word: str, at: int = 0, how: str = "") -> tuple[int, str]:
        """Status and messages of a script, broken at a call of a tool; all calls are counted."""
        with open(f"{self.folder}/calls", "w", encoding="ascii") as file:
            file.write("0")
        variables = [f"PATH={self.folder}/bin:{os.environ['PATH']}", f"PFQ_STATE={self.folder}/state", f"PFQ_BREAK_AT={at}", f"PFQ_BREAK_HOW={how}"]
        done = self.lab.run_gateway(["env", *variables, "sh", f"{self.folder}/{script}.sh", word], check=False, settle=False)
        return done.returncode, done.stdout + done.stderr

    def whole(self, script: str, word: str) -> None:
        """An unbroken run that must succeed."""
        status, said = self.run(script, word)
        if status:
            raise LabError(f"{script} {word}: {status} {said}")

    def calls(self) -> int:
        with open(f"{self.folder}/calls", encoding="ascii") as file:
            return int(file.read())

    def state(self) -> dict[str, str]:
        return listing(self.lab, handles=False)


def _tools(folder: str) -> None:
    os.mkdir(f"{folder}/bin")
    for tool in _TOOLS:
        path = f"{folder}/bin/{tool}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(_STAND_IN.format(folder=folder, state=f"{folder}/state", real=shutil.which(tool)))
        os.chmod(path, 0o755)


def _broken(place: _Place, how: str, at: int, wanted: list[dict[str, str]], undone: dict[str, str]) -> dict[str, Any]:
    """One broken start of `second`. wanted: the states that may be in force after it; undone: the state after stop."""
    status, said = place.run("second", "start", at, how)
    found: dict[str, Any] = {"how": how, "at": at, "status": status, "said": said, "state": "", "after": []}
    now = place.state()
    found["state"] = next((name for name, state in zip(("old", "new"), wanted, strict=True) if not differences(state, now)), "neither")
    found["differences"] = [differences(each, now) for each in wanted] if found["state"] == "neither" else []
    if how == "script":
        # Whatever is left, the next start and the next stop put it right.
        word = ("start", "stop")[at % 2]
        again, told = place.run("second", word)
        found["after"] = [f"{word}: {again} {told}"] if again else []
        found["after"] += differences(wanted[1] if word == "start" else undone, place.state())
    return found


def every_break(argument: dict[str, Any]) -> dict[str, Any]:
    """Starts of `second`, over nothing and over `first`, broken at every call. argument: first, second (scripts), before (commands),
    hows: every how-manyeth call is broken in which way."""
    found: dict[str, Any] = {"breaks": [], "wrong": []}
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        os.chmod(folder, 0o755)
        place = _Place(lab, folder)
        _tools(folder)
        for name in ("first", "second"):
            with open(f"{folder}/{name}.sh", "w", encoding="utf-8") as file:
                file.write(argument[name])
        for command in argument["before"]:
            lab.run_gateway(command)
        lab.set_gateway("net/ipv4/ip_forward", 0)
        bare = place.state()
        place.whole("second", "start")
        calls = {"bare": place.calls()}
        second = place.state()
        place.whole("first", "start")
        first = place.state()
        place.whole("second", "start")
        calls["first"] = place.calls()
        found["again differs"] = differences(second, place.state())
        for base, state in (("first", first), ("bare", bare)):
            for how, stride in argument["hows"].items():
                for at in range(1, calls[base] + 1, stride):
                    # Both starting points are reached by a whole start or stop.
                    place.whole("first", "start" if base == "first" else "stop")
                    found["breaks"].append({"base": base, **_broken(place, how, at, [state, second], bare)})
        place.whole("first", "start")
        unprivileged = lab.run_gateway(["setpriv", "--reuid=65534", "--clear-groups", "sh", f"{folder}/second.sh", "start"], check=False)
        found["unprivileged"] = [unprivileged.returncode, unprivileged.stderr, differences(first, place.state())]
        os.mkdir(f"{folder}/full")
        full = f"mount -t tmpfs -o size=16k none {folder}/full && PFQ_STATE={folder}/full exec sh {folder}/second.sh start"
        place.whole("first", "stop")
        done = lab.run_gateway(["sh", "-c", full], check=False)
        found["full"] = [done.returncode, done.stderr, differences(bare, place.state())]
        found["calls"] = calls
    return found


def lacking(script: str) -> dict[str, Any]:
    """A start on a kernel that lacks something: status, messages, and what changed."""
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        place = _Place(lab, folder)
        _tools(folder)
        with open(f"{folder}/first.sh", "w", encoding="utf-8") as file:
            file.write(script)
        before = place.state()
        status, said = place.run("first", "start")
        return {"status": status, "said": said, "changed": differences(before, place.state())}
