"""How long a cold start takes, against a bare interpreter: `pfq --version` at most 3 times, `pfq compile` of the mixed site at most 12."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.timing import cpu_of_command

MIXED = str(Path(__file__).parent.parent / "rulesets/mixed-site/site.toml")


def main() -> int:
    pfq = str(Path(sys.executable).parent / "pfq")
    bare = cpu_of_command([sys.executable, "-c", "pass"])
    worst = 0
    with tempfile.TemporaryDirectory() as out:
        for name, words, most in (
            ("pfq --version", [pfq, "--version"], 3),
            ("pfq compile rulesets/mixed-site/site.toml -o DIR", [pfq, "compile", MIXED, "-o", out], 12),
        ):
            ratio = cpu_of_command(words) / bare
            print(f"{name}: {ratio:.1f} times python3 -c pass (at most {most})")
            worst = max(worst, ratio > most)
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
