"""The feature table: every row is used, and says where it is from."""

import re
from pathlib import Path

import pytest

import pfq.pf
from pfq.pf import NAMES, UnknownDialect, check
from pfq.pf.dialects import FEATURES, Dialect, dialect


def test_every_dialect_reads_a_ruleset() -> None:
    for name in NAMES:
        assert check("block\npass out\n", name).status == 0


@pytest.mark.parametrize("name", ["", "openbsd", "openbsd-", "openbsd-7.", "openbsd-.6", "linux-6.1", "openbsd-3.3", "openbsd-7.6.1", "openbsd-x.y"])
def test_unknown_dialects(name: str) -> None:
    with pytest.raises(UnknownDialect):
        dialect(name)


def test_major_release_alone() -> None:
    assert dialect("freebsd-14").release == (14, 0)


def test_every_feature_has_a_source() -> None:
    for name, (openbsd, freebsd, source) in FEATURES.items():
        assert len(source) > 7, name
        for span in (openbsd, freebsd):
            assert span is None or span[1] is None or span[0] < span[1], name


def test_every_feature_is_used() -> None:
    folder = Path(pfq.pf.__file__).parent
    code = "".join(path.read_text() for path in folder.glob("*.py"))
    words = (folder / "dialects.py").read_text().partition("_WORDS")[2].partition("NAMES")[0]
    for name in FEATURES:
        assert name in Dialect.__annotations__, name
        assert re.search(rf"dialect\.{name}\b|self\._dialect\.{name}\b", code) or f'"{name}"' in words, name


def test_words_of_other_releases_are_names() -> None:
    assert check("match = em0\nblock on $match\n", "openbsd-4.4").status == 0
    assert check("match = em0\nblock on $match\n", "openbsd-7.6").status == 1


def test_freebsd_14() -> None:
    text = 'match in on em0 dnpipe (1, 2)\npass out label "a" label "$if" ridentifier 7 dnqueue 3 queue q\n'
    verdict = check(text, "freebsd-14.0", verbose=True)
    assert verdict.stdout == (
        "match in on em0 all dnpipe(1, 2)\n"
        'pass out all flags S/SA keep state label "a" label "any" ridentifier 7 dnqueue 3 queue q\n'
    )
    assert check(text, "freebsd-12.1").status == 1


def test_freebsd_has_at_most_five_labels() -> None:
    assert check("pass" + " label x" * 5 + "\n", "freebsd-13.2").status == 0
    assert check("pass" + " label x" * 6 + "\n", "freebsd-13.2").stderr.startswith("stdin:1: label can only be used 5 times")
