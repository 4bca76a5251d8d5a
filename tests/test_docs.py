"""What the documents say is true."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pfq.plan.build import build
from pfq.site.load import load_text
from tests.reference import PAGE, page

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "rulesets").glob("*/README.md")])


def test_the_reference_is_what_the_schema_says() -> None:
    """Refresh with `python3 -m tests.reference`."""
    assert PAGE.read_text() == page(PAGE.read_text())


def test_the_transcript_in_the_readme_is_what_happens(tmp_path: Path) -> None:
    """Each `$ cat FILE` makes the file, each other command is run."""
    (block,) = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
        if command.startswith("cat "):
            (tmp_path / command.removeprefix("cat ")).write_text(output)
        else:
            done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
            assert done.stdout == output


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_models_in_documents_are_models(path: Path) -> None:
    """Every ```toml block with links and hosts is planned; a block without is TOML at least."""
    for block in re.findall(r"```toml\n(.*?)```", path.read_text(), re.DOTALL):
        tables = tomllib.loads(block)
        if "links" in tables and "hosts" in tables:
            assert build(load_text(block, path.name)).gateways
