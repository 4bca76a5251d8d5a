"""Nothing of a model becomes a command or a rule: every string and every name in it is tried with texts that a shell, pf, nft or tc would act on."""

import copy
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from pfq.diagnostics import Refused
from pfq.plan.build import plan_site
from pfq.site.load import read_text
from pfq.targets.registry import compile_all
from tests.site.toml_text import toml_text

MODEL = """
name = "site"
accept = ["ipv6-express", "exact-low-delay", "fair-by-flow", "fifo"]
[links.line]
up = "2 Mbit"
down = "16 Mbit"
encapsulation = "pppoe-llc"
policy = "office"
[policies.office]
unclassified = "express"
classes = [
  { name = "express", express = true },
  { name = "voice", guarantee = "200 kbit", match = [
    "udp/5060", { protocol = "tcp", port = "5060-5061", from = "192.168.1.9", dscp = "cs5", opened = "inside" }
  ] },
  { name = "web", match = "tcp/80", ceiling = { up = "1 Mbit", down = "50%" }, limit = "200 ms", drop = "tail" },
  { name = "rest", default = true },
]
[hosts.alpha]
system = "openbsd-7.6"
inside = { interface = "em1", networks = ["192.168.1.0/24"], speed = "1 Gbit" }
links.line = { interface = "em0", nat = "203.0.113.1", inbound = { services = ["tcp/443"], operator = { from = "198.51.100.0/24" } } }
[hosts.beta]
system = "freebsd-14"
links.line = { interface = "em0", one_to_one = [{ inside = "192.168.1.2", outside = "203.0.113.2" }] }
[hosts.gamma]
system = "linux-6.1"
links.line = { interface = "eth0", exclude = "203.0.113.10/32", burst = "6 kB" }
[hosts.delta]
system = "openbsd-4.4"
links.line = { interface = "wan", queue_on = "em0" }
"""
MARK = "INJECTED"
TEXTS = [
    f"$({MARK})",
    f"`{MARK}`",
    f"'; {MARK}; '",
    f'"; {MARK}; "',
    f"\n{MARK}\n",
    f"\r{MARK}",
    f"x {MARK}",
    f"{{{{ {MARK} }}}}",
    f"{{% {MARK} %}}",
    f"# {MARK} \\",
    f"\\\n{MARK}",
    f"PFQ_RULES\n{MARK}\n",
    f"../{MARK}",
    f"--{MARK}=1",
    f"${{{MARK}}}",
    f"<{MARK}>",
    f"\x00{MARK}",
    f"\u2028{MARK}",
    f"*{MARK}?",
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Every string (False) and every key (True) of a document."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key), True
            yield from _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))
    elif isinstance(value, str):
        yield path, False


def _with(document: dict[str, Any], path: tuple[Any, ...], is_key: bool, text: str) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    at: Any = changed
    for part in path[:-1]:
        at = at[part]
    if is_key:
        renamed = {(text if key == path[-1] else key): item for key, item in at.items()}
        at.clear()
        at.update(renamed)
    else:
        at[path[-1]] = text
    return changed


PLACES = list(_places(tomllib.loads(MODEL)))


def _outputs(text: str) -> dict[str, str]:
    """What a model compiles to; nothing if it is refused."""
    try:
        site, faults = read_text(text, "site.toml")
    except Refused:
        return {}
    plan, more = plan_site(site)
    faults = [*faults, *more]
    compiled = compile_all(plan, None, faults)
    return {} if faults else {f"{host}/{file.name}": file.text for host, files in compiled.items() for file in files}


def test_the_model_itself_compiles() -> None:
    assert len(_outputs(MODEL)) >= 4


@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_no_text_of_the_model_is_acted_on(text: str) -> None:
    document = tomllib.loads(MODEL)
    for path, is_key in PLACES:
        for value in (text, f"{path[-1]}{text}" if is_key else text):
            for name, output in _outputs(toml_text(_with(document, path, is_key, value))).items():
                for line in output.splitlines():
                    assert MARK not in line or line.lstrip().startswith("#"), f"{path}: {name}: {line}"


def test_only_the_site_name_is_free_text() -> None:
    """The one string that comes through, and only into comments."""
    document = tomllib.loads(MODEL)
    through = {path for path, is_key in PLACES if _outputs(toml_text(_with(document, path, is_key, f"a {MARK}")))}
    assert through == {("name",)}
