"""Why a rule had its say about one packet, in plain words."""

from pfq.headers.algebra import Bits
from pfq.linux.expressions import Binary, Ct, Load
from pfq.linux.rules import Assign, AssignTos, Match, Notrack, Rule, Statement, Translate, Verdict
from pfq.linux.state import Packet


def number_of(bits: Bits) -> int:
    """The number that bits are, where there is one packet only."""
    return int("".join("1" if bit.satisfiable() else "0" for bit in bits) or "0", 2)


def class_name(number: int) -> str:
    """A class as tc writes it."""
    return f"{number >> 16:x}:{number & 0xFFFF:x}"


def why(rule: Rule, statement: Statement, packet: Packet) -> str:
    """What a rule looked at beyond its text, and what it did."""
    seen = [text for match in rule.statements if isinstance(match, Match) and (text := _looked(match, packet))]
    return "; ".join([*seen, _did(statement, packet)])


def _looked(match: Match, packet: Packet) -> str:
    left = match.left
    while isinstance(left, Binary):
        left = left.left
    if isinstance(left, Load):
        if left.base == "inner":
            return "there is a payload"
        if left in _LOW_DELAY:
            return "the low-delay bit is set"
    if isinstance(left, Ct) and left.key == "mark":
        return f"the connection's mark is {number_of(packet.ct_mark):#010x}"
    if isinstance(left, Ct) and left.key == "state":
        return "the packet opens a flow" if packet.new.satisfiable() else "its flow is known" if packet.established.satisfiable() else "it belongs to no flow"
    return ""


# The loads that pfq writes for ToS bit 0x10: `@nh,8,8 & 0x10` and `@nh,0,16 & 0x100`.
_LOW_DELAY = (Load("network", 8, 8), Load("network", 0, 16))


def _did(statement: Statement, packet: Packet) -> str:
    match statement:
        case Verdict():
            return {
                "accept": "the hook's other chains go on with it",
                "drop": "dropped",
                "reject": "dropped, and its sender is told",
                "return": "back to the chain it came from",
                "jump": f"through chain {statement.chain}",
                "goto": f"on in chain {statement.chain}",
                "continue": "on with the next rule",
            }[statement.kind]
        case Assign():
            if statement.target == "priority":
                return f"its priority becomes {class_name(number_of(packet.priority))}"
            bits = packet.mark if statement.target == "mark" else packet.ct_mark
            return f"{'its' if statement.target == 'mark' else 'the connection' + chr(39) + 's'} mark becomes {number_of(bits):#010x}"
        case AssignTos():
            return "its ToS byte is changed"
        case Notrack():
            return "it is not tracked"
        case Translate():
            return "its source is translated" if statement.kind in ("snat", "masquerade") else "its destination is translated"
    return ""



