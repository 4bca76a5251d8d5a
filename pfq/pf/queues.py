"""Queue definitions of OpenBSD 5.5 and later: trees of HFSC classes and flow queues.

Source: queuespec, queue_opt, scspec and expand_queue of parse.y, the queue functions of pfctl.c, and print_queuespec of
pfctl_parser.c. Rates are bit/s, times milliseconds.
"""

from . import clauses
from .lexer import NUMBER, STRING
from .nodes import Anchor
from .reading import Fault, Reading, SyntaxFault


class Curve:
    """A rate, maybe with another for the first milliseconds."""

    __slots__ = ("burst", "milliseconds", "rate")

    def __init__(self, rate: int, burst: int = 0, milliseconds: int = 0) -> None:
        self.rate = rate
        self.burst = burst
        self.milliseconds = milliseconds


class Queue:
    """A queue as it was defined; `parent` is '' for a root. `children` are filled when the tree is built."""

    __slots__ = (
        "bandwidth", "children", "default", "flows", "interface", "line", "matches", "maximum", "minimum", "name",
        "parent", "qlimit", "quantum", "root_class",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent = ""
        self.interface = ""
        self.bandwidth: Curve | None = None
        self.minimum: Curve | None = None
        self.maximum: Curve | None = None
        self.flows = 0
        self.quantum = 0
        self.qlimit = 0
        self.default = False
        self.root_class = False
        self.children: list[Queue] = []
        self.matches = 0
        self.line = 0

    def copy(self) -> "Queue":
        """The same queue without its children, to stand in one more place of the tree."""
        new = Queue(self.name)
        for field in Queue.__slots__:
            if field not in ("children", "matches"):
                setattr(new, field, getattr(self, field))
        return new


_UNITS = {"b": 1, "K": 1000, "M": 1000_000, "G": 1000_000_000}


def queue_rule(r: Reading) -> None:
    """`queue NAME on INTERFACE …`."""
    r.i += 1
    name = r.string()
    interfaces = clauses.interfaces(r)
    queue = Queue(name)
    seen: set[str] = set()
    _option(r, queue, seen)
    while r.kinds[r.i] in _WORDS:
        _option(r, queue, seen)
    r.at_end()
    if not interfaces and not queue.parent:
        raise r.fail("root queue without interface", ahead=True)
    if name.startswith("_") and r.dialect.underscored_queues_refused:
        raise r.fail("queue names must not start with _", ahead=True)
    if interfaces and r.system.interface(interfaces[0].name) is None and r.dialect.queue_interfaces_checked:
        raise r.fail("not an interface", ahead=True)
    queue.line = r.lines[0]
    r.result = queue
    for interface in [one.name for one in interfaces] or [""]:
        one = queue.copy()
        one.interface = interface
        if not _define(r, one):
            return


_WORDS = ("bandwidth", "parent", "default", "qlimit", "flows", "quantum")


def _option(r: Reading, queue: Queue, seen: set[str]) -> None:
    kind = r.kinds[r.i]
    if kind not in _WORDS:
        raise SyntaxFault
    start = r.i
    r.i += 1
    if kind == "bandwidth":
        bandwidth = _curve(r)
        minimum, maximum = _limits(r)
        _once(r, kind, seen, ahead=True)
        queue.bandwidth, queue.minimum, queue.maximum = bandwidth, minimum, maximum
    elif kind == "parent":
        parent = r.string()
        _once(r, kind, seen)
        queue.parent = parent
    elif kind == "default":
        _once(r, kind, seen)
        queue.default = True
    else:
        number = r.number()
        _once(r, "number of flows" if kind == "flows" else kind, seen)
        least, most, what = {
            "qlimit": (0, 65535, "qlimit"),
            "flows": (1, 32767, "number of flows"),
            "quantum": (1, 65535, "quantum"),
        }[kind]
        if not least <= number <= most:
            raise r.fail(f"{what} out of range: max {most}")
        setattr(queue, kind, number)
    r.mark(kind, start)


def _once(r: Reading, what: str, seen: set[str], ahead: bool = False) -> None:
    if what in seen:
        raise r.fail(f"{what} cannot be respecified", ahead)
    seen.add(what)


def _limits(r: Reading) -> tuple[Curve | None, Curve | None]:
    """`min` and `max` behind a bandwidth, in either order, each at most once."""
    found: dict[str, Curve] = {}
    while len(found) < 2:
        at = r.i
        r.take(",")
        kind = r.kinds[r.i]
        if kind not in ("min", "max") or kind in found:
            if r.i != at:
                raise SyntaxFault
            break
        r.i += 1
        found[kind] = _curve(r)
    return found.get("min"), found.get("max")


def _curve(r: Reading) -> Curve:
    rate, percent = bandwidth(r)
    if r.take("burst"):
        burst, percent_too = bandwidth(r)
        r.want("for")
        text = r.string()
        digits = text.removesuffix("ms")
        if digits == text or not (digits == "" or digits.isdigit()):
            raise r.fail("time in scspec must be in ms")
        if percent or percent_too:
            raise r.fail("no bandwidth in % yet")
        return Curve(rate, burst, int(digits or "0") & 0xFFFFFFFF)
    if percent:
        raise r.fail("no bandwidth in % yet", ahead=True)
    return Curve(rate)


def bandwidth(r: Reading) -> tuple[int, int]:
    """A rate in bit/s and a percentage, one of which is 0."""
    kind = r.kinds[r.i]
    value = r.values[r.i]
    r.i += 1
    if kind == NUMBER:
        number = int(value)
        if not 0 <= number < 2**32:
            raise r.fail("bandwidth number too big")
        return number, 0
    if kind != STRING:
        r.i -= 1
        raise SyntaxFault
    rate, unit = clauses.floating(value)
    if r.dialect.short_units:
        if len(unit) > 1 and unit[1:] in ("Bit", "B", "bit", "b"):
            unit = unit[0]
        factor = _UNITS.get(unit)
    else:
        factor = {"b": 1, "Kb": 1000, "Mb": 1000_000, "Gb": 1000_000_000}.get(unit)
    if unit == "%":
        if not 0 <= rate <= 100:
            raise r.fail("bandwidth spec out of range")
        return 0, int(rate)
    if factor is None:
        raise r.fail(f'unknown unit "{unit}"' if r.dialect.queue_trees else f"unknown unit {unit}")
    whole = int(min(max(rate * factor, 0), 2.0**63))
    wide = r.dialect.queue_trees or r.dialect.altq_wide
    return (whole if wide else whole & 0xFFFFFFFF), 0


def _define(r: Reading, queue: Queue) -> bool:
    """Add a queue to the definitions; False after an error was said."""
    queue.root_class = not queue.parent and queue.bandwidth is not None
    if queue.bandwidth is None and not queue.flows:
        r.say("no bandwidth or flow specification")
        return False
    if len(queue.name) >= clauses.QUEUE_NAME:
        r.say("queuename too long")
        return False
    if len(queue.parent) >= clauses.QUEUE_NAME:
        r.say("parent too long")
        return False
    if r.anchor_name:
        r.stdout.append("must not have queue definitions in an anchor\n")
        r.say("cannot add queue")
        return False
    if queue.parent:
        r.child_queues.append(queue)
        r.child_queue_names.add(queue.name)
        return True
    for root in roots(r):
        if root.interface == queue.interface:
            r.stdout.append(f"A root queue is already defined on {queue.interface}\n")
            r.say("cannot add queue")
            return False
    r.root_queues.append(queue)
    return True


def roots(r: Reading) -> list[Queue]:
    """The root queues defined so far."""
    return [queue for queue in r.root_queues if isinstance(queue, Queue)]


def children(r: Reading) -> list[Queue]:
    """The queues with a parent defined so far."""
    return [queue for queue in r.child_queues if isinstance(queue, Queue)]


def is_defined(r: Reading, name: str) -> bool:
    """Whether a rule may name this queue: pfctl looks for it among the queues that have a parent."""
    return name in r.child_queue_names


_MOST_MATCHES = 10000
_DEEPEST = 500


def settle(r: Reading) -> None:
    """Build the trees, check them and the queues that rules name. Raises Exit or Fault after saying what is wrong."""
    by_parent: dict[str, list[Queue]] = {}
    for queue in children(r):
        by_parent.setdefault(queue.parent, []).append(queue)
    for root in roots(r):
        default = _adopt(r, root, by_parent, 0)
        if not root.root_class and root.children:
            if root.flows:
                raise r.die(f"root queue {root.name} doesn't support hierarchy")
            raise r.die(f"no bandwidth was specified for root queue {root.name}")
        if root.root_class and not default:
            raise r.die("no default queue specified")
    if _inner_queues(r, r.main):
        raise Fault
    for queue in children(r):
        if not queue.matches:
            raise r.die(f"queue {queue.name}: parent {queue.parent} not found")
        if queue.bandwidth is None or (not queue.bandwidth.rate and not queue.bandwidth.burst):
            raise r.die(f"queue {queue.name}: no bandwidth was specified")


def _adopt(r: Reading, queue: Queue, by_parent: dict[str, list[Queue]], depth: int) -> bool:
    """Give a queue its children, and them theirs; whether a default queue is among them."""
    default = queue.default
    by_name: dict[str, Queue] = {}
    for child in by_parent.get(queue.name, ()):
        if child.interface and child.interface != queue.interface:
            continue
        child.matches += 1
        if child.matches > _MOST_MATCHES or depth > _DEEPEST:
            raise r.die("pfctl_find_childqs: excessive matches, loop?")
        known = by_name.get(child.name)
        if known is None:
            known = child.copy()
            by_name[child.name] = known
            queue.children.append(known)
            continue
        if known.interface and child.interface:
            raise r.die(f"queue {known.name} on {known.interface} respecified")
        if not known.interface and not child.interface:
            raise r.die(f"queue {known.name} respecified")
        if not known.interface:
            bound = child.copy()
            queue.children[queue.children.index(known)] = bound
            by_name[child.name] = bound
    for one in queue.children:
        default = _adopt(r, one, by_parent, depth + 1) or default
    if queue.children:
        if queue.default:
            raise r.die(f"default queue {queue.name} is not a leaf queue")
        if queue.flows:
            raise r.die(f"flow queue {queue.name} is not a leaf queue")
    return default


def _inner_queues(r: Reading, anchor: Anchor) -> int:
    """Say which rules name a root queue that has children; how many did."""
    inner = {root.name for root in roots(r) if root.children}
    wrong = 0
    for rule in anchor.rules:
        if rule.anchor is not None:
            wrong += _inner_queues(r, rule.anchor)
        for name in (rule.queue, rule.ack_queue):
            if name in inner:
                r.stdout.append(f"queue {name}: packets must be assigned to leaf queues only\n")
                wrong += 1
                break
    return wrong


def show(r: Reading) -> None:
    """Print the trees, as they are loaded."""
    for root in roots(r):
        _show(r, root, root.interface)


def _show(r: Reading, queue: Queue, interface: str) -> None:
    r.stdout.append(queue_text(queue))
    for child in queue.children:
        _show(r, child, interface)


def queue_text(queue: Queue) -> str:
    """A queue as pfctl prints it, with its line end."""
    words = [f"queue {queue.name}"]
    if queue.parent:
        words.append(f" parent {queue.parent}")
    elif queue.interface:
        words.append(f" on {queue.interface}")
    if queue.flows:
        words.append(f" flows {queue.flows}")
        if queue.quantum:
            words.append(f" quantum {queue.quantum}")
    if queue.bandwidth is not None and (queue.bandwidth.rate or queue.bandwidth.burst):
        for prefix, curve in ((" bandwidth ", queue.bandwidth), (", min ", queue.minimum), (", max ", queue.maximum)):
            if curve is not None:
                words.append(_curve_text(prefix, curve))
    if queue.default:
        words.append(" default")
    if queue.qlimit:
        words.append(f" qlimit {queue.qlimit}")
    return "".join(words) + "\n"


def _curve_text(prefix: str, curve: Curve) -> str:
    text = rate_text(prefix, curve.rate)
    if curve.milliseconds:
        text += f" burst {rate_text('', curve.burst)} for {curve.milliseconds}ms"
    return text


def rate_text(prefix: str, rate: int) -> str:
    """A rate in the largest unit that divides it; nothing for 0."""
    if not rate:
        return ""
    unit = 0
    while rate >= 1000 and unit < 3 and rate % 1000 == 0:
        rate //= 1000
        unit += 1
    return f"{prefix}{rate}{' KMG'[unit]}"
