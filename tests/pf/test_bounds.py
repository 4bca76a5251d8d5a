"""Time and memory stay bounded, or the limit is named: every case in a process of its own, held to CPU seconds and bytes by the system."""

import resource
import subprocess
import sys

import pytest

# A runaway takes minutes or gigabytes; these are far from both, and far from what slow machines need.
SECONDS, BYTES = 60, 800 * 2**20
RUN = """
import sys
from pfq.pf import check

verdict = check(sys.stdin.read(), sys.argv[1], verbose=True, optimize=sys.argv[2])
sys.stderr.write(verdict.stderr[:300])
sys.exit(verdict.status)
"""


def _hold() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def _answer(text: str, dialect: str = "openbsd-7.6", optimize: str = "none") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, dialect, optimize], input=text, capture_output=True, text=True, check=False, preexec_fn=_hold
    )
    return done.returncode, done.stderr


def _list(form: str, many: int) -> str:
    return "{ " + " ".join(form.format(n // 250, n % 250, n + 1) for n in range(many)) + " }"


def _cube(many: int) -> str:
    return f"pass in proto tcp from {_list('10.0.{}.{}', many)} to {_list('10.1.{}.{}', many)} port {_list('{2}', many)}\n"


@pytest.mark.slow
@pytest.mark.parametrize("optimize", ["none", "basic"])
def test_expansions_that_fit(optimize: str) -> None:
    assert _answer(_cube(40), optimize=optimize) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_cube(100), "pfctl: the ruleset expands to more than 400000 rules\n"),
        (f"pass from {_list('10.0.{}.{}', 3000)} to {_list('2001:db8::{}:{}', 3000)}\n", "pfctl: the ruleset's lists make more than 4000000 combinations\n"),
    ],
)
def test_expansions_that_do_not(text: str, message: str) -> None:
    assert _answer(text) == (1, message)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("pass from { " + "10.0.0.1 " * 110_000 + "}\n", 0),
        ("table <t> { " + "10.0.0.1 " * 110_000 + "}\n", 0),
        ("#" + "b" * 1_000_000 + "\n", 0),
        ("\\\n" * 500_000, 0),
        ("a" * 1_000_000 + "\n", 1),
        ("1" * 1_000_000 + "\n", 1),
        ("-" * 1_000_000 + "\n", 1),
        ('a = "' + "b" * 1_000_000 + '"\n', 1),
        ("pass from " + "{ " * 500_000 + "\n", 1),
        ("pass from " + "! " * 500_000 + "\n", 1),
        ("anchor {\n" * 5000, 1),
        ("pass quik\n" * 100_000, 1),
        ('m0 = "a"\n' + "".join(f"m{n + 1} = $m{n} $m{n}\n" for n in range(40)), 1),
    ],
    ids=["list", "table", "comment", "continued", "word", "digits", "minus", "quoted", "braces", "negated", "anchors", "errors", "macros"],
)
def test_long_texts(text: str, status: int) -> None:
    assert _answer(text)[0] == status


@pytest.mark.slow
def test_many_queues() -> None:
    queues = "".join(f"queue q{n} parent root bandwidth 1K\n" for n in range(20_000))
    assert _answer(f"queue root on em0 bandwidth 100M\nqueue d parent root bandwidth 1M default\n{queues}") == (0, "")
    names = " ".join(f"q{n}" for n in range(8000))
    queues = "".join(f"queue q{n} bandwidth 1Kb\n" for n in range(8000))
    status, message = _answer(f"altq on em0 hfsc bandwidth 100Mb queue {{ {names} }}\n{queues}", "openbsd-4.4")
    assert (status, message) == (1, "pfctl: more than 2000 queues on em0\n")
