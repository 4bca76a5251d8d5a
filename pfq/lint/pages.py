"""The rules' documentation, made from the rules themselves: `python -m pfq.lint.pages docs/rules` writes it."""

import os
import sys
import textwrap

from .registry import RULES, rule

_WHERE = {
    "pf": "every pf.conf",
    "any": "every pf.conf, and models",
    "site": "models (site.toml)",
    "altq": "ALTQ: OpenBSD until 5.4, FreeBSD",
    "altq_wide": "ALTQ of FreeBSD 12 and later",
    "altq_codel": "ALTQ of FreeBSD",
    "translation_rules": "ALTQ with nat and rdr statements: OpenBSD until 4.6, FreeBSD",
    "queue_trees": "queues of OpenBSD 5.5 and later",
    "match_rules": "every pf.conf with match rules: OpenBSD 4.6 and later, FreeBSD 14 and later",
    "address_family_translation": "OpenBSD 5.5 and later",
}
_GROUPS = (("PFQ0", "What pfctl and pfq say"), ("PFQ1", "Any pf.conf"), ("PFQ2", "ALTQ"), ("PFQ3", "Queues of OpenBSD 5.5 and later"), ("PFQ4", "Models"))
_WIDTH = 110


def _example(text: str, kind: str) -> str:
    return f"```{'toml' if kind == 'site' else 'pf'}\n{text}```\n"


def page(code: str) -> str:
    """The page of a rule, in Markdown that reads well on a terminal too."""
    one = rule(code)
    rows = [f"# {code} {one.name}", "", f"{one.message[0].upper()}{one.message[1:]}." if one.message[0] != "`" else f"{one.message}.", ""]
    rows += [f"- severity: {one.severity}", f"- applies to: {_WHERE[RULES[code][1]]}", f"- since: pfq {one.since}"]
    if one.fix:
        rows.append(f"- fix: {one.fix} ({'safe, --fix does it' if one.safe else 'by hand: it may change what the kernel does'})")
    rows += ["", *textwrap.wrap(one.explanation, _WIDTH, break_long_words=False, break_on_hyphens=False), ""]
    where = "" if one.example == "site" else f" ({one.example})"
    return "\n".join(rows) + f"\nWrong{where}:\n\n{_example(one.wrong, one.example)}\nRight:\n\n{_example(one.right, one.example)}"


def summary() -> str:
    """One line a rule."""
    return "".join(f"{code}  {rule(code).severity:7}  {rule(code).message}\n" for code in RULES)


def index() -> str:
    """The table of contents."""
    made = "Made from the rules by `python -m pfq.lint.pages docs/rules`; `pfq rule CODE` shows the same."
    rows = ["# Rules of `pfq lint`", "", f"{made} A code never changes its meaning.", ""]
    for prefix, title in _GROUPS:
        rows += [f"## {title}", "", "| code | name | severity | what | fix |", "| --- | --- | --- | --- | --- |"]
        for code in RULES:
            if code.startswith(prefix):
                one = rule(code)
                fix = "safe" if one.safe else "by hand" if one.fix else ""
                rows.append(f"| [{code}]({code}.md) | {one.name} | {one.severity} | {one.message} | {fix} |")
        rows.append("")
    return "\n".join(rows)


def pages() -> dict[str, str]:
    """Every file of the documentation, by name."""
    return {"README.md": index()} | {f"{code}.md": page(code) for code in RULES}


def main(folder: str) -> None:
    """Write the documentation into a folder, and remove pages of rules that are gone."""
    os.makedirs(folder, exist_ok=True)
    wanted = pages()
    for name in os.listdir(folder):
        if name.startswith("PFQ") and name.endswith(".md") and name not in wanted:
            os.unlink(os.path.join(folder, name))
    for name, text in wanted.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else sys.exit("usage: python -m pfq.lint.pages FOLDER"))
