"""Which module compiles for which language, imported when it is needed."""

from importlib import import_module
from types import ModuleType

from pfq.diagnostics import Diagnostic, Refused
from pfq.plan.model import Gateway, Plan
from pfq.site.systems import System
from pfq.targets.files import Ability, File

# The language of a system's queueing (System.family), and the module that writes it.
_MODULES = {"altq": "pfq.targets.altq", "queue": "pfq.targets.queue", "linux": "pfq.targets.linux"}


def _module(system: System) -> ModuleType:
    return import_module(_MODULES[system.family])


def parts(system: System) -> tuple[str, ...]:
    """The parts that can be asked for alone."""
    found: tuple[str, ...] = _module(system).PARTS
    return found


def compile_gateway(plan: Plan, gateway: Gateway, part: str | None = None) -> list[File]:
    """The gateway's files, the one that is the result first. Raises Refused with everything the system cannot do."""
    files: list[File] = _module(gateway.system).render(plan, gateway, part)
    return files


def compile_all(plan: Plan, part: str | None, faults: list[Diagnostic]) -> dict[str, list[File]]:
    """Every gateway's files by its name; what a system cannot do is added to `faults`, and that gateway is left out."""
    found = {}
    for gateway in plan.gateways:
        try:
            found[gateway.name] = compile_gateway(plan, gateway, part)
        except Refused as refused:
            faults.extend(refused.diagnostics)
    return found


def abilities(system: System) -> list[Ability]:
    """What the system can express, and how."""
    found: list[Ability] = _module(system).abilities(system)
    return found
