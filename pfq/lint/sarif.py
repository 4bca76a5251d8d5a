"""Findings as SARIF 2.1.0 (OASIS), which code scanning services read."""

import json

from pfq import __version__

from .finding import Finding, Text
from .registry import RULES, rule
from .run import Result
from .show import visible

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(results: list[Result]) -> str:
    """One run; only the rules that found something are described. Columns count Unicode code points."""
    codes = sorted({finding.code for result in results for finding in result.findings})
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "pfq lint", "version": __version__, "rules": [_rule(code) for code in codes]}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, result.texts[finding.file], codes) for result in results for finding in result.findings],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(code: str) -> dict[str, object]:
    assert code in RULES
    one = rule(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in one.name.split("-")),
        "shortDescription": {"text": one.message},
        "fullDescription": {"text": one.explanation.replace("`", "")},
        "help": {"text": f"pfq rule {code} explains it, with a wrong and a right example."},
        "defaultConfiguration": {"level": one.severity},
    }


def _uri(file: str) -> str:
    from urllib.parse import quote

    return quote(file.replace("\\", "/").removeprefix("./").encode("utf-8", "surrogateescape"), safe="/.-_~")


def _region(text: Text, start: int, end: int) -> dict[str, int]:
    (line, column), (end_line, end_column) = text.place(start), text.place(end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _result(finding: Finding, text: Text, codes: list[str]) -> dict[str, object]:
    message = f"{finding.message}; {finding.hint}" if finding.hint else finding.message
    place = {"artifactLocation": {"uri": _uri(finding.file)}, "region": _region(text, finding.start, max(finding.end, finding.start))}
    found: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": visible(message)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"line/v1": visible(f"{finding.code} {text.line(text.place(finding.start)[0]).strip()}")},
    }
    # Viewers offer to apply fixes, so only safe ones are given to them.
    if finding.fix is not None and finding.fix.safe:
        replacements = [
            {"deletedRegion": _region(text, start, end), "insertedContent": {"text": new}} for start, end, new in finding.fix.edits
        ]
        change = {"artifactLocation": {"uri": _uri(finding.file)}, "replacements": replacements}
        found["fixes"] = [{"description": {"text": finding.fix.what}, "artifactChanges": [change]}]
    return found
