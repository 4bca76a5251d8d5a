"""Every compiled pf.conf is read without a word by the reader of pf.conf, and so are the parts, hooked into a ruleset as they say."""

import pytest

from pfq.diagnostics import Refused
from pfq.pf.verdict import check
from tests.strategies import seeded
from tests.targets.pf_render import TARGETS, compiled, hartmeier, plan

# Systems, and the dialect of the reader whose grammar is theirs or the nearest later one.
READ_AS = {
    "openbsd-3.6": "openbsd-4.4", "openbsd-4.1": "openbsd-4.4", "openbsd-4.4": "openbsd-4.4",
    "openbsd-4.7": "openbsd-5.4", "openbsd-5.4": "openbsd-5.4",
    "openbsd-5.5": "openbsd-7.6", "openbsd-6.2": "openbsd-7.6", "openbsd-7.6": "openbsd-7.6",
    "freebsd-12.1": "freebsd-12.1", "freebsd-13.2": "freebsd-13.2", "freebsd-14.0": "freebsd-14.0", "freebsd-15.0": "freebsd-15.0",
}


@pytest.mark.parametrize("seed", range(1000, 1100))
def test_random_models_are_read_without_a_word(seed: int) -> None:
    made = plan(seeded(seed, tuple(READ_AS)))
    for gateway in made.gateways:
        try:
            (file,) = TARGETS[gateway.system.family].render(made, gateway, None)
        except Refused:
            continue
        verdict = check(file.text, READ_AS[gateway.system.name], verbose=True)
        assert (verdict.status, verdict.stderr) == (0, ""), file.text


@pytest.mark.parametrize("system", ["openbsd-4.4", "freebsd-12.1"])
def test_the_parts_can_be_hooked_into_an_altq_ruleset(system: str) -> None:
    files = {f"/etc/pf.pfq.{part}": compiled(hartmeier(system), part) for part in ("queues", "rules")}
    own = """ext = "kue0"
set skip on lo0
scrub in on $ext all
include "/etc/pf.pfq.queues"
nat on $ext inet from 10.0.0.0/8 to any -> ($ext)
block in quick on $ext proto tcp from any to any port 25
"""
    included = own + 'include "/etc/pf.pfq.rules"\n'
    anchored = own + 'anchor "pfq"\nload anchor "pfq" from "/etc/pf.pfq.rules"\n'
    for text in (included, anchored):
        verdict = check(text, system, verbose=True, open_file=files.__getitem__)
        assert verdict.status == 0, verdict.stderr
        assert "queue(q_def, q_pri)" in verdict.stdout or "Loading anchor pfq" in verdict.stderr


def test_the_parts_can_be_hooked_into_a_ruleset_with_queues() -> None:
    files = {f"/etc/pf.pfq.{part}": compiled(hartmeier("openbsd-7.6"), part) for part in ("queues", "rules")}
    head = 'include "/etc/pf.pfq.queues"\n'
    tail = "match out on kue0 inet from 10.0.0.0/8 to any nat-to (kue0)\nblock in on kue0\npass out\n"
    for hook in ('include "/etc/pf.pfq.rules"\n', 'anchor "pfq"\nload anchor "pfq" from "/etc/pf.pfq.rules"\n'):
        verdict = check(head + hook + tail, "openbsd-7.6", verbose=True, open_file=files.__getitem__)
        assert verdict.status == 0, verdict.stderr
    alone = check(files["/etc/pf.pfq.rules"], "openbsd-7.6")
    assert alone.status != 0
    assert "is not defined" in alone.stderr
