"""What a gateway can be told to do: nothing, what people use today, and what pfq compiles from a model of the line."""

from dataclasses import dataclass
from pathlib import Path

from bench.latency.line import LAN
from bench.latency.profiles import ETHERNET_HEADER, Profile
from bench.latency.seeds import conditioner, french
from pfq.plan.build import build
from pfq.site.load import load_text
from pfq.targets.linux import render

# What is commonly advised for shapers that compute nothing: a little below the line for what is sent, a tenth below for what arrives.
UP_PERCENT, DOWN_PERCENT = 96, 90


@dataclass(frozen=True, slots=True)
class Configuration:
    """`script` is run by bash on the gateway (eth0 to the line, eth1 to the hosts). lenient: it may fail in part, which is then said.
    program: what it calls beside ip and tc."""

    name: str
    script: str
    lenient: bool = False
    program: str | None = None


def _pfq(profile: Profile, scheduler: str | None) -> str:
    """The script that pfq compiles from a model of the line, started."""
    chosen = f", scheduler = '{scheduler}'" if scheduler else ""
    accept = "accept = ['soft-order']\n" if scheduler == "cake" else ""
    model = (
        f"{accept}[links.line]\nup = '{profile.up // 1000} kbit'\ndown = '{profile.down // 1000} kbit'\nencapsulation = '{profile.encapsulation}'\n"
        f"[hosts.gw]\nsystem = 'linux-6.1'\ninside = {{ interface = 'eth1', networks = ['{LAN}', '2001:db8:1::/64'] }}\n"
        f"links.line = {{ interface = 'eth0'{chosen} }}\n"
    )
    plan = build(load_text(model, "line.toml"))
    text = next(file.text for file in render(plan, plan.gateways[0], None) if file.name == "pfq.sh")
    return f"cat > /tmp/pfq.sh <<'PFQ_SCRIPT'\n{text}PFQ_SCRIPT\nsh /tmp/pfq.sh start < /dev/null\n"


def _arriving(device: str = "ifb0") -> str:
    """What comes in on eth0 is queued on an IFB."""
    return (
        f"ip link add {device} type ifb\nip link set {device} up\ntc qdisc add dev eth0 handle ffff: ingress\n"
        f"tc filter add dev eth0 parent ffff: protocol all matchall action mirred egress redirect dev {device}\n"
    )


def _rates(profile: Profile) -> tuple[int, int]:
    """Bit/s to shape to, up and down."""
    return profile.up * UP_PERCENT // 100, profile.down * DOWN_PERCENT // 100


def _overhead(profile: Profile) -> str:
    """tc's stab where the line has cells; elsewhere a plain htb counts the Ethernet header, and the line does not."""
    wrapping = profile.wrapping
    return f"stab linklayer atm overhead {wrapping.overhead - ETHERNET_HEADER} " if wrapping.cells == "atm" else ""


def _htb(profile: Profile) -> str:
    lines = ["set -e", _arriving()]
    for device, rate in zip(("eth0", "ifb0"), _rates(profile), strict=True):
        lines.append(f"tc qdisc add dev {device} root handle 1: {_overhead(profile)}htb default 10")
        lines.append(f"tc class add dev {device} parent 1: classid 1:10 htb rate {rate}bit")
        lines.append(f"tc qdisc add dev {device} parent 1:10 fq_codel")
    return "\n".join(lines)


def _cake(profile: Profile) -> str:
    up, down = _rates(profile)
    wrapping = profile.wrapping
    link = f"{'atm' if wrapping.cells == 'atm' else 'noatm'} overhead {wrapping.overhead}"
    return (
        f"set -e\n{_arriving()}tc qdisc add dev eth0 root cake bandwidth {up}bit ack-filter {link}\n"
        f"tc qdisc add dev ifb0 root cake bandwidth {down}bit ingress {link}\n"
    )


# FireQOS by its own words for a household: what is interactive, TCP's small packets, the rest (fireqos.conf(5)).
_FIREQOS = """
interface eth0 world bidirectional {layer} input rate {down}kbit output rate {up}kbit
    class interactive commit 10%
        match icmp
        match udp port 53
        match tcp port 22
    class synacks commit 10%
        match tcp syn
        match tcp ack
    class default
"""


def _fireqos(profile: Profile) -> str:
    up, down = (rate // 1000 for rate in _rates(profile))
    layer = "adsl remote pppoe-llc" if profile.wrapping.cells == "atm" else "ethernet"
    text = _FIREQOS.format(layer=layer, up=up, down=down)
    return f"cat > /tmp/fireqos.conf <<'FIREQOS'{text}FIREQOS\nfireqos start /tmp/fireqos.conf < /dev/null\n"


def _wondershaper(profile: Profile) -> str:
    up, down = (rate // 1000 for rate in _rates(profile))
    return f"wondershaper eth0 {down} {up} < /dev/null\n"


def configurations(profile: Profile, seeds: Path | None) -> dict[str, Configuration]:
    """All of them for a line, by name. seeds: the folder with the seed articles; without it their scripts are left out."""
    up, down = (rate // 1000 for rate in _rates(profile))
    found = [Configuration("none", "")]
    if seeds is not None:
        found.append(Configuration("conditioner", conditioner(seeds, up, down), lenient=True))
        found.append(Configuration("french", french(seeds, profile.up * 988 // 1_000_000, profile.wrapping.best_mtu(profile.mtu)), lenient=True))
    found += [
        Configuration("wondershaper", _wondershaper(profile), lenient=True, program="wondershaper"),
        Configuration("fireqos", _fireqos(profile), lenient=True, program="fireqos"),
        Configuration("htb+fq_codel", _htb(profile)),
        Configuration("cake", _cake(profile)),
        Configuration("pfq", _pfq(profile, None)),
    ]
    found += [Configuration(f"pfq-{scheduler}", _pfq(profile, scheduler)) for scheduler in ("htb", "hfsc", "prio", "cake")]
    return {each.name: each for each in found}
