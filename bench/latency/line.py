"""Five network namespaces in a row: client, gateway, modem, exchange, server. The modem and the exchange have deep first-in first-out
queues at the line's rate; all delay is between exchange and server. Runs as root on a test kernel."""

import ctypes
import fcntl
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.namespaces import run, within, write_setting

CLIENT, GATEWAY, MODEM, EXCHANGE, SERVER = PLACES = ("client", "gateway", "modem", "exchange", "server")
HOSTS = {4: [f"192.168.1.{10 + n}" for n in range(15)], 6: [f"2001:db8:1::{16 + n:x}" for n in range(15)]}
SERVERS = {4: "198.51.100.7", 6: "2001:db8:5::7"}
GATEWAY_ADDRESS = "203.0.113.2"
LAN = "192.168.1.0/24"

# Wires: a device in one place and one in the next, and their addresses for both IP versions.
_WIRES = (
    (CLIENT, "eth0", HOSTS[4][0], GATEWAY, "eth1", "192.168.1.1", 1),
    (GATEWAY, "eth0", GATEWAY_ADDRESS, MODEM, "lan", "203.0.113.1", 2),
    (MODEM, "line", "100.64.0.1", EXCHANGE, "line", "100.64.0.2", 3),
    (EXCHANGE, "net", "198.51.100.1", SERVER, "eth0", SERVERS[4], 5),
)
_LAST = {"192.168.1.10": "10", "192.168.1.1": "1", "203.0.113.2": "2", "203.0.113.1": "1", "100.64.0.1": "1", "100.64.0.2": "2"}
_LAST |= {"198.51.100.1": "1", "198.51.100.7": "7"}
_ROUTES = {
    CLIENT: ("default via 192.168.1.1", "::/0 via 2001:db8:1::1"),
    GATEWAY: ("default via 203.0.113.1", "::/0 via 2001:db8:2::1"),
    MODEM: ("default via 100.64.0.2", "::/0 via 2001:db8:3::2", "192.168.1.0/24 via 203.0.113.2", "2001:db8:1::/64 via 2001:db8:2::2"),
    EXCHANGE: ("default via 100.64.0.1", "::/0 via 2001:db8:3::1"),
    SERVER: ("default via 198.51.100.1", "::/0 via 2001:db8:5::1"),
}
_SETTINGS = {
    "net/ipv4/ip_forward": 1,
    "net/ipv6/conf/all/forwarding": 1,
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
    "net/ipv4/conf/all/send_redirects": 0,
    "net/ipv6/conf/default/accept_dad": 0,
    "net/ipv6/conf/default/router_solicitations": 0,
}
# What one connection learns of the path must not help the next; answers to pings are not rationed.
_ENDS = {"net/ipv4/tcp_no_metrics_save": 1, "net/ipv4/icmp_ratelimit": 0, "net/ipv6/icmp/ratelimit": 0}
# ethtool.h: ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO; sockios.h: SIOCETHTOOL.
_OFFLOADS, _SIOCETHTOOL = (0x1F, 0x24, 0x2C), 0x8946


def _without_offloads(device: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in _OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("=II", command, 0))
            fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP16x", device.encode(), ctypes.addressof(value)))


@contextmanager
def line(up: str, down: str, delay_ms: int, mtu: int, offloads: bool) -> Iterator[None]:
    """The laboratory with these netem words for the line's two directions, until the block's end. offloads: cards make super-packets."""
    run(["ip", "-batch", "-"], "\n".join(f"netns add {place}" for place in PLACES))
    try:
        _build(up, down, delay_ms, mtu, offloads)
        yield
    finally:
        run(["ip", "-batch", "-"], "\n".join(f"netns delete {place}" for place in PLACES))


def _build(up: str, down: str, delay_ms: int, mtu: int, offloads: bool) -> None:
    for place in PLACES:
        with within(place):
            for name, value in (_SETTINGS | (_ENDS if place in (CLIENT, SERVER) else {})).items():
                write_setting(name, value)
    run(
        ["ip", "-batch", "-"],
        "\n".join(f"link add {near} netns {here} type veth peer name {far} netns {there}" for here, near, _, there, far, _, _ in _WIRES),
    )
    for place in PLACES:
        lines = ["link set lo up"]
        for here, near, near_address, there, far, far_address, net in _WIRES:
            for at, device, address in ((here, near, near_address), (there, far, far_address)):
                if at == place:
                    narrow = f" mtu {mtu}" if at in (CLIENT, SERVER) else ""
                    lines += [f"link set {device} up{narrow}", f"address add {address}/24 dev {device}"]
                    lines.append(f"address add 2001:db8:{net}::{_LAST[address]}/64 dev {device} nodad")
        if place == CLIENT:
            lines += [f"address add {address}/24 dev eth0" for address in HOSTS[4][1:]]
            lines += [f"address add {address}/64 dev eth0 nodad" for address in HOSTS[6] if address != "2001:db8:1::10"]
        lines += [f"route add {route}" for route in _ROUTES[place]]
        run(["ip", "-n", place, "-batch", "-"], "\n".join(lines))
        if not offloads:
            with within(place):
                for _, name in socket.if_nameindex():
                    if name != "lo":
                        _without_offloads(name)
    run(["tc", "-n", MODEM, "qdisc", "add", "dev", "line", "root", *up.split()])
    run(["tc", "-n", EXCHANGE, "qdisc", "add", "dev", "line", "root", *down.split()])
    for place, device in ((EXCHANGE, "net"), (SERVER, "eth0")):
        run(["tc", "-n", place, "qdisc", "add", "dev", device, "root", "netem", "delay", f"{delay_ms}ms", "limit", "20000"])
