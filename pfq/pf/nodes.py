"""What a ruleset consists of once it is read: addresses, ports, rules, queues, tables, anchors, and the statements they stand in.

The classes here are plain: a ruleset of ten thousand rules makes some fifty thousand of them, and a dataclass costs several
times as much to make and to import. Families are 0 (any), 4 and 6; addresses are integers; rates are bit/s.
"""

ADDRESS, RANGE, DYNAMIC, TABLE, NO_ROUTE, URPF_FAILED, ROUTE_LABEL = (
    "address", "range", "dynamic", "table", "no-route", "urpf-failed", "route",
)


class Host:
    """One address of a rule: ``kind`` says which of the other fields mean anything.

    `value`/`bits` of an address, `value`/`end` of a range, `name` and `modifiers` of a dynamic interface, `name` of a
    table or route label. `scope` is the interface of a link-local address, `interface` the one named beside an address
    of a routing pool.
    """

    __slots__ = ("af", "bits", "end", "interface", "kind", "modifiers", "name", "negated", "scope", "value", "weight")

    def __init__(self, kind: str, af: int = 0, value: int = 0, bits: int = 0, name: str = "") -> None:
        self.kind = kind
        self.af = af
        self.value = value
        self.bits = bits
        self.end = 0
        self.name = name
        self.modifiers: tuple[str, ...] = ()
        self.negated = False
        self.scope = ""
        self.interface = ""
        self.weight = 0

    def copy(self) -> "Host":
        """The same address, to be changed without changing this one."""
        new = Host(self.kind, self.af, self.value, self.bits, self.name)
        new.end = self.end
        new.modifiers = self.modifiers
        new.negated = self.negated
        new.scope = self.scope
        new.interface = self.interface
        new.weight = self.weight
        return new

    def many(self) -> bool:
        """Whether a dynamic interface may stand for several addresses: not with `:0`, nor for a group."""
        return self.kind == DYNAMIC and ("0" not in self.modifiers or not self.name[-1:].isdigit())


ANY = Host(ADDRESS)


class Port:
    """A port condition; ``op`` is one of = != < <= > >= : >< <> and `high` counts only for the last three."""

    __slots__ = ("high", "low", "op")

    def __init__(self, op: str, low: int, high: int = 0) -> None:
        self.op = op
        self.low = low
        self.high = high


class Identity:
    """A user or group condition, with the operators of a port; -1 is `unknown`."""

    __slots__ = ("high", "low", "op")

    def __init__(self, op: str, low: int, high: int) -> None:
        self.op = op
        self.low = low
        self.high = high


class InterfaceName:
    """An interface as a rule names it; `rdomain` is -1 unless it is a routing domain that is named."""

    __slots__ = ("dynamic", "name", "negated", "rdomain")

    def __init__(self, name: str, negated: bool = False, rdomain: int = -1) -> None:
        self.name = name
        self.negated = negated
        self.rdomain = rdomain
        self.dynamic = False


class IcmpType:
    """An ICMP condition: type, and code or -1; proto is 1 or 58."""

    __slots__ = ("code", "proto", "type")

    def __init__(self, proto: int, type: int, code: int) -> None:
        self.proto = proto
        self.type = type
        self.code = code


class Pool:
    """Where a rule sends or translates to: addresses, ports, and how one of them is picked."""

    __slots__ = ("high", "hosts", "key", "kind", "low", "of_ipv6", "sticky")

    def __init__(self, hosts: list[Host], low: int = 0, high: int = 0, kind: str = "") -> None:
        self.hosts = hosts
        self.low = low
        self.high = high
        self.kind = kind
        self.key = ""
        self.sticky = False
        self.of_ipv6 = False


class Rule:
    """A rule as the kernel gets it: one combination of everything its statement lists.

    The defaults are those of a rule that says nothing. Fields with their unit or range where the name does not tell it:
    `icmp_type` and `icmp_code` are -1 when not compared; `flags`/`flagset` are masks over FSRPAUEW; `probability` is the
    32-bit fraction pf keeps, 0 for always; `timeouts` are seconds by name.
    """

    action: str = "pass"
    returns: str = ""
    return_ttl: int = 0
    return_icmp: int = 0
    return_icmp6: int = 0
    direction: str = ""
    log: bool = False
    log_options: frozenset[str] = frozenset()
    log_interface: int = 0
    quick: bool = False
    interface: str = ""
    interface_negated: bool = False
    rdomain: int = -1
    af: int = 0
    proto: int = 0
    source: Host = ANY
    source_port: Port | None = None
    destination: Host = ANY
    destination_port: Port | None = None
    os: str = ""
    received_on: str = ""
    received_on_negated: bool = False
    user: Identity | None = None
    group: Identity | None = None
    flags: int = 0
    flagset: int = 0
    icmp_type: int = -1
    icmp_code: int = -1
    tos: int = 0
    prio: int = -1
    packet_rate: tuple[int, int] | None = None
    set_prio: tuple[int, int] | None = None
    queue: str = ""
    ack_queue: str = ""
    set_tos: int = -1
    delay: int = -1
    state: str = ""
    probability: int = 0
    max_states: int = 0
    no_sync: bool = False
    source_track: bool = False
    source_track_rule: bool = False
    max_src_states: int = 0
    max_src_conn: int = 0
    max_src_conn_rate: tuple[int, int] = (0, 0)
    max_src_nodes: int = 0
    overload: str = ""
    flush: str = ""
    if_bound: bool = False
    sloppy: bool = False
    pflow: bool = False
    timeouts: dict[str, int] = {}  # noqa: RUF012 -- replaced, never changed
    fragment: bool = False
    no_df: bool = False
    random_id: bool = False
    min_ttl: int = 0
    max_mss: int = 0
    reassemble_tcp: bool = False
    fragment_handling: str = ""
    allow_opts: bool = False
    label: str = ""
    more_labels: tuple[str, ...] = ()
    ridentifier: int = 0
    # FreeBSD: `dnpipe` or `dnqueue` with the numbers for either direction.
    dummynet: tuple[str, int, int] = ("", 0, 0)
    once: bool = False
    tag: str = ""
    tagged: str = ""
    tagged_negated: bool = False
    rtable: int = -1
    divert: str = ""
    divert_address: Host | None = None
    divert_port: int = 0
    translation_af: int = 0
    nat: Pool | None = None
    rdr: Pool | None = None
    route: Pool | None = None
    route_kind: str = ""
    nat_pass: bool = False
    pool: Pool | None = None
    anchor: "Anchor | None" = None
    number: int = 0
    line: int = 0
    statement: "Statement | None" = None

    def copy(self) -> "Rule":
        """The same rule, to be changed without changing this one."""
        new = Rule()
        new.__dict__.update(self.__dict__)
        return new


class Anchor:
    """A ruleset with a name. `inline` is one in braces; `children` are anchors by their last name."""

    __slots__ = ("children", "inline", "matches", "name", "path", "rules")

    def __init__(self, name: str, path: str, inline: bool = False) -> None:
        self.name = name
        self.path = path
        self.inline = inline
        self.rules: list[Rule] = []
        self.children: dict[str, Anchor] = {}
        self.matches = 0


class TableFile:
    """A file that a table is filled from."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path


class Table:
    """A table as its statement defines it: a sequence of host lists and files."""

    __slots__ = ("const", "counters", "initialised", "line", "name", "parts", "persist")

    def __init__(self, name: str) -> None:
        self.name = name
        self.const = False
        self.persist = False
        self.counters = False
        self.initialised = False
        self.parts: list[list[Host] | TableFile] = []
        self.line = 0


class Clause:
    """A part of a statement, by the name of what it is; `start` and `end` are offsets in the text of its file."""

    __slots__ = ("end", "name", "start")

    def __init__(self, name: str, start: int, end: int) -> None:
        self.name = name
        self.start = start
        self.end = end


class Statement:
    """A statement where it stands: kind, file, first line, and the offsets [start, end) in that file's text.

    A statement that was given up at an error has `faulty` set; its clauses are those read until then. `value` is what
    it came to: rules, a table, a queue, the interfaces of `set skip`, the answer of `set reassemble`, or nothing. `inner` are
    the statements in an anchor's braces, whose rules are among its `rules`, and name the statement that they stand in.
    """

    __slots__ = ("clauses", "end", "faulty", "file", "inner", "kind", "line", "rules", "start", "value")

    def __init__(self, kind: str, file: str, line: int, start: int, end: int) -> None:
        self.kind = kind
        self.file = file
        self.line = line
        self.start = start
        self.end = end
        self.clauses: list[Clause] = []
        self.faulty = False
        self.rules: list[Rule] = []
        self.value: object = None
        self.inner: list[Statement] = []

    def every(self) -> "list[Statement]":
        """This statement and those in its braces, in the order of the text."""
        if not self.inner:
            return [self]
        return [self, *(one for inner in self.inner for one in inner.every())]
