"""Actions of filters out of words, as they are written and as they are listed.

Sources: tc-actions(8), tc-mirred(8), tc-skbedit(8), tc-ctinfo(8), tc-connmark(8), tc-police(8); iproute2 6.1's m_*.c for what it prints.
"""

from collections.abc import Callable, Mapping

from pfq.linux.queues import Action
from pfq.linux.tc_words import Words

_CONTROLS = {"ok": "pass", "pass": "pass", "drop": "drop", "shot": "drop", "continue": "continue", "pipe": "pipe", "reclassify": "reclassify"}


def actions(words: Words) -> tuple[Action, ...]:
    """action KIND ... action KIND ..."""
    found: list[Action] = []
    while not words.done:
        if words.now == "police":
            words.next()
            found.append(_police(words))
            continue
        word = words.next()
        if word != "action":
            raise words.not_modelled(f"{word!r} in a filter")
        if words.take("order"):
            # As listed: `action order 1: mirred (Egress Redirect to device ifb0) stolen`.
            words.next()
        kind = words.next()
        own = _ACTIONS.get(kind)
        if own is None:
            if kind not in _CONTROLS or kind == "reclassify":
                raise words.not_modelled(f"action {kind}")
            found.append(Action("gact", _CONTROLS[kind]))
            _remarks(words)
            continue
        found.append(own(words))
    return tuple(found)


def _remarks(words: Words) -> None:
    """What a listing says beside an action."""
    while not words.done:
        if words.take("index", "ref", "bind", "cookie", "hw_stats", "used_hw_stats"):
            words.next()
        elif words.take("random"):
            # type none pass val 0
            for _ in range(5):
                words.next()
        elif not words.take("not_in_hw", "no_percpu"):
            return


def _control(words: Words, usual: str) -> str:
    control = usual
    _remarks(words)
    while not words.done and (words.now in _CONTROLS or words.now == "stolen"):
        word = words.next()
        control = _CONTROLS.get(word, word)
        if control == "reclassify":
            raise words.not_modelled("reclassify")
        _remarks(words)
    return control


def _gact(words: Words) -> Action:
    words.take("action")
    word = words.next()
    if word not in _CONTROLS or word == "reclassify":
        raise words.not_modelled(f"action {word}")
    _remarks(words)
    return Action("gact", _CONTROLS[word])


def _mirred(words: Words) -> Action:
    direction, device = "egress", ""
    redirect = False
    if words.now.startswith("("):
        # (Egress Redirect to device ifb0)
        direction, redirect = words.next().lstrip("(").lower(), words.next() == "Redirect"
        words.next()
        words.next()
        device = words.next().rstrip(")")
    while not words.done and words.now in ("egress", "ingress", "redirect", "mirror", "dev", "index"):
        word = words.next()
        if word in ("egress", "ingress"):
            direction = word
        elif word in ("redirect", "mirror"):
            redirect = word == "redirect"
        elif word == "dev":
            device = words.next()
        else:
            words.next()
    if direction != "egress":
        raise words.not_modelled("mirred to a device's ingress")
    return Action("mirred", _control(words, "stolen" if redirect else "pipe"), device, redirect)


def _skbedit(words: Words) -> Action:
    mark: tuple[int, int] | None = None
    priority: int | None = None
    while not words.done and words.now in ("mark", "priority", "ptype", "queue_mapping", "inheritdsfield"):
        word = words.next()
        if word == "mark":
            value, _, mask = words.next().partition("/")
            mark = int(value, 0), int(mask, 0) if mask else 0xFFFFFFFF
        elif word == "priority":
            priority = words.handle()
        elif word == "queue_mapping":
            words.next()
        else:
            raise words.not_modelled(f"skbedit {word}")
    return Action("skbedit", _control(words, "pipe"), mark=mark, priority=priority)


def _ctinfo(words: Words) -> Action:
    mask, control = None, ""
    while not words.done and (words.now in ("cpmark", "dscp", "zone") or words.now in _CONTROLS or words.now in ("index", "ref", "bind")):
        if words.now in _CONTROLS or words.now in ("index", "ref", "bind"):
            control = _control(words, control)
            continue
        word = words.next()
        if word == "cpmark":
            mask = words.number() if words.now[:1].isdigit() else 0xFFFFFFFF
        elif word == "zone" and words.number() == 0:
            continue
        else:
            raise words.not_modelled(f"ctinfo {word}")
    return Action("ctinfo", control or "pipe", mark=None if mask is None else (0, mask))


def _connmark(words: Words) -> Action:
    if words.take("zone") and words.number() != 0:
        raise words.not_modelled("connmark zone")
    return Action("ctinfo", _control(words, "pipe"), mark=(0, 0xFFFFFFFF))


_POLICE = ("rate", "burst", "buffer", "maxburst", "mtu", "peakrate", "avrate", "overhead", "linklayer", "mpu", "minburst", "index")


def _police(words: Words) -> Action:
    """What keeps to the rate goes on as `conform-exceed A/B` or by default says."""
    control = "pass"
    if words.now.startswith("0x"):
        words.next()
    while not words.done:
        _remarks(words)
        if words.now == "action" and words.ahead() == "order":
            break
        if words.take("action"):
            exceeding, slash, conforming = words.next().partition("/")
            control = _CONTROLS.get(conforming, "pass") if slash else "pass"
        elif words.now in _POLICE:
            words.next()
            words.next()
        elif words.now == "conform-exceed":
            words.next()
            exceeding, slash, conforming = words.next().partition("/")
            if exceeding not in _CONTROLS or (slash and conforming not in _CONTROLS):
                raise words.not_modelled(f"conform-exceed {exceeding}")
            control = _CONTROLS[conforming] if slash else "pass"
        elif words.now in ("drop", "pass", "ok", "continue", "reclassify", "pipe"):
            words.next()
        elif words.now == "flowid":
            break
        else:
            break
    return Action("police", control)


_ACTIONS: Mapping[str, Callable[[Words], Action]] = {
    "gact": _gact, "mirred": _mirred, "skbedit": _skbedit, "ctinfo": _ctinfo, "connmark": _connmark, "police": _police,
}  # fmt: skip
