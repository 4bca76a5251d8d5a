"""Stand-ins for the commands of vagrant/check: each notes down its call in `calls` and answers as the test says."""

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

CHECK = Path(__file__).parents[2] / "vagrant" / "check"

# Answers come from files: NAME for standard output, NAME.error for standard error, NAME.status for the exit status, NAME.kill for a
# signal to the caller. NAME is the command and its arguments joined by `_`, or as much of its beginning as there is a file for.
_ANSWER = """
answer() {
    name=$(echo "$*" | tr -c 'A-Za-z0-9.\\n' _)
    while [ -n "$name" ]; do
        for found in "$STANDINS/answers/$name" "$STANDINS/answers/$name.error" "$STANDINS/answers/$name.status" "$STANDINS/answers/$name.kill"; do
            [ -e "$found" ] && break 2
        done
        case $name in *_*) name=${name%_*} ;; *) return 0 ;; esac
    done
    [ -f "$STANDINS/answers/$name.kill" ] && kill -s "$(cat "$STANDINS/answers/$name.kill")" "$PPID"
    [ -f "$STANDINS/answers/$name" ] && cat "$STANDINS/answers/$name"
    [ -f "$STANDINS/answers/$name.error" ] && cat "$STANDINS/answers/$name.error" >&2
    [ -f "$STANDINS/answers/$name.status" ] && return "$(cat "$STANDINS/answers/$name.status")"
    return 0
}
"""


def _heed_signals() -> None:
    """Tests in the background ignore these, and what they start would too."""
    for each in (signal.SIGHUP, signal.SIGINT):
        signal.signal(each, signal.SIG_DFL)


_NOTED = '#!/bin/sh\necho "${0##*/} $*" >>"$STANDINS/calls"\n'

# Interfaces are files, so that one that is made is there and one that is destroyed is gone.
_IFCONFIG = """
there=$STANDINS/interfaces
case "$*" in
*" create") [ ! -e "$there/$1" ] && case $1 in epair*) : >"$there/${1}a" ;; *) : >"$there/$1" ;; esac || exit 1 ;;
*" destroy") rm "$there/$1" || exit 1 ;;
*" name "*) [ -e "$there/$1" ] && [ ! -e "$there/$3" ] && mv "$there/$1" "$there/$3" || exit 1 ;;
*) [ -e "$there/$1" ] || exit 1 ;;
esac
"""

_PFCTL = """
case "$*" in
*"-f -") echo "stdin: $(cat)" >>"$STANDINS/calls" ;;
"-f pf.conf") cat pf.conf >>"$STANDINS/loaded" ;;
esac
answer pfctl "$@"
"""

# `ip netns exec NAME COMMAND` runs the command, which is a stand-in again.
_IP = """
if [ "$1 $2" = "netns exec" ]; then
    shift 3
    exec "$@"
fi
answer ip "$@"
"""

# Waits until the test writes into `time`.
_SLEEP = 'read -r _ <"$STANDINS/time"\n'


@dataclass(frozen=True)
class Machine:
    """A made-up machine in `folder`: an operating system of stand-ins."""

    folder: Path
    system: str
    release: str

    def answer(self, command: str, text: str = "", *, error: str = "", status: int = 0, kill: str = "") -> None:
        """What a command prints and how it ends; `command` with its arguments, or the beginning of them."""
        name = "".join(c if c.isascii() and (c.isalnum() or c == ".") else "_" for c in command)
        folder = self.folder / "answers"
        (folder / name).write_text(text)
        for ending, value in (("error", error), ("status", str(status) if status else ""), ("kill", kill)):
            if value:
                (folder / f"{name}.{ending}").write_text(value)

    def interface(self, name: str) -> None:
        (self.folder / "interfaces" / name).touch()

    def interfaces(self) -> set[str]:
        return {path.name for path in (self.folder / "interfaces").iterdir()}

    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def loaded(self) -> str:
        """Every pf.conf that was loaded, one after the other."""
        path = self.folder / "loaded"
        return path.read_text() if path.exists() else ""

    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "STANDINS": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "PF_CONF": str(self.folder / "etc_pf.conf"),
        }

    def check(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs vagrant/check on the folder's rulesets, or with these arguments."""
        words = arguments or (str(self.folder / "rulesets"),)
        return subprocess.run(
            ["sh", CHECK, *words], capture_output=True, text=True, env=self.environment(), timeout=60, check=False, preexec_fn=_heed_signals
        )

    def left(self) -> list[str]:
        """Temporary files that are still there."""
        return os.listdir(self.folder / "tmp")

    def ruleset(self, name: str, expected: str, files: dict[str, str]) -> None:
        """A folder of rulesets/: what is expected, and the outputs by path."""
        folder = self.folder / "rulesets" / name
        for path, text in {"expected": expected, **{f"out/{path}": text for path, text in files.items()}}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)


def machine(folder: Path, system: str, release: str, root: bool = True) -> Machine:
    """A machine whose commands answer nothing and succeed, with pf switched on."""
    for name in ("bin", "answers", "interfaces", "tmp", "rulesets"):
        (folder / name).mkdir()
    os.mkfifo(folder / "time")
    (folder / "etc_pf.conf").write_text("pass\n")
    bodies = {
        "uname": f'case $1 in -s) echo {system} ;; -r) echo {release} ;; esac\n',
        "id": f"echo {0 if root else 1000}\n",
        "sleep": _SLEEP,
        "ifconfig": _NOTED.removeprefix("#!/bin/sh\n") + _IFCONFIG,
        "pfctl": _NOTED.removeprefix("#!/bin/sh\n") + _ANSWER + _PFCTL,
        "ip": _NOTED.removeprefix("#!/bin/sh\n") + _ANSWER + _IP,
        **{name: _NOTED.removeprefix("#!/bin/sh\n") + _ANSWER + f'answer {name} "$@"\n' for name in ("tc", "nft", "kldload")},
    }
    for name, body in bodies.items():
        path = folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)
    made = Machine(folder, system, release)
    made.answer("pfctl -s info", "Status: Enabled for 0 days 00:10:00          Debug: err\n")
    return made
