"""The machine that a ruleset is for, as far as pfctl asks it: interfaces, addresses, services, users, hosts, files.

`pfq check` never asks the machine it runs on. A `System` has defaults that fit any BSD, and a small TOML file changes them:

    [interface.em0]
    addresses = ["192.0.2.1/24", "2001:db8::1/64", "fe80::1/64"]
    speed = "1Gb"          # bit/s; a number, or one with b, Kb, Mb or Gb
    mtu = 1500
    groups = ["egress"]
    peer = "192.0.2.2"     # of a point-to-point interface

    [service]
    backup = 7777

    [host]
    "www.example.org" = ["192.0.2.80"]

    [user]
    alice = 1000
    [group]
    staff = 20
"""

from .services import Protocols, Services

# Below this many bits an address that is written without a mask is a host.
_BITS = {4: 32, 6: 128}

_USERS = {
    "root": 0, "daemon": 1, "operator": 2, "bin": 3, "sshd": 27, "www": 67, "named": 70, "proxy": 71,
    "_bgpd": 75, "_ftp_proxy": 71, "nobody": 32767,
}
_GROUPS = {
    "wheel": 0, "daemon": 1, "kmem": 2, "sys": 3, "tty": 4, "operator": 5, "bin": 7, "staff": 20, "sshd": 27,
    "users": 10, "www": 67, "named": 70, "proxy": 71, "nobody": 32767, "nogroup": 32766,
}
# Users of OpenBSD's base system that rules name, each with a group of the same name and number.
_OPENBSD_SERVICES = {
    "_unbound": 53, "_dpb": 54, "_pbuild": 55, "_pfetch": 56, "_spamd": 62, "_isakmpd": 68, "_syslogd": 73, "_pflogd": 74,
    "_tcpdump": 76, "_dhcp": 77, "_tftpd": 79, "_ntp": 83, "_relayd": 89, "_snmpd": 91, "_smtpd": 95, "_nsd": 97, "_smtpq": 103,
}
_FREEBSD_NUMBERS = {"sshd": 22, "www": 80, "named": 53, "proxy": 62, "nobody": 65534, "nogroup": 65533}


class WrongSystem(ValueError):
    """The file that describes a system says something that cannot be meant; the message names it."""


class Interface:
    """An interface: addresses as (family, value, prefix bits), speed in bit/s (0: it does not know), MTU in bytes."""

    __slots__ = ("addresses", "broadcast", "groups", "loopback", "mtu", "name", "peer", "speed")

    def __init__(
        self,
        name: str,
        addresses: tuple[tuple[int, int, int], ...] = (),
        speed: int = 100_000_000,
        mtu: int = 1500,
        groups: tuple[str, ...] = (),
        peer: tuple[int, int] | None = None,
        loopback: bool = False,
    ) -> None:
        self.name = name
        self.addresses = addresses
        self.speed = speed
        self.mtu = mtu
        self.groups = groups
        self.peer = peer
        self.loopback = loopback
        self.broadcast = not loopback and peer is None


# Interfaces that are no hardware have no speed of their own, and pfctl says so.
_NO_SPEED = frozenset(("tun", "tap", "pppoe", "ppp", "gif", "gre", "wg", "enc", "lo", "pflog", "pfsync", "ng", "bridge", "carp"))


class System:
    """What there is. `assume` lets every interface-like name exist, with one address of TEST-NET-1 and a link-local one.

    The loopback addresses are 127.0.0.1/8, ::1/128 and fe80::1/64, as on every BSD.
    """

    def __init__(self, family: str = "openbsd", release: tuple[int, int] = (7, 6), assume: bool = True) -> None:
        self.services = Services(family, release < (5, 0))
        self.protocols = Protocols(family)
        self.assume = assume
        self.interfaces: dict[str, Interface] = {}
        self.hosts: dict[str, tuple[tuple[int, int], ...]] = {
            "localhost": ((4, 0x7F000001), (6, 1)),
        }
        self.users = dict(_USERS)
        self.user_groups = dict(_GROUPS)
        if family == "openbsd":
            self.users.update(_OPENBSD_SERVICES)
            self.user_groups.update(_OPENBSD_SERVICES)
        else:
            for name, number in _FREEBSD_NUMBERS.items():
                if name in self.users:
                    self.users[name] = number
                if name in self.user_groups:
                    self.user_groups[name] = number
        self.rtables: frozenset[int] | None = None
        # OpenBSD's lo(4) has an MTU of 33224 until 5.x and 32768 after; FreeBSD's has 16384.
        mtu = 16384 if family == "freebsd" else 33224 if release < (5, 0) else 32768
        six = ((6, 1, 128), (6, 0xFE80 << 112 | 1, 64))
        four = ((4, 0x7F000001, 8),)
        # getifaddrs(3) lists IPv4 first in older releases.
        addresses = four + six if release < (5, 0) and family == "openbsd" else six + four
        self.add(Interface("lo0", addresses, 0, mtu, ("lo",), loopback=True))

    def add(self, interface: Interface) -> None:
        """Add an interface, or replace the one of that name."""
        self.interfaces[interface.name] = interface

    def interface(self, name: str) -> Interface | None:
        """The interface of that name; an assumed one if that is allowed and the name looks like one; or None."""
        found = self.interfaces.get(name)
        if found is None and self.assume and _looks_like_interface(name):
            kind = name.rstrip("0123456789")
            number = len(self.interfaces) % 250 + 1
            speed = 0 if kind in _NO_SPEED else 1_000_000_000
            addresses = ((6, 0xFE80 << 112 | number, 64), (4, 0xC0000200 | number, 24))
            found = Interface(name, addresses, speed, 1500, (kind,), loopback=kind == "lo")
            self.add(found)
        return found

    def group(self, name: str) -> list[Interface] | None:
        """The interfaces of a group, or None when there is no such group."""
        members = [one for one in self.interfaces.values() if name in one.groups]
        if members:
            return members
        return [] if self.assume and name in ("egress", "wlan", "carp", "tun", "vlan") else None


def _looks_like_interface(name: str) -> bool:
    kind = name.rstrip("0123456789")
    return bool(kind) and kind != name and kind.replace("_", "").isalpha() and kind.islower() and len(name) < 16


def load_system(path: str, family: str = "openbsd", release: tuple[int, int] = (7, 6)) -> System:
    """Read the file that describes a system.

    Raises OSError when it cannot be read, tomllib.TOMLDecodeError (a ValueError) when it is no TOML, WrongSystem (a
    ValueError) when it says something unknown.
    """
    import tomllib

    with open(path, "rb") as file:
        return system_of(tomllib.load(file), family, release)


def system_of(tree: dict[str, object], family: str, release: tuple[int, int]) -> System:
    """The system that a TOML tree describes. Interfaces that it does not list do not exist once it lists any."""
    system = System(family, release)
    known = {"interface", "service", "host", "user", "group", "rtables"}
    unknown = sorted(set(tree) - known)
    if unknown:
        raise WrongSystem(f"unknown table [{unknown[0]}]: one of {', '.join(sorted(known))}")
    for name, facts in _table(tree, "interface").items():
        system.add(_interface(name, facts))
        system.assume = False
    for name, port in _table(tree, "service").items():
        for which in (0, 1):
            system.services.add([name], _number(port, f"service.{name}", 65535), which)
    for name, addresses in _table(tree, "host").items():
        system.hosts[name] = tuple(_address(one, f"host.{name}")[:2] for one in _strings(addresses, f"host.{name}"))
    for name, number in _table(tree, "user").items():
        system.users[name] = _number(number, f"user.{name}", 2**32 - 2)
    for name, number in _table(tree, "group").items():
        system.user_groups[name] = _number(number, f"group.{name}", 2**32 - 2)
    return system


def _interface(name: str, facts: object) -> Interface:
    where = f"interface.{name}"
    if not isinstance(facts, dict):
        raise WrongSystem(f"{where} is a table of addresses, speed, mtu, groups and peer")
    unknown = sorted(set(facts) - {"addresses", "speed", "mtu", "groups", "peer"})
    if unknown:
        raise WrongSystem(f"unknown key {where}.{unknown[0]}: addresses, speed, mtu, groups or peer")
    kind = name.rstrip("0123456789")
    addresses = tuple(_address(one, where) for one in _strings(facts.get("addresses", []), where))
    peer = _address(str(facts["peer"]), where)[:2] if "peer" in facts else None
    groups = tuple(_strings(facts.get("groups", []), where))
    return Interface(
        name,
        addresses,
        _speed(facts.get("speed", 0 if kind in _NO_SPEED else 1_000_000_000), where),
        _number(facts.get("mtu", 1500), f"{where}.mtu", 65536),
        groups if kind in groups else (*groups, kind),
        peer,
        kind == "lo",
    )


def _table(tree: dict[str, object], name: str) -> dict[str, object]:
    table = tree.get(name, {})
    if not isinstance(table, dict):
        raise WrongSystem(f"{name} is a table")
    return table


def _strings(value: object, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise WrongSystem(f"{where}: a list of strings is wanted")
    return value


def _number(value: object, where: str, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise WrongSystem(f"{where}: a number from 0 to {most} is wanted")
    return value


def _speed(value: object, where: str) -> int:
    if isinstance(value, str):
        for unit, factor in (("Gb", 10**9), ("Mb", 10**6), ("Kb", 1000), ("b", 1)):
            if value.endswith(unit) and value[: -len(unit)].strip().isdigit():
                return int(value[: -len(unit)]) * factor
        raise WrongSystem(f"{where}.speed: a number with b, Kb, Mb or Gb is wanted")
    return _number(value, f"{where}.speed", 10**13)


def _address(text: str, where: str) -> tuple[int, int, int]:
    from .hosts import numeric

    address, _, bits = text.partition("/")
    found = numeric(address)
    if found is None or (bits and not (bits.isdigit() and int(bits) <= _BITS[found[0]])):
        raise WrongSystem(f"{where}: {text} is no address")
    return (*found, int(bits) if bits else _BITS[found[0]])
