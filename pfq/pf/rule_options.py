"""What the options of a filter rule come to while they are read."""

from . import state as states
from .nodes import Host, IcmpType, Identity, InterfaceName
from .redirect import Redirection


class Options:
    """What stands behind the addresses of a filter rule. Plain, with the defaults at the class: most rules set few."""

    users: list[Identity] = []  # noqa: RUF012 -- replaced, never changed
    groups: list[Identity] = []  # noqa: RUF012
    flags: tuple[int, int] | None = None
    icmp: list[IcmpType] | None = None
    state: str | None = None
    state_options: list[states.Option] = []  # noqa: RUF012
    fragment: bool = False
    queue: tuple[str, str] | None = None
    tag: str | None = None
    tagged: str | None = None
    label: str | None = None
    tos: int | None = None
    prio: int | None = None
    set_prio: tuple[int, int] | None = None
    set_tos: int | None = None
    delay: int | None = None
    nat: Redirection | None = None
    rdr: Redirection | None = None
    route: Redirection | None = None
    route_kind: str = ""
    route_fault: str = ""
    to_af: bool = False
    divert: str = ""
    divert_hosts: list[Host] = []  # noqa: RUF012
    divert_port: int = 0
    once: bool = False
    packet_rate: tuple[int, int] | None = None
    scrub: dict[str, int] = {}  # noqa: RUF012
    scrubbed: bool = False
    received_on: InterfaceName | None = None
