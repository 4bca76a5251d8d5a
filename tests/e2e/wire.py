"""Runs on a kernel: CPU time for each packet through a gateway, sent as fast as one process can.

client -- gateway -- server, namespaces joined by veth pairs. Frames go out by packet sockets, many with one system call; what the gateway does
with a packet is done before the call returns, so the sender's own CPU time is the whole path's. At the server's end the frames are for another
machine and are dropped.
"""

import contextlib
import ctypes
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.e2e.counters import CounterSocket
from tests.e2e.namespaces import LabError, run, run_inside, within, write_setting
from tests.e2e.packet import UDP, Packet

_CLIENT, _GATEWAY, _SERVER = "wire-client", "wire-gateway", "wire-server"
_INSIDE, _NEXT_HOP = "02:00:00:00:00:01", "02:00:00:00:00:99"
_BATCH = 512


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Message(ctypes.Structure):
    """struct msghdr of sendmsg(2)."""

    _fields_ = (
        ("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32), ("vector", ctypes.POINTER(_Vector)), ("vectors", ctypes.c_size_t),
        ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t), ("flags", ctypes.c_int),
    )


class _Header(ctypes.Structure):
    """struct mmsghdr of sendmmsg(2)."""

    _fields_ = (("message", _Message), ("sent", ctypes.c_uint))


class _Sender:
    """Sends the same frames over and over."""

    def __init__(self, frames: Sequence[bytes]) -> None:
        with within(_CLIENT):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.bind(("eth0", 0))
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._buffers = [ctypes.create_string_buffer(frame, len(frame)) for frame in (frames[i % len(frames)] for i in range(_BATCH))]
        self._vectors = (_Vector * _BATCH)(*(_Vector(ctypes.addressof(buffer), len(buffer)) for buffer in self._buffers))
        self._headers = (_Header * _BATCH)()
        for header, vector in zip(self._headers, self._vectors, strict=True):
            header.message.vector, header.message.vectors = ctypes.pointer(vector), 1

    def send(self, batches: int) -> float:
        """CPU seconds of that many batches."""
        descriptor = self._socket.fileno()
        before = time.process_time()
        for _ in range(batches):
            if self._libc.sendmmsg(descriptor, self._headers, _BATCH, 0) != _BATCH:
                raise LabError(f"sendmmsg: {os.strerror(ctypes.get_errno())}")
        return time.process_time() - before

    def close(self) -> None:
        self._socket.close()


@contextlib.contextmanager
def _gateway() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name in (_CLIENT, _GATEWAY, _SERVER):
            run(["ip", "netns", "add", name])
            stack.callback(run, ["ip", "netns", "delete", name])
        run(["ip", "-batch", "-"], "\n".join((
            f"link add eth0 netns {_CLIENT} type veth peer name eth1 address {_INSIDE} netns {_GATEWAY}",
            f"link add eth0 netns {_GATEWAY} type veth peer name eth0 netns {_SERVER}",
        )))
        for name in (_CLIENT, _GATEWAY, _SERVER):
            # Nobody speaks but the sender.
            with within(name):
                write_setting("net/ipv6/conf/all/disable_ipv6", 1)
        for name in (_CLIENT, _SERVER):
            run(["ip", "-n", name, "link", "set", "eth0", "up"])
        run(["ip", "-n", _GATEWAY, "-batch", "-"], "\n".join((
            "link set lo up", "link set eth0 up", "link set eth1 up", "addr add 192.168.1.1/24 dev eth1", "addr add 203.0.113.2/24 dev eth0",
            f"neigh add 203.0.113.1 lladdr {_NEXT_HOP} dev eth0", "route add default via 203.0.113.1",
        )))
        with within(_GATEWAY):
            write_setting("net/ipv4/ip_forward", 1)
            write_setting("net/ipv4/conf/all/rp_filter", 0)
        yield


def _frames(ports: Sequence[int]) -> list[bytes]:
    """A packet of each of 64 flows, to these ports in turn."""
    head = bytes.fromhex(_INSIDE.replace(":", "")) + bytes(6) + b"\x08\x00"
    packets = (Packet("192.168.1.10", "198.51.100.7", UDP, 40_000 + i, ports[i % len(ports)], payload=64) for i in range(64))
    return [head + packet.data() for packet in packets]


def _counted(reader: CounterSocket) -> int:
    """Packets that left by the root of eth0, the only one of these kinds in the gateway."""
    return sum(each.packets for each in reader.read() if each.what == "qdisc" and each.kind == "htb")


def _tool(command: Sequence[str], text: str) -> None:
    done = run_inside(_GATEWAY, command, text)
    if done.returncode:
        raise LabError(f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-500:]}")


def _set_up(setting: dict[str, Any]) -> None:
    _tool(["tc", "-batch", "-"], "".join(f"{line}\n" for line in setting["queues"]))
    if setting["rules"]:
        _tool(["nft", "-f", "-"], setting["rules"])


def _take_down() -> None:
    _tool(["tc", "qdisc", "del", "dev", "eth0", "root"], "")
    _tool(["nft", "flush", "ruleset"], "")


def usable(_: object = None) -> str:
    """'' if this kernel has what is needed, else what it refused."""
    try:
        with _gateway():
            _tool(["tc", "-batch", "-"], "\n".join((
                "qdisc add dev eth0 root handle 1: htb default 1", "class add dev eth0 parent 1: classid 1:1 htb rate 1gbit",
                "filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 1 0xffff flowid 1:1",
                "filter add dev eth0 parent 1: protocol all prio 2 handle 1 bpf bytecode '1,6 0 0 0'\n",
            )))
            _tool(["nft", "-f", "-"], "table inet x { chain x { type filter hook postrouting priority 0; @ih,0,8 >= 0 ct mark set 1\n }\n }\n")
    except (LabError, OSError, subprocess.SubprocessError) as error:
        return str(error)
    return ""


def measure(argument: dict[str, Any]) -> dict[str, float]:
    """CPU seconds for a packet with each setting, the least of several rounds; rounds go through all settings in turn.

    argument: settings by name (queues: lines for tc; rules: for nft; ports: destinations of the flows), rounds, seconds (of one measurement).
    Raises LabError if a packet is lost on the way.
    """
    found: dict[str, float] = {}
    with _gateway(), within(_GATEWAY), CounterSocket() as reader:
        for _ in range(argument["rounds"]):
            for name, setting in argument["settings"].items():
                _set_up(setting)
                sender = _Sender(_frames(setting["ports"]))
                try:
                    # The first packets open the flows.
                    batches = max(2, round(argument["seconds"] / max(sender.send(2) / 2, 1e-6)))
                    before = _counted(reader)
                    taken = sender.send(batches)
                    counted = _counted(reader) - before
                finally:
                    sender.close()
                    _take_down()
                if counted != batches * _BATCH:
                    raise LabError(f"{name}: {batches * _BATCH} packets sent, {counted} counted")
                found[name] = min(found.get(name, 1.0), taken / (batches * _BATCH))
    return found
