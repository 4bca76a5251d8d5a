"""ALTQ: the altq and queue statements of OpenBSD until 5.4 and of FreeBSD.

Source: altqif, queuespec, queue_opt, scheduler, expand_altq and expand_queue of parse.y.
"""

from . import clauses
from .altq_nodes import Altq, CurveSpec, Place, Scheduler, Spec, disciplines
from .altq_rates import eval_discipline, eval_queue, store
from .altq_text import discipline_text, queue_text
from .lexer import STRING
from .nodes import InterfaceName
from .order import QUEUES, ordered
from .queues import bandwidth
from .reading import Fault, Reading, SyntaxFault

__all__ = ["Altq", "altq_rule", "disciplines", "queue_rule"]

_FLAGS = ("default", "borrow", "red", "ecn", "rio", "codel")
_INT_MAX = 2**31 - 1


class _Options:
    __slots__ = ("priority", "qlimit", "scheduler", "spec", "tbrsize")

    def __init__(self) -> None:
        self.spec = Spec(0, 100)
        self.priority = 1
        self.qlimit = 50
        self.tbrsize = 0
        self.scheduler: Scheduler | None = None


def _place(r: Reading, place: Place) -> None:
    r.queue_places.setdefault(place.queue, []).append(place)


def altq_rule(r: Reading) -> None:
    """`altq on INTERFACE SCHEDULER … queue { … }`."""
    r.i += 1
    interfaces = clauses.interfaces(r)
    options = _options(r)
    r.want("queue")
    names = _names(r)
    ordered(r, QUEUES)
    if options.scheduler is None:
        raise r.fail("no scheduler specified!", ahead=True)
    if not names and options.scheduler.kind != "codelq":
        raise r.fail("no child queues specified", ahead=True)
    if r.anchor_name:
        return
    wrong = False
    for interface in interfaces or [InterfaceName("")]:
        wrong = not _discipline(r, interface, options, options.scheduler, names) or wrong
    if wrong:
        raise Fault


def _discipline(
    r: Reading, interface: InterfaceName, options: _Options, scheduler: Scheduler, names: list[str]
) -> bool:
    if interface.negated:
        r.say("altq on ! <interface> is not supported")
        return False
    altq = Altq("", interface.name, scheduler.kind)
    altq.qlimit = options.qlimit
    altq.tbrsize = options.tbrsize
    altq.spec = options.spec
    altq.written = scheduler
    altq.line = r.lines[0]
    good = eval_discipline(r, altq)
    if good:
        store(r, altq)
    if r.verbose:
        text = discipline_text(altq)
        if names:
            text += "queue { " + "".join(f"{name} " for name in names) + "}"
        r.stdout.append(text + "\n")
    root = ""
    if scheduler.kind in ("cbq", "hfsc"):
        root = f"root_{interface.name}"
        queue = Altq(root, interface.name, scheduler.kind)
        queue.qlimit = altq.qlimit
        queue.spec = Spec(altq.interface_bandwidth, 0)
        queue.written = scheduler
        queue.root = True
        if eval_queue(r, queue):
            store(r, queue)
        else:
            good = False
    for name in names:
        _place(r, Place(name, interface.name, root, scheduler.kind))
    return good


def queue_rule(r: Reading) -> None:
    """`queue NAME …`."""
    r.i += 1
    name = r.string()
    interfaces = clauses.interfaces(r)
    options = _options(r)
    names = _names(r)
    ordered(r, QUEUES)
    if len(name) >= clauses.QUEUE_NAME:
        raise r.fail(f"queue name too long (max {clauses.QUEUE_NAME - 1} chars)", ahead=True)
    if options.tbrsize:
        raise r.fail("cannot specify tbrsize for queue", ahead=True)
    if r.anchor_name:
        return
    if not _queue(r, name, interfaces, options, names):
        raise r.fail("errors in queue definition", ahead=True)


def _queue(r: Reading, name: str, interfaces: list[InterfaceName], options: _Options, names: list[str]) -> bool:
    found = 0
    good = True
    for interface in interfaces or [InterfaceName("")]:
        for place in r.queue_places.get(name, ()):
            if interface.name and (place.interface == interface.name) == interface.negated:
                continue
            found += 1
            if options.scheduler is not None and options.scheduler.kind != place.scheduler:
                r.say("exactly one scheduler type per interface allowed")
                return False
            if place.scheduler == "priq":
                if names:
                    r.say("priq queues cannot have child queues")
                    return False
                if options.spec.absolute > 0 or options.spec.percent < 100:
                    r.say("priq doesn't take bandwidth")
                    return False
            queue = Altq(name, place.interface, place.scheduler)
            queue.parent = place.parent
            queue.priority = options.priority
            queue.qlimit = options.qlimit
            queue.spec = options.spec
            queue.line = r.lines[0]
            queue.written = options.scheduler or Scheduler(place.scheduler)
            shown = queue
            if eval_queue(r, queue):
                store(r, queue)
            else:
                good = False
                # pfctl prints what it stored last.
                stored = disciplines(r)
                shown = stored[-1] if stored else queue
            for child in names:
                if child == name:
                    r.say("queue cannot have itself as child")
                    good = False
                    continue
                _place(r, Place(child, place.interface, name, place.scheduler))
            if r.verbose and (found == 1 or interface.name):
                text = queue_text(shown, bool(interface.name), options.spec, queue.written)
                if names:
                    text += "{ " + "".join(f"{child} " for child in names) + "}"
                r.stdout.append(text + "\n")
    if not found:
        r.say(f"queue {name} has no parent")
        return False
    return good


def _names(r: Reading) -> list[str]:
    if r.kinds[r.i] == STRING or r.kinds[r.i] == "{":
        return clauses.listed(r, _queue_name)
    r.at_end()
    return []


def _queue_name(r: Reading) -> str:
    name = r.string()
    if len(name) >= clauses.QUEUE_NAME:
        raise r.fail(f"queue name '{name}' too long (max {clauses.QUEUE_NAME - 1} chars)")
    return name


_SCHEDULERS = ("cbq", "priq", "hfsc", "fairq", "codelq")


def _options(r: Reading) -> _Options:
    options = _Options()
    seen: set[str] = set()

    def once(what: str, ahead: bool = False) -> None:
        if what in seen:
            raise r.fail(f"{what} cannot be respecified", ahead)
        seen.add(what)

    while True:
        kind = r.kinds[r.i]
        start = r.i
        if kind == "bandwidth":
            r.i += 1
            spec = Spec(*bandwidth(r))
            once(kind)
            options.spec = spec
        elif kind in ("priority", "qlimit", "tbrsize"):
            r.i += 1
            number = r.number()
            once(kind)
            most = 255 if kind == "priority" else 2**32 - 1 if kind == "tbrsize" and r.dialect.altq_wide else 65535
            if not 0 <= number <= most:
                if kind == "tbrsize":
                    raise r.fail(f"tbrsize too big: max {most}")
                raise r.fail(f"{kind} out of range: max {most}")
            setattr(options, kind, number)
        elif kind in _SCHEDULERS:
            scheduler = _scheduler(r)
            once("scheduler", ahead=True)
            options.scheduler = scheduler
        else:
            return options
        r.mark(kind, start)


def _scheduler(r: Reading) -> Scheduler:
    kind = r.kinds[r.i]
    r.i += 1
    scheduler = Scheduler(kind)
    if not r.take("("):
        return scheduler
    while True:
        if kind in ("hfsc", "fairq") and r.kinds[r.i] in ("linkshare", "realtime", "upperlimit"):
            _curve(r, scheduler)
        elif kind == "fairq" and r.kinds[r.i] in ("hogs", "buckets"):
            if r.values[r.i] == "hogs":
                r.i += 1
                scheduler.hogs = Spec(*bandwidth(r))
            else:
                r.i += 1
                scheduler.buckets = clauses.number(r)
        elif kind == "codelq" and r.kinds[r.i] in ("target", "interval"):
            what = r.kinds[r.i]
            r.i += 1
            number = clauses.number(r)
            if getattr(scheduler, what):
                raise r.fail(f"{what} already specified")
            setattr(scheduler, what, number)
        else:
            _flag(r, scheduler)
        if r.take(")"):
            return scheduler
        r.take(",")


def _flag(r: Reading, scheduler: Scheduler) -> None:
    flag = r.string()
    kind = scheduler.kind
    known = flag in _FLAGS and (flag != "borrow" or kind == "cbq") and (flag != "codel" or r.dialect.altq_codel)
    if kind == "codelq":
        if flag != "ecn":
            raise r.fail(f'unknown codel option "{flag}"')
    elif not known:
        raise r.fail(f'unknown {kind} flag "{flag}"')
    scheduler.flags.add(flag)
    if flag == "ecn":
        scheduler.flags.add("red")


def _curve(r: Reading, scheduler: Scheduler) -> None:
    kind = r.kinds[r.i]
    if scheduler.kind == "fairq" and kind != "linkshare":
        raise SyntaxFault
    r.i += 1
    if r.take("("):
        m1 = Spec(*bandwidth(r))
        r.take(",")
        d = r.number()
        r.take(",")
        m2 = Spec(*bandwidth(r))
        r.want(")")
        if not 0 <= d <= _INT_MAX:
            raise r.fail("timing in curve out of range")
        curve = CurveSpec(m2, m1, d)
    else:
        curve = CurveSpec(Spec(*bandwidth(r)))
    if kind in scheduler.curves:
        raise r.fail(f"{kind} already specified")
    scheduler.curves[kind] = curve
