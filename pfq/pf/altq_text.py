"""Disciplines and queues as pfctl prints them. Source: the print functions of pfctl_altq.c."""

from .altq_nodes import Altq, Scheduler, Spec


def rate_text(rate: float) -> str:
    """A rate with two decimals if it has a fraction in the unit that fits it."""
    unit = 0
    while rate >= 1000 and unit <= 3:
        rate /= 1000
        unit += 1
    suffix = " KMG"[unit] if unit < 4 else ""
    return f"{rate:.2f}{suffix}b" if int(rate * 100) % 100 else f"{int(rate)}{suffix}b"


def _spec_text(spec: Spec, rate: int) -> str:
    if spec.percent > 0:
        return f"bandwidth {spec.percent}% " if spec.percent < 100 else ""
    return f"bandwidth {rate_text(float(rate))} "


def discipline_text(altq: Altq) -> str:
    text = f"altq on {altq.interface} "
    text += scheduler_text(altq, altq.written) or f"{altq.scheduler} "
    text += _spec_text(altq.spec, altq.interface_bandwidth)
    if altq.qlimit != 50:
        text += f"qlimit {altq.qlimit} "
    return f"{text}tbrsize {altq.tbrsize} "


def queue_text(
    queue: Altq, interface: bool, spec: Spec | None = None, written: Scheduler | None = None, level: int = 0
) -> str:
    """A queue as it is printed; without `spec` and `written` in the rates worked out, as once it is loaded."""
    text = f"queue {' ' * level}{queue.name} "
    if interface:
        text += f"on {queue.interface} "
    if queue.scheduler in ("cbq", "hfsc", "fairq"):
        text += _spec_text(spec or Spec(1, 0), queue.bandwidth)
    if queue.priority != 1:
        text += f"priority {queue.priority} "
    if queue.qlimit != 50:
        text += f"qlimit {queue.qlimit} "
    return text + scheduler_text(queue, written)


def scheduler_text(altq: Altq, written: Scheduler | None) -> str:
    """The scheduler with its options, or '' when it has none."""
    kind = altq.scheduler
    flags = set(altq.written.flags)
    words: list[str] = [flag for flag in ("red", "ecn", "rio", "codel") if flag in flags]
    if kind == "cbq":
        if "borrow" in flags:
            words.append("borrow")
        if altq.root:
            words += ["wrr", "root"]
    if kind == "codelq":
        return _codel_text(altq.written)
    if "default" in flags:
        words.append("default")
    if kind in ("hfsc", "fairq"):
        words += _curves_text(altq, written)
    return f"{kind}( {' '.join(words)} ) " if words else ""


def _codel_text(scheduler: Scheduler) -> str:
    text = f" target {scheduler.target}" if scheduler.target else ""
    text += f" interval {scheduler.interval}" if scheduler.interval else ""
    # pfctl has no space before this word.
    text += "ecn" if "ecn" in scheduler.flags else ""
    return f"codel({text} ) " if text else "codel "


def _curves_text(altq: Altq, written: Scheduler | None) -> list[str]:
    # The rates of curves are printed in 32 bits, even where they are worked out in 64.
    words = []
    for kind in ("realtime", "linkshare", "upperlimit"):
        curve = altq.curves.get(kind)
        if curve is None or not curve.m2:
            continue
        if kind == "linkshare" and curve.m2 == altq.bandwidth and not curve.d:
            continue
        spec = written.curves.get(kind) if written is not None else None
        m2 = f"{spec.m2.percent}%" if spec is not None and spec.m2.percent else rate_text(float(curve.m2 & 0xFFFFFFFF))
        if curve.d:
            m1 = f"{spec.m1.percent}%" if spec is not None and spec.m1.percent else rate_text(float(curve.m1 & 0xFFFFFFFF))
            words.append(f"{kind}({m1} {curve.d} {m2})")
        else:
            words.append(f"{kind} {m2}")
    return words
