"""What holds for every text, right or wrong: the laws the fuzzer tries to break, and that its finds are kept under."""

import re

from pfq.pf import check, read

# What pfctl prints and cannot read again: a string with quotes in it, a name that only quotes made one word, ALTQ rates
# that rounding lifts above their parent's, a bandwidth of zero, which is not printed.
_STRING = re.compile(r"\"[^\"]*\"(?=[\s,)]|$)")
_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
_WORD = re.compile(r"[A-Za-z0-9_.:/-]+\Z")
_UNREADABLE = re.compile("errors in queue definition|no bandwidth or flow specification")

# What the fuzzer's rulesets can include and load; anything else is not there.
FILES = {"loop": 'include "loop"\npass\n', "rules": "block in\npass out\n", "half": 'anchor "x" {\npass', "wrong": "pass quik\n"}


def open_file(name: str) -> str:
    """A file of the little world the rulesets are read in. Raises FileNotFoundError."""
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory", name)
    return FILES[name]


def broken(text: str, dialect: str) -> str:
    """Which law a text breaks, '' when none. An exception is a broken law too, and is let through."""
    first = check(text, dialect, verbose=True, optimize="none", open_file=open_file)
    if first.status not in (0, 1):
        return f"status: {first.status}"
    if first.status == 1 and not first.stderr:
        return "silent: status 1 without a message"
    improved = check(text, dialect, verbose=True, optimize="basic", open_file=open_file)
    if (improved.status, improved.stderr) != (first.status, first.stderr):
        return f"optimizer: {first.stderr!r} became {improved.stderr!r}"
    tree = read(text, dialect, verbose=True, optimize="none", open_file=open_file)
    if (tree.verdict.status, tree.verdict.stderr) != (first.status, first.stderr):
        return f"tree: {first.stderr!r} became {tree.verdict.stderr!r}"
    if tree.verdict.stdout != first.stdout:
        return f"tree: {difference(first.stdout, tree.verdict.stdout)}"
    for statement in tree.statements:
        if statement.file == "stdin" and not 0 <= statement.start <= statement.end <= len(text):
            return f"span: {statement.kind} {statement.start}-{statement.end} of {len(text)}"
    odd = [name for name in _QUOTED.findall(text.replace("\n", "")) if _WORD.match(name) is None]
    if first.status == 0 and not tree.reading.loads:
        for printed in (first.stdout, improved.stdout):
            bare = _STRING.sub("", printed)
            if '"' in bare or not printed.isascii() or any(name in bare for name in odd):
                continue
            again = check(printed, dialect, verbose=True, optimize="none", open_file=open_file)
            if again.status and _UNREADABLE.search(again.stderr) is not None:
                continue
            if again.status:
                return f"reads again: {again.stderr}{printed}"
            if again.stdout != printed:
                return f"prints again: {difference(printed, again.stdout)}"
    return ""


def difference(one: str, other: str) -> str:
    """The first lines that are not the same."""
    ones, others = one.splitlines(), other.splitlines()
    for a, b in zip(ones, others, strict=False):
        if a != b:
            return f"{a!r} became {b!r}"
    return f"{len(ones)} lines became {len(others)}"
