"""Applying fixes: spans of the text are replaced, and everything else stays as it is, comments and layout included."""

from .finding import Finding


def fixed(text: str, findings: list[Finding]) -> tuple[str, int]:
    """The text with the safe fixes of its findings, and how many were applied. One that overlaps an earlier one waits for the next run."""
    edits: list[tuple[int, int, str]] = []
    applied = 0
    seen: set[tuple[tuple[int, int, str], ...]] = set()
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.safe:
            continue
        wanted = tuple(sorted(fix.edits))
        if wanted in seen:
            continue
        seen.add(wanted)
        if any(start < other_end and other_start < end for start, end, _ in wanted for other_start, other_end, _ in edits):
            continue
        edits += wanted
        applied += 1
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text, applied


def write(path: str, text: str) -> None:
    """Replace a file's text, whole or not at all; its permissions stay, and a symbolic link stays one. Raises Refused."""
    from pfq.diagnostics import refuse
    from pfq.output import write_file

    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise refuse("not-text", f"{path} is not UTF-8: it cannot be fixed") from None
    write_file(path, text)
