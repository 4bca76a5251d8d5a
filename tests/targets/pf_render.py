"""Compiles model texts for pf, and picks statements out of the result."""

import re
from dataclasses import replace

from pfq.diagnostics import Diagnostic, Refused
from pfq.plan.build import build
from pfq.plan.model import Plan
from pfq.site.load import load_text
from pfq.targets import altq, queue

TARGETS = {"altq": altq, "queue": queue}

LINK = """
[links.adsl]
up = "128 kbit"
down = "512 kbit"
encapsulation = "pppoe-llc"
ipv6 = false
policy = "acks"
"""
ACKS = """
[policies.acks]
classes = [{ name = "q_pri", express = true }, { name = "q_def" }]
"""


def host(system: str, attachment: str = '"kue0"', more: str = "") -> str:
    """A gateway table, named gw, with the link adsl."""
    return f'[hosts.gw]\nsystem = "{system}"\n{more}\nlinks.adsl = {attachment}\n'


def hartmeier(system: str, interface: str = "kue0") -> str:
    """The system of the seed article on ACKs."""
    return LINK + ACKS + host(system, f'{{ interface = "{interface}", shaped_up = "100 kbit", mss = false }}')


def plan(text: str) -> Plan:
    """The plan of a model; what pf before 4.4 does with ToS is accepted, since nearly every model meets it there."""
    made = build(load_text(text, "site.toml"))
    return replace(made, accept=(*made.accept, "exact-low-delay"))


def compiled(text: str, part: str | None = None) -> str:
    """The pf.conf (or the part) of the model's first gateway."""
    made = plan(text)
    gateway = made.gateways[0]
    (file,) = TARGETS[gateway.system.family].render(made, gateway, part)
    return str(file.text)


def refusals(text: str) -> list[Diagnostic]:
    """What the target reports; empty if it reports nothing."""
    made = plan(text)
    gateway = made.gateways[0]
    try:
        TARGETS[gateway.system.family].render(made, gateway, None)
    except Refused as error:
        return list(error.diagnostics)
    return []


def codes(text: str) -> set[str]:
    return {item.code for item in refusals(text)}


def statements(text: str) -> list[str]:
    """The statements without comments, indentation and empty lines, macros replaced."""
    macros = dict(re.findall(r'^(\w+) = "([^"]*)"$', text, re.MULTILINE))
    found = []
    for line in text.splitlines():
        bare = line.strip()
        if bare and not bare.startswith("#") and not re.match(r"\w+ = ", bare):
            found.append(re.sub(r"\$(\w+)", lambda match: macros[match[1]], bare))
    return found
