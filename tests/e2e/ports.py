"""The gateway's interfaces in the laboratory, and what stands at their far end: raw sockets, no network stack that would answer."""

import errno
import fcntl
import os
import socket
import struct
from dataclasses import dataclass
from typing import Literal, Protocol

from tests.e2e.namespaces import connect, run, within

PortKind = Literal["ethernet", "vlan", "tun", "pppoe"]

_ETHERTYPES = {4: 0x0800, 6: 0x86DD}
_VLAN, _ALL = 0x8100, 0x0003
_OWN_FRAMES = 4  # PACKET_OUTGOING
_BUFFER = 1 << 17
_TUNNEL_SET, _TUNNEL_FLAGS = 0x400454CA, 0x1001  # TUNSETIFF; IFF_TUN | IFF_NO_PI
_PPPOX, _SESSION, _PPPOE_FRAME, _PPPOE_MTU = 24, 0x0123, 0x8864, 1492
_PPP_PROTOCOLS = {4: 0x0021, 6: 0x0057}
_PPP_GET_CHANNEL, _PPP_ATTACH_CHANNEL, _PPP_CONNECT, _PPP_NEW_UNIT = 0x80047437, 0x40047438, 0x4004743A, 0xC004743E
_SOL_PACKET, _AUXILIARY_DATA, _VNET_HEADER = 263, 8, 15
_AUXILIARY = struct.Struct("=IIIHHHH")  # tpacket_auxdata: status, length, snapped, mac, network, tag, tag protocol
_TAG_VALID = 0x10
_NOTES = socket.CMSG_SPACE(_AUXILIARY.size)
_SEGMENTS = {4: 1, 6: 4}  # VIRTIO_NET_HDR_GSO_TCPV4, _TCPV6


@dataclass(frozen=True, slots=True)
class Port:
    """An interface of the gateway.

    addresses: the gateway's own, with prefix length. hosts: neighbours on it, resolved for good, so that no ARP disturbs a count.
    routes: destination (a prefix or "default", "::/0") and next hop, which is among the hosts; None on a tunnel.
    parent: of a VLAN or PPPoE interface; it is made with it. tag: of a VLAN interface.
    """

    device: str
    addresses: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    routes: tuple[tuple[str, str | None], ...] = ()
    kind: PortKind = "ethernet"
    parent: str = ""
    tag: int = 0

    @property
    def carrier(self) -> str:
        """The Ethernet device that the wire is plugged into."""
        return self.parent or self.device


def mac(number: int, far: bool) -> str:
    """The hardware address of the gateway's side or the far side of wire `number`."""
    return f"02:00:00:00:{int(far):02x}:{number:02x}"


def wiring(port: Port, number: int, gateway: str, side: str) -> list[str]:
    """Lines for `ip -batch` in the first namespace that plug the far end (device far-NUMBER in `side`) into the gateway."""
    if port.kind == "tun":
        return []
    ends = f"name {port.carrier} address {mac(number, False)} netns {gateway}"
    far = f"type veth peer name far-{number} address {mac(number, True)} netns {side}"
    return [f"link add {ends} {far}"]


def configuration(port: Port, number: int) -> list[str]:
    """Lines for `ip -batch` in the gateway's namespace."""
    lines = [f"link set {port.carrier} up"]
    if port.kind == "vlan":
        lines += [f"link add link {port.parent} name {port.device} type vlan id {port.tag}", f"link set {port.device} up"]
    if port.kind == "pppoe":
        lines.append(f"link set {port.device} mtu {_PPPOE_MTU} up")
    lines += [f"address add {address} dev {port.device}" for address in port.addresses]
    if port.kind in ("ethernet", "vlan"):
        lines += [f"neigh replace {host} lladdr {mac(number, True)} dev {port.device} nud permanent" for host in port.hosts]
    for destination, hop in port.routes:
        via = f"via {hop} onlink " if hop else ""
        lines.append(f"route add {destination} {via}dev {port.device}")
    return lines


class FarEnd(Protocol):
    """What puts packets on the wire towards the gateway and takes those that come from it."""

    def put(self, data: bytes, segment: int, padding: int) -> None:
        """Send an IP packet. segment: TCP payload bytes a segment of a super-packet, 0 for none. padding: bytes after it."""

    def put_frame(self, frame: bytes) -> None:
        """Send a whole link-layer frame (what is not IP)."""

    def take(self) -> list[bytes]:
        """The IP packets that have come since the last call."""

    def close(self) -> None:
        """Take it down."""


def _tag_in(notes: list[tuple[int, int, bytes]]) -> int:
    """The VLAN of a received frame, 0 for none: the kernel takes the tag off the frame and tells it beside the data."""
    for level, kind, data in notes:
        if (level, kind) == (_SOL_PACKET, _AUXILIARY_DATA):
            status, *_, tag, _ = _AUXILIARY.unpack(data[: _AUXILIARY.size])
            if status & _TAG_VALID:
                return int(tag) & 0xFFF
    return 0


class Wire:
    """The far end of an Ethernet device: a packet socket. Frames of a VLAN are tagged and told by their tag."""

    def __init__(self, port: Port, number: int, side: str) -> None:
        self._header = bytes.fromhex((mac(number, False) + mac(number, True)).replace(":", ""))
        self._tag_number = port.tag
        self._tag = struct.pack("!HH", _VLAN, port.tag) if port.kind == "vlan" else b""
        with within(side):
            self._socket = self._open(number)
            self._segmented = self._open(number, listen=False)
        self._segmented.setsockopt(_SOL_PACKET, _VNET_HEADER, 1)

    @staticmethod
    def _open(number: int, listen: bool = True) -> socket.socket:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        opened.bind((f"far-{number}", _ALL if listen else 0))
        opened.setblocking(False)
        opened.setsockopt(_SOL_PACKET, _AUXILIARY_DATA, 1)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        return opened

    def put(self, data: bytes, segment: int, padding: int) -> None:
        version = data[0] >> 4
        frame = self._header + self._tag + struct.pack("!H", _ETHERTYPES[version]) + data + bytes(padding)
        if not segment:
            self._socket.send(frame)
            return
        start = 14 + len(self._tag) + ((data[0] & 15) * 4 if version == 4 else 40)
        headers = start + (frame[start + 12] >> 4) * 4
        needs_checksum = 1
        self._segmented.send(struct.pack("=BBHHHH", needs_checksum, _SEGMENTS[version], headers, segment, start, 16) + frame)

    def put_frame(self, frame: bytes) -> None:
        self._socket.send(frame)

    def take(self) -> list[bytes]:
        return [data for kind, data in self._frames() if kind in _ETHERTYPES.values()]

    def _frames(self) -> list[tuple[int, bytes]]:
        """Type and payload of the frames of this VLAN that have come."""
        found: list[tuple[int, bytes]] = []
        while True:
            try:
                frame, notes, _, address = self._socket.recvmsg(_BUFFER, _NOTES)
            except BlockingIOError:
                return found
            if address[2] != _OWN_FRAMES and _tag_in(notes) == self._tag_number:
                found.append((address[1], frame[14:]))

    def close(self) -> None:
        self._socket.close()
        self._segmented.close()


class Session(Wire):
    """The far end of a PPPoE session, set up on the gateway without negotiation: number and addresses are agreed beforehand.

    Layouts: include/uapi/linux/if_pppox.h and ppp-ioctl.h; frames RFC 2516.
    """

    def __init__(self, port: Port, number: int, side: str, gateway: str) -> None:
        super().__init__(port, number, side)
        run(["ip", "-n", gateway, "link", "set", port.carrier, "up"])
        remote = bytes.fromhex(mac(number, True).replace(":", ""))
        address = struct.pack("=HI", _PPPOX, 0) + struct.pack("!H6s16s", _SESSION, remote, port.carrier.encode())
        with within(gateway):
            self._session = socket.socket(_PPPOX, socket.SOCK_STREAM, 0)
            connect(self._session.fileno(), address)
            self._channel = os.open("/dev/ppp", os.O_RDWR | os.O_CLOEXEC)
            self._unit = os.open("/dev/ppp", os.O_RDWR | os.O_CLOEXEC)
            index = fcntl.ioctl(self._session.fileno(), _PPP_GET_CHANNEL, struct.pack("=i", 0))
            fcntl.ioctl(self._channel, _PPP_ATTACH_CHANNEL, index)
            unit = fcntl.ioctl(self._unit, _PPP_NEW_UNIT, struct.pack("=i", -1))
            fcntl.ioctl(self._channel, _PPP_CONNECT, unit)
        made = f"ppp{struct.unpack('=i', unit)[0]}"
        if made != port.device:
            run(["ip", "-n", gateway, "link", "set", made, "name", port.device])

    def put(self, data: bytes, segment: int, padding: int) -> None:
        if segment:
            raise ValueError("a PPPoE session takes no super-packets")
        header = struct.pack("!BBHHH", 0x11, 0, _SESSION, len(data) + 2, _PPP_PROTOCOLS[data[0] >> 4])
        self._socket.send(self._header + struct.pack("!H", _PPPOE_FRAME) + header + data + bytes(padding))

    def take(self) -> list[bytes]:
        return [data[8:] for kind, data in self._frames() if kind == _PPPOE_FRAME and data[6:8] in (b"\x00\x21", b"\x00\x57")]

    def close(self) -> None:
        for descriptor in (self._unit, self._channel):
            os.close(descriptor)
        self._session.close()
        super().close()


class Tunnel:
    """The far end of a point-to-point device without link header: the descriptor of a tun device."""

    def __init__(self, port: Port, gateway: str) -> None:
        with within(gateway):
            self._descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            fcntl.ioctl(self._descriptor, _TUNNEL_SET, struct.pack("16sH22x", port.device.encode(), _TUNNEL_FLAGS))

    def put(self, data: bytes, segment: int, padding: int) -> None:
        if segment or padding:
            raise ValueError("a tun device takes no super-packets and no padding")
        os.write(self._descriptor, data)

    def put_frame(self, frame: bytes) -> None:
        raise ValueError("a tun device has no link-layer frames")

    def take(self) -> list[bytes]:
        found = []
        while True:
            try:
                found.append(os.read(self._descriptor, _BUFFER))
            except BlockingIOError:
                return found

    def close(self) -> None:
        os.close(self._descriptor)


def far_end(port: Port, number: int, side: str, gateway: str) -> FarEnd:
    """What stands at the far end of `port` (on wire `number` to the namespace `side`); makes tun and PPPoE devices on the gateway."""
    if port.kind == "tun":
        return Tunnel(port, gateway)
    if port.kind == "pppoe":
        return Session(port, number, side, gateway)
    return Wire(port, number, side)


class OwnTraffic:
    """Packets that the gateway itself sends, by raw sockets that take the IP header as given."""

    _IPV6_HEADER_INCLUDED = 36

    def __init__(self, gateway: str) -> None:
        with within(gateway):
            self._v4 = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
            self._v6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self._v6.setsockopt(socket.IPPROTO_IPV6, self._IPV6_HEADER_INCLUDED, 1)

    def put(self, data: bytes) -> None:
        """Send an IP packet. A firewall of the gateway that refuses it is no error: nothing arrives then."""
        try:
            if data[0] >> 4 == 4:
                self._v4.sendto(data, (socket.inet_ntop(socket.AF_INET, data[16:20]), 0))
            else:
                self._v6.sendto(data, (socket.inet_ntop(socket.AF_INET6, data[24:40]), 0, 0, 0))
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOBUFS):
                raise

    def close(self) -> None:
        """Close the sockets."""
        self._v4.close()
        self._v6.close()
