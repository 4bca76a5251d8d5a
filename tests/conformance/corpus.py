"""A folder of rulesets and what pfctl says about each: how to read it, how to compare, and what is known to differ."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pfq.pf import Interface, System, read
from pfq.pf.loaded import queues_text, rules_text

# Why an answer is not the one in the folder. Each is held to differ still, so that the list cannot go stale.
KNOWN: dict[str, str] = {
    "openbsd-4.4/pfail/pfail26": "the answer is that of OpenBSD 3.x, whose anchor names had 15 characters; in 4.4 they have 63",
    "openbsd-7.6/pfail/pfail14": "a ruleset that was wrong once and is right in 7.6: its answer is the printed rule",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One ruleset of the folder."""

    folder: Path
    suite: str
    stem: str

    @property
    def name(self) -> str:
        return f"{self.suite}/{self.stem}"

    @property
    def dialect(self) -> str:
        return self.suite.split("/")[0]

    @property
    def kind(self) -> str:
        return self.suite.split("/")[1]

    def text(self, suffix: str) -> str:
        return (self.folder / self.suite / (self.stem + suffix)).read_text(encoding="utf-8", errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What holds of a case; None where it is not asked."""

    printed: bool | None = None
    stable: bool | None = None
    rejected: bool | None = None
    message: bool | None = None
    difference: str = ""

    @property
    def good(self) -> bool:
        return False not in (self.printed, self.stable, self.rejected, self.message)


def cases(folder: Path) -> list[Case]:
    """All cases of a folder, in order."""
    found = []
    for answer in sorted(folder.glob("*/*/*.ok")):
        if answer.with_suffix(".in").exists() and answer.parent.name in ("pf", "pfail", "pfaltq"):
            found.append(Case(folder, f"{answer.parent.parent.name}/{answer.parent.name}", answer.stem))
    return found


def machine(dialect: str) -> System:
    """The machine that the answers were made on: lo0 and the interfaces that the tests create."""
    family, _, release = dialect.partition("-")
    major, _, minor = release.partition(".")
    system = System(family, (int(major), int(minor)), assume=False)
    for name in ("lo1000000", "tun1000000", "tun1000001"):
        system.add(Interface(name, (), 0, 1500, (name.rstrip("0123456789"),)))
    return system


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """In the folder itself, where the files that rulesets include are."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def outcome(case: Case) -> Outcome:
    """Hold one case against its answer."""
    expected = case.text(".ok")
    system = machine(case.dialect)
    with inside(case.folder / case.suite):
        tree = read(case.text(".in"), case.dialect, verbose=True, optimize="none", system=system)
        verdict = tree.verdict
        if case.kind == "pf":
            again = read(expected, case.dialect, verbose=True, optimize="none", system=machine(case.dialect)).verdict
            return Outcome(
                printed=verdict.status == 0 and verdict.stdout == expected,
                stable=again.status == 0 and again.stdout == expected,
                difference=verdict.stderr + again.stderr,
            )
    if case.kind == "pfaltq":
        shown = queues_text(tree.reading) + rules_text(tree.reading)
        return Outcome(printed=verdict.status == 0 and shown == expected, difference=shown)
    # What was printed until then comes after the messages: it is written when pfctl ends.
    said = verdict.stderr in (expected, expected.removesuffix(verdict.stdout)) and expected != ""
    return Outcome(rejected=verdict.status == 1, message=said, difference=verdict.stderr + verdict.stdout)


def table(found: list[Case]) -> str:
    """How many cases of each suite hold, and the known differences."""
    lines = [f"\n{'suite':<24}{'files':>7}{'printed':>9}{'again':>9}{'rejected':>10}{'message':>9}\n"]
    for suite in dict.fromkeys(case.suite for case in found):
        outcomes = [outcome(case) for case in found if case.suite == suite]
        columns = []
        for field in ("printed", "stable", "rejected", "message"):
            asked = [getattr(one, field) for one in outcomes if getattr(one, field) is not None]
            columns.append(f"{sum(asked)}/{len(asked)}" if asked else "-")
        lines.append(f"{suite:<24}{len(outcomes):>7}{columns[0]:>9}{columns[1]:>9}{columns[2]:>10}{columns[3]:>9}\n")
    here = {case.name for case in found}
    lines += [f"known: {name}: {reason}\n" for name, reason in KNOWN.items() if name in here]
    return "".join(lines)
