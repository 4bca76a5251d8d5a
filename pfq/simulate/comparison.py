"""Which runs answer the question: the plan against no shaping, against another model, or at a row of values."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pfq.diagnostics import Diagnostic, Refused, refuse
from pfq.plan.build import plan_site
from pfq.plan.model import Gateway, Plan, Uplink
from pfq.simulate.scenario import Scenario
from pfq.simulate.world import Manner, Result, World
from pfq.site.kinds import meant
from pfq.site.load import read_file
from pfq.site.model import Site

Progress = Callable[[str, float], None]
NOTHING, INTERLEAVED = "none", "interleaved"


@dataclass(frozen=True, slots=True)
class Subject:
    """A gateway's uplink, and the rate of its line down (bit/s)."""

    gateway: Gateway
    uplink: Uplink
    down: int
    down_given: bool
    plan: Plan


@dataclass(frozen=True, slots=True)
class Comparison:
    """Runs of one scenario, the one to compare with first, the model's own last."""

    subject: Subject
    scenario: Scenario
    seed: int
    runs: tuple[Result, ...]


def subject_of(site: Site, faults: list[Diagnostic], host: str | None, link: str | None) -> Subject:
    """The host's uplink to simulate; the first one unless `host` and `link` say. Raises Refused with every fault of the model."""
    if host is not None and host in site.hosts:
        site = replace(site, hosts={host: site.hosts[host]})
    plan, more = plan_site(site)
    if faults or more:
        raise Refused([*faults, *more])
    if host is not None and host not in site.hosts:
        raise refuse("no-host", f"the model has no host {host!r}", hint=meant(host, list(site.hosts)))
    gateway = plan.gateways[0]
    names = [uplink.link for uplink in gateway.uplinks]
    if link is not None and link not in names:
        raise refuse("no-link", f"the host {gateway.name!r} has no link {link!r}", hint=meant(link, names))
    uplink = gateway.uplinks[names.index(link) if link else 0]
    down = site.links[uplink.link].down
    return Subject(gateway, uplink, down or uplink.up.line, down is not None, replace(plan, gateways=(gateway,)))


def load_subject(path: str, host: str | None, link: str | None) -> Subject:
    """As `subject_of`, of the model in a file ('-': standard input)."""
    site, faults = read_file(path)
    return subject_of(site, faults, host, link)


def simulate(subject: Subject, scenario: Scenario, manner: Manner, seed: int, label: str, progress: Progress | None = None) -> Result:
    """One run. Deterministic: equal arguments give equal results. Raises Refused for what is not simulated or would take too long."""
    world = World(subject.gateway, subject.uplink, subject.down, scenario, manner, seed)
    return world.run(label, None if progress is None else lambda part: progress(label, part))


def compare(subject: Subject, other: Subject | Manner, scenario: Scenario, seed: int, progress: Progress | None = None) -> Comparison:
    """The plan's run, and the one it is compared with: another model's plan, or no shaping, or bytes interleaved."""
    if isinstance(other, Subject):
        first = simulate(other, scenario, "plan", seed, f"the other ({other.gateway.name})", progress)
    else:
        first = simulate(subject, scenario, other, seed, "no shaping" if other == NOTHING else other, progress)
    return Comparison(subject, scenario, seed, (first, simulate(subject, scenario, "plan", seed, "the plan", progress)))
