"""`pfq explain`: packets, connections, captures; with a model and with a ruleset."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pfq.cli import main
from tests.parity.test_capture import TCP, ipv4, pcap
from tests.parity.test_verify import RULES
from tests.rulesets import RULESETS

MIXED = str(RULESETS / "mixed-site" / "site.toml")
ACK = "tcp 192.168.4.5:40000 > 198.51.100.7:443 ack len 0"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["explain", *words])
    out, err = capsys.readouterr()
    return status, out, err


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    status, out, _ = run(capsys, *words, "--format", "json")
    assert status == 0
    packets: list[dict[str, object]] = json.loads(out)["packets"]
    return packets


def test_every_gateway_says_the_class_the_queue_the_line_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, MIXED, "--packet", ACK, "--link", "dsl")
    assert (status, err) == (0, "")
    for gateway, queue in (("old (openbsd-4.4)", "queue express on tun0"), ("new (openbsd-7.6)", "queue dsl_express on pppoe0"), ("tux", "queue 1:10 on ppp0")):
        assert any(gateway in line and queue in line for line in out.splitlines())
    assert "ACK without payload" in out
    assert "old/pf.conf:" in out
    assert "tux/pfq.sh:" in out
    assert "NOT" not in out


def test_a_whole_connection_in_both_directions(capsys: pytest.CaptureFixture[str]) -> None:
    packets = found(capsys, MIXED, "--packet", ACK, "--state", "--host", "old")
    assert [one["moment"] for one in packets] == ["first", "reply", "later", "later", "reply", "reply", "reply", "later", "later", "reply", "later"]
    outcomes = [one["answers"][0]["here"]["outcome"] for one in packets]  # type: ignore[index]
    ack, data = "class express", "class web"
    assert outcomes == [data, ack, ack, data, ack, data, data, ack, ack, ack, ack]
    assert all(answer["equal"] for one in packets for answer in one["answers"])  # type: ignore[attr-defined]


def test_a_capture_and_its_flows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    syn = bytearray(TCP)
    syn[13] = 2
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap([ipv4(bytes(syn)), b"\x30" + bytes(40), ipv4(TCP)]) + b"cut")
    status, out, err = run(capsys, MIXED, "--pcap", str(path), "--from", "inside", "--host", "new", "--link", "dsl")
    assert status == 0
    assert "ends in the middle of a packet's header, after 3 packets" in err
    assert "2. no IP packet (version 3)" in out
    assert "3. tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 0 doff 8\n   a later packet of a flow that began with tcp" in out


def test_which_side_a_packet_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    def origin(packet: str, *words: str) -> object:
        return found(capsys, MIXED, "--host", "old", "--packet", packet, *words)[0]["from"]

    assert origin("udp 192.168.4.5:1 > 8.8.8.8:53") == "inside"
    assert origin("udp 8.8.8.8:1 > 192.168.4.5:53") == "outside"
    assert origin("udp 10.1.1.1:1 > 8.8.8.8:53", "--from", "inside") == "inside"
    assert origin("udp 198.51.100.1:1 > 8.8.8.8:53", "--from", "gateway") == "gateway"
    status, _, err = run(capsys, MIXED, "--host", "old", "--packet", "udp 10.1.1.1:1 > 8.8.8.8:53")
    assert status == 2
    assert "--from" in err


def test_a_ruleset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pf.conf"
    path.write_text(RULES)
    status, out, _ = run(capsys, "--as", "openbsd-7.6", str(path), "--packet", ACK, "--in", "em1", "--out", "em0")
    assert status == 0
    assert "passed, queue fast on em0" in out
    assert f"{path}:5:1: match on em0 proto tcp" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no packet is given"),
        (["--packet", ACK, "--pcap", "x"], "two ways"),
        (["--pcap", "nowhere"], "cannot be read"),
        (["--packet", ACK, "--link", "nothing"], "there are dsl, fibre"),
        (["--packet", ACK, "--in", "em0"], "--in and --out are for a ruleset"),
        (["--packet", "tcp 1.2.3.4:5 > 6.7.8.9:x"], "^"),
    ],
)
def test_broken_use(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, MIXED, *words)
    assert (status, out) == (2, "")
    assert said in err


def test_no_proof_is_needed_to_explain() -> None:
    """Without oxidd, everything but proofs works."""
    code = f"import sys; sys.modules['oxidd'] = None; from pfq.cli import main; sys.exit(main(['explain', {MIXED!r}, '--packet', {ACK!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
