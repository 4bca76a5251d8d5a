"""Edges of the rules for models."""

from pathlib import Path

import pytest

from tests.lint.lint import codes, lint, only

RULESETS = Path(__file__).parent.parent.parent / "rulesets"

MODEL = """[links.dsl]
up = "1 Mbit"
down = "16 Mbit"
{link}

[hosts.gw]
system = "{system}"
links.dsl = {attachment}
"""


def model(link: str = "", system: str = "openbsd-7.6", attachment: str = '"em0"') -> str:
    return MODEL.format(link=link, system=system, attachment=attachment)


def test_a_plain_model_is_clean() -> None:
    assert codes(model(), "site") == []


@pytest.mark.parametrize("path", sorted(RULESETS.glob("*/site.toml")), ids=lambda path: path.parent.name)
def test_the_models_of_the_seed_systems_are_not_refused(path: Path) -> None:
    assert not [finding.message for finding in lint(path.read_text(), "site").findings if finding.severity == "error"]


def test_what_the_compiler_refuses_is_said_as_it_says_it() -> None:
    under_it, finding = only(model('mtu = "big"'), "PFQ004", "site")
    assert under_it == '"big"'
    assert finding.message.startswith("[")


@pytest.mark.parametrize("text", ["", "[", "a = 1\n", "\x00", "\ufeff[links.x]\n"])
def test_broken_models(text: str) -> None:
    assert set(codes(text, "site")) == {"PFQ004"}


def test_a_byte_order_mark_moves_no_column() -> None:
    text = "\ufeff" + model('mtu = "big"')
    assert only(text, "PFQ004", "site")[0] == '"big"'
    assert only("\ufeffnmae = 'x'\n" + model(), "PFQ004", "site")[0] == "nmae"


def test_an_mtu_that_fills_its_cells() -> None:
    assert codes(model('encapsulation = "pppoe-llc"\nmtu = 1448'), "site") == []


def test_an_mtu_where_there_are_no_cells() -> None:
    assert codes(model('encapsulation = "ethernet"\nmtu = 1400', attachment='"em0"'), "site") == []


def test_a_vlan_without_a_length_is_a_note() -> None:
    result = lint(model(system="linux-6.1", attachment='"eth0.7"'), "site")
    assert [(finding.code, finding.severity) for finding in result.findings] == [("PFQ405", "note")]


def test_a_vlan_of_a_bsd_has_no_such_length() -> None:
    assert codes(model(attachment='"vlan7"'), "site") == []


def test_comments_silence_rules_in_models_too() -> None:
    assert codes(model('encapsulation = "pppoe-llc"\nmtu = 1492 # pfq: ignore[PFQ404]'), "site") == []
    assert codes(model("ipv6 = true # pfq: ignore[PFQ404]"), "site") == ["PFQ003"]


def test_what_pfq_compiles_is_not_refused() -> None:
    """The pf.conf files in rulesets/, each read as the system that its model names."""
    from pfq.site.load import load_text

    seen = 0
    for path in sorted(RULESETS.glob("*/out/*/pf.conf")):
        model_path = path.parent.parent.parent / "site.toml"
        host = load_text(model_path.read_text(), "site.toml").hosts[path.parent.name]
        found = lint(path.read_text(), host.system.name).findings
        assert [finding.message for finding in found if finding.severity == "error"] == []
        seen += 1
    assert seen


DEFAULT = """[links.dsl]
up = "10 Mbit"
down = "50 Mbit"
policy = "office"

[policies.office]
classes = [
  {{ name = "express", express = true }},
  {{ name = "web", match = "tcp/443"{web} }},
  {{ name = "rest", default = true{rest} }},
]

[hosts.gw]
system = "linux-6.1"
links.dsl = "ppp0"
"""


@pytest.mark.parametrize(
    ("web", "rest", "held"),
    [
        (", share = 2", ', guarantee = "1 Mbit"', True),
        (", share = 2", "", False),
        (", share = 2", ', guarantee = "1 Mbit", share = 1', False),
        # The rest has the larger part all the same.
        (", share = 2", ', guarantee = "80%"', False),
        # Nobody divides what is left: it goes to whoever wants it.
        ("", ', guarantee = "1 Mbit"', False),
    ],
)
def test_a_default_class_with_a_guarantee_alone(web: str, rest: str, held: bool) -> None:
    codes = {finding.code for finding in lint(DEFAULT.format(web=web, rest=rest), "site").findings}
    assert ("PFQ408" in codes) is held
