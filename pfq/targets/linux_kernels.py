"""What Linux kernels have, by version, and which module and option bring it."""

from dataclasses import dataclass

from pfq.site.systems import System

Version = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Feature:
    """`since`: first version that has it. `source`: where that is known from."""

    since: Version
    source: str


FEATURES = {
    "inner-header": Feature((5, 16), "nft_payload.c NFT_PAYLOAD_INNER_HEADER, Linux 5.16"),
    "long-names": Feature((4, 14), "nf_tables.h: names of 255 bytes; before 4.14 NFT_CHAIN_MAXNAMELEN is 32 with its NUL"),
    "maxseg-write": Feature((4, 14), "nft_exthdr.c nft_exthdr_tcp_set_eval, Linux 4.14"),
    "matchall": Feature((4, 8), "cls_matchall.c, Linux 4.8"),
    "ctinfo": Feature((5, 3), "act_ctinfo.c, Linux 5.3"),
}


def has(system: System, feature: str) -> bool:
    """Whether the kernel has what FEATURES lists under that name."""
    return system.version >= FEATURES[feature].since


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the kernel that may be missing: `probe` is a tc command line that works only where it is there (device: pfq-probe)."""

    module: str
    option: str
    probe: str


def _qdisc(kind: str, arguments: str = "") -> Piece:
    return Piece(f"sch_{kind}", f"CONFIG_NET_SCH_{kind.upper()}", f"qdisc replace dev pfq-probe root {kind} {arguments}".rstrip())


def _on_arrival(kind: str, name: str, rest: str) -> Piece:
    group = "CLS" if kind == "cls" else "ACT"
    return Piece(f"{kind}_{name}", f"CONFIG_NET_{group}_{name.upper()}", f"filter add dev pfq-probe parent ffff: protocol all prio 1 {rest}")


# sch_*.c, cls_*.c and act_*.c of Linux: the module's name and net/sched/Kconfig's option.
PIECES = {
    "htb": _qdisc("htb"),
    "hfsc": _qdisc("hfsc", "default 1"),
    "prio": _qdisc("prio"),
    "cbq": _qdisc("cbq", "bandwidth 10mbit avpkt 1000"),
    "cake": _qdisc("cake"),
    "fq_codel": _qdisc("fq_codel"),
    "codel": _qdisc("codel"),
    "sfq": _qdisc("sfq"),
    "red": _qdisc("red", "limit 100000 min 5000 max 15000 avpkt 1000 burst 9 probability 0.02 bandwidth 1000000bit"),
    "pfifo": Piece("sch_fifo", "CONFIG_NET_SCHED", "qdisc replace dev pfq-probe root pfifo limit 10"),
    "ingress": Piece("sch_ingress", "CONFIG_NET_SCH_INGRESS", "qdisc replace dev pfq-probe handle ffff: ingress"),
    "ifb": Piece("ifb", "CONFIG_IFB", ""),
    "matchall": _on_arrival("cls", "matchall", "matchall classid 1:1"),
    "u32": Piece("cls_u32", "CONFIG_NET_CLS_U32", "filter add dev pfq-probe parent ffff: protocol all prio 2 u32 match u32 0 0 classid 1:1"),
    "bpf": Piece("cls_bpf", "CONFIG_NET_CLS_BPF", "filter add dev pfq-probe parent ffff: protocol all prio 3 bpf bytecode '1,6 0 0 0'"),
    "flow": Piece("cls_flow", "CONFIG_NET_CLS_FLOW", "filter add dev pfq-probe parent ffff: protocol all prio 4 handle 1 flow hash keys dst divisor 16"),
    "basic": Piece("cls_basic", "CONFIG_NET_CLS_BASIC", "filter add dev pfq-probe parent ffff: protocol all prio 5 basic classid 1:1"),
    "meta": Piece(
        "em_meta", "CONFIG_NET_EMATCH_META", "filter add dev pfq-probe parent ffff: protocol all prio 6 basic match meta( priority gt 1 ) classid 1:1"
    ),
    "ctinfo": Piece("act_ctinfo", "CONFIG_NET_ACT_CTINFO", "actions add action ctinfo cpmark index 65521"),
    "connmark": Piece("act_connmark", "CONFIG_NET_ACT_CONNMARK", "actions add action connmark index 65521"),
    "mirred": Piece("act_mirred", "CONFIG_NET_ACT_MIRRED", "actions add action mirred egress redirect dev pfq-probe index 65521"),
    "skbedit": Piece("act_skbedit", "CONFIG_NET_ACT_SKBEDIT", "actions add action skbedit mark 0 index 65521"),
    "gact": Piece("act_gact", "CONFIG_NET_ACT_GACT", "actions add action pass index 65521"),
    "police": Piece("act_police", "CONFIG_NET_ACT_POLICE", "actions add action police rate 1000000bit burst 10000b index 65521"),
}
