"""scrub statements."""

import pytest

from tests.convert.converting import codes, converted, lines

BLOCK = "block all\n"


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("scrub in all", ["set reassemble yes"], set()),
        ("scrub all fragment reassemble", ["set reassemble yes"], set()),
        ("scrub in on em0", ["set reassemble yes"], {"reassemble-scope"}),
        ("scrub all fragment crop", ["set reassemble yes"], {"fragment-cache"}),
        ("scrub all no-df", ["set reassemble yes no-df", "match all scrub (no-df)"], set()),
        ("scrub max-mss 1400 random-id min-ttl 5", ["set reassemble yes", "match scrub (max-mss 1400, random-id, min-ttl 5)"], set()),
        ("scrub all reassemble tcp fragment reassemble", ["set reassemble yes", "match all scrub (reassemble tcp)"], set()),
        ("scrub inet6 no-df max-mss 1400", ["set reassemble yes no-df", "match inet6 scrub (max-mss 1400)"], {"reassemble-scope"}),
        ("scrub in all max-mss 1400", ["set reassemble yes", "match all scrub (max-mss 1400)"], {"scrub-per-packet"}),
        ("scrub proto tcp from any to 10.0.0.1 max-mss 1400", ["set reassemble yes", "match proto tcp from any to 10.0.0.1 scrub (max-mss 1400)"],
         {"reassemble-scope", "scrub-per-packet"}),
        ("scrub all set-tos lowdelay", ["set reassemble yes", "match all set tos lowdelay"], set()),
        ("no scrub on lo0\nscrub all", ["set reassemble yes"], {"no-scrub"}),
        ("no scrub on lo0", ["set reassemble no"], set()),
        ("scrub on em0 max-mss 1400\nscrub max-mss 1300", ["set reassemble yes", "match on em0 scrub (max-mss 1400)", "match scrub (max-mss 1300)"],
         {"scrub-accumulates"}),
        ("scrub on em0 max-mss 1400\nscrub on em1 max-mss 1300",
         ["set reassemble yes", "match on em0 scrub (max-mss 1400)", "match on em1 scrub (max-mss 1300)"],
         {"reassemble-scope"}),
    ],
)
def test_one_statement(old: str, new: list[str], lost: set[str]) -> None:
    text = f"{old}\n{BLOCK}"
    assert codes(text) == lost
    found = [line for line in converted(text).splitlines() if not line.startswith("#")]
    assert found == [*new, "block all"]


def test_fragments_stay_as_they_are_without_scrub() -> None:
    assert "set reassemble no\nblock all\n" in converted(BLOCK)
    assert "set reassemble" not in converted(BLOCK, "openbsd-5.4")
    assert converted(f"set reassemble yes\n{BLOCK}", "freebsd-14.0") == f"set reassemble yes\n{BLOCK}"


def test_set_tos_and_who_looks_at_it() -> None:
    queues = "altq on em0 hfsc bandwidth 1Mb queue { a b }\nqueue a bandwidth 50% hfsc(default)\nqueue b bandwidth 10%\n"
    text = f"scrub all set-tos lowdelay\n{queues}block all\npass out on em0 inet queue (a, b)\n"
    assert codes(text) == {"set-tos"}
    assert lines(text)[1] == "match all set tos lowdelay"
