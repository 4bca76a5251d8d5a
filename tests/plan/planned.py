"""Plans of small models."""

from pfq.plan.build import build
from pfq.plan.model import Gateway, Plan, Queue, Tree, Uplink
from pfq.site.load import load_text


def plan_of(text: str) -> Plan:
    """The plan of a model's text."""
    return build(load_text(text, "m"))


def gateway_of(text: str) -> Gateway:
    """The one gateway of a model's text."""
    (gateway,) = plan_of(text).gateways
    return gateway


def uplink_of(text: str) -> Uplink:
    """The one uplink of a model's text."""
    (uplink,) = gateway_of(text).uplinks
    return uplink


def model(
    classes: str = "", system: str = "linux-6.1", attachment: str = '"eth0"', up: str = "1 Mbit", down: str = "10 Mbit", link: str = "", host: str = ""
) -> str:
    """A model of one link and one host; `classes` are the policy's, the default policy's if there are none."""
    policy = f'[policies.p]\nclasses = [\n{classes}\n]\n' if classes else ""
    rates = f'up = "{up}"\n' + (f'down = "{down}"\n' if down else "")
    return (
        f"[links.dsl]\n{rates}{link}" + ('policy = "p"\n' if classes else "") + policy
        + f'[hosts.gw]\nsystem = "{system}"\nlinks.dsl = {attachment}\n{host}'
    )


def queues_of(tree: Tree) -> dict[str, Queue]:
    """Every queue of a tree by its name, inner ones too."""
    found: dict[str, Queue] = {}

    def collect(queues: tuple[Queue, ...]) -> None:
        for queue in queues:
            found[queue.name] = queue
            collect(queue.children)

    collect(tree.queues)
    return found
