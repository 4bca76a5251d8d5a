"""The outputs in rulesets/: `python3 -m tests.rulesets` compiles every model there and rewrites what has changed. Read the diff."""

import subprocess
import sys
from pathlib import Path

from pfq.compiling import compile_site
from pfq.output import MANIFEST, manifest, write_file

RULESETS = Path(__file__).parent.parent / "rulesets"


def names() -> list[str]:
    return sorted(path.parent.name for path in RULESETS.glob("*/site.toml"))


def compiled(name: str) -> dict[str, str]:
    """What rulesets/NAME/out must hold: text by path, the manifest among them."""
    files, plan = compile_site(str(RULESETS / name / "site.toml"), None, None, None, several=True)
    found = {f"{host}/{file.name}": file.text for host, written in files.items() for file in written}
    return found | {MANIFEST: manifest([(gateway, files[gateway.name]) for gateway in plan.gateways])}


def stored(name: str) -> dict[str, str]:
    folder = RULESETS / name / "out"
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def main() -> None:
    for name in names():
        wanted, found = compiled(name), stored(name)
        for path in sorted(wanted.keys() | found.keys()):
            target = RULESETS / name / "out" / path
            if path not in wanted:
                target.unlink()
            elif wanted[path] != found.get(path):
                write_file(str(target), wanted[path], executable=path.endswith(".sh"))
            else:
                continue
            print(f"{'removed' if path not in wanted else 'written'} rulesets/{name}/out/{path}")
    subprocess.run([sys.executable, str(RULESETS.parent / "vagrant/expect.py")], check=True)


if __name__ == "__main__":
    main()
