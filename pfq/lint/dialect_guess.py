"""Which dialect a ruleset is written in, when nobody says so: from the words that only some dialects have."""

# The newest of each kind that `pfq check` is tested with.
QUEUES, OLD_OPENBSD, FREEBSD, ALTQ_WITH_MATCH = "openbsd-7.6", "openbsd-4.4", "freebsd-14.0", "openbsd-5.4"

_TRANSLATIONS = ("nat", "rdr", "binat")
_NEW_TRANSLATIONS = frozenset(("nat-to", "rdr-to", "binat-to", "af-to"))
_MOST = 200_000


def guess(text: str) -> tuple[str, str]:
    """The dialect, and the words it was told by ('' where nothing told it). Long texts are judged by their beginning."""
    signs = _signs(text[:_MOST])
    if "altq" in signs:
        if "codel" in signs or not signs & {"match", "nat-to"}:
            return FREEBSD, "altq"
        return ALTQ_WITH_MATCH, "altq with match or nat-to"
    for sign, dialect in (("queue", QUEUES), ("set queue", QUEUES), ("dnpipe", FREEBSD), ("nat-to", QUEUES), ("nat", FREEBSD), ("scrub", FREEBSD)):
        if sign in signs:
            return dialect, sign
    return QUEUES, ""


def _signs(text: str) -> set[str]:
    found: set[str] = set()
    for line in text.split("\n"):
        words = line.partition("#")[0].split()
        if not words:
            continue
        first, rest = words[0], words[1:]
        if first == "altq":
            found.add("altq")
        elif first == "queue" and ("parent" in rest or "flows" in rest or (len(rest) > 1 and rest[1] == "on")):
            found.add("queue")
        elif first in _TRANSLATIONS or first.removesuffix("-anchor") in _TRANSLATIONS or (first == "no" and rest and rest[0] in _TRANSLATIONS):
            found.add("nat")
        elif first in ("scrub", "match"):
            found.add(first)
        if _NEW_TRANSLATIONS.intersection(rest):
            found.add("nat-to")
        if "set" in rest and "queue" in line:
            found.add("set queue")
        if "dnpipe" in rest or "dnqueue" in rest:
            found.add("dnpipe")
        if "codelq" in rest or "fairq" in rest:
            found.add("codel")
    # ALTQ has queue statements of its own.
    if "altq" in found:
        found.discard("queue")
    return found


def others(dialect: str) -> tuple[str, ...]:
    """What to try when a guess turns out to be refused, in this order."""
    return tuple(name for name in (QUEUES, FREEBSD, ALTQ_WITH_MATCH, OLD_OPENBSD) if name != dialect)
