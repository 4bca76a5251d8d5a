"""Addresses as pfctl reads and prints them, and the names it asks its machine for.

Sources: pfctl_parser.c (host, host_if, host_ip, host_v4, host_v6, host_dns, ifa_lookup) and pf_print_state.c (print_addr).
"""

from .dialects import Dialect
from .nodes import ADDRESS, DYNAMIC, NO_ROUTE, RANGE, ROUTE_LABEL, TABLE, URPF_FAILED, Host
from .system import Interface, System

_ALL_ONES = (1 << 128) - 1


def numeric(text: str) -> tuple[int, int] | None:
    """Family and value of a numeric address (dotted quad or IPv6), or None."""
    if ":" in text:
        value = _ipv6(text)
        return None if value is None else (6, value)
    value = _ipv4(text)
    return None if value is None else (4, value)


def _ipv4(text: str) -> int | None:
    parts = text.split(".")
    if len(parts) != 4:
        return None
    value = 0
    for part in parts:
        if not part.isdigit() or not part.isascii() or len(part) > 3 or int(part) > 255 or (len(part) > 1 and part[0] == "0"):
            return None
        value = value << 8 | int(part)
    return value


def _ipv6(text: str) -> int | None:
    head, double, tail = text.partition("::")
    if double and ("::" in tail or tail.startswith(":")):
        return None
    before = _groups(head, not double)
    after = _groups(tail, True) if double else []
    if before is None or after is None:
        return None
    missing = 8 - len(before) - len(after)
    if (missing < 1) if double else missing:
        return None
    value = 0
    for group in before + [0] * missing + after:
        value = value << 16 | group
    return value


def _groups(text: str, last: bool) -> list[int] | None:
    if not text:
        return []
    groups = []
    parts = text.split(":")
    for index, part in enumerate(parts):
        if "." in part and last and index == len(parts) - 1:
            quad = _ipv4(part)
            if quad is None:
                return None
            groups += [quad >> 16, quad & 0xFFFF]
            continue
        if not 1 <= len(part) <= 4:
            return None
        try:
            groups.append(int(part, 16))
        except ValueError:
            return None
        if not part.isalnum():
            return None
    return groups


def _network(text: str) -> int | None:
    """An IPv4 network of one to four octets, as inet_net_pton(3) reads it: 10 is 10.0.0.0."""
    parts = text.split(".")
    if not 1 <= len(parts) <= 4:
        return None
    value = 0
    for part in parts:
        if not part.isdigit() or not part.isascii() or len(part) > 9 or int(part) > 255:
            return None
        value = value << 8 | int(part)
    return value << 8 * (4 - len(parts))


def address_text(af: int, value: int) -> str:
    """An address as inet_ntop(3) writes it."""
    if af != 6:
        if af == 0:
            value >>= 96 if value >> 32 else 0
        return f"{value >> 24 & 255}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"
    groups = [value >> shift & 0xFFFF for shift in range(112, -1, -16)]
    if value >> 32 == 0 and value >> 16 and value > 0xFFFF:
        return f"::{address_text(4, value & 0xFFFFFFFF)}"
    if value >> 32 == 0xFFFF:
        return f"::ffff:{address_text(4, value & 0xFFFFFFFF)}"
    start, length, best, best_length = -1, 0, -1, 1
    for index, group in enumerate([*groups, 1]):
        if group == 0:
            if length == 0:
                start = index
            length += 1
        else:
            if length > best_length:
                best, best_length = start, length
            length = 0
    if best < 0:
        return ":".join(f"{group:x}" for group in groups)
    head = ":".join(f"{group:x}" for group in groups[:best])
    tail = ":".join(f"{group:x}" for group in groups[best + best_length :])
    return f"{head}::{tail}"


def masked(af: int, value: int, bits: int) -> int:
    """The network of an address; a mask longer than the family's is held at it."""
    width = 32 if af == 4 else 128
    return value & (_ALL_ONES << width - min(bits, width)) & (1 << width) - 1


def is_any(host: Host) -> bool:
    """Whether an address is 0/0, which prints as `any`."""
    return host.kind == ADDRESS and host.value == 0 and host.bits == 0


def host_text(host: Host, af: int) -> str:
    """An address as `pfctl -v` prints it, without its negation; `af` is that of the rule."""
    kind = host.kind
    if kind == ADDRESS:
        if host.value == 0 and host.bits == 0:
            return "any"
        text = address_text(af or host.af, host.value)
        return text if host.bits >= (32 if af == 4 else 128) or (host.af == 4 and host.bits == 32) else f"{text}/{host.bits}"
    if kind == DYNAMIC:
        text = "(" + ":".join((host.name, *host.modifiers)) + ")"
        return f"{text}/{host.bits}" if host.bits < (32 if af == 4 else 128) else text
    if kind == TABLE:
        return f"<{host.name}>"
    if kind == RANGE:
        return f"{address_text(af, host.value)} - {address_text(af, host.end)}"
    if kind == ROUTE_LABEL:
        return f'route "{host.name}"'
    return {NO_ROUTE: "no-route", URPF_FAILED: "urpf-failed"}.get(kind, "?")


# In the order in which print_addr writes them.
MODIFIERS = ("network", "broadcast", "peer", "0")


def modifiers_of(text: str) -> tuple[str, tuple[str, ...], str]:
    """Split `em0:network:0` into name, modifiers in printing order, and what is no modifier ('' when all are)."""
    found = set()
    name = text
    while ":" in name:
        head, _, tail = name.rpartition(":")
        if tail not in MODIFIERS:
            return name, (), tail or ":"
        found.add(tail)
        name = head
    return name, tuple(one for one in MODIFIERS if one in found), ""


class Resolver:
    """Turns the host of a rule into addresses; what pfctl writes on standard error meanwhile goes to `errors`."""

    def __init__(self, system: System, dialect: Dialect, errors: list[str]) -> None:
        self._system = system
        self._new = dialect.masks_by_strtonum
        self._errors = errors
        self._known: dict[str, Host] = {}

    def resolve(self, text: str) -> list[Host] | None:
        """The addresses of a host, network or interface, `name` or `name/bits`; None after an error was written."""
        known = self._known.get(text)
        if known is not None:
            return [known.copy()]
        hosts = self._new_host(text) if self._new else self._old_host(text)
        if hosts is not None and len(hosts) == 1 and not hosts[0].scope and text[:1].isdigit():
            self._known[text] = hosts[0].copy()
        return hosts

    def _new_host(self, text: str) -> list[Host] | None:
        name, slash, mask = text.partition("/")
        bits = -1
        if slash:
            number = _strtonum(mask, 0, 128)
            if isinstance(number, str):
                self._errors.append(f"netmask is {number}: /{mask}\n")
                return None
            bits = number
        hosts = self._interface(name, bits)
        if not hosts:
            one = numeric(name)
            if one is not None:
                hosts = [_host(*one, bits)]
            else:
                scoped = self._scoped(name, bits)
                value = _network(name) if bits >= 0 else None
                if scoped is not None:
                    hosts = [scoped]
                elif value is not None:
                    hosts = [_host(4, value, bits)]
                else:
                    hosts = self._named(name, bits, bits)
        if not hosts:
            self._errors.append(f"no IP address found for {text}\n")
            return None
        return hosts

    def _old_host(self, text: str) -> list[Host] | None:
        name, slash, mask = text.rpartition("/")
        if not slash:
            name = text
        bits = -1
        if slash:
            number = _strtol(mask)
            if number is None or number > 128:
                self._errors.append(f"invalid netmask '/{mask}'\n")
                return None
            bits = number
        hosts = self._interface(name, bits)
        if not hosts:
            one = numeric(name)
            if slash and (one is None or one[0] == 4):
                value = _network(name)
                one = (4, value) if value is not None and 0 <= bits <= 32 else None
            if one is not None:
                hosts = [_host(*one, bits)]
            else:
                # What is left is asked of the resolver, which knows numerals as well, and takes any mask for them.
                scoped = self._scoped(name, bits)
                one = numeric(name)
                if one is not None:
                    scoped = _host(*one, bits)
                hosts = [scoped] if scoped is not None else self._named(name, bits, bits)
        if not hosts:
            self._errors.append(f"no IP address found for {text}\n")
            return None
        return hosts

    def _scoped(self, name: str, bits: int) -> Host | None:
        address, percent, scope = name.partition("%")
        one = numeric(address) if percent else None
        if one is None or one[0] != 6 or self._system.interface(scope) is None:
            return None
        host = _host(*one, bits)
        host.scope = scope
        return host

    def _named(self, name: str, bits4: int, bits6: int) -> list[Host]:
        base = name.removesuffix(":0")
        found = self._system.hosts.get(base, ())
        if base != name:
            found = tuple({af: (af, value) for af, value in reversed(found)}.values())
        return [_host(af, value, bits4 if af == 4 else bits6) for af, value in found]

    def _interface(self, text: str, bits: int) -> list[Host]:
        name, modifiers, bad = modifiers_of(text)
        if bad:
            return []
        if len({"network", "broadcast", "peer"} & set(modifiers)) > 1:
            self._errors.append("illegal combination of interface modifiers\n")
            return []
        if bits > -1 and ("network" in modifiers or "broadcast" in modifiers):
            self._errors.append("network or broadcast lookup, but extra netmask given\n")
            return []
        hosts = self.lookup(name, modifiers)
        if bits > -1:
            for host in hosts:
                host.bits = bits
                host.value = masked(host.af, host.value, bits)
        return hosts

    def lookup(self, name: str, modifiers: tuple[str, ...]) -> list[Host]:
        """The addresses of an interface, a group, all interfaces of a kind, or `self`; empty when there are none."""
        hosts: list[Host] = []
        for interface in self.interfaces(name):
            hosts += _addresses(interface, modifiers)
        return hosts

    def interfaces(self, name: str) -> list[Interface]:
        """The interfaces a name stands for: itself, a group's members, or every interface of that kind."""
        system = self._system
        if name == "self":
            return list(system.interfaces.values())
        found = system.interface(name)
        return [found] if found is not None else system.group(name) or []

    def exists(self, name: str) -> bool:
        """Whether pfctl knows an interface or group of that name."""
        return self._system.interface(name) is not None or self._system.group(name) is not None


def _addresses(interface: Interface, modifiers: tuple[str, ...]) -> list[Host]:
    hosts = []
    seen: set[int] = set()
    for af, value, bits in interface.addresses:
        shown = value
        link_local = af == 6 and value >> 118 == 0x3FA
        if "broadcast" in modifiers:
            if af != 4 or not interface.broadcast:
                continue
            shown |= (1 << 32 - bits) - 1
        if "peer" in modifiers:
            if interface.peer is None or interface.peer[0] != af:
                continue
            shown = interface.peer[1]
        if "network" in modifiers and link_local:
            continue
        if "0" in modifiers and af in seen:
            continue
        seen.add(af)
        host = _host(af, shown, bits if "network" in modifiers else -1)
        if link_local:
            host.scope = interface.name
        hosts.append(host)
    return hosts


def _host(af: int, value: int, bits: int) -> Host:
    bits = (32 if af == 4 else 128) if bits < 0 else bits
    return Host(ADDRESS, af, masked(af, value, bits), bits)


def _strtonum(text: str, least: int, most: int) -> int | str:
    """strtonum(3): the number, or what is wrong with it."""
    digits = text.lstrip(" \t")
    sign = digits[:1] in ("-", "+")
    if not digits[sign:].isdigit() or not digits.isascii():
        return "invalid"
    number = int(digits) if len(digits) < 40 else 10**39
    return "too small" if number < least else "too large" if number > most else number


def _strtol(text: str) -> int | None:
    """strtol(3) in base 0, all of the text."""
    digits = text.lstrip("-+")
    try:
        number = int(digits, 16 if digits[:2].lower() == "0x" else 8 if digits[:1] == "0" and len(digits) > 1 else 10)
    except ValueError:
        return None
    return -number if text.startswith("-") else number
