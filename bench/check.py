"""`pfq check` of 1,000, 10,000 and 100,000 rules, and cold starts of `pfq check` and `pfq lint` on a ruleset of 100 lines.

10,000 rules of about 0.75 MB may take 1 s of CPU (0.5 s is the aim), ten times as many rules at most 13 times as long, and a cold start at
most 6 times `python3 -c pass`.
"""

import sys
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.timing import cpu_of, cpu_of_command
from pfq.pf import check

DIALECT = "openbsd-7.6"
SIZES = (1_000, 10_000, 100_000)
HEAD = 'ext_if = "em0"\nset skip on lo0\ntable <bad> persist { 10.0.0.0/8 !10.1.0.0/16 }\n'
# Five kinds in turn: plain rules, macros, lists, quoted labels, tables and negation.
RULES = (
    "pass in quick on em1 inet proto tcp from 10.{a}.{b}.0/24 to any port {port} keep state",
    "block drop in log on $ext_if proto udp from 192.0.{a}.0/24 to any port {{ 53 123 }} tag T{a}",
    "pass out on $ext_if proto {{ tcp udp }} from any to 198.51.{a}.1 port = {port}  # rule {n}",
    'block return in quick from <bad> to 203.0.{a}.{b} label "rule {n} of $if, the one with a label"',
    "pass in on em1 inet from 172.16.{a}.{b} to ! 10.0.0.0/8 modulate state (max 100)",
)


def ruleset(rules: int) -> str:
    """A ruleset of so many rules, some 75 bytes each."""
    lines = (RULES[n % len(RULES)].format(n=n, a=n % 251, b=n // 251 % 251, port=1024 + n % 60000) for n in range(rules))
    return HEAD + "\n".join(lines) + "\n"


def main() -> int:
    over = False
    seconds = {}
    for size in SIZES:
        text = ruleset(size)
        seconds[size] = cpu_of(partial(check, text, DIALECT), runs=1 if size > 10_000 else 3)
        print(f"pfq check: {size:>7,} rules, {len(text) / 1e6:.2f} MB: {seconds[size]:.3f} s of CPU, {seconds[size] / size * 1e6:.0f} us a rule")
    for smaller, larger in pairwise(SIZES):
        growth = seconds[larger] / seconds[smaller]
        print(f"{smaller:,} to {larger:,} rules: {growth:.1f} times (at most 13)")
        over |= growth > 13
    over |= seconds[10_000] > 1
    pfq = str(Path(sys.executable).parent / "pfq")
    bare = cpu_of_command([sys.executable, "-c", "pass"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pf.conf"
        # Rules a linter has nothing to say about: its exit status would be 1 otherwise.
        path.write_text(HEAD + "block log\nblock in from <bad>\n" + "".join(f"pass in on $ext_if inet proto tcp to port {1000 + n}\n" for n in range(95)))
        for name, words in (
            ("pfq check", [pfq, "check", "--as", DIALECT, str(path)]),
            ("pfq lint", [pfq, "lint", "--as", DIALECT, str(path)]),
        ):
            ratio = cpu_of_command(words) / bare
            print(f"{name} of 100 lines, cold: {ratio:.1f} times python3 -c pass (at most 6)")
            over |= ratio > 6
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
