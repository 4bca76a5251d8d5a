"""What holds for every ruleset."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfq.pf import check, read
from tests.pf.answers import DIALECTS
from tests.pf.rulesets import heaps, rulesets

_SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@_SETTINGS
def test_what_is_printed_reads_to_the_same(dialect: str, data: st.DataObject) -> None:
    text = data.draw(rulesets(dialect))
    first = check(text, dialect, verbose=True, optimize="none")
    if first.status == 0:
        second = check(first.stdout, dialect, verbose=True, optimize="none")
        assert (second.status, second.stdout) == (0, first.stdout), second.stderr


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@_SETTINGS
def test_the_optimizer_changes_no_verdict(dialect: str, data: st.DataObject) -> None:
    text = data.draw(rulesets(dialect))
    answers = [check(text, dialect, verbose=True, optimize=how) for how in ("none", "basic")]
    assert answers[0].status == answers[1].status
    assert answers[0].stderr == answers[1].stderr


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@_SETTINGS
def test_heaps_of_words_get_an_answer(dialect: str, data: st.DataObject) -> None:
    text = data.draw(heaps(dialect))
    verdict = check(text, dialect, verbose=True, open_file=None)
    assert verdict.stderr or verdict.status == 0
    for statement in read(text, dialect, open_file=None).statements:
        assert 0 <= statement.start <= statement.end <= len(text)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.binary(max_size=300))
@_SETTINGS
def test_any_bytes_get_an_answer(dialect: str, data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    assert check(text, dialect, verbose=True, open_file=None).status in (0, 1)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@_SETTINGS
def test_damaged_rulesets_get_an_answer(dialect: str, data: st.DataObject) -> None:
    text = data.draw(rulesets(dialect))
    at = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 12))
    filler = data.draw(st.sampled_from(["", "{", "}", '"', "\n", "$", "(", "any", "<t>", "\\", "port"]))
    verdict = check(text[:at] + filler + text[at + length :], dialect, verbose=True, open_file=None)
    assert verdict.status == 0 or verdict.stderr


@pytest.mark.parametrize("dialect", DIALECTS)
def test_rules_in_front_leave_those_behind_alone(dialect: str) -> None:
    rules = [f"block in from 10.{i}.0.0/16 to any\n" for i in range(250)]
    whole = check("".join(rules), dialect, verbose=True, optimize="none").stdout
    parts = [check(rule, dialect, verbose=True, optimize="none").stdout for rule in rules]
    assert whole == "".join(parts)
