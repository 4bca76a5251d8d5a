"""A gateway's text, read back into a ruleset that can be asked."""

from collections.abc import Mapping

from pfq.diagnostics import refuse
from pfq.headers.asking import Ruleset
from pfq.plan.model import Gateway, Uplink
from pfq.site.systems import System, is_group


def wire(gateway: Gateway, uplink: Uplink) -> str:
    """The interface that a link's packets really pass: where the model names a group, the one that has its queues."""
    return uplink.queue_on if is_group(gateway.system, uplink.interface) else uplink.interface


def ruleset_of(gateway: Gateway, texts: Mapping[str, str]) -> Ruleset:
    """The gateway's ruleset, from its files' texts by name. Raises Refused: it does not load, or has something that is not modelled."""
    if gateway.system.family == "linux":
        from pfq.linux import evaluate, read

        return evaluate.ruleset(read(texts))
    (name, text), *_ = texts.items()
    return pf_ruleset(gateway.system, name, text, gateway)


def pf_ruleset(system: System, name: str, text: str, gateway: Gateway) -> Ruleset:
    """A gateway's pf.conf as a ruleset. Raises Refused."""
    import pfq.pf
    import pfq.pf.evaluate
    from pfq.pf.system import Interface, WrongSystem

    try:
        machine = pfq.pf.System(system.os, system.version)
        for uplink in gateway.uplinks:
            if is_group(system, uplink.interface):
                known = machine.interface(uplink.queue_on)
                own = known.addresses if known is not None else ()
                machine.add(Interface(uplink.queue_on, own, groups=(uplink.interface,)))
        tree = pfq.pf.read(text, system.name, system=machine, file_name=name)
    except (pfq.pf.UnknownDialect, WrongSystem) as error:
        raise refuse("not-modelled", f"not modelled: {error}") from None
    carriers = {uplink.interface: uplink.queue_on for uplink in gateway.uplinks if uplink.queue_on != wire(gateway, uplink)}
    return pfq.pf.evaluate.ruleset(tree, carriers=carriers, file_name=name)


