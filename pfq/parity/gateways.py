"""A gateway's text, read back into a ruleset that can be asked."""

from collections.abc import Mapping

from pfq.diagnostics import refuse
from pfq.headers.asking import Ruleset
from pfq.plan.model import Gateway, Uplink
from pfq.site.systems import is_group


def wire(gateway: Gateway, uplink: Uplink) -> str:
    """The interface that a link's packets really pass: where the model names a group, the one that has its queues."""
    return uplink.queue_on if is_group(gateway.system, uplink.interface) else uplink.interface


def ruleset_of(gateway: Gateway, texts: Mapping[str, str]) -> Ruleset:
    """The gateway's ruleset, from its files' texts by name. Raises Refused: it does not load, or has something that is not modelled."""
    if gateway.system.family == "linux":
        from pfq.linux import read
        from pfq.linux.evaluate import ruleset

        return ruleset(read(texts), carriers=_carriers(gateway))
    return _pf_ruleset(gateway, texts)


def _carriers(gateway: Gateway) -> dict[str, str]:
    """Where packets of an interface wait too: on the interface that has the link's queues."""
    return {uplink.interface: uplink.queue_on for uplink in gateway.uplinks if uplink.queue_on != wire(gateway, uplink)}


def _pf_ruleset(gateway: Gateway, texts: Mapping[str, str]) -> Ruleset:
    import pfq.pf
    import pfq.pf.evaluate
    from pfq.parity.recorded import recorded
    from pfq.pf.system import Interface

    system = gateway.system
    machine = pfq.pf.System(system.os, system.version)
    for uplink in gateway.uplinks:
        if is_group(system, uplink.interface):
            known = machine.interface(uplink.queue_on)
            machine.add(Interface(uplink.queue_on, known.addresses if known is not None else (), groups=(uplink.interface,)))
    listings = recorded(texts)
    name = next(iter(texts))
    try:
        if listings:
            tree = pfq.pf.evaluate.printed(system.name, listings.rules, listings.translation, listings.queues, tables=listings.tables, system=machine)
        else:
            tree = pfq.pf.read("".join(texts.values()), system.name, system=machine, file_name=name)
    except pfq.pf.UnknownDialect as error:
        raise refuse("not-modelled", f"not modelled: {error}") from None
    return pfq.pf.evaluate.ruleset(tree, carriers=_carriers(gateway), file_name=name)
