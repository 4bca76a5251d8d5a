"""What holds for every conversion."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfq.compiling import compile_site
from pfq.convert.convert import convert
from pfq.diagnostics import Refused
from pfq.pf import check, read
from pfq.pf.dialects import dialect
from pfq.plan.build import build
from pfq.site.load import load_text
from pfq.targets import altq
from tests.convert.converting import ALL, filters
from tests.pf.rulesets import heaps, rulesets
from tests.rulesets import RULESETS, names
from tests.strategies import ALTQ, models

SOURCES = ("openbsd-4.4", "openbsd-5.4", "freebsd-12.1", "freebsd-14.0")
TARGETS = ("openbsd-5.5", "openbsd-6.8", "openbsd-7.6")
_SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def _comments(text: str, dialect: str) -> list[str]:
    return [text[start:end] for _, start, end in read(text, dialect, open_file=None).comments]


def _holds(text: str, source: str, target: str) -> None:
    """The target accepts what comes out, and every comment is still there."""
    done = convert(text, source, target, ALL, open_file=None)
    assert done.good, [(str(one.place), one.code, one.message) for one in done.diagnostics]
    assert check(done.text, target, open_file=None).status == 0
    left = iter(_comments(done.text, target))
    assert all(comment in left for comment in _comments(text, source))
    strict = convert(text, source, target, open_file=None)
    assert strict.good == ("# Accepted " not in done.text)
    assert strict.text in ("", done.text)


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
@_SETTINGS
def test_rulesets(source: str, data: st.DataObject) -> None:
    text = data.draw(rulesets(source))
    target = data.draw(st.sampled_from(TARGETS))
    if check(text, source, open_file=None).status:
        assert {one.code for one in convert(text, source, target, ALL, open_file=None).diagnostics} == {"unreadable-ruleset"}
        return
    _holds(text, source, target)
    done = convert(text, source, target, ALL, open_file=None)
    inserted = 1 if "\npass flags any\n" in done.text and "pass flags any" not in text else 0
    # Filter rules mean the same, with the same queues.
    assert len(filters(done.text, target)) == len(filters(text, source)) + inserted
    # Releases list the addresses of `self` in different orders.
    if not inserted and "self" not in text:
        assert filters(done.text, target) == filters(text, source)


@pytest.mark.parametrize("source", SOURCES)
@given(data=st.data())
@_SETTINGS
def test_heaps_of_words(source: str, data: st.DataObject) -> None:
    text = data.draw(heaps(source))
    done = convert(text, source, "openbsd-7.6", ALL, open_file=None)
    assert not done.good or check(done.text, "openbsd-7.6", open_file=None).status == 0


@given(text=models(ALTQ))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_pfq_compiles_for_altq(text: str) -> None:
    plan = build(load_text(text, "site.toml"))
    for gateway in plan.gateways:
        source = gateway.system.name if "." in gateway.system.name else f"{gateway.system.name}.0"
        if source.startswith("openbsd-3"):
            continue
        try:
            (file,) = altq.render(plan, gateway, None)
        except Refused:
            continue
        _holds(file.text, source, random.Random(text).choice(TARGETS))


@pytest.mark.parametrize("name", names())
def test_the_rulesets(name: str) -> None:
    files, plan = compile_site(str(RULESETS / name / "site.toml"), None, None, None, several=True)
    for gateway in plan.gateways:
        source = gateway.system.name if "." in gateway.system.name else f"{gateway.system.name}.0"
        if gateway.name in files and gateway.system.family != "linux" and dialect(source).altq:
            for target in TARGETS:
                _holds(files[gateway.name][0].text, source, target)


def test_a_second_reading_changes_nothing_that_needs_no_change() -> None:
    text = "set skip on lo0\n\n# all\npass quick on em0 \\\n  proto tcp # here\n"
    assert convert(text, "openbsd-5.4", "openbsd-7.6").text == text
