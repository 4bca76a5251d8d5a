"""Rules in pfctl's normal form, which pfctl reads as the same rule again.

Source: print_rule, print_fromto, print_pool, print_port, print_ugid and print_tabledef of pfctl_parser.c.
"""

from . import names
from .conditions import flags_text
from .dialects import Dialect
from .hosts import host_text, is_any
from .nodes import DYNAMIC, Anchor, Host, Identity, Pool, Port, Rule, Table, TableFile
from .system import System

# mypy takes a name like this for true; importing typing would cost what reading a small ruleset costs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Add = Callable[[str], object]


class Printer:
    """Prints rules for a dialect and the names its system has for ports and protocols."""

    def __init__(self, dialect: Dialect, system: System) -> None:
        self._dialect = dialect
        self._system = system
        self._port_names = not dialect.port_numbers_printed
        self._new = dialect.nat_to

    def rule(self, rule: Rule, call: str | None = None) -> str:
        """A rule, without its line end; `call` is the anchor it calls, if it does."""
        out: list[str] = []
        add = out.append
        self._head(rule, call, add)
        self._from_to(rule, add)
        self._conditions(rule, call, add)
        self._sets(rule, add)
        self._state(rule, call, add)
        if rule.fragment:
            add(" fragment")
        if self._new:
            self._tail_new(rule, call, add)
        else:
            self._tail_old(rule, call, add)
        return "".join(out)

    def network(self, rule: Rule) -> str:
        """The addresses of a rule, with a blank before them."""
        out: list[str] = []
        self._from_to(rule, out.append)
        return "".join(out)

    def _head(self, rule: Rule, call: str | None, add: "Add") -> None:
        """Action, direction, interface, family and protocol."""
        action = rule.action
        if call is not None:
            word = action if action in ("nat", "rdr", "binat") else ""
            word = f"{word}-anchor" if word else "anchor"
            add(word if _is_internal(call, self._new) else f'{word} "{call}"')
        else:
            add(action)
            if rule.nat_pass:
                add(" pass")
        if action == "block":
            self._returns(rule, add)
        if rule.direction:
            add(f" {rule.direction}")
        if rule.log:
            add(" log" + self._log_options(rule))
        if rule.quick:
            add(" quick")
        if rule.interface:
            add(f" on ! {rule.interface}" if rule.interface_negated else f" on {rule.interface}")
        if rule.rdomain >= 0:
            add(f" on {'! ' if rule.interface_negated else ''}rdomain {rule.rdomain}")
        if rule.route_kind and not self._new:
            self._old_route(rule, add)
        if rule.af:
            add(" inet" if rule.af == 4 else " inet6")
        if rule.proto:
            add(f" proto {self._system.protocols.names.get(rule.proto, rule.proto)}")

    def _conditions(self, rule: Rule, call: str | None, add: "Add") -> None:
        """What else a packet is matched by."""
        if rule.received_on:
            add(f" {'!' if rule.received_on_negated else ''}received-on {rule.received_on}")
        if rule.user is not None:
            add(f" user{_identity(rule.user)}")
        if rule.group is not None:
            add(f" group{_identity(rule.group)}")
        if rule.flags or rule.flagset:
            add(f" flags {flags_text(rule.flags)}/{flags_text(rule.flagset)}")
        elif (
            rule.action in ("pass", "match")
            and rule.proto in (0, 6)
            and not rule.fragment
            and call is None
            and rule.state
            and (rule.action == "pass" or self._new)
        ):
            add(" flags any")
        if rule.icmp_type >= 0:
            self._icmp(rule, add)
        if rule.tos:
            add(f" tos 0x{rule.tos:02x}")
        if rule.prio >= 0:
            add(f" prio {rule.prio}")
        if rule.packet_rate is not None and rule.packet_rate[0]:
            add(f" max-pkt-rate {rule.packet_rate[0]}/{rule.packet_rate[1]}")

    def _returns(self, rule: Rule, add: "Add") -> None:
        returns = rule.returns
        if returns == "return":
            add(" return")
        elif returns == "return-rst":
            add(f" return-rst(ttl {rule.return_ttl})" if rule.return_ttl else " return-rst")
        elif returns == "return-icmp":
            four = names.icmp_code_name(rule.return_icmp >> 8, rule.return_icmp & 255, 4, self._new) or rule.return_icmp & 255
            six = names.icmp_code_name(rule.return_icmp6 >> 8, rule.return_icmp6 & 255, 6, self._new) or rule.return_icmp6 & 255
            if rule.af == 4:
                add(f" return-icmp({four})")
            elif rule.af == 6:
                add(f" return-icmp6({six})")
            else:
                add(f" return-icmp({four}, {six})")
        else:
            add(" drop")

    def _log_options(self, rule: Rule) -> str:
        if not rule.log_options and not rule.log_interface:
            return ""
        words: list[str] = [word for word in ("all", "matches", "user") if word in rule.log_options]
        if rule.log_interface:
            words.append(f"to pflog{rule.log_interface}")
        return f" ({', '.join(words)})"

    def _from_to(self, rule: Rule, add: "Add") -> None:
        src, dst = rule.source, rule.destination
        if (
            rule.source_port is None
            and rule.destination_port is None
            and not src.negated
            and not dst.negated
            and not rule.os
            and is_any(src)
            and is_any(dst)
        ):
            add(" all")
            return
        af = rule.af
        add(f" from {'! ' if src.negated else ''}{host_text(src, af)}")
        if rule.source_port is not None:
            add(self._port(rule.source_port, rule.proto))
        if rule.os:
            add(f' os "{rule.os}"')
        add(f" to {'! ' if dst.negated else ''}{host_text(dst, af)}")
        if rule.destination_port is not None:
            add(self._port(rule.destination_port, rule.proto))

    def _port(self, port: Port, proto: int) -> str:
        op = port.op
        if op == ":":
            return f" port {port.low}:{port.high}"
        if op in ("><", "<>"):
            return f" port {port.low} {op} {port.high}"
        if self._port_names and op in ("=", "!="):
            return f" port {op} {self._system.services.name(port.low, proto == 6) or port.low}"
        return f" port {op} {port.low}"

    def _icmp(self, rule: Rule, add: "Add") -> None:
        name = names.icmp_type_name(rule.icmp_type, rule.af)
        if name is None and rule.af == 6 and rule.icmp_type == 143 and self._dialect.icmp_mld2:
            name = "listenrepv2"
        add(f" icmp6-type {name or rule.icmp_type}" if rule.af == 6 else f" icmp-type {name or rule.icmp_type}")
        if rule.icmp_code >= 0:
            add(f" code {names.icmp_code_name(rule.icmp_type, rule.icmp_code, rule.af, self._new) or rule.icmp_code}")

    def _sets(self, rule: Rule, add: "Add") -> None:
        set_tos = rule.set_tos if self._new else -1
        if rule.set_prio is None and set_tos < 0 and rule.delay < 0 and not (rule.queue and self._dialect.set_queue):
            return
        words = []
        if rule.set_prio is not None:
            low, high = rule.set_prio
            words.append(f"prio {low}" if low == high else f"prio({low}, {high})")
        if rule.queue and self._dialect.set_queue:
            words.append(f"queue({rule.queue}, {rule.ack_queue})" if rule.ack_queue else f"queue {rule.queue}")
        if set_tos >= 0:
            words.append(f"tos 0x{set_tos:02x}")
        if rule.delay >= 0:
            words.append(f"delay {rule.delay}")
        blank = " " if self._dialect.set_spaced else ""
        add(f" set ({blank}{', '.join(words)}{blank})")

    def _state(self, rule: Rule, call: str | None, add: "Add") -> None:
        options = self._state_options(rule)
        if not rule.state:
            if rule.action == "pass" and call is None:
                add(" no state")
        elif rule.state != "keep" or options or self._dialect.state_always_printed:
            add(f" {rule.state} state")
        if rule.probability:
            text = f"{rule.probability * 100.0 / 2.0**32:f}".rstrip("0").rstrip(".")
            add(f" probability {text}%")
        if options:
            add(f" ({', '.join(options)})")

    def _state_options(self, rule: Rule) -> list[str]:
        """The state options; none are printed for a rule that has only some of them (a maximum without tracking)."""
        words = []
        if rule.max_states:
            words.append(f"max {rule.max_states}")
        if rule.no_sync:
            words.append("no-sync")
        if rule.source_track:
            words.append("source-track rule" if rule.source_track_rule else "source-track global")
        if rule.max_src_states:
            words.append(f"max-src-states {rule.max_src_states}")
        if rule.max_src_conn:
            words.append(f"max-src-conn {rule.max_src_conn}")
        if rule.max_src_conn_rate[0]:
            words.append(f"max-src-conn-rate {rule.max_src_conn_rate[0]}/{rule.max_src_conn_rate[1]}")
        if rule.max_src_nodes:
            words.append(f"max-src-nodes {rule.max_src_nodes}")
        if rule.overload:
            words.append(f"overload <{rule.overload}>{rule.flush}")
        if rule.if_bound:
            words.append("if-bound")
        if rule.sloppy:
            words.append("sloppy")
        if rule.pflow:
            words.append("pflow")
        if rule.timeouts:
            words += [f"{name} {rule.timeouts[name]}" for name in names.TIMEOUTS if rule.timeouts.get(name)]
        return words

    def _scrub_options(self, rule: Rule, add: "Add") -> None:
        scrub = []
        if rule.no_df:
            scrub.append("no-df")
        if rule.random_id:
            scrub.append("random-id")
        if rule.min_ttl:
            scrub.append(f"min-ttl {rule.min_ttl}")
        if rule.reassemble_tcp:
            scrub.append("reassemble tcp")
        if rule.max_mss:
            scrub.append(f"max-mss {rule.max_mss}")
        if scrub:
            add(f" scrub ({' '.join(scrub)})")

    def _tail_new(self, rule: Rule, call: str | None, add: "Add") -> None:
        self._scrub_options(rule, add)
        if rule.allow_opts:
            add(" allow-opts")
        if rule.label:
            add(f' label "{rule.label}"')
        if rule.queue and not self._dialect.set_queue:
            add(f" queue({rule.queue}, {rule.ack_queue})" if rule.ack_queue else f" queue {rule.queue}")
        if rule.once:
            add(" once")
        self._tags(rule, add)
        if rule.rtable >= 0:
            add(f" rtable {rule.rtable}")
        if rule.divert == "divert-to" and rule.divert_address is not None:
            add(f" divert-to {host_text(rule.divert_address, rule.af)} port {rule.divert_port}")
        elif rule.divert == "divert-packet":
            add(f" divert-packet port {rule.divert_port}")
        elif rule.divert:
            add(f" {rule.divert}")
        if call is None:
            self._redirections(rule, add, self._pool)
        if rule.route_kind and rule.route is not None:
            add(f" {rule.route_kind} {self._pool(rule.route, rule.af, 'route')}")

    def _redirections(self, rule: Rule, add: "Add", text: "Callable[[Pool, int, str], str]") -> None:
        if rule.nat is not None and rule.translation_af:
            add(f" af-to {'inet' if rule.translation_af == 4 else 'inet6'} from ")
            add(text(rule.nat, rule.translation_af, "nat"))
            if rule.rdr is not None:
                add(f" to {text(rule.rdr, rule.translation_af, 'rdr')}")
        elif rule.nat is not None:
            add(f" nat-to {text(rule.nat, rule.af, 'nat')}")
        elif rule.rdr is not None:
            add(f" rdr-to {text(rule.rdr, rule.af, 'rdr')}")

    def _tags(self, rule: Rule, add: "Add") -> None:
        if rule.tag:
            add(f" tag {rule.tag}")
        if rule.tagged:
            add(f"{' !' if rule.tagged_negated else ''} tagged {rule.tagged}")

    def _scrub_rule(self, rule: Rule, add: "Add") -> None:
        if rule.no_df:
            add(" no-df")
        if rule.random_id:
            add(" random-id")
        if rule.min_ttl:
            add(f" min-ttl {rule.min_ttl}")
        if rule.max_mss:
            add(f" max-mss {rule.max_mss}")
        if rule.set_tos >= 0:
            add(f" set-tos 0x{rule.set_tos:02x}")

    def _tail_old(self, rule: Rule, call: str | None, add: "Add") -> None:
        if rule.action != "scrub":
            self._scrub_options(rule, add)
        else:
            self._scrub_rule(rule, add)
        if rule.allow_opts:
            add(" allow-opts")
        if rule.action == "scrub":
            if rule.reassemble_tcp:
                add(" reassemble tcp")
            add(f" fragment {rule.fragment_handling or 'reassemble'}")
        if rule.label:
            add(f' label "{rule.label}"')
        for label in rule.more_labels:
            add(f' label "{label}"')
        if rule.ridentifier:
            add(f" ridentifier {rule.ridentifier}")
        what, one, other = rule.dummynet
        if one or other:
            add(f" {what}({one}, {other})" if other else f" {what} {one}")
        if rule.queue:
            add(f" queue({rule.queue}, {rule.ack_queue})" if rule.ack_queue else f" queue {rule.queue}")
        self._tags(rule, add)
        if rule.rtable >= 0:
            add(f" rtable {rule.rtable}")
        if rule.divert_port:
            add(f" divert-to {rule.divert_port}")
        if call is None and rule.action in ("nat", "rdr", "binat") and rule.pool is not None:
            add(f" -> {self._old_pool(rule.pool, rule.af, rule.action)}")
        elif call is None:
            self._redirections(rule, add, self._old_pool)

    def _old_route(self, rule: Rule, add: "Add") -> None:
        add(f" {rule.route_kind}")
        if rule.pool is not None and rule.route_kind != "fastroute":
            add(f" {self._old_pool(rule.pool, rule.af, 'route')}")

    def _old_pool(self, pool: Pool, af: int, use: str) -> str:
        words = []
        for host in pool.hosts:
            if use != "route":
                words.append(host_text(host, af))
            elif host.value or host.kind != "address":
                words.append(f"({host.interface} {host_text(host, host.af if pool.of_ipv6 else af)})")
            else:
                words.append(host.interface)
        text = f"{{ {', '.join(words)} }}" if len(words) > 1 else "".join(words)
        return text + self._pool_options(pool, use)

    def _pool(self, pool: Pool, af: int, use: str) -> str:
        host = pool.hosts[0]
        if host.interface:
            text = f"{host_text(host, af)}@{host.interface}" if host.value or host.kind != "address" else host.interface
        else:
            text = host_text(host, af)
        return text + self._pool_options(pool, use)

    def _pool_options(self, pool: Pool, use: str) -> str:
        low, high = pool.low, pool.high
        text = ""
        if use == "nat" and (low != 50001 or high != 65535) and (low or high):
            text = f" port {low}" if low == high else f" port {low}:{high}"
        elif use == "rdr" and low:
            text = f" port {low}:{high}" if high and high != low else f" port {low}"
        if pool.kind:
            text += f" source-hash {pool.key}" if pool.kind == "source-hash" else f" {pool.kind}"
        if pool.sticky:
            text += " sticky-address"
        if pool.of_ipv6:
            text += " prefer-ipv6-nexthop"
        if use == "nat" and not low and not high:
            text += " static-port"
        return text

    def ruleset(
        self,
        anchor: Anchor,
        show: "Add",
        kinds: tuple[str, ...] | None = None,
        first: "Callable[[Anchor], None] | None" = None,
        depth: int = 0,
    ) -> None:
        """All rules of an anchor and of those inside it; `kinds` are the actions wanted, None for all.

        `first` is called with every anchor before its rules are printed.
        """
        indent = "  " * depth
        number = 0
        if first is not None:
            first(anchor)
        for rule in anchor.rules:
            if kinds is not None and rule.action not in kinds:
                continue
            if self._new and "$nr" in rule.label + rule.tag + rule.tagged:
                rule.label = rule.label.replace("$nr", str(number))
                rule.tag = rule.tag.replace("$nr", str(number))
                rule.tagged = rule.tagged.replace("$nr", str(number))
            number += 1
            inner = rule.anchor
            if inner is None:
                show(f"{indent}{self.rule(rule)}\n")
                continue
            name = (inner.name if inner.inline else inner.path) if self._new else inner.name
            text = f"{indent}{self.rule(rule, name)}"
            if any(kinds is None or one.action in kinds for one in inner.rules):
                show(f"{text} {{\n")
                self.ruleset(inner, show, kinds, first, depth + 1)
                show(f"{indent}}}\n")
            else:
                show(f"{text}\n")


def _is_internal(call: str, new: bool) -> bool:
    return (call.rpartition("/")[2] if new else call).startswith("_")


def _identity(condition: Identity) -> str:
    op = condition.op
    if op in ("><", "<>"):
        return f" {condition.low} {op} {condition.high}"
    if condition.low == -1:
        return f" {op} unknown"
    return f" {op} {condition.low}"


def hosts_text(hosts: list[Host]) -> str:
    """The addresses of a table, each with a space before it."""
    words = []
    for host in hosts:
        text = host_text(host, host.af)
        words.append(f" !{text}" if host.negated else f" {text}")
        if host.interface and host.kind != DYNAMIC:
            words.append(f"@{host.interface}")
    return "".join(words)


def table_text(table: Table) -> str:
    """A table definition, with its line end."""
    words = [f"table <{table.name}>"]
    if table.const:
        words.append(" const")
    if table.persist:
        words.append(" persist")
    if table.counters:
        words.append(" counters")
    opened = False
    for part in table.parts:
        if isinstance(part, TableFile):
            if opened:
                words.append(" }")
                opened = False
            words.append(f' file "{part.path}"')
        else:
            if not opened:
                words.append(" {")
                opened = True
            words.append(hosts_text(part))
    if opened:
        words.append(" }")
    if table.initialised and not table.parts:
        words.append(" { }")
    return "".join(words) + "\n"
