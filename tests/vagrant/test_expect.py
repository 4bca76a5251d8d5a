"""vagrant/expect.py: what each gateway's queues must be, from the plan."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from pfq.compiling import compile_site, plan_of

ROOT = Path(__file__).parents[2]
RULESETS = ROOT / "rulesets"
NAMES = sorted(path.parent.name for path in RULESETS.glob("*/site.toml"))


@pytest.fixture(scope="module")
def expect() -> ModuleType:
    spec = importlib.util.spec_from_file_location("expect", ROOT / "vagrant" / "expect.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(expect: ModuleType, folder: Path, model: str) -> list[str]:
    path = folder / "site.toml"
    path.write_text(model)
    text: str = expect.expected(plan_of(str(path), None))
    return text.splitlines()[2:]


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_what_the_plans_ask_for(expect: ModuleType, name: str) -> None:
    """After a change of the model or the plan: python3 vagrant/expect.py, and read the diff."""
    site = RULESETS / name / "site.toml"
    assert (RULESETS / name / "expected").read_text() == expect.expected(plan_of(str(site), None))


@pytest.mark.parametrize("name", NAMES)
def test_outputs_and_queues_have_the_names_that_are_compiled(name: str) -> None:
    """The file of each gateway is there, and every queue of a pf.conf is defined in it on the interface of its tree."""
    compiled, _ = compile_site(str(RULESETS / name / "site.toml"), None, None, None, several=True)
    text = interface = system = ""
    hosts = []
    for line in (RULESETS / name / "expected").read_text().splitlines():
        match line.split():
            case ["host", host, system, output]:
                hosts.append(host)
                text = compiled[host][0].text
                assert output == f"{host}/{compiled[host][0].name}"
            case ["tree", interface, *_]:
                pass
            case ["queue", queue, *_] if not system.startswith("linux"):
                macros = re.findall(rf'^(\w+) = "{interface}"', text, re.M)
                on = "|".join(re.escape(word) for word in [interface, *(f"${macro}" for macro in macros)])
                assert re.search(rf"^queue {queue}( on ({on}))? ", text, re.M), (queue, interface)
    assert hosts == list(compiled)


LINK = """\
[links.line]
up = "2 Mbit"
down = "8 Mbit"
encapsulation = "ethernet"
policy = "house"

[policies.house]
classes = [
  { name = "first", express = true, guarantee = "400 kbit" },
  { name = "web", match = "tcp/80", share = 3, ceiling = "1200 kbit" },
  { name = "rest", share = 1, default = true },
]
"""

SIMPLE = LINK[: LINK.index("policy")]


@pytest.mark.parametrize(
    ("model", "lines"),
    [
        (
            f'{LINK}[hosts.a]\nsystem = "openbsd-7.6"\nlinks.line = {{ interface = "em0", shaped_up = "1900 kbit" }}\n',
            [
                "host a openbsd-7.6 a/pf.conf",
                "interface em0 ethernet",
                "tree em0 egress hfsc max=1900000",
                "queue first bandwidth=400000 min=400000",
                "queue web bandwidth=1125000 max=1200000",
                "queue rest bandwidth=375000",
            ],
        ),
        (
            f'{LINK}[hosts.a]\nsystem = "freebsd-14"\nlinks.line = {{ interface = "em0", shaped_up = "1900 kbit", scheduler = "cbq" }}\n',
            [
                "host a freebsd-14.0 a/pf.conf",
                "interface em0 ethernet",
                "tree em0 egress cbq interface=1900000|bandwidth=1900000",
                "queue first bandwidth=400000",
                "queue web bandwidth=1125000|bandwidth=1200000",
                "queue rest bandwidth=375000",
            ],
        ),
        (
            f'{LINK}[hosts.a]\nsystem = "linux-6.1"\n'
            'links.line = { interface = "eth0.7", shaped_up = "1900 kbit", scheduler = "hfsc", shape_down = "none" }\n',
            [
                "host a linux-6.1 a/pfq.sh",
                "interface eth0 ethernet",
                "interface eth0.7 vlan",
                "tree eth0.7 egress hfsc ul=1900000",
                "queue first ls=400000 rt=400000",
                "queue web ls=1125000 ul=1200000",
                "queue rest ls=375000",
            ],
        ),
        (
            f'accept = ["soft-order"]\n{SIMPLE}[hosts.a]\nsystem = "linux-6.1"\n'
            'links.line = { interface = "eth0", shaped_up = "1900 kbit", scheduler = "cake", shape_down = "none" }\n',
            ["host a linux-6.1 a/pfq.sh", "interface eth0 ethernet", "tree eth0 egress cake bandwidth=1900000"],
        ),
    ],
    ids=["openbsd", "altq-cbq", "linux-hfsc", "cake"],
)
def test_a_plan_in_lines(expect: ModuleType, tmp_path: Path, model: str, lines: list[str]) -> None:
    assert expected(expect, tmp_path, model) == lines


def test_altq_divides_the_inside_by_hfsc_even_beside_priq(expect: ModuleType, tmp_path: Path) -> None:
    model = f"""{SIMPLE}[hosts.a]
system = "freebsd-14"
inside = {{ interface = "em1", networks = ["192.168.1.0/24"] }}
links.line = {{ interface = "em0", scheduler = "priq" }}
"""
    lines = expected(expect, tmp_path, f'accept = ["starved-control", "ipv6-express"]\n{model}')
    assert "queue express rank=1" in lines
    (inside,) = [line for line in lines if line.startswith("tree em1")]
    assert inside.startswith("tree em1 inside hfsc interface=")
    assert re.fullmatch(r"queue interactive bandwidth=(\d+) realtime=\1", lines[lines.index(inside) + 1])


def test_two_links_put_their_names_before_their_queues(expect: ModuleType, tmp_path: Path) -> None:
    model = SIMPLE + SIMPLE.replace("line", "other") + '[hosts.a]\nsystem = "openbsd-7.6"\n'
    model += 'links.line = { interface = "em0" }\nlinks.other = { interface = "em1" }\n'
    names = [line.split()[1] for line in expected(expect, tmp_path, model) if line.startswith("queue")]
    assert names == ["line_interactive", "line_express", "line_bulk", "other_interactive", "other_express", "other_bulk"]
