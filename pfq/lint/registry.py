"""Which module has the rule of a code, and when it is worth importing.

`pfq lint` is run for one small file at a time, so a rule that cannot apply is not even imported: a row names the feature of a
dialect that a ruleset must have for the rule to apply ('pf': any dialect, 'site': models) and words, one of which
must be in the ruleset's text. Codes never change their meaning; a code of a rule that is given up is not used again.

PFQ0: what pfctl and pfq themselves say. PFQ1: any pf.conf. PFQ2: ALTQ. PFQ3: queues of OpenBSD 5.5 and later. PFQ4: models.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .rule import Rule

# code: (module in pfq.lint.rules, where it applies, words of which one must be there; none: always)
RULES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "PFQ001": ("refused", "pf", ()),
    "PFQ002": ("warned", "pf", ()),
    "PFQ003": ("unused_ignore", "any", ()),
    "PFQ004": ("model_refused", "site", ()),
    "PFQ101": ("unused_macro", "pf", ("=",)),
    "PFQ102": ("unused_table", "pf", ("table",)),
    "PFQ103": ("unused_queue", "pf", ("queue",)),
    "PFQ104": ("unreachable_rule", "pf", ("quick",)),
    "PFQ105": ("overridden_rule", "pf", ("pass", "block")),
    "PFQ106": ("second_queue_tos", "pf", ("tos",)),
    "PFQ107": ("second_queue_protocol", "pf", ("queue",)),
    "PFQ108": ("queue_on_anchor", "pf", ("anchor",)),
    "PFQ109": ("comment_continues", "pf", ("\\\n",)),
    "PFQ110": ("anchor_file", "pf", ("queue",)),
    "PFQ111": ("source_after_nat", "pf", ("nat",)),
    "PFQ112": ("quick_shadows", "pf", ("quick",)),
    "PFQ113": ("queue_on_arrival", "pf", ("queue",)),
    "PFQ201": ("undefined_queue", "pf", ("queue",)),
    "PFQ202": ("announced_queue", "altq", ("queue",)),
    "PFQ203": ("missing_default", "altq", ("altq",)),
    "PFQ204": ("second_queue_ipv6", "altq", ("queue",)),
    "PFQ205": ("translation_pass", "translation_rules", ("nat", "rdr")),
    "PFQ206": ("strict_priority", "altq", ("priq",)),
    "PFQ207": ("interface_speed", "altq", ("altq",)),
    "PFQ208": ("no_speed", "altq", ("altq",)),
    "PFQ209": ("altq_rate_wraps", "altq", ("bandwidth",)),
    "PFQ210": ("hfsc_priority", "altq", ("hfsc",)),
    "PFQ211": ("altq_clamped", "altq_wide", ("bandwidth", "limit")),
    "PFQ212": ("fairq", "altq_codel", ("fairq",)),
    "PFQ213": ("second_queue_lower", "altq", ("priq",)),
    "PFQ214": ("exact_tos", "altq", ("tos",)),
    "PFQ301": ("root_without_max", "queue_trees", ("queue",)),
    "PFQ302": ("flows_with_min", "queue_trees", ("flows",)),
    "PFQ303": ("match_queue_lost", "match_rules", ("match",)),
    "PFQ304": ("match_queue_overridden", "match_rules", ("match",)),
    "PFQ305": ("hfsc_rate_wraps", "queue_trees", ("bandwidth",)),
    "PFQ306": ("flow_qlimit", "queue_trees", ("flows",)),
    "PFQ307": ("root_in_rule", "queue_trees", ("queue",)),
    "PFQ308": ("negated_interface", "queue_trees", ("!",)),
    "PFQ309": ("prio_without_effect", "queue_trees", ("prio",)),
    "PFQ310": ("two_defaults", "queue_trees", ("default",)),
    "PFQ311": ("no_admission", "queue_trees", ("parent",)),
    "PFQ312": ("af_to_queue", "address_family_translation", ("af-to",)),
    "PFQ313": ("child_twice", "queue_trees", ("parent",)),
    "PFQ314": ("inner_queue", "queue_trees", ("parent",)),
    "PFQ401": ("acks_too_small", "site", ()),
    "PFQ402": ("asymmetric_line", "site", ()),
    "PFQ403": ("starvation", "site", ()),
    "PFQ404": ("wasted_cells", "site", ()),
    "PFQ405": ("vlan_queue_length", "site", ()),
    "PFQ406": ("above_line_rate", "site", ()),
    "PFQ407": ("unused_definition", "site", ()),
    "PFQ408": ("default_held_back", "site", ()),
    "PFQ409": ("pppoe_uncounted", "site", ()),
}

# Findings of these come from the runner, not from a check of their own.
OF_THE_RUNNER = ("PFQ001", "PFQ002", "PFQ003", "PFQ004")


def rule(code: str) -> "Rule":
    """The rule of a code. Raises KeyError."""
    from importlib import import_module

    from .rule import Rule

    found = import_module(f"pfq.lint.rules.{RULES[code][0]}").RULE
    assert isinstance(found, Rule)
    return found


def chosen(select: "tuple[str, ...]", ignore: "tuple[str, ...]") -> frozenset[str]:
    """The codes that begin with one of `select` (none given: all) and with none of `ignore`."""
    return frozenset(code for code in RULES if (not select or code.startswith(select)) and not (ignore and code.startswith(ignore)))
