"""Strategies of rulesets: right ones of each dialect, and heaps of words."""

from hypothesis import strategies as st

from pfq.pf.dialects import dialect

_INTERFACES = st.sampled_from(["em0", "em1", "! em2", "{ em0 em1 }", "lo0"])
_ADDRESSES = st.sampled_from(
    ["any", "10.0.0.1", "10.0.0.0/8", "! 192.0.2.0/24", "<t>", "! <t>", "(em0)", "(em0:0)", "(em1:network)", "{ 10.0.0.1 10.0.0.2 }", "no-route",
     "{ 10.0.0.1 2001:db8::1 }", "2001:db8::/32", "10.0.0.1 - 10.0.0.9", "self", "{ any 10.0.0.1 }"]
)
_PORTS = st.sampled_from(["", "port 80", "port { 22 443 }", "port 1000:2000", "port > 1023", "port != 25", "port 10 >< 20", "port domain", "port 7 <> 9"])
_PROTOCOLS = st.sampled_from(["", "proto tcp", "proto udp", "proto { tcp udp }", "proto esp", "inet proto icmp icmp-type echoreq"])
_NAMES = st.sampled_from(["a", "b", "c"])


def _rate(old: bool) -> st.SearchStrategy[str]:
    units = ["Kb", "Mb"] if old else ["K", "M"]
    return st.builds("{}{}".format, st.integers(100, 900), st.sampled_from(units))


@st.composite
def _filter(draw: st.DrawFn, name: str) -> str:
    chosen = dialect(name)
    words = [draw(st.sampled_from(["pass", "block", "block return", "block drop"] + (["match"] if chosen.match_rules else [])))]
    words.append(draw(st.sampled_from(["", "in", "out"])))
    words.append(draw(st.sampled_from(["", "log", "quick", "log (all, to pflog1) quick"])))
    if draw(st.booleans()):
        words.append("on " + draw(_INTERFACES))
    protocol = draw(_PROTOCOLS)
    words.append(protocol.partition(" icmp-type")[0])
    ports = _PORTS if "tcp" in protocol or "udp" in protocol else st.just("")
    if draw(st.booleans()):
        words.append(f"from {draw(_ADDRESSES)} {draw(ports)}")
        words.append(f"to {draw(_ADDRESSES.filter(lambda text: text != 'no-route'))} {draw(ports)}")
    if "icmp-type" in protocol:
        words.append("icmp-type echoreq")
    stateful = words[0] == "pass"
    options = ['label "l $if"', "tag T", "! tagged U", "tagged V", "tos lowdelay", "probability 20%", "rtable 1"]
    if stateful:
        options += ["keep state (max 9)", "modulate state", "no state", "keep state (source-track rule, max-src-nodes 4)", "allow-opts"]
    if chosen.set_options:
        options += ["set prio 3", "set prio (2, 5)"]
    if chosen.scrub_options and words[0] != "block":
        options += ["scrub (max-mss 1400)", "scrub (reassemble tcp)"]
    if not chosen.rules_name_defined_queues:
        options += ["queue a", "queue (a, b)"]
    picked = draw(st.lists(st.sampled_from(options), max_size=3, unique_by=lambda text: text.split()[-2 if "state" in text else 0]))
    if sum("state" in option for option in picked) > 1:
        picked = picked[:1]
    if any("state (" in option for option in picked):
        # pfctl prints the probability between `keep state` and its options, and cannot read that again.
        picked = [option for option in picked if "probability" not in option]
    return " ".join(word for word in [*words, *picked] if word)


def _queues(name: str) -> st.SearchStrategy[list[str]]:
    chosen = dialect(name)
    rate = _rate(not chosen.short_units or chosen.altq)
    if chosen.queue_trees:
        return st.builds(
            lambda a, b, most, limit: [
                "queue root on em0 bandwidth 950M",
                f"queue a parent root bandwidth {a} max {most}M default",
                f"queue b parent root bandwidth {b}, min 10K qlimit {limit}",
            ],
            rate, rate, st.integers(1, 900), st.integers(1, 1000),
        )
    return st.builds(
        lambda kind, a, b: [
            f"altq on em0 {kind} bandwidth 2Gb queue {{ a b }}",
            f"queue a{'' if kind == 'priq' else f' bandwidth {a}'} priority 3 {kind}(default red)",
            f"queue b{'' if kind == 'priq' else f' bandwidth {b}'}",
        ],
        st.sampled_from(["cbq", "priq", "hfsc"]), rate, rate,
    )


@st.composite
def rulesets(draw: st.DrawFn, name: str) -> str:
    """A ruleset that pfctl of that dialect reads. Not every rule of it is sense: some name families that never meet."""
    lines = draw(st.lists(st.sampled_from(["set skip on lo0", "set block-policy return", "set timeout interval 20", "set limit states 5000"]), max_size=2))
    lines.append("table <t> persist { 10.0.0.0/8 !10.1.0.0/16 }")
    lines += draw(_queues(name))
    if dialect(name).translation_rules:
        lines += draw(st.lists(st.sampled_from([
            "nat on em0 inet from 10.0.0.0/8 to any -> (em0)", "nat on em0 from 10.0.0.0/8 to any -> 192.0.2.1 static-port",
            "rdr on em0 proto tcp from any to any port 80 -> 10.0.0.1 port 8080", "binat on em0 from 10.0.0.1 to any -> 192.0.2.7",
        ]), max_size=2))
    rules = draw(st.lists(_filter(name), min_size=1, max_size=6))
    if draw(st.booleans()):
        rules = ['anchor "x" in on em1 {', *rules, "}", *rules[:1]]
    return "\n".join([*lines, *rules]) + "\n"


def heaps(name: str) -> st.SearchStrategy[str]:
    """Words of the language in any order."""
    words = [*sorted(dialect(name).keywords), *"{}()<>!=/,\n\n\n$\"'\\#-:@*%.", "->", "<>", "><", "em0", "10.0.0.1", "::1", "80", "10%", "1Mb", "$m", "a", "\0"]
    return st.lists(st.sampled_from(words), max_size=60).map(" ".join)
