"""The files of a pf target: headers, macros, tables, and the comments that say how to load them."""

from collections.abc import Callable

from pfq.plan.model import Gateway, Plan
from pfq.targets.files import File
from pfq.targets.pf_dialects import Dialect
from pfq.targets.pf_match import Table
from pfq.targets.pf_names import Names
from pfq.targets.pf_text import Section, Statement, braces, comment, comments, network
from pfq.targets.rendering import render

TEMPLATE = "pf/pf.conf.j2"


def _file(name: str, about: list[str], sections: list[Section]) -> File:
    """A file with its sections; those without statements and notes are left out."""
    full = [section for section in sections if section.statements]
    return File(name, render(TEMPLATE, header=comments(about), sections=full))


def files(
    part: str | None, about: list[str], names: Names, queueing: Section, listed: list[Table], assignments: list[Section],
    complete: Callable[[], list[Section]],
) -> list[File]:
    """The file of a part, or the complete pf.conf, whose sections but for macros and tables `complete` gives."""
    if part == "queues":
        return [_file("queues.conf", about, [queueing])]
    if part == "rules":
        return [_file("rules.conf", about, [tables(listed), *assignments])]
    sections = complete()
    return [_file("pf.conf", about, [macros(names, sections), tables(listed), *sections])]


def header(what: str, plan: Plan, gateway: Gateway, dialect: Dialect) -> list[str]:
    """What every file begins with: what it is, and whose."""
    site = f" of site {plan.site}" if plan.site else ""
    return [f"{what} for {gateway.name}{site}, {dialect.name}. Made by pfq from the site's model: change the model, not this file."]


def complete_header(plan: Plan, gateway: Gateway, dialect: Dialect) -> list[str]:
    """How a complete pf.conf is loaded, and what it does not do."""
    filtered = [uplink.link for uplink in gateway.uplinks if uplink.inbound]
    lines = header("pf.conf", plan, gateway, dialect)
    lines.append("Check: pfctl -nf /etc/pf.conf. Load: pfctl -f /etc/pf.conf. Switch pf on: pfctl -e.")
    if gateway.inside or any(uplink.nat or uplink.one_to_one for uplink in gateway.uplinks):
        lines.append("A gateway forwards only with sysctl net.inet.ip.forwarding=1 (and net.inet6.ip6.forwarding=1).")
    if dialect.kernel:
        lines.append(dialect.kernel)
    if not filtered:
        lines.append("It filters nothing; but pf, once it is on, drops packets with IP options that no rule allows (allow-opts, pf.conf(5)).")
    else:
        lines.append(f"It filters what comes in from {', '.join(filtered)}; everything else passes.")
    return lines


def macros(names: Names, sections: list[Section]) -> Section:
    """Definitions of the macros that the sections use."""
    text = "\n".join(statement.text for section in sections for statement in section.statements)
    used = [Statement(f'{name} = "{interface}"', comment(meaning)) for name, interface, meaning in names.macros if f"${name}" in text]
    return Section("interfaces", tuple(used))


def tables(found: list[Table]) -> Section:
    """Definitions of tables, in the main ruleset, where every anchor sees them."""
    written = [f"table <{table.name}> const {braces([network(item) for item in table.networks])}" for table in found]
    return Section("long lists of addresses", tuple(Statement(text) for text in written))
