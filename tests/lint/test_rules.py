"""Every rule finds its own wrong example and nothing in the right one; and what holds for all rules."""

import re

import pytest

from pfq.lint.finding import ERROR, NOTE, WARNING
from pfq.lint.registry import OF_THE_RUNNER, RULES, chosen, rule
from tests.lint.lint import codes, lint, under

# Codes never change their meaning. A new rule adds a line here; a line is never changed or removed.
NAMES = {
    "PFQ001": "refused",
    "PFQ002": "warned",
    "PFQ003": "unused-ignore",
    "PFQ004": "model-refused",
    "PFQ101": "unused-macro",
    "PFQ102": "unused-table",
    "PFQ103": "unused-queue",
    "PFQ104": "unreachable-rule",
    "PFQ105": "overridden-rule",
    "PFQ106": "second-queue-tos",
    "PFQ107": "second-queue-protocol",
    "PFQ108": "queue-on-anchor",
    "PFQ109": "comment-continues",
    "PFQ110": "anchor-file",
    "PFQ111": "source-after-nat",
    "PFQ112": "quick-shadows",
    "PFQ113": "queue-on-arrival",
    "PFQ201": "undefined-queue",
    "PFQ202": "announced-queue",
    "PFQ203": "missing-default",
    "PFQ204": "second-queue-ipv6",
    "PFQ205": "translation-pass",
    "PFQ206": "strict-priority",
    "PFQ207": "interface-speed",
    "PFQ208": "no-speed",
    "PFQ209": "altq-rate-wraps",
    "PFQ210": "hfsc-priority",
    "PFQ211": "altq-clamped",
    "PFQ212": "fairq",
    "PFQ213": "second-queue-lower",
    "PFQ214": "exact-tos",
    "PFQ301": "root-without-max",
    "PFQ302": "flows-with-min",
    "PFQ303": "match-queue-lost",
    "PFQ304": "match-queue-overridden",
    "PFQ305": "hfsc-rate-wraps",
    "PFQ306": "flow-qlimit",
    "PFQ307": "root-in-rule",
    "PFQ308": "negated-interface",
    "PFQ309": "prio-without-effect",
    "PFQ310": "two-defaults",
    "PFQ311": "no-admission",
    "PFQ312": "af-to-queue",
    "PFQ313": "child-twice",
    "PFQ314": "inner-queue",
    "PFQ401": "acks-too-small",
    "PFQ402": "asymmetric-line",
    "PFQ403": "starvation",
    "PFQ404": "wasted-cells",
    "PFQ405": "vlan-queue-length",
    "PFQ406": "above-line-rate",
    "PFQ407": "unused-definition",
    "PFQ408": "default-held-back",
    "PFQ409": "pppoe-uncounted",
}


def test_codes_keep_their_meaning() -> None:
    assert {code: rule(code).name for code in RULES} == NAMES


@pytest.mark.parametrize("code", RULES)
def test_the_wrong_example_is_found(code: str) -> None:
    one = rule(code)
    result = lint(one.wrong, one.example)
    found = [finding for finding in result.findings if finding.code == code]
    assert found
    for finding in found:
        assert under(result, finding).strip()


@pytest.mark.parametrize("code", RULES)
def test_the_right_example_is_clean(code: str) -> None:
    one = rule(code)
    assert [(finding.code, finding.message) for finding in lint(one.right, one.example).findings] == []


@pytest.mark.parametrize("code", RULES)
def test_a_rule_is_whole(code: str) -> None:
    one = rule(code)
    assert one.code == code
    assert one.severity in (ERROR, WARNING, NOTE)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one.name)
    assert re.fullmatch(r"\d+\.\d+", one.since)
    assert not one.message.endswith(".")
    assert "\n" not in one.message
    assert len(one.explanation) > len(one.message)
    assert one.wrong.endswith("\n")
    assert one.right.endswith("\n")
    assert one.fix or not one.safe
    if code not in OF_THE_RUNNER:
        assert (one.check is None) != (one.check_model is None)
        assert (one.check_model is not None) == (RULES[code][1] == "site")


@pytest.mark.parametrize("code", [code for code in RULES if rule(code).safe])
def test_a_safe_fix_mends_the_wrong_example(code: str) -> None:
    from pfq.lint.fixing import fixed

    one = rule(code)
    result = lint(one.wrong, one.example)
    text, applied = fixed(one.wrong, result.findings)
    assert applied
    assert code not in codes(text, one.example)


@pytest.mark.parametrize("code", [code for code in RULES if rule(code).safe and rule(code).example != "site"])
def test_a_safe_fix_leaves_what_pfctl_loads(code: str) -> None:
    """The rules are the same afterwards, and so are the queues but for what had no effect."""
    from pfq.lint.fixing import fixed
    from pfq.pf import check

    one = rule(code)
    text, _ = fixed(one.wrong, lint(one.wrong, one.example).findings)
    before, after = (check(each, one.example, verbose=True) for each in (one.wrong, text))
    assert after.status == before.status == 0

    def rules(printed: str) -> list[str]:
        lines = [line for line in printed.splitlines() if not line.startswith("queue")]
        return [re.sub(r" set \( ?queue \w+ ?\)", "", line) if line.startswith("anchor") else line for line in lines]

    assert rules(after.stdout) == rules(before.stdout)


def test_choosing_rules() -> None:
    assert chosen((), ()) == frozenset(RULES)
    assert chosen(("PFQ3",), ("PFQ301",)) == {code for code in RULES if code.startswith("PFQ3")} - {"PFQ301"}


def test_a_rule_that_is_not_chosen_finds_nothing() -> None:
    one = rule("PFQ301")
    assert lint(one.wrong, one.example, frozenset({"PFQ302"})).findings == []
