"""The guest's half of tests/e2e/kernel/call.py: call one function, write its result as JSON. python -m tests.e2e.kernel.inside DIR"""

import importlib
import json
import sys
import traceback
from pathlib import Path


def main(directory: Path) -> None:
    """Call what `directory`/request.json asks for and write `directory`/answer.json: {"result": ...} or {"error": traceback}."""
    request = json.loads((directory / "request.json").read_text())
    try:
        module, _, name = request["function"].partition(":")
        answer = {"result": getattr(importlib.import_module(module), name)(request["argument"])}
    except BaseException:
        answer = {"error": traceback.format_exc()}
    (directory / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
