"""What a ruleset with ALTQ looks like once it is in the kernel: `pfctl -gsq` and `pfctl -gsr`.

Source: pfctl_qstats.c, pfctl.c, and the numbering of queues and skip steps in the kernel (pf_ioctl.c, pf.c).
"""

from .altq_nodes import Altq, disciplines
from .altq_text import queue_text, rate_text
from .nodes import Host, Port, Rule
from .print import Printer
from .reading import Reading

_STEPS = (
    ("i", "interface", "interface_negated"), ("d", "direction", ""), ("f", "af", ""), ("p", "proto", ""),
    ("sa", "source", ""), ("sp", "source_port", ""), ("da", "destination", ""), ("dp", "destination_port", ""),
)


def queue_ids(r: Reading) -> dict[str, int]:
    """The numbers of queue names: counted from 1 in the order of definition; one name has one number everywhere."""
    ids: dict[str, int] = {}
    for queue in disciplines(r):
        if queue.name:
            ids.setdefault(queue.name, len(ids) + 1)
    return ids


def queues_text(r: Reading) -> str:
    """The queues of every interface as trees, with their numbers."""
    out: list[str] = []
    ids = queue_ids(r)
    queues = [queue for queue in disciplines(r) if queue.name]

    def show(queue: Altq, level: int) -> None:
        children = [one for one in queues if one.parent == queue.name and one.interface == queue.interface]
        names = f"{{{', '.join(one.name for one in children)}}}" if children else ""
        out.append(f"{queue_text(queue, True, level=level)}{names}\n")
        rate = rate_text(float(queue.interface_bandwidth))
        out.append(f"  [ qid={ids[queue.name]} ifname={queue.interface} ifbandwidth={rate} ]\n")
        for child in children:
            show(child, level + 1)

    for queue in queues:
        if not queue.parent:
            show(queue, 0)
    return "".join(out)


def rules_text(r: Reading) -> str:
    """The filter rules with the rules they skip to and the numbers of their queues."""
    printer = Printer(r.dialect, r.system)
    rules = [rule for rule in r.main.rules if rule.action in ("pass", "block")]
    ids = queue_ids(r)
    out: list[str] = []
    for number, rule in enumerate(rules):
        out.append(f"@{number} {printer.rule(rule)}\n  [ Skip steps: {_skips(rules, number)}]\n")
        if rule.queue:
            queue = ids.get(rule.queue, 0)
            ack = ids.get(rule.ack_queue, queue)
            out.append(f"  [ queue: qname={rule.queue} qid={queue} pqname={rule.ack_queue} pqid={ack} ]\n")
    return "".join(out)


def _skips(rules: list[Rule], number: int) -> str:
    words = []
    for letter, field, second in _STEPS:
        own = _value(rules[number], field, second)
        end = number + 1
        while end < len(rules) and _value(rules[end], field, second) == own:
            end += 1
        if end == len(rules):
            words.append(f"{letter}=end ")
        elif end != number + 1:
            words.append(f"{letter}={end} ")
    return "".join(words)


def _value(rule: Rule, field: str, second: str) -> object:
    value: object = getattr(rule, field)
    if isinstance(value, Host):
        return value.kind, value.value, value.bits, value.name, value.negated
    if isinstance(value, Port):
        return value.op, value.low, value.high
    return (value, getattr(rule, second)) if second else value
