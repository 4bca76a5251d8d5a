"""Nothing raises and nothing runs away, whatever the text: words of the language in any order, and any bytes."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pfq.lint.fixing import fixed
from pfq.lint.registry import RULES, rule
from pfq.lint.run import Result
from pfq.lint.sarif import as_sarif
from pfq.lint.show import as_github, as_json, as_text
from tests.lint.lint import lint

LANGUAGE = """pass block match in out quick on em0 em1 tun0 ! egress proto tcp udp icmp inet inet6 from to any port 80 { } ( ) , = " $a $b a b up bulk
fast queue set prio tos ef cs5 parent bandwidth max min 10M 5Gb 1Mb 20% flows 1024 qlimit 50 default altq priq hfsc cbq fairq priority 7 0 nat rdr
-> nat-to rdr-to af-to pass anchor "x" table <t> persist keep state no label tag tagged include "pf.conf" load # pfq: ignore[PFQ101] ignore \\
192.0.2.1 192.0.2.0/24 ::1 realtime linkshare upperlimit burst for 20ms scrub antispoof user flags S/SA any"""
WORDS = LANGUAGE.split()
DIALECTS = st.sampled_from([None, "openbsd-4.4", "openbsd-5.4", "openbsd-6.0", "openbsd-7.6", "freebsd-12.1", "freebsd-15.0"])
LINES = st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), max_size=12).map("\n".join)
EXAMPLES = [rule(code).wrong for code in RULES if rule(code).example != "site"] + [rule(code).right for code in RULES if rule(code).example != "site"]
MODELS = [rule(code).wrong for code in RULES if rule(code).example == "site"]


def consistent(result: Result) -> None:
    """Places are within the text, and every format can show every finding."""
    for finding in result.findings:
        assert finding.code in RULES
        assert finding.severity in ("error", "warning", "note")
        assert 0 <= finding.start <= finding.end <= len(result.texts[finding.file].text)
        assert "\n" not in finding.message
    for show in (as_text, as_json, as_sarif, as_github):
        assert show([result]).encode("utf-8") or not result.findings


@settings(max_examples=150, deadline=None)
@given(LINES, DIALECTS)
@example("queue up on em0 bandwidth 10M burst 5G for 5ms\n", "openbsd-7.6")
def test_words_in_any_order(text: str, dialect: str | None) -> None:
    result = lint(text, dialect)
    consistent(result)
    fixed(text, result.findings)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300), DIALECTS)
def test_any_bytes(data: bytes, dialect: str | None) -> None:
    consistent(lint(data.decode("utf-8", "surrogateescape"), dialect))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(EXAMPLES), st.data(), DIALECTS)
def test_rulesets_with_a_part_replaced(text: str, data: st.DataObject, dialect: str | None) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    consistent(lint(text[:start] + data.draw(st.sampled_from([*WORDS, "", "\n", "\0", "\r\n", "\udcff"])) + text[end:], dialect))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MODELS), st.data())
def test_models_with_a_part_replaced(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    consistent(lint(text[:start] + data.draw(st.sampled_from(['"', "[", "9" * 400, "", "\n", "\0", "\udcff", "mtu = 1"])) + text[end:], "site"))


@pytest.mark.parametrize(
    "text",
    [
        "pass in quick on em0 proto tcp from { " + ", ".join(f"10.0.{i >> 8}.{i & 255}" for i in range(3000)) + " } to port 80\n",
        "".join(f"pass out on em0 proto tcp to port {i}\n" for i in range(1, 3000)),
        "queue up on em0 bandwidth 10M, max 10M\nqueue a parent up bandwidth 1M default\nqueue b parent up bandwidth 1M\n"
        + "".join(f"match out on em0 proto tcp to port {i} set queue b\npass out on em0 proto tcp to port {i} set queue a\n" for i in range(1, 1000)),
        "altq on em0 priq bandwidth 1Mb queue { a }\nqueue a priq(default)\n" + "".join(f"pass out on em0 proto tcp queue q{i}\n" for i in range(500)),
        "pass in proto tpc\n" * 2000,
        "# pfq: ignore[PFQ101]\n" * 3000,
        "queue q0 on em0 bandwidth 10M\n"
        + "".join(f"queue q{i} parent q{i - 1} bandwidth 1M\n" for i in range(1, 499))
        + "queue z parent q498 bandwidth 1M default\n",
        "".join(f"altq on em{i} priq bandwidth 1Mb queue {{ q{i} }}\nqueue q{i}\n" for i in range(300)),
        "a" * 200_000,
        "a = 'b'\n" * 3000,
    ],
    ids=["list", "rules", "matches", "misspelled", "errors", "comments", "deep", "interfaces", "word", "macros"],
)
def test_large_inputs_end(text: str) -> None:
    consistent(lint(text))
    consistent(lint(text, "openbsd-4.4"))
