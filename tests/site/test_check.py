"""Which match takes all that another is for."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pfq.plan.classify import Packet, matches
from pfq.site.check import default_class
from pfq.site.kinds import Faults
from pfq.site.load import load_text
from pfq.site.model import Match
from pfq.site.positions import Path, Source
from pfq.site.reach import check_reach, covers
from pfq.site.schema import SITE
from tests.plan.packets import firsts
from tests.site.toml_text import toml_text


def match_of(value: Any) -> Match:
    """The match that `value` stands for in a model."""
    faults = Faults(Source("m", ""))
    model = {
        "links": {"l": {"up": "1 Mbit"}},
        "policies": {"p": {"classes": [{"name": "v", "match": value}, {"name": "b"}]}},
        "hosts": {"h": {"system": "linux-6.1", "links": {"l": "eth0"}}},
    }
    values = SITE.read(model, (), faults)
    assert not faults.found, faults.found
    found: Match = values["policies"]["p"].classes[0].matches[0]
    return found


@pytest.mark.parametrize(
    ("wide", "narrow", "covered"),
    [
        ("udp", "udp/53", True),
        ("udp/53", "udp", False),
        ("udp/53", "udp/53", True),
        ("udp/53", "tcp/53", False),
        ("udp/50-60", "udp/53-55", True),
        ("udp/53-55", "udp/50-60", False),
        ("icmp", "icmp", True),
        ({"protocol": "udp", "port": [1, "5-9"]}, {"protocol": "udp", "port": ["6-7", 1]}, True),
        ({"protocol": "udp", "port": ["5-9", "1-4", 3]}, {"protocol": "udp", "port": "2-8"}, True),
        ({"protocol": "udp", "port": ["1-4", "6-9"]}, {"protocol": "udp", "port": "2-8"}, False),
        ({"protocol": "udp", "source_port": 5}, {"protocol": "udp", "port": 5}, False),
        ({"from": "10.0.0.0/8"}, {"from": ["10.1.0.0/16", "10.2.0.0/16"]}, True),
        ({"from": "10.0.0.0/8"}, {"from": ["10.1.0.0/16", "11.0.0.0/8"]}, False),
        ({"from": "10.0.0.0/8"}, {"from": "fc00::/7"}, False),
        ({"from": "10.0.0.0/8"}, {"to": "10.0.0.0/8"}, False),
        ({"from": "10.0.0.0/8"}, "udp/53", False),
        ({"family": "ipv4"}, {"family": "ipv6"}, False),
        ({"family": "ipv4"}, {"from": "10.0.0.0/8"}, True),
        ({"family": "ipv4"}, {"from": ["10.0.0.0/8", "fc00::/7"]}, False),
        ({"dscp": ["ef", "cs1"]}, {"dscp": "ef"}, True),
        ({"dscp": "ef"}, {"dscp": ["ef", "cs1"]}, False),
        ({"opened": "inside"}, {"opened": "inside", "protocol": "tcp"}, True),
        ({"opened": "inside"}, {"protocol": "tcp"}, False),
        ({"opened": "both"}, {"opened": "outside"}, True),
    ],
)
def test_covers(wide: Any, narrow: Any, covered: bool) -> None:
    assert covers(match_of(wide), match_of(narrow)) is covered


_PORT = st.sampled_from([53, "50-60", [53, 80], "1-65535"])
_NETWORK = st.sampled_from(["10.0.0.0/8", "10.1.0.0/16", ["10.0.0.0/8", "2001:db8::/32"], "2001:db8:1::/48"])
_TABLES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "protocol": st.sampled_from(["tcp", "udp", "icmp"]),
        "port": _PORT,
        "source_port": _PORT,
        "from": _NETWORK,
        "to": _NETWORK,
        "dscp": st.sampled_from(["ef", ["ef", "cs1"]]),
        "family": st.sampled_from(["ipv4", "ipv6"]),
        "opened": st.sampled_from(["inside", "outside", "both"]),
    },
)


@st.composite
def _good_tables(draw: st.DrawFn) -> dict[str, Any]:
    table = draw(_TABLES)
    if table.get("protocol") not in ("tcp", "udp"):
        table.pop("port", None)
        table.pop("source_port", None)
    versions = [{6 if ":" in n else 4 for n in ([v] if isinstance(v, str) else v)} for v in (table.get("from"), table.get("to")) if v]
    versions += [{int(table["family"][3])}] if "family" in table else []
    assume(table and (not versions or set.intersection(*versions)))
    return table


def _matches() -> st.SearchStrategy[Match]:
    return _good_tables().map(match_of)


@given(_matches(), _matches(), firsts(), st.sampled_from(["inside", "outside"]))
@settings(max_examples=300, deadline=None)
def test_a_covered_match_takes_no_packet_that_the_wide_one_leaves(wide: Match, narrow: Match, packet: Packet, opened: Any) -> None:
    if covers(wide, narrow) and matches(narrow, packet, opened):
        assert matches(wide, packet, opened)


@given(_matches())
@settings(deadline=None)
def test_a_match_covers_itself(match: Match) -> None:
    assert covers(match, match)


class _Paths(Faults):
    """Faults by their path."""

    def __init__(self) -> None:
        super().__init__(Source("m", ""))
        self.by_path: dict[Path, str] = {}

    def at(self, path: Path, code: str, message: str, hint: str = "") -> None:
        self.by_path[path] = message
        super().at(path, code, message, hint)


def unreachable(*tables: Any) -> tuple[list[Match], dict[int, str]]:
    """The first matches of classes with these, in order; and the indexes of those that no packet reaches, with the message."""
    model = {
        "links": {"l": {"up": "1 Mbit"}},
        "policies": {"p": {"classes": [*({"name": f"c{n}", "match": table} for n, table in enumerate(tables)), {"name": "rest"}]}},
        "hosts": {"h": {"system": "linux-6.1", "links": {"l": "eth0"}}},
    }
    faults = _Paths()
    policy = SITE.read(model, (), faults)["policies"]["p"]
    assert not faults.found, faults.found
    check_reach(policy, list(policy.classes), policy.classes[-1], faults)
    found = [item.matches[0] for item in policy.classes[:-1]]
    return found, {index: faults.by_path[match.path] for index, match in enumerate(found) if match.path in faults.by_path}


@pytest.mark.parametrize(
    ("above", "match", "named"),
    [
        (["tcp/1-500", "tcp/501-1000"], "tcp/400-600", "'c0' and 'c1'"),
        (["tcp/1-500", "tcp/502-1000"], "tcp/400-600", ""),
        (["tcp/1-500", "udp/501-1000"], "tcp/400-600", ""),
        (["tcp/1-300", "tcp/300-400", "tcp/401-1000"], "tcp/200-900", "'c0', 'c1' and 'c2'"),
        ([{"from": "10.0.0.0/9"}, {"from": "10.128.0.0/9"}], {"from": "10.0.0.0/8"}, "'c0' and 'c1'"),
        ([{"from": "10.0.0.0/9"}, {"from": "10.128.0.0/10"}], {"from": "10.0.0.0/8"}, ""),
        ([{"to": "10.0.0.0/8"}, {"to": "fc00::/7"}], {"to": ["10.9.0.0/16", "fc00::/8"]}, "'c0' and 'c1'"),
        ([{"family": "ipv4"}, {"family": "ipv6"}], "udp", "'c0' and 'c1'"),
        ([{"family": "ipv4", "opened": "inside"}, {"family": "ipv6"}], "udp", ""),
        ([{"opened": "inside"}, {"opened": "outside"}], "tcp/80", "'c0' and 'c1'"),
        ([{"dscp": "ef"}, {"dscp": "cs1"}], {"dscp": ["cs1", "ef"]}, "'c0' and 'c1'"),
        ([{"dscp": "ef"}, {"dscp": "cs1"}], {"protocol": "udp"}, ""),
    ],
)
def test_matches_that_together_take_all(above: list[Any], match: Any, named: str) -> None:
    faults = unreachable(*above, match)[1]
    if named:
        assert faults == {len(above): f"no packet can reach this match: {named} above together take all of them"}
    else:
        assert faults == {}


# Few conditions with few values, so that some take together what another is for.
_FEW = st.fixed_dictionaries(
    {},
    optional={
        "from": st.sampled_from(["10.0.0.0/9", "10.128.0.0/9", "10.0.0.0/8"]),
        "family": st.just("ipv4"),
        "opened": st.sampled_from(["inside", "outside"]),
        "dscp": st.sampled_from(["ef", "cs1", ["ef", "cs1"]]),
    },
).flatmap(
    lambda table: st.sampled_from([table or {"protocol": "tcp"}, *({**table, "protocol": "tcp", "port": port} for port in ("1-80", "81-400", "50-100"))])
)


@given(st.lists(_FEW, min_size=3, max_size=5), firsts(), st.sampled_from(["inside", "outside"]))
@settings(max_examples=200, deadline=None)
def test_no_packet_reaches_what_is_said_to_be_out_of_reach(tables: list[dict[str, Any]], packet: Packet, opened: Any) -> None:
    found, lost = unreachable(*tables)
    for index in lost:
        if matches(found[index], packet, opened):
            assert any(matches(one, packet, opened) for one in found[:index])


@pytest.mark.parametrize(
    ("classes", "default"),
    [
        ([{"name": "a"}], "a"),
        ([{"name": "e", "express": True}, {"name": "a"}], "a"),
        ([{"name": "a", "match": "icmp", "default": True}], "a"),
        ([{"name": "a", "match": "icmp"}, {"name": "b"}], "b"),
        ([{"name": "b"}, {"name": "a", "match": "icmp"}], "b"),
        ([{"name": "p"}, {"name": "a", "parent": "p"}], "a"),
    ],
)
def test_the_default_class(classes: list[dict[str, Any]], default: str) -> None:
    model = {
        "links": {"l": {"up": "1 Mbit"}},
        "policies": {"p": {"classes": classes}},
        "hosts": {"h": {"system": "linux-6.1", "links": {"l": "eth0"}}},
    }
    found = default_class(load_text(toml_text(model), "m").policies["p"].classes)
    assert found
    assert found.name == default
