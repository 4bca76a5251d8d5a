"""What the fuzzer found, as small as it gets: each text broke a law once."""

import pytest

from tests.pf.laws import broken

FOUND = (
    # A digit in front of a comment ends no number.
    ("freebsd-14.0", "nat on m from 0.0.0.5 to any ->0#"),
    ("openbsd-7.6", "queue a bandwidth 1M, min 5#\n"),
    # What pfctl prints without the quotes that made it one word is no news.
    ("freebsd-14.0", 'block on "\nt "\n'),
    ("openbsd-6.2", 'an =em"" 0\n'),
    ("openbsd-7.6", "queue a on em0 bandwidth 0M default\n"),
)


@pytest.mark.parametrize(("dialect", "text"), FOUND)
def test_finds(dialect: str, text: str) -> None:
    assert broken(text, dialect) == ""
