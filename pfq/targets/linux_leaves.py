"""The queue at the bottom of a class: fq_codel, sfq, pfifo, codel, red or cake, with its filter where sharing goes by address.

Sources: tc-fq_codel(8), tc-sfq(8), tc-red(8), tc-codel(8), tc-cake(8), tc-flow(8); sch_fq_codel.c fq_codel_classify, sch_sfq.c sfq_classify,
sch_cake.c cake_enqueue, cake_ack_filter.
"""

from pfq.plan.model import Queue, Tree, Uplink

# sch_fq_codel.c has 1024 queues, sch_sfq.c a hash of 1024: a `flow` filter must stay within them.
FLOW_QUEUES = 1024
# tc-sfq(8): the hash is changed every so often, so that two flows on one queue part again; the seed scripts use 10 s.
PERTURB_SECONDS = 10
RED_PACKET, RED_PROBABILITY = 1000, "0.02"
# sch_cake.c: its target is a twentieth of `rtt`; memory is counted in what a packet takes of it, 768 bytes and more, and an unsplit packet of a
# card (GSO) must fit.
RTTS, CAKE_PACKET, CAKE_LEAST = 20, 1024, 1 << 17


def fair_key(uplink: Uplink, tree: Tree, fair: str) -> str | None:
    """The packet's field that stands for a host: before NAT where it is the inside's; None if that cannot be seen there.

    nfct-src is the source in conntrack's tuple of the packet's direction (cls_flow.c): the inside host's own address, also behind NAT.
    Packets that arrive from the link still bear the gateway's address.
    """
    if fair == "source":
        translated = tree.direction == "up" and (uplink.nat is not False or uplink.one_to_one)
        return "nfct-src" if translated else "src"
    if tree.where == "ingress" and uplink.nat is not False:
        return None
    return "dst"


def _red(queue: Queue, tree: Tree, rate: int, ecn: bool) -> tuple[str, str]:
    packet = tree.mtu
    least = max(queue.limit.value * packet // 6, 2 * packet)
    most = 3 * least
    burst = (2 * least + most) // (3 * RED_PACKET) + 1
    text = (
        f"red limit {2 * most} min {least} max {most} avpkt {RED_PACKET} burst {burst} probability {RED_PROBABILITY}"
        f" bandwidth {rate}bit{' ecn' if ecn else ''}"
    )
    return text, f"early drop from a third of the limit's half on; limit {queue.limit.value} packets: {queue.limit.why}"


def _thins(queue: Queue, uplink: Uplink, tree: Tree, thinning: bool) -> bool:
    """Whether empty ACKs that a later one of their flow has overtaken while they wait are dropped: for a gateway's uplink, unless the model
    has something else in mind for the class. A later ACK says what an earlier one said (RFC 9293, 3.8.6)."""
    plain = queue.fair == "none" and queue.drop == "tail" and not queue.limit.given
    return thinning and queue.express and tree.direction == "up" and uplink.leaf is None and plain


def leaf(queue: Queue, uplink: Uplink, tree: Tree, thinning: bool) -> tuple[str, str]:
    """The qdisc of a class in tc's words, and the reason for its numbers. thinning: the kernel can drop ACKs that are out of date."""
    if _thins(queue, uplink, tree, thinning):
        # no-split-gso: cake would count the segments without the root's stab.
        memory = max(queue.limit.value * CAKE_PACKET, CAKE_LEAST)
        text = f"cake unlimited besteffort flows nonat nowash ack-filter-aggressive no-split-gso raw rtt {queue.target * RTTS}us memlimit {memory}b"
        return text, f"an ACK that a later one has overtaken here is dropped; memory for {queue.limit.value} packets: {queue.limit.why}"
    fair = queue.fair != "none" and uplink.leaf != "pfifo"
    rate = queue.ceiling.rate.value if queue.ceiling else tree.rate.value
    if not fair or (queue.drop == "red" and not queue.fair_given):
        if queue.drop in ("red", "ecn"):
            return _red(queue, tree, rate, queue.drop == "ecn")
        if queue.drop == "codel":
            return f"codel limit {queue.limit.value} target {queue.target}us interval {queue.interval}us noecn", queue.limit.why
        return f"pfifo limit {queue.limit.value}", queue.limit.why
    if uplink.leaf == "sfq":
        # sch_sfq.c: a limit of one packet is refused.
        return f"sfq limit {max(queue.fair_limit.value, 2)} perturb {PERTURB_SECONDS}", queue.fair_limit.why
    # A mark keeps its packet on a slow uplink, a drop frees it; packets that arrive have crossed the bottleneck already.
    ecn = "ecn" if queue.drop == "ecn" or tree.direction == "down" else "noecn"
    text = f"fq_codel limit {queue.fair_limit.value} target {queue.target}us interval {queue.interval}us {ecn}"
    return text, queue.fair_limit.why


def leaf_lines(queue: Queue, uplink: Uplink, tree: Tree, thinning: bool, interface: str, parent: str, minor: int) -> list[str]:
    """The statements that put the leaf below the class `parent`."""
    text, why = leaf(queue, uplink, tree, thinning)
    lines = [f"# {queue.name}: {why}", f"qdisc add dev {interface} parent {parent} handle {minor:x}: {text}"]
    if queue.fair in ("source", "destination") and text.startswith(("fq_codel", "sfq")):
        key = fair_key(uplink, tree, queue.fair)
        if key is not None:
            lines.append(f"# {queue.name}: a queue for each {queue.fair} address")
            lines.append(
                f"filter add dev {interface} parent {minor:x}: protocol all prio 1 handle 1 flow hash keys {key} divisor {FLOW_QUEUES}"
            )
    return lines


def leaf_pieces(queue: Queue, uplink: Uplink, tree: Tree, thinning: bool) -> list[str]:
    """Names of the kernel's pieces that the leaf needs."""
    text, _ = leaf(queue, uplink, tree, thinning)
    kind = text.split(" ", 1)[0]
    filtered = queue.fair in ("source", "destination") and kind in ("fq_codel", "sfq")
    return [kind, "flow"] if filtered else [kind]
