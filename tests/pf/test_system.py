"""The machine that a ruleset is for."""

from pathlib import Path

import pytest

from pfq.pf import System, check, load_system
from pfq.pf.system import WrongSystem
from tests.pf.answers import FREEBSD, NEW, OLD, printed

FILE = """\
rtables = []
[interface.em0]
addresses = ["192.0.2.1/24", "2001:db8::1/64", "fe80::1/64"]
speed = "200Mb"
mtu = 9000
groups = ["egress"]
[service]
backup = 7777
[host]
"www.example.org" = ["192.0.2.80", "2001:db8::80"]
[user]
alice = 1000
"""


@pytest.fixture
def system(tmp_path: Path) -> System:
    path = tmp_path / "system.toml"
    path.write_text(FILE.replace("rtables = []\n", ""))
    return load_system(str(path))


def test_addresses_of_interfaces(system: System) -> None:
    assert printed("pass inet from em0:network to em0\n", system=system) == ["pass inet from 192.0.2.0/24 to 192.0.2.1 flags S/SA"]


def test_hosts_and_services(system: System) -> None:
    assert printed("pass proto tcp to www.example.org port backup\n", system=system) == [
        "pass inet proto tcp from any to 192.0.2.80 port = 7777 flags S/SA",
        "pass inet6 proto tcp from any to 2001:db8::80 port = 7777 flags S/SA",
    ]


def test_users(system: System) -> None:
    assert "user = 1000" in printed("pass proto tcp user alice\n", system=system)[0]


def test_interfaces_that_are_not_listed_do_not_exist(system: System) -> None:
    assert check("pass from em1\n", NEW, system=system).status == 1
    assert check("pass from em1\n", NEW).status == 0


def test_speed_and_mtu(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_text('[interface.em0]\nspeed = "200Mb"\nmtu = 9000\n')
    system = load_system(str(path), "freebsd", (12, 1))
    verdict = check("altq on em0 priq queue q\nqueue q priq(default)\n", FREEBSD, verbose=True, system=system)
    assert verdict.stdout.startswith("altq on em0 priq tbrsize 72000 queue { q }\n")


@pytest.mark.parametrize(
    "text",
    [
        "[interfaces.em0]\n", "[interface.em0]\ncolour = 1\n", "interface = 3\n", '[interface.em0]\naddresses = ["nonsense"]\n',
        '[interface.em0]\nspeed = "fast"\n', "[service]\nx = 70000\n", "[interface]\nem0 = 4\n", '[interface.em0]\naddresses = "192.0.2.1"\n',
        '[interface.em0]\naddresses = ["192.0.2.1/40"]\n', "[user]\nx = true\n", '[host]\nx = ["y"]\n',
    ],
)
def test_files_that_make_no_sense(tmp_path: Path, text: str) -> None:
    path = tmp_path / "system.toml"
    path.write_text(text)
    with pytest.raises(WrongSystem):
        load_system(str(path))


def test_loopback() -> None:
    assert printed("pass from lo0\n", OLD) == [
        "pass inet from 127.0.0.1 to any flags S/SA keep state", "pass inet6 from ::1 to any flags S/SA keep state",
        "pass on lo0 inet6 from fe80::1 to any flags S/SA keep state",
    ]


def test_interface_without_addresses(tmp_path: Path) -> None:
    path = tmp_path / "system.toml"
    path.write_text("[interface.em0]\n")
    verdict = check("pass from em0\n", NEW, system=load_system(str(path)))
    assert verdict.status == 1
