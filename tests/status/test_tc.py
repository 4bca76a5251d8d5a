"""tc's own forms: JSON that is none, rates and sizes as it prints them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfq.diagnostics import Refused
from pfq.status.tc_json import WORDS, read_json
from pfq.status.tc_text import rate_bounds, read_classes, read_filters, size_bounds

_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(min_size=1, max_size=6), _PLAIN, max_size=4), max_size=4), st.sampled_from([None, 2]))
def test_what_is_json_is_read_as_json(value: list[dict[str, object]], indent: int | None) -> None:
    assert read_json(json.dumps(value, indent=indent), "x") == value


def test_words_in_the_place_of_members_are_kept() -> None:
    text = '[{"options":{default 50 },"a":[1,{}]},{"options":{"handle":"1","flowid":"1:1"\n  meta(priority gt 131071)\n}}]\n'
    assert read_json(text, "x") == [
        {"options": {WORDS: "default 50"}, "a": [1, {}]},
        {"options": {"handle": "1", "flowid": "1:1", WORDS: "meta(priority gt 131071)"}},
    ]
    assert read_json("\n", "x") == []


@pytest.mark.parametrize("text", ["{", "[", "[{]", '[{"a"}]', "[1]", "{}", "[] x", "[{words without an end", "Cannot find device", "[" * 100_000])
def test_what_is_cut_off_or_something_else_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        read_json(text, "x")


def _printed(rate: int) -> str:
    """As print_color_rate of iproute2 does it."""
    unit = 0
    while rate >= 1000 and not (rate % 1000 and rate < 1_000_000):
        rate //= 1000
        unit += 1
    return f"{rate}{('bit', 'Kbit', 'Mbit', 'Gbit', 'Tbit')[unit]}"


@given(st.integers(1, 10**13))
def test_a_rate_is_within_the_bounds_of_its_print(rate: int) -> None:
    least, most = rate_bounds(_printed(rate))
    assert least <= rate <= most
    # And what is out of them prints otherwise.
    assert _printed(most + 1) != _printed(rate)
    assert _printed(least - 1) != _printed(rate)


@pytest.mark.parametrize(("text", "size"), [("1642b", 1642), ("4Kb", 4096), ("4Kb", 4110), ("1Mb", 1048576), ("64Kb/1", 65536)])
def test_a_size_is_within_the_bounds_of_its_print(text: str, size: int) -> None:
    least, most = size_bounds(text)
    assert least <= size <= most
    assert most - least <= size * 0.01


@pytest.mark.parametrize("text", ["", "fast", "10", "10bps", "bit"])
def test_what_is_no_quantity_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        rate_bounds(text)


def test_lists_of_filters_are_no_filters() -> None:
    text = (
        "filter protocol ip pref 1 u32 chain 0 \nfilter protocol ip pref 1 u32 chain 0 fh 800: ht divisor 1 \n"
        "filter protocol ip pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid not_in_hw \n  match c0000200/ffffff00 at 12\n"
    )
    (only,) = read_filters(text, "x")
    assert (only.protocol, only.preference, only.kind) == ("ip", 1, "u32")
    assert only.text.endswith("match c0000200/ffffff00 at 12")


def test_a_class_at_the_root_and_one_in_a_class() -> None:
    text = "class htb 1:1 root rate 1Mbit \n Sent 5 bytes 1 pkt (dropped 2, x\n backlog 3b 1p requeues 0\n\nclass htb 1:2 parent 1:1 leaf 2: prio 0\n"
    first, second = read_classes(text, "x")
    assert (first.parent, first.words, first.packets, first.bytes, first.dropped, first.waiting) == ("root", ("rate", "1Mbit"), 1, 5, 2, 1)
    assert (second.parent, second.words[:2]) == ("1:1", ("leaf", "2:"))
