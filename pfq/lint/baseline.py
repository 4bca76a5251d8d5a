"""Findings that are known: an old ruleset can be adopted, and only what is new is reported.

A finding is recognised by its file, code, and the text of its line, so that lines above it may come and go.
"""

import json
import os

from .finding import Finding, Text

_VERSION = 1


class WrongBaseline(ValueError):
    """The file is no baseline."""


def _key(finding: Finding, texts: dict[str, Text], folder: str) -> tuple[str, str, str]:
    text = texts[finding.file]
    line = text.line(text.place(finding.start)[0]).strip()
    file = finding.file if finding.file.startswith("<") else os.path.relpath(finding.file, folder)
    return file.replace(os.sep, "/"), finding.code, line


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def written(path: str, results: list[tuple[list[Finding], dict[str, Text]]]) -> str:
    """The baseline of these findings, for a file at `path`."""
    counts: dict[tuple[str, str, str], int] = {}
    for findings, texts in results:
        for finding in findings:
            key = _key(finding, texts, _folder(path))
            counts[key] = counts.get(key, 0) + 1
    rows = [{"file": file, "code": code, "line": line, "count": count} for (file, code, line), count in sorted(counts.items())]
    return json.dumps({"version": _VERSION, "findings": rows}, indent=1) + "\n"


class Baseline:
    """A baseline that was read; each finding in it hides one."""

    def __init__(self, path: str) -> None:
        """Raises OSError, WrongBaseline."""
        self._folder = _folder(path)
        self._left: dict[tuple[str, str, str], int] = {}
        try:
            with open(path, encoding="utf-8") as file:
                tree = json.load(file)
            if tree["version"] != _VERSION:
                raise WrongBaseline(f"{path}: a baseline of version {tree['version']}; this pfq knows {_VERSION}")
            for row in tree["findings"]:
                self._left[str(row["file"]), str(row["code"]), str(row["line"])] = int(row["count"])
        except WrongBaseline:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise WrongBaseline(f"{path}: no baseline of pfq lint: {error!r:.80}") from None

    def new(self, findings: list[Finding], texts: dict[str, Text]) -> list[Finding]:
        """The findings that are not known."""
        found = []
        for finding in findings:
            key = _key(finding, texts, self._folder)
            if self._left.get(key, 0) > 0:
                self._left[key] -= 1
            else:
                found.append(finding)

        return found
