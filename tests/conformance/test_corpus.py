"""Every ruleset of the folder gets pfctl's answer, and the list of known differences is true."""

from tests.conformance import corpus


def test_answer(case: corpus.Case) -> None:
    found = corpus.outcome(case)
    if case.name in corpus.KNOWN:
        assert not found.good, f"{case.name} no longer differs: take it off the list"
    else:
        assert found.good, found.difference
