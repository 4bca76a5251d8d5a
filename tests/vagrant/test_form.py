"""The Vagrantfile and every shell script of the repository, looked at by the programs made for it (tests/packages)."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELLS = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/env sh", "#!/usr/bin/env bash", "# shellcheck shell=")


def _tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def _is_script(path: Path) -> bool:
    if not path.is_file() or path.is_symlink() or path.suffix in (".j2", ".py"):
        return False
    with path.open("rb") as file:
        first = file.readline(200).decode(errors="replace")
    return path.suffix == ".sh" or first.startswith(SHELLS)


def scripts() -> list[str]:
    return [str(path.relative_to(ROOT)) for path in _tracked() if _is_script(path)]


def test_the_scripts_are_found() -> None:
    assert {"vagrant/check", "vagrant/pf.sh", "vagrant/linux.sh", "vagrant/freebsd-kernel.sh", "tests/run", ".ci/run"} <= set(scripts())


@pytest.mark.packages
def test_shellcheck_finds_nothing() -> None:
    done = subprocess.run(["shellcheck", "--external-sources", "--format=gcc", *scripts()], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.packages
def test_shellcheck_would_find_something(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("#!/bin/sh\nrm $1\n")
    assert subprocess.run(["shellcheck", tmp_path / "bad"], capture_output=True, check=False).returncode == 1


def _validate(folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """`vagrant validate` without boxes, providers, network, or a trace in the repository."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "VAGRANT_HOME": str(home / "vagrant.d"),
        "VAGRANT_DOTFILE_PATH": str(home / "dot"),
        "VAGRANT_CHECKPOINT_DISABLE": "1",
        "VAGRANT_NO_COLOR": "1",
    }
    return subprocess.run(["vagrant", "validate", "--ignore-provider"], cwd=folder, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.packages
def test_the_vagrantfile_is_valid(tmp_path: Path) -> None:
    done = _validate(ROOT / "vagrant", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("openbsd", "freebsd", "debian"):
        assert f"==> {name}: " in done.stdout


@pytest.mark.packages
@pytest.mark.parametrize("fault", ["this is no Ruby", "config.vm.provision 'x', type: 'file', source: '../nowhere', destination: '/tmp/x'"])
def test_vagrant_would_find_something(tmp_path: Path, fault: str) -> None:
    text = (ROOT / "vagrant" / "Vagrantfile").read_text()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "Vagrantfile").write_text(text.replace("  config.vm.boot_timeout", f"  {fault}\n  config.vm.boot_timeout"))
    assert _validate(tmp_path / "broken", tmp_path).returncode != 0


def test_the_machines_get_every_script_that_check_reads() -> None:
    text = (ROOT / "vagrant" / "Vagrantfile").read_text()
    for path in (ROOT / "vagrant").iterdir():
        if path.suffix in (".awk", ".sh") and path.name != "freebsd-kernel.sh":
            assert f"{path.name}" in text.split("%w[check ")[1].split("]")[0].split()
