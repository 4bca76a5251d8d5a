"""PFQ101. A macro that nothing uses."""

from pfq.lint.finding import Finding, Fix
from pfq.lint.rule import Rule
from pfq.lint.ruleset import Ruleset


def check(ruleset: Ruleset) -> list[Finding]:
    lexer = ruleset.tree.reading.lexer
    found = []
    defined = {}
    for statement in ruleset.statements_of("STRING"):
        if statement.faulty:
            continue
        name = ruleset.source(statement).partition("=")[0].strip().strip("\"'")
        defined[name] = statement
    for name, statement in defined.items():
        if name in lexer.used or name in ruleset.macros or name not in lexer.macros:
            continue
        text = ruleset.texts[statement.file].text
        place = ruleset.word(statement, name)
        # Only where the statement is all there is on its lines.
        begin = text.rfind("\n", 0, statement.start) + 1
        end = text.find("\n", statement.end)
        alone = not text[begin : statement.start].strip() and end >= 0 and not text[statement.end : end].strip()
        fix = Fix(f"remove {name}", [(begin, end + 1, "")], False) if alone else None
        found.append(place.finding(f"the macro {name} is never used", "remove it, or use it", fix))
    return found


RULE = Rule(
    "PFQ101",
    "unused-macro",
    "a macro is never used",
    "Often the name is misspelled where it is meant, and a literal value stands there instead. A macro "
    "that only `pfctl -D` replaces is no exception: nothing uses it either.",
    wrong="""ext_if = "em0"
int_if = "em1"
pass in on $int_if
pass out on em0
""",
    right="""ext_if = "em0"
int_if = "em1"
pass in on $int_if
pass out on $ext_if
""",
    example="openbsd-7.6",
    check=check,
    fix="remove the definition",
    whole=True,
)
