"""The JSON Schema agrees with the loader about keys, kinds of value and words."""

import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pfq.diagnostics import Refused
from pfq.site.load import load_text
from pfq.site.schema import json_schema
from tests.site.mutations import VALUES, mutated
from tests.site.toml_text import toml_text
from tests.strategies import models, seeded

SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
SITES = sorted((Path(__file__).parents[2] / "rulesets").glob("*/site.toml"))

# What a schema can see: the kind of a value, the words and keys there are. References, sums and the meaning of texts are the loader's,
# and so is an interface of good form that its system does not have ('bad-name').
STRUCTURAL = {"wrong-type", "unknown-key", "missing-key", "unknown-word", "no-unit", "out-of-range", "too-long", "too-many"}

# The validator cannot say what is wrong with an integer of thousands of digits.
MUTATIONS = tuple(value for value in VALUES if not isinstance(value, int) or value < 10**100)


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_key_is_explained() -> None:
    def check(schema: Any, path: str) -> None:
        for name, key in schema.get("properties", {}).items():
            assert key["description"].endswith("."), f"{path}.{name}"
            check(key, f"{path}.{name}")
        for inner in (schema.get("additionalProperties"), schema.get("items"), *schema.get("anyOf", ())):
            if isinstance(inner, dict):
                check(inner, path)

    check(SCHEMA, "")


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.parent.name)
def test_the_rulesets_validate(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text()))


@given(models())
@settings(max_examples=50, deadline=None)
def test_random_models_validate(text: str) -> None:
    VALIDATOR.validate(tomllib.loads(text))


MODEL = """
[links.dsl]
up = "1 Mbit"
[policies.p]
classes = [{ name = "v", match = [{ protocol = "udp", port = 53 }], guarantee = "10%" }, { name = "b" }]
[hosts.gw]
system = "openbsd-7.6"
inside = { interface = "em1", networks = "10.0.0.0/8" }
links.dsl = { interface = "em0", nat = true }
"""


def classes(model: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = model["policies"]["p"]["classes"]
    return found


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "unknown key": lambda m: m.update(x=1),
    "unknown key of a link": lambda m: m["links"]["dsl"].update(x=1),
    "unknown key of a class": lambda m: classes(m)[0].update(x=1),
    "unknown key of a match": lambda m: classes(m)[0]["match"][0].update(x=1),
    "unknown key of a curve": lambda m: classes(m)[0].update(guarantee={"rate": "1%", "x": 1}),
    "no links": lambda m: m.pop("links"),
    "no rate": lambda m: m["links"]["dsl"].pop("up"),
    "no class name": lambda m: classes(m)[0].pop("name"),
    "bare number": lambda m: m["links"]["dsl"].update(up=1000),
    "bare percentage": lambda m: classes(m)[0].update(guarantee=10),
    "text without unit": lambda m: m["links"]["dsl"].update(up="1000"),
    "list of links": lambda m: m.update(links=[]),
    "number for a name": lambda m: m.update(name=1),
    "text for a flag": lambda m: m["links"]["dsl"].update(ipv6="true"),
    "number for a flag": lambda m: m["links"]["dsl"].update(ipv6=1),
    "flag for a number": lambda m: classes(m)[0].update(share=True),
    "share of nothing": lambda m: classes(m)[0].update(share=0),
    "share too large": lambda m: classes(m)[0].update(share=1001),
    "encapsulation": lambda m: m["links"]["dsl"].update(encapsulation="pppoe"),
    "difference": lambda m: m.update(accept=["everything"]),
    "scheduler": lambda m: m["hosts"]["gw"]["links"]["dsl"].update(scheduler="fairq"),
    "port": lambda m: classes(m)[0]["match"][0].update(port=70_000),
    "match": lambda m: classes(m)[0].update(match="udp-53"),
    "interface": lambda m: m["hosts"]["gw"]["links"]["dsl"].update(interface="em0; reboot"),
    "name of a link": lambda m: m["links"].update({"a b": m["links"]["dsl"]}),
    "name of a host": lambda m: m["hosts"].update({"../a": m["hosts"]["gw"]}),
    "system": lambda m: m["hosts"]["gw"].update(system="OpenBSD 7.6"),
    "network": lambda m: m["hosts"]["gw"]["inside"].update(networks="fe80::%$(x)/64"),
    "service": lambda m: m["hosts"]["gw"]["links"]["dsl"].update(inbound={"services": ["http"]}),
    "site name": lambda m: m.update(name="a\nb"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_both_refuse(change: Callable[[dict[str, Any]], Any]) -> None:
    model = tomllib.loads(MODEL)
    VALIDATOR.validate(model)
    load_text(MODEL, "m")
    change(model)
    assert not VALIDATOR.is_valid(model)
    with pytest.raises(Refused):
        load_text(toml_text(model), "m")


@given(st.integers(0, 200), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_what_the_loader_refuses_for_its_form_the_schema_refuses_and_what_it_takes_the_schema_takes(seed: int, change: int) -> None:
    model = tomllib.loads(seeded(seed))
    mutated(model, random.Random(change), MUTATIONS)
    try:
        load_text(toml_text(model), "m")
        codes = set()
    except Refused as refused:
        codes = {d.code for d in refused.diagnostics}
    if not codes:
        VALIDATOR.validate(model)
    elif codes & STRUCTURAL:
        assert not VALIDATOR.is_valid(model)
