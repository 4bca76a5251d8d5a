"""PFQ404. An MTU that does not fill ATM cells (models)."""

from pfq.lint.finding import Finding
from pfq.lint.model import Model
from pfq.lint.rule import Rule
from pfq.site.encapsulation import Encapsulation

_PAYLOAD = 48


def _largest(encapsulation: Encapsulation, mtu: int) -> int:
    """The largest MTU up to `mtu` that fills whole cells."""
    return (mtu + encapsulation.overhead) // _PAYLOAD * _PAYLOAD - encapsulation.overhead


def check(model: Model) -> list[Finding]:
    found = []
    for link in (model.site.links.values() if model.site is not None else ()):
        encapsulation = link.encapsulation
        if link.mtu is None or encapsulation.cells != "atm":
            continue
        wasted = -(link.mtu + encapsulation.overhead) % _PAYLOAD
        best = _largest(encapsulation, link.mtu)
        if wasted and best >= 576:
            message = f"a packet of {link.mtu} bytes leaves {wasted} of the 48 bytes of its last cell empty ({encapsulation.name})"
            found.append(model.place((*link.path, "mtu")).finding(message, f"mtu = {best} fills its cells; or leave mtu out, and it is computed"))
    return found


RULE = Rule(
    "PFQ404",
    "wasted-cells",
    "an MTU wastes a part of an ATM cell with every packet",
    "An ATM line carries packets in cells of 48 bytes, and pads the last one. An MTU that ends just "
    "behind a cell's end costs most of a cell, 3 % of the line, with every full packet. The computed MTU "
    "fills its cells.",
    wrong="""[links.dsl]
up = "1 Mbit"
down = "8 Mbit"
encapsulation = "pppoe-llc"
mtu = 1492

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "pppoe0"
""",
    right="""[links.dsl]
up = "1 Mbit"
down = "8 Mbit"
encapsulation = "pppoe-llc"
mtu = 1448

[hosts.gw]
system = "openbsd-7.6"
links.dsl = "pppoe0"
""",
    example="site",
    check_model=check,
)
