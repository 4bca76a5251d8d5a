"""`pfq targets`: the systems, and what each can express."""

from pfq.diagnostics import refuse
from pfq.site.systems import RANGES, System, UnknownSystem, parse_system
from pfq.targets.registry import abilities, parts


def _span(first: tuple[int, int], last: tuple[int, int]) -> str:
    end = "and later" if last[1] == 99 else f"to {last[0]}.{last[1]}"
    return f"{first[0]}.{first[1]} {end}"


def show(name: str | None) -> str:
    """A table of all systems, or everything that one of them can express. Raises Refused for an unknown system."""
    if name is None:
        lines = [f"{'system':<9} {'versions':<16} {'language':<9} {'downloads shaped':<24} schedulers, the one chosen first written first"]
        for row in RANGES:
            span = _span(row.first, row.last)
            lines.append(f"{row.os:<9} {span:<16} {row.family:<9} {', '.join(row.down) or '-':<24} {', '.join(row.schedulers)}")
        lines += ["", "pfq targets SYSTEM shows what one can express, such as `pfq targets openbsd-7.6`."]
        return "\n".join(lines) + "\n"
    try:
        system = parse_system(name)
    except UnknownSystem as error:
        raise refuse("unknown-system", str(error), hint=error.hint) from None
    return _one(system)


def _one(system: System) -> str:
    rows = abilities(system)
    width = max(len(row.feature) for row in rows)
    lines = [f"{system.name}: --part {', '.join(parts(system))}"]
    lines += [f"  {'yes' if row.has else 'no':<4}{row.feature:<{width}}  {row.note}".rstrip() for row in rows]
    return "\n".join(lines) + "\n"
