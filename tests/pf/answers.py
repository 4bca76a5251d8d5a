"""Short ways to ask the reader of pf.conf."""

from pfq.pf import System, check

OLD, FREEBSD, MIDDLE, NEW = "openbsd-4.4", "freebsd-12.1", "openbsd-5.4", "openbsd-7.6"
DIALECTS = (OLD, FREEBSD, MIDDLE, NEW)


def printed(text: str, dialect: str = NEW, optimize: str | None = "none", system: System | None = None) -> list[str]:
    """The lines of `pfctl -nvf` for a ruleset that is right."""
    verdict = check(text, dialect, verbose=True, optimize=optimize, system=system)
    assert verdict.stderr == "", verdict.stderr
    assert verdict.status == 0
    return [line.rstrip() for line in verdict.stdout.splitlines()]


def said(text: str, dialect: str = NEW) -> list[str]:
    """The messages for a ruleset that is wrong."""
    verdict = check(text, dialect)
    assert verdict.status == 1
    assert verdict.stdout == ""
    return verdict.stderr.splitlines()
