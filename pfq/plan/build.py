"""From a Site to a Plan: what every gateway must do, with each number's derivation."""

from functools import lru_cache

from pfq.diagnostics import Diagnostic, Refused
from pfq.plan.model import Accounting, Classifier, Express, Figure, FlowRule, Gateway, Plan, Queue, Tree, TreePlace, Uplink
from pfq.plan.queues import Terms, build_queues, steps
from pfq.plan.rates import ack_demand, counted, shaped_rate
from pfq.plan.schedulers import ABILITIES, ASKS, SOFT_ORDER, asks, choose, needs
from pfq.site.check import arms_of, carries_link, default_class
from pfq.site.encapsulation import ETHERNET_MTU, IPV4_HEADER, TCP_HEADER, Encapsulation
from pfq.site.kinds import Faults
from pfq.site.model import Attachment, Direction, Host, Inside, Link, Network, Policy, Site, Where
from pfq.site.positions import Path
from pfq.site.systems import System, carries_control_frames, counted_bytes, interface_kind, is_group, schedulers, shapes_down, tick
from pfq.site.units import show_rate, show_time

# One packet of 1500 bytes takes 1.5 s at this rate; nothing that is called a line today is slower.
LEAST_RATE = 8_000
# A policer has no queue: what TCP sends in a bunch must fit its bucket, or TCP stays far below the rate. The seed article on the
# traffic conditioner takes 10 kB at 800 kbit/s, 100 ms.
POLICED_US = 100_000
# The largest packet that generic receive offload makes (GRO_LEGACY_MAX_SIZE of Linux); PPP and tunnels have none.
RECEIVED_AT_ONCE = 65_536
# DEFAULT_TX_QUEUE_LEN of Linux, and the seed mail on VLANs: the kernel gives a VLAN none.
TXQUEUELEN = 1000


def build(site: Site) -> Plan:
    """The plan of a site. Raises Refused with everything that cannot be done."""
    plan, faults = plan_site(site)
    if faults:
        raise Refused(faults)
    return plan


def plan_site(site: Site) -> tuple[Plan, list[Diagnostic]]:
    """The plan of the gateways that can be planned, and every fault found."""
    faults = Faults(site.source)
    planner = _Planner(site, faults)
    gateways = tuple(gateway for host in site.hosts.values() if (gateway := planner.gateway(host)))
    return Plan(site.name, site.accept, gateways, site.source), faults.found


@lru_cache(maxsize=4096)
def accounting_of(system: System, interface: str, queue_on: str, encapsulation: Encapsulation) -> Accounting | None:
    """What a rate counts on this system and interface; None where the queue cannot be there."""
    kind = interface_kind(system, queue_on)
    own = kind if is_group(system, interface) else interface_kind(system, interface)
    counted = counted_bytes(system, own, kind)
    if counted is None:
        return None
    if system.family == "linux":
        overhead = encapsulation.overhead - counted
        return Accounting(counted, True, overhead, encapsulation.minimum, "atm" if encapsulation.cells == "atm" else "none")
    return Accounting(counted, False, 0, 0, "none")


def classifier_of(policy: Policy, ipv6: bool, exclude: tuple[Network, ...]) -> Classifier:
    """The ordered classifier of a policy. The policy has passed `check_policy`."""
    parents = {item.parent for item in policy.classes}
    leaves = [item for item in policy.classes if item.name not in parents]
    default = default_class(policy.classes)
    assert default is not None, "check_policy refuses a policy without a default class"
    rules = tuple(FlowRule(item.name, match) for item in leaves for match in item.matches)
    express = next((item for item in leaves if item.express), None)
    upgrade = None
    if express:
        upgraded = frozenset(item.name for item in leaves if item.upgrade and item is not express)
        upgrade = Express(express.name, upgraded, (4, 6) if ipv6 else (4,))
    return Classifier(rules, default.name, upgrade, exclude, policy.unclassified)


class _Planner:
    def __init__(self, site: Site, faults: Faults) -> None:
        self.site = site
        self.faults = faults
        # Faults of a policy at a rate are reported once, however many hosts share them.
        self.trees: dict[tuple[object, ...], tuple[Figure, tuple[Queue, ...], tuple[str, ...]]] = {}
        # What a policy comes to is worked out once, however many hosts share it.
        self.classifiers: dict[tuple[object, ...], Classifier] = {}
        self.needed: dict[tuple[str, bool], set[str]] = {}
        self.said: set[tuple[object, ...]] = set()

    def gateway(self, host: Host) -> Gateway | None:
        uplinks = tuple(uplink for item in host.attachments if (uplink := self.uplink(host, item)))
        return Gateway(host.path, host.name, host.system, host.inside, uplinks) if uplinks else None

    def uplink(self, host: Host, item: Attachment) -> Uplink | None:
        link = self.site.links.get(item.link)
        policy = self.site.policies.get(link.policy) if link else None
        queue_on = item.queue_on or item.interface
        if link is None or policy is None or default_class(policy.classes) is None or is_group(host.system, queue_on):
            return None
        accounting = accounting_of(host.system, item.interface, queue_on, link.encapsulation)
        if accounting is None:
            return None
        exclude = item.exclude + _own_networks(host, item, queue_on)
        parent = queue_on != item.interface and interface_kind(host.system, item.interface) == "vlan"
        shared = sum((other.queue_on or other.interface) == queue_on for other in host.attachments) > 1
        beside = item.speed if exclude or parent or shared else None
        scheduler = self._scheduler(host, item, policy, beside is not None, shared or _meets_others_inside(host, item, link))
        if scheduler is None:
            return None
        mtu = _mtu(link)
        up = self._tree(host, item, link, policy, "up", "egress", queue_on, accounting, mtu.value, item.shaped_up, beside)
        kind = interface_kind(host.system, item.interface)
        return Uplink(
            item.path, link.name, item.interface, queue_on, kind, carries_control_frames(interface_kind(host.system, queue_on)),
            scheduler, item.scheduler is not None, item.leaf, link.ipv6, link.encapsulation, mtu, _mss(item, mtu),
            _txqueuelen(item, host.system, queue_on), up, self._down(host, item, link, policy, mtu.value),
            self._classifier(policy, link.ipv6, exclude), item.nat, item.one_to_one, item.inbound,
        )

    def _classifier(self, policy: Policy, ipv6: bool, exclude: tuple[Network, ...]) -> Classifier:
        key = (policy.name, ipv6, exclude)
        if key not in self.classifiers:
            self.classifiers[key] = classifier_of(policy, ipv6, exclude)
        return self.classifiers[key]

    def _scheduler(self, host: Host, item: Attachment, policy: Policy, beside: bool, links: bool) -> str | None:
        available = schedulers(host.system)
        needed = self.needed.get((policy.name, beside))
        if needed is None:
            needed = self.needed[policy.name, beside] = needs(policy, beside)
        if item.scheduler is None:
            # On ALTQ every link has queues of its own beside the others'.
            several = {"links"} if links and host.system.family == "linux" else set()
            name = choose(needed | several, steps(policy), available)
            if name is None:
                wanted = ", ".join(ASKS[ask] for ask in sorted(needed))
                message = f"no scheduler of {host.system.name} can do all that the policy {policy.name!r} asks for: {wanted}"
                self.faults.at(item.path, "unsupported", message, f"it has {', '.join(available)}")
            return name
        if item.scheduler not in available:
            return None  # reported by check_host
        can = ABILITIES[item.scheduler]
        path = (*item.path, "scheduler")
        others = " or ".join(name for name in available if needed <= ABILITIES[name])
        way_out = f"choose {others}, or " if others else ""
        for ask in sorted(needed - can):
            if ask == "beside":
                self.faults.at(path, "unsupported", f"{item.scheduler} cannot leave {ASKS[ask]} unshaped", way_out.removesuffix(", or "))
                continue
            names = ", ".join(repr(wanted.name) for wanted in policy.classes if ask in asks(wanted))
            message = f"{item.scheduler} has no {ASKS[ask].removeprefix('a ')}, which policy {policy.name!r} asks for: {names}"
            key = "burst" if ask == "curve" else ask
            self.faults.at(path, "unsupported", message, f"{way_out}leave `{key}` out of the class")
        if item.scheduler in SOFT_ORDER and "soft-order" not in self.site.accept and len(policy.classes) > 1:
            message = f"{item.scheduler} keeps the order of classes only up to a part of the rate"
            self.faults.at(path, "difference", message, "choose htb, or add accept = ['soft-order'] to the model")
        return item.scheduler

    def _down(self, host: Host, item: Attachment, link: Link, policy: Policy, mtu: int) -> Tree | None:
        where = _where(host, item, link)
        if where == "none" or link.down is None:
            if item.shaped_down is not None:
                message = "a shaped rate for downloads that are not shaped"
                self.faults.at((*item.path, "shaped_down"), "contradiction", message, "leave it out, or say where: `shape_down`")
            return None
        if where == "inside":
            arm = _arm(host, item)
            if arm is None:
                return None  # reported by check_host
            accounting = accounting_of(host.system, arm.interface, arm.interface, link.encapsulation)
            if accounting is None:
                message = f"{host.system.name} cannot queue on the inside interface {arm.interface!r}"
                self.faults.at(arm.path, "unsupported", message, "shape_down = 'none', or move the inside to its parent interface")
                return None
            return self._tree(host, item, link, policy, "down", where, arm.interface, accounting, mtu, item.shaped_down, arm.speed)
        accounting = accounting_of(host.system, item.interface, item.interface, link.encapsulation)
        if accounting is None or host.system.family != "linux":
            return None  # reported by check_host
        return self._tree(host, item, link, policy, "down", where, item.interface, accounting, mtu, item.shaped_down, None)

    def _tree(
        self, host: Host, item: Attachment, link: Link, policy: Policy, direction: Direction, where: TreePlace, interface: str,
        accounting: Accounting, mtu: int, given: int | None, beside: int | None,
    ) -> Tree:
        key = (link.name, direction, accounting, mtu, given)
        if key not in self.trees:
            self.trees[key] = self._figures(item, link, policy, direction, accounting, mtu, given)
        rate, queues, notes = self.trees[key]
        line = link.up if direction == "up" else link.down or 0
        if beside is not None and rate.value > beside:
            arm = _arm(host, item) if where == "inside" else None
            message = f"the interface {interface!r} is slower ({show_rate(beside)}) than the link {link.name!r} ({show_rate(rate.value)})"
            self.faults.at((*(arm or item).path, "speed"), "contradiction", message, "say its `speed`")
        if given is not None and given > line:
            message = f"{show_rate(given)} is above the line's {show_rate(line)}: the queue would form in the modem"
            self.faults.at((*item.path, f"shaped_{direction}"), "above-link", message, f"leave it out, or at most {show_rate(line)}")
        policed = where == "police"
        offloads = carries_control_frames(interface_kind(host.system, interface))
        microseconds, least = (POLICED_US, RECEIVED_AT_ONCE if offloads else 0) if policed else (tick(host.system), 0)
        # Linux's htb sends on credit: a bucket that holds a packet lets two go at once, and a ping waits in the modem for both.
        packet = 0 if host.system.family == "linux" and not policed else counted(mtu, accounting, link.encapsulation)
        burst = _burst(item, rate.value, packet, microseconds, least)
        return Tree(item.path, link.name, direction, where, interface, line, rate, accounting, burst, mtu, beside, queues, notes)

    def _figures(
        self, item: Attachment, link: Link, policy: Policy, direction: Direction, accounting: Accounting, mtu: int, given: int | None
    ) -> tuple[Figure, tuple[Queue, ...], tuple[str, ...]]:
        path: Path = (*item.path, f"shaped_{direction}")
        rate = shaped_rate(link, direction, mtu, accounting)
        if given is not None:
            rate = Figure(given, "bit/s", True, f"as the model says; computed it would be {show_rate(rate.value)} ({rate.why})", path)
        if rate.value < LEAST_RATE:
            at = path if given is not None else (*link.path, direction)
            message = f"link {link.name!r} {direction}: {show_rate(rate.value)} is too slow to shape"
            self.faults.at(at, "too-slow", message, f"at least {show_rate(LEAST_RATE)}")
        acks = ack_demand(link, direction, mtu, accounting)
        notes: tuple[str, ...] = ()
        if acks.capped:
            other = "download" if direction == "up" else "upload"
            notes = (f"A full {other} would need more ACKs than the line carries; it will be slower by that.",)
        terms = Terms(link.name, direction, rate, accounting, link.encapsulation, mtu, acks, link.path)
        return rate, self._queues(policy, terms), notes

    def _queues(self, policy: Policy, terms: Terms) -> tuple[Queue, ...]:
        """The queues; what is wrong at a place is said once a link, though directions differ and every system counts other rates."""
        faults = Faults(self.site.source)
        queues = build_queues(policy, terms, faults)
        for found in faults.found:
            said = (found.code, found.place, terms.link)
            if said not in self.said:
                self.said.add(said)
                self.faults.found.append(found)
        return queues


def _own_networks(host: Host, item: Attachment, queue_on: str) -> tuple[Network, ...]:
    """On a gateway with one arm, the inside networks are on the link's interface: what goes there is not the link's."""
    return tuple(n for inside in host.inside if inside.interface in (item.interface, queue_on) for n in inside.networks)


def _arm(host: Host, item: Attachment) -> Inside | None:
    """The one inside interface that downloads leave by; None if there is none, more than one, or one that carries another link."""
    arms = arms_of(host, item)
    return arms[0] if len(arms) == 1 and not carries_link(host, arms[0].interface) else None


def _where(host: Host, item: Attachment, link: Link) -> Where:
    """Where downloads are shaped: as the model says, else the first place that the system and the host have."""
    if item.shape_down is not None:
        return item.shape_down
    arm = _arm(host, item)
    countable = arm is not None and counted_bytes(host.system, *2 * (interface_kind(host.system, arm.interface),)) is not None
    possible: set[Where] = {"ingress", "inside"} if countable else {"ingress"}
    found: list[Where] = [place for place in shapes_down(host.system) if place in possible]
    return found[0] if found and link.down is not None else "none"


def _meets_others_inside(host: Host, item: Attachment, link: Link) -> bool:
    """Whether downloads of several links leave to the inside by queues on one interface."""
    return len(host.attachments) > 1 and _where(host, item, link) == "inside"


def _mtu(link: Link) -> Figure:
    if link.mtu is not None:
        return Figure(link.mtu, "bytes", True, "as the model says", (*link.path, "mtu"))
    mtu = link.encapsulation.best_mtu()
    cells = link.encapsulation.line_bytes(mtu) // 53
    why = f"fills {cells} ATM cells ({link.encapsulation.name})" if link.encapsulation.cells == "atm" else f"the most that {link.encapsulation.name} carries"
    return Figure(mtu, "bytes", False, why, link.path)


def _mss(item: Attachment, mtu: Figure) -> Figure | None:
    """The segment size for IPv4; IPv6 takes 20 bytes more of header. None: nothing is clamped."""
    path = (*item.path, "mss")
    if item.mss is False or (item.mss is None and mtu.value >= ETHERNET_MTU):
        return None
    if item.mss is True or item.mss is None:
        return Figure(mtu.value - IPV4_HEADER - TCP_HEADER, "bytes", False, f"MTU {mtu.value} less 40 bytes of IPv4 and TCP header", path)
    return Figure(item.mss, "bytes", True, "as the model says", path)


def _burst(item: Attachment, rate: int, packet: int, microseconds: int, least: int) -> Figure:
    path = (*item.path, "burst")
    if item.burst is not None:
        return Figure(item.burst, "bytes", True, "as the model says", path)
    burst = rate * microseconds // 8_000_000 + packet
    if burst < least:
        return Figure(least, "bytes", False, "a card hands over that much as one packet (GRO), which must not be dropped for its size", path)
    and_packet = " and one full packet" if packet else "; a packet goes on credit"
    return Figure(burst, "bytes", False, f"{show_time(microseconds)} at this rate{and_packet}", path)


def _txqueuelen(item: Attachment, system: System, queue_on: str) -> Figure | None:
    path = (*item.path, "txqueuelen")
    if item.txqueuelen is not None:
        return Figure(item.txqueuelen, "packets", True, "as the model says", path)
    if system.family == "linux" and interface_kind(system, queue_on) == "vlan":
        return Figure(TXQUEUELEN, "packets", False, "a VLAN starts without a queue; this is Ethernet's own length", path)
    return None
