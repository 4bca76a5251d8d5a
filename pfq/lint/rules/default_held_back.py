"""PFQ408. A default class that gets its guarantee and no more while others are busy (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule
from pfq.plan.model import Queue
from pfq.site.units import show_rate


def _held_back(queues: tuple[Queue, ...]) -> tuple[Queue, list[Queue]] | None:
    """The default class, if it has no more than its guarantee, and its neighbours that divide the rest among themselves."""
    for queue in queues:
        below = _held_back(queue.children)
        if below is not None:
            return below
        curve = queue.guarantee
        if queue.default and curve is not None and curve.rate.given and queue.share.value == curve.rate.value:
            dividing = [one for one in queues if one is not queue and (one.guarantee is None or one.share.value > one.guarantee.rate.value)]
            if sum(one.share.value for one in dividing) > queue.share.value:
                return queue, dividing
    return None


def check(model: Model) -> list[Finding]:
    found = []
    said = set()
    for _, link, _, tree in model.trees():
        held = _held_back(tree.queues)
        if held is None or (held[0].path, link.name) in said:
            continue
        queue, others = held
        said.add((queue.path, link.name))
        names, rest = ", ".join(one.name for one in others), show_rate(sum(one.share.value for one in others))
        message = f"{queue.name}, the default class, gets no more than its guarantee of {show_rate(queue.share.value)} on {link.name} {tree.direction}"
        message += f" while {names} {'is' if len(others) == 1 else 'are'} busy: {rest} go there"
        found.append(model.place((*queue.path, "guarantee")).finding(message, "give it a share too, as those have"))
    return found


RULE = Rule(
    "PFQ408",
    "default-held-back",
    "the default class has a guarantee and no share, so that others get all of the rest",
    "Classes with a share divide what the guarantees leave; a class with a guarantee alone has that and "
    "nothing else while they are busy. For a class of few packets that is meant so. The default class "
    "carries everything that nobody thought of, downloads among it: with a guarantee alone it is held to "
    "that rate whenever its neighbours want the line.",
    wrong="""[links.dsl]
up = "10 Mbit"
down = "50 Mbit"
policy = "office"

[policies.office]
classes = [
  { name = "express", express = true },
  { name = "web", match = "tcp/443", share = 1 },
  { name = "rest", default = true, guarantee = "1 Mbit" },
]

[hosts.gw]
system = "linux-6.1"
links.dsl = "ppp0"
""",
    right="""[links.dsl]
up = "10 Mbit"
down = "50 Mbit"
policy = "office"

[policies.office]
classes = [
  { name = "express", express = true },
  { name = "web", match = "tcp/443", share = 1 },
  { name = "rest", default = true, guarantee = "1 Mbit", share = 1 },
]

[hosts.gw]
system = "linux-6.1"
links.dsl = "ppp0"
""",
    example="site",
    check_model=check,
)
