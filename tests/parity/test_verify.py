"""`pfq verify`: of models, of recorded files, of two rulesets; and that nothing hides behind an accepted difference."""

import json
import re
import sys
from pathlib import Path

import pytest

from pfq.cli import main
from tests.rulesets import RULESETS
from tests.test_rulesets import SEEDS

SITE = """
accept = [ACCEPT]
[links.line]
up = "1 Mbit"
policy = "p"
[policies.p]
classes = [{ name = "express", express = true }, { name = "web", match = ["tcp/80", "tcp/443"] }, { name = "rest" }]
[hosts.old]
system = "openbsd-4.4"
links.line = "em0"
[hosts.new]
system = "openbsd-7.6"
links.line = "em0"
"""
RULES = """queue root on em0 bandwidth 10M max 10M
queue std parent root bandwidth 5M default
queue web parent root bandwidth 3M
queue fast parent root bandwidth 2M
match on em0 proto tcp to port 443 set queue (web, fast)
match on em0 proto udp to port 53 set queue fast
pass
"""


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["verify", *words])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(SITE.replace("ACCEPT", '"ipv6-express"'))
    assert main(["compile", str(path), "-o", str(tmp_path / "out")]) == 0
    return path


@pytest.mark.parametrize("name", SEEDS)
def test_the_seed_systems_are_what_their_models_say(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, str(RULESETS / name / "site.toml"))
    assert (status, err) == (0, ""), out
    assert "difference" not in out


def test_an_accepted_difference_is_named_and_told_of_every_pair(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, str(site))
    assert status == 0
    assert "accepted: ipv6-express" in out
    assert "link line: old and new: the same class for every packet but for ipv6-express" in out
    status, out, _ = run(capsys, str(site), "--format", "json")
    (old, new), (pair,) = (json.loads(out)[key] for key in ("gateways", "pairs"))
    assert [old["accepted"][0]["names"], new["accepted"], old["equal"], pair["but"]] == [["ipv6-express"], [], True, ["ipv6-express"]]


def test_a_difference_that_is_not_accepted_is_one(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.write_text(SITE.replace("ACCEPT", ""))
    status, out, _ = run(capsys, str(site), "--against", str(site.parent / "out"))
    assert status == 1
    assert "this is ipv6-express, which the model does not accept" in out


def test_an_accepted_difference_hides_no_second_one(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The accepted one is about IPv6's express packets; this one is about IPv6 too."""
    path = site.parent / "out" / "old" / "pf.conf"
    path.write_text(path.read_text() + "pass on em0 inet6 proto tcp from any to any port 443 queue express\n")
    status, out, _ = run(capsys, str(site), "--against", str(site.parent / "out"))
    assert status == 1
    assert "old (openbsd-4.4), link line: 1 difference from the plan\n  1. tcp [fd00::5]:40000 > [2001:db8:ffff::7]:443 syn len 0\n" in out
    assert "accepted: ipv6-express" in out
    assert "old and new: not the same" in out


def test_what_one_system_cannot_do_is_no_excuse_for_another(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenBSD 7.6 can upgrade IPv6: rules that do not are wrong, whatever the model accepts for OpenBSD 4.4."""
    path = site.parent / "out" / "new" / "pf.conf"
    path.write_text(path.read_text().replace("match on $ext_if all", "match on $ext_if inet all").replace(
        "anchor", "match on $ext_if inet6 all set queue rest\nanchor", 1))
    status, out, _ = run(capsys, str(site), "--against", str(site.parent / "out"))
    assert status == 1
    assert "new (openbsd-7.6), link line: 1 difference" in out


def test_each_cause_has_one_packet_with_the_lines_of_both_sides(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = site.parent / "out" / "new" / "pf.conf"
    path.write_text(path.read_text().replace("port 443", "port 444"))
    status, out, _ = run(capsys, str(site), "--host", "new", "--against", str(site.parent / "out"), "--format", "json")
    found = json.loads(out)["gateways"][0]["differences"]
    assert status == 1
    assert [one["packet"] for one in found] == [
        "tcp 192.168.1.5:40000 > 198.51.100.7:444 syn len 0", "tcp 192.168.1.5:40000 > 198.51.100.7:443 syn len 0",
    ]
    assert {one["plan"]["outcome"] for one in found} == {"class web", "class rest"}
    assert all(one["plan"]["lines"] and one["gateway"]["lines"] and one["also"] for one in found)
    status, out, _ = run(capsys, str(site), "--host", "new", "--against", str(site.parent / "out"), "--format", "github")
    assert status == 1
    assert out.startswith("::error file=")
    assert out.count("\n") == len(found)


def test_two_rulesets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.conf", tmp_path / "two.conf"
    one.write_text(RULES)
    two.write_text(RULES.replace("port 443", "port 444").replace("port 53", "port { 53 123 }"))
    assert run(capsys, "--as", "openbsd-7.6", str(one), str(one))[0] == 0
    status, out, _ = run(capsys, "--as", "openbsd-7.6", str(one), str(two), "--format", "json")
    found = json.loads(out)
    assert (status, found["equal"]) == (1, False)
    ports = sorted(row["packet"].split(":")[2].split()[0] for row in found["differences"] if row["moment"] == "first")
    assert ports == ["123", "443", "443", "444", "444"]
    assert all(row["one"]["lines"] and row["other"]["lines"] for row in found["differences"])
    # Queues of another name are the same if one says so.
    two.write_text(RULES.replace("web", "www"))
    assert run(capsys, "--as", "openbsd-7.6", str(one), str(two))[0] == 1
    assert run(capsys, "--as", "openbsd-7.6", str(one), str(two), "--same", "web=www")[0] == 0
    # And interfaces of another name.
    two.write_text(RULES.replace("em0", "igb3"))
    assert run(capsys, "--as", "openbsd-7.6", str(one), str(two), "--in", "em1=igb1", "--out", "em0=igb3")[0] == 0


def test_rulesets_of_two_dialects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.conf", tmp_path / "two.conf"
    one.write_text(RULES)
    two.write_text(
        "scrub all\naltq on em0 hfsc bandwidth 10Mb queue { std, web, fast }\nqueue std bandwidth 50% hfsc(default)\nqueue web bandwidth 30%\n"
        "queue fast bandwidth 20%\npass all\npass on em0 proto tcp from any to any port 443 queue (web, fast)\n"
        "pass on em0 proto udp from any to any port 53 queue fast\n"
    )
    status, out, _ = run(capsys, "--as", "openbsd-7.6", "--as", "freebsd-15.0", str(one), str(two), "--in", "em1", "--out", "em0", "--format", "json")
    assert (status, json.loads(out)["differences"]) == (0, [])
    two.write_text(two.read_text().replace("port 53", "port 54"))
    status, out, _ = run(capsys, "--as", "openbsd-7.6", "--as", "freebsd-15.0", str(one), str(two), "--in", "em1", "--out", "em0", "--format", "json")
    packets = [row["packet"] for row in json.loads(out)["differences"]]
    assert (status, packets) == (1, ["udp 192.168.1.5:40000 > 198.51.100.7:54 len 100", "udp 192.168.1.5:40000 > 198.51.100.7:53 len 100"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["SITE", "--as", "openbsd-7.6"], "--as, --in, --out and --same are for two rulesets"),
        (["a", "b", "c"], "3 rulesets"),
        (["a", "b", "--host", "x"], "are for a model"),
        (["nowhere", "b", "--as", "openbsd-7.6"], "cannot be read"),
        (["SITE", "--against", "nowhere"], "cannot be read"),
        (["RULES", "RULES", "--as", "openbsd-2.0"], "not modelled: no facts about openbsd-2.0"),
        (["RULES", "RULES", "--as", "openbsd-7.6", "--same", "web"], "QUEUE=QUEUE is wanted"),
        (["AFTO", "RULES", "--as", "openbsd-7.6"], "not modelled"),
    ],
)
def test_broken_use(words: list[str], said: str, site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"SITE": site, "RULES": site.parent / "rules", "AFTO": site.parent / "afto"}
    files["RULES"].write_text(RULES)
    files["AFTO"].write_text("pass in inet6 from any to 64:ff9b::/96 af-to inet from (em0)\n")
    status, out, err = run(capsys, *(str(files.get(word, word)) for word in words))
    assert (status, out) == (2, "")
    assert said in err


def test_without_oxidd_one_line_says_what_to_install(site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "oxidd", None)
    status, out, err = run(capsys, str(site))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "pip install 'pfq[verify]'" in err


_COMMANDS = {"queue": "pfctl -sq", "nat": "pfctl -sn", "rdr": "pfctl -sn", "binat": "pfctl -sn", "scrub": "pfctl -a * -sr", "altq": ""}


def _record(conf: Path, system: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What pfctl would print of the rules once they are loaded, a file a command, in place of the file."""
    capsys.readouterr()
    assert main(["check", "--as", system, "-v", str(conf)]) == 0
    found: dict[str, str] = {}
    for line in capsys.readouterr().out.splitlines():
        first, _, rest = line.partition(" ")
        if rest.startswith('= "') or first == "set":
            continue
        # pfctl -sq says the interface always
        bare = first == "queue" and " on " not in line and " parent " not in line
        shown = re.sub(r"^(queue \S+)", r"\1 on em0", line) if bare else line
        command = _COMMANDS.get(first, "pfctl -a * -sr")
        found[command] = found.get(command, "") + shown + "\n"
    conf.unlink()
    for command in found.keys() - {""}:
        (conf.parent / command).write_text(found[command])


def test_what_a_running_pf_prints_is_as_good_as_its_file(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = site.parent / "out"
    for host, system in (("old", "openbsd-4.4"), ("new", "openbsd-7.6")):
        _record(out / host / "pf.conf", system, capsys)
    status, said, err = run(capsys, str(site), "--against", str(out))
    assert (status, err) == (0, ""), said + err
    rules = out / "new" / "pfctl -a * -sr"
    rules.write_text(rules.read_text().replace("port = 443", "port = 444"))
    status, said, _ = run(capsys, str(site), "--against", str(out))
    assert status == 1
    assert "pfctl -sr:" in said
    (out / "new" / "pfctl -si").write_text("Status: Enabled\n")
    status, _, err = run(capsys, str(site), "--against", str(out))
    assert status == 2
    assert "no recording has the name 'pfctl -si'" in err
