"""The scrub statement of the older syntax. Source: scrubrule and scrub_opts of parse.y."""

from . import clauses, conditions, options, peers
from .expand import Lists, expand
from .nodes import Rule
from .order import SCRUB, ordered
from .reading import Reading, SyntaxFault

_SCRUBS = ("no-df", "min-ttl", "max-mss", "reassemble", "random-id")


def scrub_rule(r: Reading) -> None:
    """`scrub`, maybe with `no` before it."""
    rule = Rule()
    rule.action = "no scrub" if r.take("no") else "scrub"
    r.i += 1
    rule.direction = clauses.direction(r)
    logging, quick = clauses.log_and_quick(r)
    interfaces = clauses.interfaces(r)
    rule.af = clauses.family(r)
    protocols = clauses.protocols(r)
    ends = peers.from_to(r)
    found: dict[str, int] = {}
    _scrub_options(r, rule, found)
    r.at_end()
    ordered(r, SCRUB)
    if logging is not None:
        rule.log = True
        rule.log_options, rule.log_interface = logging
    if quick:
        raise r.fail("scrub rules do not support 'quick'", ahead=True)
    rule.no_df = bool(found.get("no-df"))
    rule.random_id = bool(found.get("random-id"))
    if found.get("reassemble"):
        if rule.direction:
            raise r.fail("reassemble tcp rules can not specify direction", ahead=True)
        rule.reassemble_tcp = True
    rule.min_ttl = found.get("min-ttl", 0)
    rule.max_mss = found.get("max-mss", 0)
    if len(rule.tagged) >= clauses.TAG_NAME:
        raise r.fail(f"tag too long, max {clauses.TAG_NAME - 1} chars", ahead=True)
    expand(
        r,
        rule,
        Lists(
            interfaces, protocols, [], ends.source, ends.source_ports, ends.oses, ends.destination, ends.destination_ports,
            [], [],
        ),
    )


def _scrub_options(r: Reading, rule: Rule, found: dict[str, int]) -> None:
    while True:
        kind = r.kinds[r.i]
        start = r.i
        if kind in _SCRUBS:
            options.scrub_option(r, found, _SCRUBS)
        elif kind == "set-tos":
            r.i += 1
            value = conditions.tos(r)
            if rule.set_tos >= 0:
                raise r.fail("set-tos cannot be respecified")
            rule.set_tos = value
        elif kind == "fragment":
            r.i += 1
            word = r.kinds[r.i]
            if word not in ("reassemble", "crop", "drop-ovl") or (word != "reassemble" and word not in r.dialect.keywords):
                raise SyntaxFault
            r.i += 1
            if rule.fragment_handling:
                raise r.fail("fragcache cannot be respecified")
            rule.fragment_handling = word
        elif kind == "rtable":
            r.i += 1
            rule.rtable = clauses.rtable(r)
        elif kind in ("!", "tagged"):
            rule.tagged_negated = r.take("!")
            r.want("tagged")
            rule.tagged = r.strings()
        else:
            return
        r.mark(kind, start)
