"""The rates of disciplines and queues worked out and checked. Source: the eval functions of pfctl_altq.c.

FreeBSD 12 counts as it goes what older releases look up among the queues stored so far; refused queues count there too.
"""

from .altq_nodes import Altq, Spec, disciplines
from .altq_text import rate_text
from .curves import ServiceCurve, fits, total
from .reading import Fault, Reading

_MOST_PRIORITY = {"cbq": 7, "priq": 15}
# ns per byte at which a cbq queue overflows the kernel's 32-bit arithmetic.
_INT_MAX = 2**31 - 1
# How many queues one interface may have. Kernels take 64 (hfsc) to 256 (cbq); what they share is summed up for each anew.
_MOST_QUEUES = 2000


def store(r: Reading, altq: Altq) -> None:
    """Keep a discipline or a queue that was found right."""
    r.altqs.append(altq)
    r.altq_index[altq.interface, altq.name] = altq
    if altq.name:
        queues = r.altq_index[altq.interface, ""].queues
        if len(queues) >= _MOST_QUEUES:
            raise r.die(f"more than {_MOST_QUEUES} queues on {altq.interface}")
        queues.append(altq)
    r.result = altq


def _resolve(r: Reading, spec: Spec, reference: int) -> int:
    if spec.absolute > 0:
        return min(spec.absolute, reference) if r.dialect.altq_wide else spec.absolute
    return reference // 100 * spec.percent


def _speed(r: Reading, name: str) -> int:
    interface = r.system.interface(name)
    if interface is None:
        raise r.die("SIOCGIFDATA: Device not configured")
    return interface.speed & 0xFFFFFFFF


def _mtu(r: Reading, name: str) -> int:
    interface = r.system.interface(name)
    if interface is None:
        if r.dialect.family == "freebsd":
            return 1500
        raise r.die("SIOCGIFMTU: Device not configured")
    return interface.mtu


def eval_discipline(r: Reading, altq: Altq) -> bool:
    """Work out a discipline's rates; False after an error was said."""
    good = True
    if altq.spec.absolute > 0:
        altq.interface_bandwidth = altq.spec.absolute
    else:
        speed = _speed(r, altq.interface)
        if not speed:
            r.stderr.append(
                f"interface {altq.interface} does not know its bandwidth, please specify an absolute bandwidth\n"
            )
            good = False
        altq.interface_bandwidth = _resolve(r, altq.spec, speed) or speed
    if altq.scheduler != "hfsc" and r.dialect.altq_wide and altq.interface_bandwidth > 2**32 - 1:
        altq.interface_bandwidth = 2**32 - 1
        r.warn(
            f"interface {altq.interface} bandwidth limited to {altq.interface_bandwidth} bps "
            "because selected scheduler is 32-bit limited\n"
        )
    _resolve_curves(r, altq, altq.interface_bandwidth)
    if not altq.tbrsize:
        rate = altq.interface_bandwidth
        if rate <= 1_000_000:
            packets = 1
        elif rate <= 10_000_000:
            packets = 4
        elif rate <= 200_000_000:
            packets = 8
        elif not r.dialect.altq_wide or rate <= 2_500_000_000:
            packets = 24
        else:
            packets = 128
        size = packets * _mtu(r, altq.interface)
        altq.tbrsize = size if r.dialect.altq_wide else min(size, 0xFFFF)
    return good


def _resolve_curves(r: Reading, altq: Altq, reference: int) -> None:
    altq.curves = {
        kind: ServiceCurve(_resolve(r, curve.m1, reference), curve.d, _resolve(r, curve.m2, reference))
        for kind, curve in altq.written.curves.items()
    }


def eval_queue(r: Reading, queue: Altq) -> bool:
    """Work out a queue's rates and check them; False after an error was said."""
    on = r.altq_index.get((queue.interface, ""))
    if on is None:
        r.stderr.append(f"altq not defined on {queue.interface}\n")
        return False
    queue.scheduler = on.scheduler
    queue.interface_bandwidth = on.interface_bandwidth
    if (queue.interface, queue.name) in r.altq_index:
        r.stderr.append(f"queue {queue.name} already exists on interface {queue.interface}\n")
        return False
    parent = None
    if queue.parent:
        parent = r.altq_index.get((queue.interface, queue.parent))
        if parent is None:
            r.stderr.append(f"parent {queue.parent} not found for {queue.name}\n")
            return False
    queue.qlimit = queue.qlimit or 50
    reference = parent.bandwidth if parent is not None else queue.interface_bandwidth if r.dialect.altq_wide else 0
    if queue.scheduler in ("cbq", "hfsc", "fairq"):
        queue.bandwidth = _resolve(r, queue.spec, reference)
        if queue.bandwidth > queue.interface_bandwidth:
            r.stderr.append(f"bandwidth for {queue.name} higher than interface\n")
            return False
        if parent is not None and not (r.dialect.altq_wide and queue.scheduler == "hfsc"):
            if queue.bandwidth > parent.bandwidth:
                r.warn(f"bandwidth for {queue.name} higher than parent")
                return False
            _sum_of_children(r, queue, on, parent)
    _resolve_curves(r, queue, reference)
    if queue.scheduler == "cbq":
        return _eval_cbq(r, queue, on)
    if queue.scheduler == "priq":
        return _eval_priq(r, queue, on)
    if queue.scheduler == "hfsc":
        return _eval_hfsc(r, queue, on, parent)
    return queue.scheduler != "fairq" or _eval_fairq(r, queue, on, parent)


def _sum_of_children(r: Reading, queue: Altq, on: Altq, parent: Altq) -> None:
    if r.dialect.altq_wide:
        parent.child_bandwidth += queue.bandwidth
        if parent.child_bandwidth > parent.bandwidth:
            r.warn(
                f"the sum of the child bandwidth ({parent.child_bandwidth}) higher than parent "
                f'"{parent.name}" ({parent.bandwidth})'
            )
    elif sum(one.bandwidth for one in on.queues if one.parent == queue.parent) + queue.bandwidth & 0xFFFFFFFF > parent.bandwidth:
        r.warn(f'the sum of the child bandwidth higher than parent "{parent.name}"')


def _priority_fits(r: Reading, queue: Altq) -> bool:
    most = _MOST_PRIORITY[queue.scheduler]
    if queue.priority > most:
        r.warn(f"priority out of range: max {most}")
        return False
    return True


def _eval_cbq(r: Reading, queue: Altq, on: Altq) -> bool:
    if not _priority_fits(r, queue):
        return False
    mtu = _mtu(r, queue.interface)
    on.roots += not queue.parent
    on.defaults += "default" in queue.written.flags
    if not queue.interface_bandwidth:
        return True
    per_byte = 1.0 / queue.interface_bandwidth * 1e9 * 8
    share = queue.bandwidth / queue.interface_bandwidth if queue.bandwidth else 0.0001
    if per_byte / share * mtu > _INT_MAX:
        if queue.bandwidth:
            least = rate_text(per_byte * mtu / _INT_MAX * queue.interface_bandwidth)
            r.warn(f"queue bandwidth must be larger than {least}")
        if queue.bandwidth or not r.dialect.altq_wide:
            r.stderr.append(f"cbq: queue {queue.name} is too slow!\n")
    return True


def _eval_priq(r: Reading, queue: Altq, on: Altq) -> bool:
    if not _priority_fits(r, queue):
        return False
    if r.dialect.altq_wide:
        if queue.priority in on.priorities:
            r.warn(f"{queue.name} does not have a unique priority on interface {queue.interface}")
            return False
        on.priorities.add(queue.priority)
    else:
        for one in on.queues:
            if one.priority == queue.priority:
                r.warn(f"{one.name} and {queue.name} have the same priority")
                return False
    on.defaults += "default" in queue.written.flags
    return True


def _eval_hfsc(r: Reading, queue: Altq, on: Altq, parent: Altq | None) -> bool:
    if parent is None:
        queue.curves = {"linkshare": ServiceCurve(queue.interface_bandwidth, 0, queue.interface_bandwidth)}
        return True
    if r.dialect.altq_wide and not _leaf(r, queue, on, parent):
        return False
    curves = queue.curves
    share = _share(queue)
    if any(curve.m1 and not curve.m2 for curve in curves.values()):
        r.warn(f"m2 is zero for {queue.name}")
        return False
    if any(curve.m1 < curve.m2 and curve.m1 for curve in curves.values()):
        r.warn(f"m1 must be zero for convex curve: {queue.name}")
        return False
    realtime = curves.get("realtime")
    if realtime is not None and realtime.m2:
        most = queue.interface_bandwidth // 100 * 80
        if not fits(_with_others(r, "realtime", realtime, on, parent), ServiceCurve(0, 0, most)):
            r.warn(f"real-time sc exceeds 80% of the interface bandwidth ({rate_text(most)})")
            return False
    if share.m2:
        limit = parent.curves.get("linkshare", ServiceCurve(0, 0, 0))
        if not fits(_with_others(r, "linkshare", share, on, parent), limit):
            r.warn("linkshare sc exceeds parent's sc")
            return False
    upper = curves.get("upperlimit")
    if upper is not None and upper.m2:
        if max(upper.m1, upper.m2) > queue.interface_bandwidth:
            r.warn("upper-limit larger than interface bandwidth")
            return False
        if realtime is not None and realtime.m2 and realtime.m2 > upper.m2:
            r.warn("upper-limit sc smaller than real-time sc")
            return False
    return True


def _share(queue: Altq) -> ServiceCurve:
    """The linkshare curve, which is the bandwidth where there is none."""
    share = queue.curves.get("linkshare")
    if share is None or not share.m2:
        share = ServiceCurve(share.m1 if share else 0, share.d if share else 0, queue.bandwidth)
        queue.curves["linkshare"] = share
    return share


def _leaf(r: Reading, queue: Altq, on: Altq, parent: Altq) -> bool:
    """Whether the parent may have children: the default queue may not."""
    if "default" in parent.written.flags:
        r.warn(f"adding {queue.name} would make default queue {parent.name} not a leaf")
        return False
    on.defaults += "default" in queue.written.flags
    return True


def _with_others(r: Reading, kind: str, curve: ServiceCurve, on: Altq, parent: Altq) -> list[tuple[float, float, float]]:
    """The sum of a curve and those it shares with: its siblings'; in older releases realtime curves of all queues."""
    if r.dialect.altq_wide:
        among = parent.realtime if kind == "realtime" else parent.linkshare
        among.append(curve)
        return total(among)
    beside = on.queues if kind == "realtime" else [one for one in on.queues if one.parent == parent.name]
    return total([*(one.curves[kind] for one in beside if kind in one.curves and one.curves[kind].m2), curve])


def _eval_fairq(r: Reading, queue: Altq, on: Altq, parent: Altq | None) -> bool:
    if parent is None:
        on.defaults += "default" in queue.written.flags
        queue.curves = {"linkshare": ServiceCurve(queue.interface_bandwidth, 0, queue.interface_bandwidth)}
        return True
    if not _leaf(r, queue, on, parent):
        return False
    share = _share(queue)
    limit = parent.curves.get("linkshare", ServiceCurve(0, 0, 0))
    if share.m2 and not fits(_with_others(r, "linkshare", share, on, parent), limit):
        r.warn("link-sharing sc exceeds parent's sc")
        return False
    return True


def commit(r: Reading) -> None:
    """Check every discipline once all is defined. As in pfctl, only the last one's verdict counts."""
    good = True
    for on in disciplines(r):
        if on.name or on.scheduler == "codelq":
            continue
        good = True
        if on.scheduler == "cbq" and on.roots != 1:
            r.warn(f"should have one root queue on {on.interface}")
            good = False
        if on.scheduler == "hfsc" and not r.dialect.altq_wide:
            # The root queue has the discipline's options, but does not count.
            on.defaults = sum(1 for one in on.queues if one.parent and "default" in one.written.flags)
        if on.defaults != 1:
            r.warn(f"should have one default queue on {on.interface}")
            good = False
        elif on.scheduler == "hfsc":
            default = next((one.name for one in on.queues if one.parent and "default" in one.written.flags), "")
            for one in on.queues:
                if one.parent == default:
                    r.warn("default queue is not a leaf")
                    good = False
    if not good:
        r.warn("errors in altq config")
        raise Fault
