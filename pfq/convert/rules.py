"""Filter rules, anchors and options: what is spelled otherwise, and what is no more."""

from pfq.convert.script import Token, Written
from pfq.convert.work import Work

_ROUTES = ("route-to", "reply-to", "dup-to")
_POOL_OPTIONS = ("bitmask", "random", "source-hash", "round-robin", "least-states", "static-port", "sticky-address")
_BEHIND_ADDRESSES = ("flags", "keep", "modulate", "synproxy", "no", "user", "group", "label", "queue", "tag", "tagged", "tos", "allow-opts", "rtable")
# What OpenBSD 4.8 made of the older levels of `set debug`. Source: pfctl_set_debug of pfctl.c.
_DEBUG = {"none": "emerg", "urgent": "err", "misc": "notice", "loud": "debug"}


def convert_rule(work: Work, statement: Written) -> None:
    """A pass, block, match or anchor statement."""
    for index, token in statement.flat():
        kind = token.kind
        if kind == "queue":
            _queue(work, statement, index)
        elif kind in _ROUTES or kind == "fastroute":
            _route(work, statement, index)
        elif kind == "tos" and statement.tokens[index - 1].kind != "set":
            if work.source.family == "openbsd" and not work.source.dscp_names:
                work.lose("exact-tos", statement, token.start)
        elif kind in ("dnpipe", "dnqueue"):
            work.lose("dummynet", statement, token.start)
            last = statement.closing(index + 1) if statement.tokens[index + 1].kind == "(" else index + 1
            work.drop(statement, index, last)
        elif kind == "ridentifier":
            work.lose("ridentifier", statement, token.start)
            work.drop(statement, index, index + 1)
        elif kind == "divert-to" and not work.source.divert_address:
            work.lose("divert", statement, token.start)
            port = index + 3 if statement.tokens[index + 2 : index + 3] and statement.tokens[index + 2].kind == "port" else index + 1
            work.own(statement, *statement.tokens[index : port + 1])
            work.edits.replace(token.start, statement.tokens[port].end, f"divert-packet port {work.source_of(statement.tokens[port])}")
        elif kind in ("user", "group") and not work.source.nat_to:
            _user(work, statement, token)
    _codes(work, statement)
    _labels(work, statement)
    _any_in_lists(work, statement)
    _set_queue(work, statement)


def _codes(work: Work, statement: Written) -> None:
    """The one ICMPv6 code that has another name now."""
    for index, token in enumerate(statement.tokens):
        if token.value == "notnbr-unr" and not work.source.nat_to and statement.tokens[index - 1].kind in ("code", "(", ","):
            work.own(statement, token)
            work.edits.replace(token.start, token.end, "beyond-unr")


def _labels(work: Work, statement: Written) -> None:
    labels = [index for index, token in statement.flat() if token.kind == "label"]
    for index in labels[1:]:
        work.lose("labels", statement, statement.tokens[index].start)
        work.drop(statement, index, index + 1)


def _names(statement: Written, index: int) -> tuple[list[int], int]:
    """The indexes of the queue names behind `queue`, and of the last token."""
    if statement.tokens[index + 1].kind != "(":
        return [index + 1], index + 1
    last = statement.closing(index + 1)
    return [at for at in range(index + 2, last) if statement.tokens[at].kind != ","], last


def _queue(work: Work, statement: Written, index: int) -> None:
    """`queue x` outside parentheses: `set queue x`."""
    names, last = _names(statement, index)
    token = statement.tokens[index]
    already = statement.tokens[index - 1].kind == "set"
    if _undefined(work, statement, names):
        work.drop(statement, index - already, last)
        return
    if not already and work.target.set_queue:
        work.own(statement, token)
        work.edits.insert(token.start, "set ")
    _rename(work, statement, names)


def _undefined(work: Work, statement: Written, names: list[int]) -> bool:
    wrong = [statement.tokens[at] for at in names if statement.tokens[at].value not in work.defined]
    for token in wrong[:1]:
        work.lose("undefined-queue", statement, token.start, f"queue {token.value}")
    return bool(wrong)


def _rename(work: Work, statement: Written, names: list[int]) -> None:
    for at in names:
        token = statement.tokens[at]
        if token.value in work.renamed:
            work.own(statement, token)
            work.edits.replace(token.start, token.end, work.renamed[token.value])


def _set_queue(work: Work, statement: Written) -> None:
    """`queue` among others in `set ( )`, which is spelled alike; only its names matter."""
    for index, token in statement.flat():
        if token.kind != "set" or statement.tokens[index + 1].kind != "(":
            continue
        last = statement.closing(index + 1)
        at = next((one for one in range(index + 2, last) if statement.tokens[one].kind == "queue"), -1)
        if at < 0:
            continue
        names, end = _names(statement, at)
        if not _undefined(work, statement, names):
            _rename(work, statement, names)
        elif at == index + 2 and end == last - 1:
            work.drop(statement, index, last)
        else:
            comma = statement.tokens[at - 1].kind == ","
            after = statement.tokens[end + 1].kind == "," and not comma
            work.drop(statement, at - comma, end + after)


def _user(work: Work, statement: Written, token: Token) -> None:
    if statement.find("proto") >= 0:
        return
    work.lose("user-protocol", statement, token.start)
    before = statement.tokens[statement.find("all", "from", "os", "to", *_BEHIND_ADDRESSES)]
    work.own(statement, before)
    work.edits.insert(before.start, "proto { tcp, udp } ")


def _any_in_lists(work: Work, statement: Written) -> None:
    """`{ any, a }` was the rest of the list in older releases, and is any now."""
    if work.source.any_wins_lists or not work.target.any_wins_lists:
        return
    tokens = statement.tokens
    for index, token in statement.flat():
        if token.kind not in ("from", "to") or index + 1 >= len(tokens) or tokens[index + 1].kind != "{":
            continue
        last = statement.closing(index + 1)
        inside = range(index + 2, last)
        if all(tokens[at].kind in ("any", ",", "{", "}") for at in inside):
            continue
        dropped: set[int] = set()
        for at in inside:
            if tokens[at].kind == "any":
                dropped |= {at, at + 1} if tokens[at + 1].kind == "," else {at - 1, at} if tokens[at - 1].kind == "," and at - 1 not in dropped else {at}
        for at in sorted(dropped):
            work.drop(statement, at, at)


# -- routes


def _route(work: Work, statement: Written, index: int) -> None:
    """`route-to` stands behind the addresses since 4.7, and names no interface since 6.9."""
    token = statement.tokens[index]
    if token.kind == "fastroute":
        if not work.target.fastroute:
            work.lose("fastroute", statement, token.start)
            work.drop(statement, index, index)
        return
    last = _hosts_end(statement, index + 1)
    while last + 1 < len(statement.tokens) and statement.tokens[last + 1].kind in _POOL_OPTIONS:
        last += 1
        if statement.tokens[last].kind == "source-hash" and statement.tokens[last + 1 : last + 2] and statement.tokens[last + 1].kind == "STRING":
            last += 1
    tokens = statement.tokens[index : last + 1]
    work.own(statement, *tokens)
    moves = work.source.route_before_af and not work.target.route_before_af
    strips = work.source.route_interfaces and not work.target.route_interfaces
    text = work.source_of(tokens[0], tokens[-1])
    if strips:
        work.lose("route-interface", statement, token.start)
        text = _stripped(work, tokens)
    if moves and last + 1 < len(statement.tokens):
        work.drop(statement, index, last)
        work.append(statement, text)
    elif strips:
        work.edits.replace(tokens[0].start, tokens[-1].end, text)


def _hosts_end(statement: Written, index: int) -> int:
    tokens = statement.tokens
    if tokens[index].kind in ("{", "("):
        last = statement.closing(index)
    elif tokens[index].kind == "<":
        last = index + 2
    else:
        last = index
    if tokens[last + 1 : last + 2] and tokens[last + 1].kind == "/":
        last += 2
    return last


def _stripped(work: Work, tokens: tuple[Token, ...]) -> str:
    """The route without its interfaces: `(em1 10.0.0.1)` is `10.0.0.1`, and `em1` the peer of em1."""
    pieces = [tokens[0].kind]
    at = 1
    while at < len(tokens):
        token = tokens[at]
        if token.kind == "(":
            end = next(one for one in range(at, len(tokens)) if tokens[one].kind == ")")
            # `(em0:peer)`, an interface in parentheses alone, is an address already.
            pieces.append(work.source_of(tokens[at + 2], tokens[end - 1]) if end - at > 2 else work.source_of(token, tokens[end]))
            at = end
        elif token.kind == "STRING" and at == 1:
            address, _, _ = token.value.rpartition("@")
            following = tokens[at + 1 : at + 2]
            network = bool(following) and following[0].kind == "/"
            pieces.append(address or (work.source_of(token) if network else f"({token.value}:peer)"))
        elif token.kind == "STRING" and "@" in token.value:
            pieces.append(token.value.rpartition("@")[0])
        else:
            pieces.append(work.source_of(token))
        at += 1
    return " ".join(pieces).replace(" ,", ",").replace(" / ", "/").replace("< ", "<").replace(" >", ">")


# -- options


def convert_option(work: Work, statement: Written) -> None:
    """A `set` statement."""
    token = statement.tokens[1]
    if token.kind == "require-order":
        if not work.target.require_order:
            work.remove(statement)
    elif token.kind == "debug" and work.target.debug_levels_syslog and not work.source.debug_levels_syslog:
        level = statement.tokens[2]
        work.own(statement, level)
        work.edits.replace(level.start, level.end, _DEBUG[level.value])
    elif token.kind == "fail-policy":
        work.lose("fail-policy", statement, statement.start)
        work.remove(statement)
    elif token.kind == "keepcounters":
        work.lose("keep-counters", statement, statement.start)
        work.remove(statement)


def quote_new_words(work: Work, statement: Written) -> None:
    """Names that the target reserves are quoted."""
    for token in statement.tokens:
        if token.kind == "STRING" and not token.quoted and not token.expanded and token.value in work.target.keywords:
            work.edits.replace(token.start, token.end, f'"{token.value}"')
