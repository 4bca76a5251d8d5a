"""A plan for people and for programs."""

import json
from collections.abc import Iterator
from typing import Any

from pfq.plan.model import Classifier, Figure, Gateway, Plan, Queue, ServiceCurve, Tree, Uplink
from pfq.site.model import Match
from pfq.site.schema import DSCP, PROTOCOLS
from pfq.site.units import show_rate, show_time

_PROTOCOL_NAMES = {number: name for name, number in PROTOCOLS.items()}
_DSCP_NAMES = {number: name for name, number in DSCP.items()}


def show_figure(figure: Figure) -> str:
    """'100 kbit/s', '1448 bytes', '50 packets'."""
    if figure.unit == "bit/s":
        return show_rate(figure.value)
    return show_time(figure.value) if figure.unit == "us" else f"{figure.value} {figure.unit}"


def show_match(match: Match) -> str:
    """A match in words: 'udp port 53', 'icmp', 'tcp from 192.168.1.5 port 22 opened inside'."""
    words = [] if match.protocol is None else [str(_PROTOCOL_NAMES.get(match.protocol, match.protocol))]  # type: ignore[arg-type]
    for name, values in (("from", match.sources), ("to", match.destinations)):
        if values:
            words.append(f"{name} {', '.join(map(str, values))}")
    for name, ranges in (("source port", match.source_ports), ("port", match.ports)):
        if ranges:
            words.append(f"{name} {', '.join(str(a) if a == b else f'{a}-{b}' for a, b in ranges)}")
    if match.dscp:
        words.append(f"dscp {', '.join(_DSCP_NAMES[code] for code in match.dscp)}")
    if match.family:
        words.append(f"IPv{match.family}")
    if match.opened != "both":
        words.append(f"opened {match.opened}")
    return " ".join(words)


def as_text(plan: Plan) -> str:
    """The plan with every number's derivation, for reading. Ends with a newline."""
    lines = [f"site {plan.site}"] if plan.site else []
    for name in plan.accept:
        lines.append(f"accepted: {name}")
    for gateway in plan.gateways:
        lines += ["", *_gateway_lines(gateway)] if lines else [*_gateway_lines(gateway)]
    return "\n".join(lines) + "\n"


def _gateway_lines(gateway: Gateway) -> Iterator[str]:
    yield f"gateway {gateway.name} ({gateway.system.name})"
    for uplink in gateway.uplinks:
        on = "" if uplink.queue_on == uplink.interface else f", queues on {uplink.queue_on}"
        chosen = "" if uplink.scheduler_given else ", chosen by what the policy asks for"
        yield f"  link {uplink.link} on {uplink.interface}{on} ({uplink.encapsulation.name}), scheduler {uplink.scheduler}{chosen}"
        yield f"    mtu    {_with_reason(uplink.mtu)}"
        if uplink.mss:
            yield f"    mss    {_with_reason(uplink.mss)}"
        if uplink.txqueuelen:
            yield f"    txqueuelen  {_with_reason(uplink.txqueuelen)}"
        for tree in (uplink.up, uplink.down):
            if tree:
                yield from _tree_lines(tree)
        if uplink.down is None:
            yield "    down   not shaped"
        worst = uplink.encapsulation.serialisation(uplink.mtu.value, uplink.up.line)
        yield f"    least  {show_time(worst)} is the shortest worst wait: one packet of {uplink.mtu.value} bytes at {show_rate(uplink.up.line)}"
        yield from _classifier_lines(uplink.classifier)


def _with_reason(figure: Figure) -> str:
    return f"{show_figure(figure)}  ({figure.why})"


def _counts(tree: Tree) -> str:
    accounting = tree.accounting
    if accounting.exact:
        minimum = f", at least {accounting.minimum}" if accounting.minimum else ""
        cells = ", in ATM cells" if accounting.cells == "atm" else ""
        return f"bytes of the line: {accounting.overhead:+d}{minimum}{cells}"
    return f"IP+{accounting.counted} bytes"


def _tree_lines(tree: Tree) -> Iterator[str]:
    yield f"    {tree.direction:<6} {_with_reason(tree.rate)}"
    yield f"           {tree.where} {tree.interface}, counts {_counts(tree)}; burst {_with_reason(tree.burst)}"
    if tree.beside:
        yield f"           beside other traffic on an interface of {show_rate(tree.beside)}"
    for note in tree.notes:
        yield f"           note: {note}"
    if tree.where != "police":
        yield from _queue_lines(tree.queues, "      ")


def _queue_lines(queues: tuple[Queue, ...], indent: str) -> Iterator[str]:
    for queue in queues:
        flags = [name for name, on in (("express", queue.express), ("default", queue.default)) if on]
        flags += [f"shared by {queue.fair}"] if queue.fair != "none" else []
        flags += [f"drop {queue.drop}"] if queue.drop != "tail" else []
        yield f"{indent}{queue.rank}. {queue.name}{' [' + ', '.join(flags) + ']' if flags else ''}"
        yield f"{indent}   share      {_with_reason(queue.share)}"
        for name, curve in (("guarantee", queue.guarantee), ("ceiling", queue.ceiling)):
            if curve:
                yield f"{indent}   {name:<9}  {_curve(curve)}"
        if queue.children:
            yield from _queue_lines(queue.children, indent + "   ")
        else:
            yield f"{indent}   limit      {_with_reason(queue.limit if queue.fair == 'none' else queue.fair_limit)}"


def _curve(curve: ServiceCurve) -> str:
    burst = "" if curve.burst is None else f"{show_rate(curve.burst)} for {show_time(curve.microseconds)}, then "
    return burst + _with_reason(curve.rate)


def _classifier_lines(classifier: Classifier) -> Iterator[str]:
    yield "    classifier, first match decides"
    for network in classifier.exclude:
        yield f"      to or from {network}: not shaped"
    for rule in classifier.rules:
        yield f"      {show_match(rule.match)}: {rule.queue}"
    yield f"      everything else: {classifier.default}"
    express = classifier.express
    if express:
        families = " and ".join(f"IPv{family}" for family in express.families)
        yield f"      then, packet by packet: empty TCP ACKs and low delay ({families}) of {', '.join(sorted(express.upgraded))}: {express.queue}"
    if classifier.unclassified:
        yield f"      frames without an IP header: {classifier.unclassified}"


def as_json(plan: Plan) -> str:
    """The plan as JSON, rates in bit/s, times in microseconds, sizes in bytes. Ends with a newline."""
    return json.dumps({"site": plan.site, "accept": plan.accept, "gateways": [_gateway(g) for g in plan.gateways]}, indent=2) + "\n"


def _gateway(gateway: Gateway) -> dict[str, Any]:
    inside = [{"interface": i.interface, "networks": [str(n) for n in i.networks], "speed": i.speed} for i in gateway.inside]
    return {"name": gateway.name, "system": gateway.system.name, "inside": inside, "links": [_uplink(u) for u in gateway.uplinks]}


def _uplink(uplink: Uplink) -> dict[str, Any]:
    classifier, inbound = uplink.classifier, uplink.inbound
    express = classifier.express
    return {
        "link": uplink.link,
        "interface": uplink.interface,
        "queue_on": uplink.queue_on,
        "scheduler": uplink.scheduler,
        "encapsulation": uplink.encapsulation.name,
        "mtu": _figure(uplink.mtu),
        "mss": _figure(uplink.mss),
        "txqueuelen": _figure(uplink.txqueuelen),
        "up": _tree(uplink.up),
        "down": _tree(uplink.down) if uplink.down else None,
        "classifier": {
            "exclude": [str(network) for network in classifier.exclude],
            "rules": [{"class": rule.queue, "match": _match(rule.match)} for rule in classifier.rules],
            "default": classifier.default,
            "express": {"class": express.queue, "upgraded": sorted(express.upgraded), "families": express.families} if express else None,
            "unclassified": classifier.unclassified,
        },
        "nat": uplink.nat if isinstance(uplink.nat, bool) else str(uplink.nat),
        "one_to_one": [{"inside": str(pair.inside), "outside": str(pair.outside)} for pair in uplink.one_to_one],
        "inbound": {
            "services": [{"protocol": s.protocol, "ports": s.ports} for s in inbound.services],
            "operator": {"port": inbound.operator_port, "from": [str(n) for n in inbound.operator_from]},
        }
        if inbound
        else None,
    }


def _figure(figure: Figure | None) -> dict[str, Any] | None:
    return None if figure is None else {"value": figure.value, "unit": figure.unit, "given": figure.given, "why": figure.why}


def _tree(tree: Tree) -> dict[str, Any]:
    accounting = tree.accounting
    return {
        "where": tree.where,
        "interface": tree.interface,
        "line": tree.line,
        "rate": _figure(tree.rate),
        "accounting": {
            "exact": accounting.exact,
            "counted": accounting.counted,
            "overhead": accounting.overhead,
            "minimum": accounting.minimum,
            "cells": accounting.cells,
        },
        "burst": _figure(tree.burst),
        "mtu": tree.mtu,
        "beside": tree.beside,
        "notes": tree.notes,
        "queues": [_queue(queue) for queue in tree.queues],
    }


def _queue(queue: Queue) -> dict[str, Any]:
    return {
        "name": queue.name,
        "rank": queue.rank,
        "express": queue.express,
        "default": queue.default,
        "share": _figure(queue.share),
        "guarantee": _service_curve(queue.guarantee),
        "ceiling": _service_curve(queue.ceiling),
        "limit": _figure(queue.limit),
        "fair_limit": _figure(queue.fair_limit),
        "target": queue.target,
        "interval": queue.interval,
        "fair": queue.fair,
        "drop": queue.drop,
        "children": [_queue(child) for child in queue.children],
    }


def _service_curve(curve: ServiceCurve | None) -> dict[str, Any] | None:
    return None if curve is None else {"rate": _figure(curve.rate), "burst": curve.burst, "microseconds": curve.microseconds}


def _match(match: Match) -> dict[str, Any]:
    return {
        "protocol": match.protocol,
        "ports": match.ports,
        "source_ports": match.source_ports,
        "from": [str(network) for network in match.sources],
        "to": [str(network) for network in match.destinations],
        "dscp": match.dscp,
        "family": match.family,
        "opened": match.opened,
    }
