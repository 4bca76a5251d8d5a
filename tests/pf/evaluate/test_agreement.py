"""One evaluation, two algebras: what is found for all packets at once is what is found for each."""

from random import Random

import pytest

from pfq.headers.algebra import Exactly
from pfq.headers.asking import Ruleset, Way, later_view, opening_view
from pfq.pf.evaluate import ruleset
from pfq.pf.verdict import read
from tests.pf.evaluate.packets import DIAGRAMS, INSIDE, LINK, exactly
from tests.pf.evaluate.packets import drawn as packet_at_random
from tests.pf.evaluate.rulesets import ADDRESSES, PORTS, Rules

WAYS = (Way(INSIDE, LINK), Way(LINK, INSIDE), Way(None, LINK), Way(LINK, None), Way(LINK, LINK))
FACTS = {LINK: ("203.0.113.1/24", "2001:db8:1::1/64"), INSIDE: ("192.168.1.1/24",)}


def at_random(dialect: str, random: Random) -> Ruleset | None:
    """A ruleset, unless pfctl refuses what came up."""
    tree = read(Rules(random, dialect).text(), dialect)
    return None if tree.verdict.status else ruleset(tree, addresses=FACTS)


@pytest.mark.parametrize("dialect", ["openbsd-4.4", "openbsd-5.4", "openbsd-7.6", "freebsd-12.1", "freebsd-14.0", "freebsd-15.0"])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_for_all_packets_is_found_for_each(dialect: str, seed: int) -> None:
    random = Random(f"{dialect} {seed}")
    asked = None
    while asked is None:
        asked = at_random(dialect, random)
    way = random.choice(WAYS)
    found, memory = asked.opening(way, opening_view(DIAGRAMS))
    later = {reply: asked.following(memory, way.back() if reply else way, later_view(DIAGRAMS, reply)) for reply in (False, True)}
    for _ in range(12):
        values = packet_at_random(random, ADDRESSES, PORTS)
        algebra, one = Exactly(values), exactly(DIAGRAMS, values)
        alone, remembered = asked.opening(way, opening_view(algebra))
        assert [passage for passage, where in found.items() if (where & one).satisfiable()] == [*alone]
        for reply, passages in later.items():
            alone = asked.following(remembered, way.back() if reply else way, later_view(algebra, reply))
            assert [passage for passage, where in passages.items() if (where & one).satisfiable()] == [*alone]


@pytest.mark.parametrize("seed", range(6))
def test_every_packet_has_one_passage(seed: int) -> None:
    random = Random(seed)
    asked = None
    while asked is None:
        asked = at_random("openbsd-7.6", random)
    found = asked.opening(WAYS[0], opening_view(DIAGRAMS))[0]
    covered = DIAGRAMS.nothing
    for where in found.values():
        assert not (covered & where).satisfiable()
        covered = covered | where
    assert not (~covered).satisfiable()
