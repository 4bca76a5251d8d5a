"""The built wheel is the whole program: templates, types, manual."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_the_wheel_holds_every_template(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    templates = {f"pfq/templates/{path.relative_to(ROOT / 'templates')}" for path in (ROOT / "templates").rglob("*.j2")}
    assert templates <= set(names)
    assert "pfq/py.typed" in names
    assert any(name.endswith("share/man/man1/pfq.1") for name in names)


@pytest.mark.slow
def test_the_installed_wheel_compiles_every_ruleset(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own, far from the checkout, with an empty HOME."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    for site in sorted((ROOT / "rulesets").glob("*/site.toml")):
        out = tmp_path / site.parent.name
        environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [str(tmp_path / "venv/bin/pfq"), "compile", str(site), "-o", str(out)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert (out / "manifest.json").read_bytes() == (site.parent / "out/manifest.json").read_bytes()
