"""The commands that show what a Linux gateway runs, and the names of their recordings."""

from pfq.status.outputs import Command
from pfq.status.script import Script

LINKS = Command("ip-link", ("ip", "-j", "link", "show"))
# -d: without it, tc says nothing of size tables and quanta.
QDISCS = Command("tc-qdisc", ("tc", "-s", "-d", "-j", "qdisc", "show"))
RULES = Command("nft", ("nft", "-j", "list", "ruleset"))


def classes(interface: str) -> Command:
    # -j would not help: iproute2 6.1 prints classes as text even then.
    return Command(f"tc-class-{interface}", ("tc", "-s", "-d", "class", "show", "dev", interface))


def filters(interface: str, parent: str) -> Command:
    return Command(f"tc-filter-{interface}-{parent.rstrip(':')}", ("tc", "-s", "-d", "filter", "show", "dev", interface, "parent", parent))


def compiled_rules(script: Script) -> Command:
    """The compiled rules as this system's nft lists them: loaded into a network namespace of their own, which is gone afterwards."""
    return Command("nft-compiled", ("unshare", "-n", "sh", "-c", "nft -f - && nft -j list ruleset"), script.rules)


def setting(path: str) -> Command:
    return Command(f"proc-{path.replace('/', '-')}", ("cat", f"/proc/sys/{path}"))


def filtered(script: Script) -> list[tuple[str, str]]:
    """Interface and parent of every place where filters may be: those of the statements, and the roots."""
    places = [(interface, "1:") for interface, _ in script.roots]
    for words in script.statements:
        if words[:2] == ("filter", "add"):
            places.append((words[words.index("dev") + 1], words[words.index("parent") + 1]))
    return list(dict.fromkeys(places))


def queue_commands(script: Script) -> list[Command]:
    """What anybody may ask."""
    found = [LINKS, QDISCS]
    found += [classes(interface) for interface, _ in script.roots]
    found += [filters(interface, parent) for interface, parent in filtered(script)]
    return found + [setting(path) for path, _ in script.settings]


def rule_commands(script: Script) -> list[Command]:
    """What only root may ask."""
    return [RULES, compiled_rules(script)]
