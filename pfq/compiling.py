"""From a model's file to plans and outputs, with every fault of every stage at once."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from pfq.diagnostics import Diagnostic, Refused, refuse
from pfq.plan.build import plan_site
from pfq.plan.model import Plan
from pfq.site.kinds import meant
from pfq.site.load import read_file
from pfq.site.model import Site
from pfq.site.systems import UnknownSystem, parse_system
from pfq.targets.files import File
from pfq.targets.registry import compile_all


@contextmanager
def _without_collector() -> Iterator[None]:
    """Plans are trees without cycles: looking for cycles among a thousand of them costs a third of the time and finds nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _of_host(site: Site, host: str | None, faults: list[Diagnostic]) -> Site:
    if host is None:
        return site
    if host not in site.hosts:
        if faults:
            raise Refused(faults)
        raise refuse("no-host", f"the model has no host {host!r}", hint=meant(host, list(site.hosts)))
    return replace(site, hosts={host: site.hosts[host]})


def _for_target(site: Site, target: str | None) -> Site:
    if target is None:
        return site
    try:
        system = parse_system(target)
    except UnknownSystem as error:
        raise refuse("unknown-system", str(error), hint=error.hint) from None
    return replace(site, hosts={name: replace(host, system=system) for name, host in site.hosts.items()})


def plan_of(path: str, host: str | None) -> Plan:
    """The plan of the model at `path` ('-': standard input), of one host if named. Raises Refused."""
    site, faults = read_file(path)
    plan, more = plan_site(_of_host(site, host, faults))
    if faults or more:
        raise Refused([*faults, *more])
    return plan


def compile_site(path: str, host: str | None, target: str | None, part: str | None, several: bool) -> tuple[dict[str, list[File]], Plan]:
    """Each host's files by name, the result first, and the plan they come from. Raises Refused with every fault of every stage.

    several: whether more than one host may be compiled; without it a model of several hosts needs `host`.
    """
    with _without_collector():
        return _compile(path, host, target, part, several)


def _compile(path: str, host: str | None, target: str | None, part: str | None, several: bool) -> tuple[dict[str, list[File]], Plan]:
    site, faults = read_file(path)
    site = _for_target(_of_host(site, host, faults), target)
    if target is not None:
        faults = faults + _recheck(site)
    if not several and len(site.hosts) > 1 and not faults:
        names = ", ".join(list(site.hosts)[:20])
        raise refuse("which-host", f"the model has {len(site.hosts)} hosts", hint=f"say --host NAME ({names}), or -o DIR for all")
    plan, more = plan_site(site)
    faults = [*faults, *more]
    compiled = compile_all(plan, part, faults)
    if faults:
        raise Refused(faults)
    return compiled, plan


def _recheck(site: Site) -> list[Diagnostic]:
    """What is wrong with the hosts once they run another system."""
    from pfq.site.check import check_host
    from pfq.site.kinds import Faults

    faults = Faults(site.source)
    for host in site.hosts.values():
        check_host(host, site, faults)
    return faults.found
