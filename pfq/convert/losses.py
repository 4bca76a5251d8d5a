"""What a conversion can lose, by code. A code never changes its meaning: it is what `--accept` takes, and what the output's comments name."""

# code: (what is lost, the nearest that there is)
LOSSES: dict[str, tuple[str, str]] = {
    # queues
    "soft-order": ("a strict order of the queues", "a guarantee (min) for each queue but the default one, which gets the rest"),
    "cbq-priority": ("queues of higher priority served first, within their rates", "a guarantee (min) of its bandwidth for each queue above the lowest"),
    "tbrsize": ("the depth of the token bucket", "no token bucket: max alone limits the rate"),
    "red": ("random early detection (red, rio)", "the queue drops at its end when it is full"),
    "ecn": ("marking instead of dropping (ecn)", "the queue drops at its end when it is full"),
    "codel": ("CoDel with its parameters", "a flow queue (flows 1), whose parameters are fixed, where there is no min; else the queue drops at its end"),
    "interface-speed": ("the interface's own speed as the rate", "1 Gbit/s, or what --system FILE says"),
    "no-default": ("an interface without a default queue, where unclassified packets are dropped", "the first queue becomes the default one"),
    "inner-queue": ("packets that wait in a queue that has children", "a child queue of its own for them, named ..._own"),
    "undefined-queue": ("a queue that is not defined: such packets go to the default queue", "the rule names no queue"),
    "rate-too-high": ("a rate above 4294967295 bit/s, which would wrap round", "4294967295 bit/s"),
    "rate-too-low": ("a bandwidth of less than 1000 bit/s, which the scheduler cannot count", "1000 bit/s"),
    # translation
    "first-match": ("the first translation rule that matches being the only one", "the rules as they stand, where a later one may translate again"),
    "translation-anchor": ("an anchor for translation rules alone", "an anchor for rules of all kinds, which must be written anew"),
    "stateless": ("translation and scrub options for packets that keep no state", "they go without: drop `no state` to keep them"),
    "implicit-pass": ("translation and scrub options for packets that no rule passes or blocks", "`pass flags any` before all filter rules, which keeps state"),
    # scrub
    "no-scrub": ("packets left out by `no scrub`", "fragments are put together for them too"),
    "reassemble-scope": ("fragments put together for some packets only", "set reassemble, which is for all packets"),
    "fragment-cache": ("fragment crop and drop-ovl", "set reassemble yes"),
    "scrub-per-packet": ("scrub rules that look at each packet by itself", "a match rule decides for a connection, in both directions"),
    "scrub-accumulates": ("the first scrub rule that matches being the only one", "what several match rules say adds up, the last number counts"),
    "set-tos": ("set-tos before the ToS is looked at by rules and queues", "set tos, which comes after them"),
    # rules
    "route-interface": ("the interface of route-to, reply-to and dup-to", "the address alone: the routing table knows the interface"),
    "fastroute": ("fastroute", "ordinary routing"),
    "exact-tos": ("a comparison of the whole ToS byte", "a comparison without the two ECN bits"),
    "user-protocol": ("user and group on rules for any protocol", "the rule for TCP and UDP"),
    "dummynet": ("dnpipe and dnqueue", "the rule without them"),
    "ridentifier": ("ridentifier", "the rule without it"),
    "labels": ("more than one label", "the first label"),
    "ether": ("ether rules", "none of them"),
    "divert": ("divert-to of FreeBSD", "divert-packet"),
    # options
    "fail-policy": ("set fail-policy", "rules that cannot be loaded are an error"),
    "keep-counters": ("set keepcounters", "counters begin anew with each load"),
}

# What no --accept takes: there is nothing near, or it has to be done by hand.
FATAL: dict[str, str] = {
    "included-file": "a statement to be converted stands in an included file",
    "order": "a statement has to be moved, and cannot be",
    "rejected": "what came out is not accepted by the target",
    "unreadable-ruleset": "the ruleset is not accepted by its own dialect",
}
