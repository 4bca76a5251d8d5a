"""From bytes to a Site, or to what is wrong; never to a traceback."""

import io
import random
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfq.diagnostics import Diagnostic, Refused, as_json, as_text
from pfq.plan.build import build
from pfq.site.load import MOST_BYTES, load_file, load_text
from tests.site.faults import faults_of
from tests.site.mutations import mutated
from tests.site.toml_text import toml_text
from tests.strategies import models, seeded

MODEL = '[links.dsl]\nup = "1 Mbit"\n\n[hosts.gw]\nsystem = "openbsd-7.6"\nlinks.dsl = "em0"\n'


def refused(path: object) -> Diagnostic:
    with pytest.raises(Refused) as found:
        load_file(str(path))
    assert len(found.value.diagnostics) == 1
    return found.value.diagnostics[0]


def test_the_least_model(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text(MODEL)
    site = load_file(str(file))
    assert list(site.hosts) == ["gw"]
    assert site.links["dsl"].up == 1_000_000
    assert site.links["dsl"].policy == "default"


@pytest.mark.parametrize("encoding", [MODEL, MODEL.replace("\n", "\r\n"), "\ufeff" + MODEL], ids=["lines", "CRLF", "byte order mark"])
def test_line_ends_and_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "site.toml"
    file.write_bytes(encoding.encode())
    assert load_file(str(file)).links["dsl"].up == 1_000_000


@pytest.mark.parametrize("encoding", ["{}", "\ufeff{}"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_places_with_line_ends_and_byte_order_marks(tmp_path: Path, encoding: str, end: str) -> None:
    file = tmp_path / "site.toml"
    file.write_bytes(encoding.format(MODEL.replace("1 Mbit", "1 MB").replace("\n", end)).encode())
    assert str(refused(file).place) == f"{file}:2:6"


def test_a_column_counts_characters(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text('"é日本" = 1\n' + MODEL.replace('up = "1 Mbit"', '"up" = "1 µbit"'))
    with pytest.raises(Refused) as found:
        load_file(str(file))
    assert [(d.place.line, d.place.column) for d in found.value.diagnostics if d.place] == [(1, 1), (3, 8)]


def test_a_missing_file(tmp_path: Path) -> None:
    found = refused(tmp_path / "none.toml")
    assert found.code == "unreadable"
    assert "there is no file" in found.message


def test_a_directory(tmp_path: Path) -> None:
    found = refused(tmp_path)
    assert found.code == "unreadable"
    assert "is a directory" in found.message


def test_a_name_that_no_file_can_have() -> None:
    assert refused("a\0b").code == "unreadable"


def test_a_file_where_a_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refused(tmp_path / "file" / "site.toml").code == "unreadable"


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 10_000_000])
def test_megabytes_of_garbage(tmp_path: Path, size: int) -> None:
    file = tmp_path / "garbage"
    file.write_bytes(random.Random(1).randbytes(1000) * (size // 1000 + 1))
    assert refused(file).code == "too-large"


def test_an_endless_file() -> None:
    assert refused("/dev/zero").code == "too-large"


@pytest.mark.parametrize(
    ("data", "code", "place"),
    [
        (b"\xff\xfe\x00", "not-text", "1:1"),
        (b"a = 1\nb = \x80", "not-text", "2:5"),
        (b"\x7fELF\x02\x01\x01\x00", "not-toml", "1:1"),
        (bytes(range(256)), "not-text", "2:118"),
        (b"name = 'x\x00y'", "not-toml", "1:10"),
        (MODEL.encode("utf-16"), "not-text", "1:1"),
        ("name = 'é'".encode("latin-1"), "not-text", "1:9"),
        (b"", "empty", "1:1"),
    ],
)
def test_binary(tmp_path: Path, data: bytes, code: str, place: str) -> None:
    file = tmp_path / "site.toml"
    file.write_bytes(data)
    found = refused(file)
    assert (found.code, str(found.place)) == (code, f"{file}:{place}")


@pytest.mark.parametrize("text", ["\n" * 1_000_000, "# x\n" * 300_000, 'name = "' + "\\n" * 500_000 + '"', "name = '''" + "'\n" * 500_000 + "'''"])
def test_megabytes_of_toml(text: str) -> None:
    assert faults_of(text)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MODEL.replace("1 Mbit", "1 MB").encode())))
    assert str(refused("-").place) == "<stdin>:2:6"


@pytest.mark.parametrize("name", ["a b", "$(reboot)", "`x`", "a;b", "a'b", 'a"b', "a\nb", "a\\", "é", "../a", "-a", "", "a" * 64, "\u202e", "%s", "{a}", "#"])
@pytest.mark.parametrize("place", ["links", "policies", "hosts", "class", "interface"])
def test_names_that_a_shell_or_a_ruleset_could_misread(name: str, place: str) -> None:
    model: dict[str, Any] = tomllib.loads(MODEL)
    if place == "class":
        model["policies"] = {"p": {"classes": [{"name": name}]}}
    elif place == "interface":
        model["hosts"]["gw"]["links"]["dsl"] = name
    elif place == "policies":
        model["policies"] = {name: {"classes": [{"name": "a"}]}}
    elif place == "links":
        model["links"][name] = model["links"]["dsl"]
    else:
        model["hosts"] = {name: model["hosts"]["gw"]}
    assert {d.code for d in faults_of(toml_text(model))} <= {"bad-name", "too-long"}
    with pytest.raises(Refused):
        load_text(toml_text(model), "m")


@given(models())
@settings(max_examples=50, deadline=None)
def test_random_models_load_and_plan(text: str) -> None:
    assert build(load_text(text, "m")).gateways


def check_every_fault_is_placed(text: str) -> None:
    found = faults_of(text)
    assert all(d.place and d.place.file == "m" and d.message and d.severity == "error" for d in found), found
    lines = text.split("\n")
    for diagnostic in found:
        place = diagnostic.place
        assert place
        assert place.line <= len(lines)
        assert place.column <= len(lines[place.line - 1]) + 1
    as_text(tuple(found)).encode()
    as_json(tuple(found)).encode()


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    check_every_fault_is_placed(text)


@given(st.integers(0, 200), st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_any_change_of_a_valid_model(seed: int, change: int, count: int) -> None:
    """Any value replaced by any other, any key dropped or renamed: faults with a place, or a model."""
    choices = random.Random(change)
    model = tomllib.loads(seeded(seed))
    for _ in range(count):
        mutated(model, choices)
    check_every_fault_is_placed(toml_text(model))


@given(st.integers(0, 200), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_any_damage_to_the_text(seed: int, change: int) -> None:
    """Characters lost, doubled or turned round."""
    choices, text = random.Random(change), seeded(seed)
    start = choices.randrange(len(text))
    end = start + choices.randrange(1, 20)
    check_every_fault_is_placed(text[:start] + choices.choice(("", text[start:end] * 2, text[start:end][::-1], '"', "]", "\0", "= ")) + text[end:])
