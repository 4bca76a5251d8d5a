"""Writing results to files: whole or not at all, for the eyes that could see the old file, through links."""

import os
import stat
from pathlib import Path

import pytest

from pfq.diagnostics import Refused
from pfq.output import write_file


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_a_file_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "pf.conf"
    path.write_text("old\n")
    path.chmod(mode)
    write_file(str(path), "new\n")
    assert (path.read_text(), _mode(path)) == ("new\n", mode)


@pytest.mark.parametrize(("old", "new"), [(0o600, 0o700), (0o640, 0o750), (0o644, 0o755), (0o700, 0o700)])
def test_a_script_may_be_run_by_those_who_may_read_it(tmp_path: Path, old: int, new: int) -> None:
    path = tmp_path / "pfq.sh"
    path.write_text("old\n")
    path.chmod(old)
    write_file(str(path), "new\n", executable=True)
    assert _mode(path) == new


def test_a_new_file_has_what_the_umask_leaves(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_file(str(tmp_path / "a"), "new\n")
        write_file(str(tmp_path / "b"), "new\n", executable=True)
    finally:
        os.umask(mask)
    assert [_mode(tmp_path / name) for name in "ab"] == [0o640, 0o750]


def test_a_link_stays_one(tmp_path: Path) -> None:
    kept, path = tmp_path / "kept" / "pf.conf", tmp_path / "pf.conf"
    kept.parent.mkdir()
    kept.write_text("old\n")
    kept.chmod(0o600)
    path.symlink_to(kept)
    write_file(str(path), "new\n")
    assert path.is_symlink()
    assert (kept.read_text(), _mode(kept)) == ("new\n", 0o600)
    assert [one.name for one in kept.parent.iterdir()] == ["pf.conf"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    (tmp_path / "pf.conf").symlink_to(tmp_path / "later")
    write_file(str(tmp_path / "pf.conf"), "new\n")
    assert (tmp_path / "later").read_text() == "new\n"


def test_what_is_no_ordinary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    places = [str(tmp_path / name) for name in ("loop", "fifo", "folder")]
    for path, message in zip([*places, "/dev/null"], ("leads nowhere", "no ordinary file", "is a directory", "no ordinary file"), strict=True):
        with pytest.raises(Refused) as refused:
            write_file(path, "new\n")
        assert message in refused.value.diagnostics[0].message
    assert sorted(one.name for one in tmp_path.iterdir()) == ["fifo", "folder", "loop"]
