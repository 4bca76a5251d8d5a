"""Rules that make no sense, and what pfctl says of them. Source: rule_consistent, filter_consistent, rdr_consistent of parse.y."""

from .nodes import Rule
from .reading import Reading


def consistent(r: Reading, rule: Rule) -> bool:
    """Whether a rule makes sense; every reason that it does not is said."""
    action = rule.action
    if action in ("pass", "block", "match", "scrub", "no scrub"):
        return (_filter_new if r.dialect.nat_to else _filter_old)(r, rule)
    if action in ("rdr", "no rdr"):
        return _rdr(r, rule)
    return True


def _filter_common(r: Reading, rule: Rule) -> int:
    problems = 0
    proto = rule.proto
    if (rule.source_port is not None or rule.destination_port is not None) and proto not in (6, 17):
        r.say("port only applies to tcp/udp")
        problems += 1
    if (rule.user is not None or rule.group is not None) and r.dialect.nat_to and proto not in (6, 17):
        for what, condition in (("user", rule.user), ("group", rule.group)):
            if condition is not None:
                r.say(f"{what} only applies to tcp/udp")
                problems += 1
    if rule.icmp_type >= 0:
        if proto not in (1, 58):
            r.say("icmp-type/code only applies to icmp")
            problems += 1
        if not rule.af:
            r.say("must indicate address family with icmp-type/code")
            problems += 1
    if rule.translation_af and rule.af == rule.translation_af:
        r.say("must indicate different address family with af-to")
        problems += 1
    if rule.overload and not rule.max_src_conn and not rule.max_src_conn_rate[1]:
        r.say("'overload' requires 'max-src-conn' or 'max-src-conn-rate'")
        problems += 1
    if (proto == 1 and rule.af == 6) or (proto == 58 and rule.af == 4):
        r.say(f"proto {'icmp' if proto == 1 else 'icmp6'} doesn't match address family {'inet' if rule.af == 4 else 'inet6'}")
        problems += 1
    if rule.allow_opts and rule.action != "pass":
        r.say("allow-opts can only be specified for pass rules")
        problems += 1
    if rule.fragment and (
        rule.source_port is not None or rule.destination_port is not None or rule.flagset or rule.icmp_type >= 0
    ):
        r.say("fragments can be filtered only on IP header fields")
        problems += 1
    if rule.returns == "return-rst" and proto != 6:
        r.say("return-rst can only be applied to TCP rules")
        problems += 1
    if rule.max_src_nodes and not rule.source_track_rule:
        r.say("max-src-nodes requires 'source-track rule'")
        problems += 1
    return problems


def _filter_old(r: Reading, rule: Rule) -> bool:
    problems = _filter_common(r, rule)
    if rule.action == "block" and rule.state:
        r.say("keep state on block rules doesn't make sense")
        problems += 1
    if rule.sloppy and rule.state in ("modulate", "synproxy"):
        r.say("sloppy state matching cannot be used with synproxy state or modulate state")
        problems += 1
    problems += _redirected(r, rule)
    if rule.action == "match" and rule.translation_af:
        r.say("af-to is not supported on match rules")
        problems += 1
    return not problems


def _redirected(r: Reading, rule: Rule) -> int:
    problems = 0
    if rule.nat is not None or rule.rdr is not None:
        if rule.action != "match" and not rule.state:
            r.say("nat-to and rdr-to require keep state")
            problems += 1
        if not rule.direction:
            r.say("nat-to and rdr-to require a direction")
            problems += 1
    return problems


def _filter_new(r: Reading, rule: Rule) -> bool:
    problems = 0
    if rule.os and rule.proto != 6:
        r.say("os only applies to tcp")
        problems += 1
    problems += _filter_common(r, rule)
    if rule.action != "pass" and rule.state:
        r.say("keep state is great, but only for pass rules")
        problems += 1
    if rule.route_kind and not rule.state and r.dialect.no_state_rule_route:
        r.say("route-to, reply-to and dup-to require keep state")
        problems += 1
    if rule.sloppy and rule.state in ("modulate", "synproxy"):
        r.say("sloppy state matching cannot be used with synproxy state or modulate state")
        problems += 1
    if r.dialect.synproxy_warned and rule.state == "synproxy" and rule.direction != "in":
        r.stderr.append(
            f"{r.lexer.origins[-1].source.name}:{r.lines[min(r.i, len(r.lines) - 1)]}: warning: "
            "synproxy used for inbound rules only, ignored for outbound\n"
        )
    problems += _redirected(r, rule)
    if rule.af == 6 and (rule.no_df or rule.random_id):
        r.say("address family inet6 does not support scrub options no-df, random-id")
        problems += 1
    if rule.action == "match":
        if rule.divert:
            r.say("divert is not supported on match rules")
            problems += 1
        if rule.route_kind:
            what = "must not be used" if r.dialect.route_interfaces else "are not supported"
            r.say(f"route-to, reply-to and dup-to {what} on match rules")
            problems += 1
        if rule.translation_af:
            r.say("af-to is not supported on match rules")
            problems += 1
    elif rule.action == "block" and rule.route_kind and r.dialect.no_state_rule_route:
        r.say("route-to, reply-to and dup-to are not supported on block rules")
        problems += 1
    return not problems


def _rdr(r: Reading, rule: Rule) -> bool:
    problems = 0
    if rule.proto not in (6, 17):
        if rule.source_port is not None:
            r.say("src port only applies to tcp/udp")
            problems += 1
        if rule.destination_port is not None:
            r.say("dst port only applies to tcp/udp")
            problems += 1
        if rule.pool is not None and rule.pool.low:
            r.say("rpool port only applies to tcp/udp")
            problems += 1
    if rule.destination_port is not None and rule.destination_port.op not in ("=", ":"):
        r.say("invalid port operator for rdr destination port")
        problems += 1
    return not problems
