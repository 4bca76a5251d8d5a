"""Coverage-guided fuzzing of the reader: lexer, parser, expander, printer, optimizer, in every dialect. Run by hand.

    pip install atheris
    python tests/pf/fuzz_reader.py -runs=100000
    python tests/pf/fuzz_reader.py --collect DIR -max_total_time=600    # go on after a find, keep each in DIR
    python tests/pf/fuzz_reader.py --show FILE                          # what a find is

The other arguments are libFuzzer's. The seeds are made anew each time, from the project's own compiled rulesets and the
texts in its tests; the first byte of an input picks the dialect. A find that was fixed is kept in test_fuzzed.py.
"""

import ast
import importlib
import os
import re
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

MODULES = (
    "altq", "altq_nodes", "altq_rates", "altq_text", "anchors", "clauses", "consistent", "curves", "dialects", "ether", "expand", "filters", "hosts", "lexer",
    "names", "nodes", "optimize", "options", "order", "pools", "print", "queues", "reading", "redirect", "services", "state", "statements", "system",
    "translation", "verdict",
)
DIALECTS = ("openbsd-4.4", "openbsd-5.4", "openbsd-7.6", "freebsd-12.1", "freebsd-13.2", "freebsd-14.0", "freebsd-15.0", "openbsd-6.2")
_STATEMENT = re.compile(r"(pass|block|match|set|table|anchor|antispoof|queue|altq|nat|rdr|binat|no|scrub|load|include|ether)\b|\w+ *=")


def case(data: bytes) -> tuple[str, str]:
    """The text and the dialect of an input."""
    return data[1:].decode("utf-8", "surrogateescape"), DIALECTS[data[0] % len(DIALECTS)] if data else DIALECTS[0]


def seeds() -> list[str]:
    """Rulesets to begin with."""
    found = {path.read_text() for path in sorted((ROOT / "rulesets").glob("*/out/*/pf.conf*"))}
    for path in sorted((ROOT / "tests/pf").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _STATEMENT.match(node.value):
                found.add(node.value if node.value.endswith("\n") else node.value + "\n")
    return sorted(text for text in found if len(text) <= 2500)


def _write_seeds(folder: Path) -> None:
    for number, text in enumerate(seeds()):
        for first in range(len(DIALECTS)):
            if first % 3 == number % 3 or len(text) > 200:
                (folder / f"{number}-{first}").write_bytes(bytes([first]) + text.encode("utf-8", "surrogateescape"))


def _write_words(path: Path) -> None:
    from pfq.pf.dialects import dialect

    words = {"->", "<>", "><", "!=", "<=", ">=", ":network", ":0", "10.0.0.1", "2001:db8::1", "fe80::1%em0", "em0", "self", "10Mb", "20%", "1:5", "0x1"}
    words.update(("!", "{", "}", "(", ")", "<t>", "$m", "=", ",", "\\\n", "loop", "rules", "half"))
    words.update(("tcp", "udp", "icmp", "icmp6", "80", "www", "persist", "const", "counters", "S/SA", "yes"))
    for name in DIALECTS:
        words.update(dialect(name).keywords)
    with path.open("w") as file:
        for word in sorted(words):
            file.write('"' + "".join(f"\\x{ord(c):02x}" if c in '\\"\n' else c for c in f"{word} ") + '"\n')


def _shape(reason: str) -> str:
    return re.sub(r"[0-9a-f.:]+", "#", reason)[:60]


def main(words: list[str]) -> None:
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["pfq.pf"]):
        for module in MODULES:
            importlib.import_module(f"pfq.pf.{module}")
    from tests.pf.laws import broken

    collect: Path | None = None
    if "--show" in words:
        text, name = case(Path(words[words.index("--show") + 1]).read_bytes())
        print(f"{name} {text!r}\n{broken(text, name)}")
        return
    if "--collect" in words:
        at = words.index("--collect")
        collect = Path(words[at + 1])
        collect.mkdir(parents=True, exist_ok=True)
        words = words[:at] + words[at + 2 :]
    known: set[str] = set()

    def one(data: bytes) -> None:
        text, name = case(data)
        try:
            reason = broken(text, name)
        except Exception as error:
            if collect is None:
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__} {os.path.basename(last.filename)} {last.name} {last.lineno}"
        if not reason:
            return
        if collect is None:
            raise AssertionError(reason)
        if len(known) < 500 and _shape(reason) not in known:
            known.add(_shape(reason))
            (collect / f"{os.getpid()}-{len(known):03}").write_bytes(data)
            with (collect / "reasons").open("a") as file:
                file.write(f"{os.getpid()}-{len(known):03} {name} {reason[:200]!r}\n")

    with tempfile.TemporaryDirectory() as folder:
        begin = Path(folder) / "seeds"
        begin.mkdir()
        _write_seeds(begin)
        _write_words(Path(folder) / "words")
        corpus = [word for word in words[1:] if not word.startswith("-")]
        flags = [word for word in words[1:] if word.startswith("-")]
        defaults = ["-max_len=3000", "-timeout=10", "-rss_limit_mb=1500", f"-dict={folder}/words"]
        atheris.Setup([words[0], *defaults, *flags, *(corpus or [str(Path(folder) / "new")]), str(begin)], one)
        (Path(folder) / "new").mkdir()
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
