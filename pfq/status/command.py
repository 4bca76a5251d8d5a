"""`pfq status`: the arguments and the run of the command."""

import os
import platform
import socket
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable

from pfq.diagnostics import Refused, refuse
from pfq.plan.model import Gateway
from pfq.status.state import Look

FINE, FINDINGS = 0, 1
# Seconds between the two looks that a rate needs, and between the looks of --watch.
FIRST_SECONDS, WATCH_SECONDS = 1.0, 2.0
LEAST_SECONDS, MOST_SECONDS = 0.1, 86_400.0


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("site", metavar="SITE", help="the model, a TOML file; - for standard input")
    parser.add_argument("--host", metavar="NAME", help="which host of the model this machine is; else its own host name, or the only one")
    parser.add_argument("--watch", metavar="SECONDS", nargs="?", const=f"{WATCH_SECONDS:g}",
                        help=f"look again every so many seconds ({WATCH_SECONDS:g} if left out) until interrupted; stands behind SITE")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text for people (default), json for programs")
    parser.add_argument("--recorded", metavar="DIR", help="read what the commands printed from files in this folder; see docs/status.md")


def choose(hosts: Iterable[str], asked: str | None, machine: str) -> str:
    """The host that is meant: the one asked for, the only one, or the one with this machine's name (with or without its domain). Raises Refused."""
    from pfq.site.kinds import meant

    names = list(hosts)
    if asked is not None:
        if asked not in names:
            raise refuse("no-host", f"the model has no host {asked!r}", hint=meant(asked, names))
        return asked
    if len(names) == 1:
        return names[0]
    for name in (machine, machine.partition(".")[0]):
        if name in names:
            return name
    message = f"the model has {len(names)} hosts, and none is named like this machine ({machine})"
    raise refuse("which-host", message, hint=f"say --host NAME ({', '.join(names[:20])})")


def _gateway(path: str, host: str | None) -> tuple[Gateway, str]:
    """The gateway and its compiled result. Raises Refused with every fault of the model."""
    from dataclasses import replace

    from pfq.plan.build import plan_site
    from pfq.site.load import read_file
    from pfq.targets.registry import compile_all

    site, faults = read_file(path)
    if faults and not site.hosts:
        raise Refused(faults)
    name = choose(site.hosts, host, socket.gethostname())
    plan, more = plan_site(replace(site, hosts={name: site.hosts[name]}))
    faults = [*faults, *more]
    compiled = compile_all(plan, None, faults)
    if faults:
        raise Refused(faults)
    return plan.gateways[0], compiled[name][0].text


def _here(gateway: Gateway) -> None:
    """Raises Refused if this machine cannot be the gateway, or its queues cannot be asked for."""
    system = gateway.system
    if platform.system().lower() != system.os:
        message = f"host {gateway.name!r} is {system.name}, and this machine runs {platform.system() or 'another system'}"
        raise refuse("other-system", message, hint="run it there, or say --recorded DIR with what its commands printed")
    if system.os != "linux" and os.geteuid() != 0:
        raise refuse("no-root", "only root may ask pfctl", hint="run it as root")


def _looker(gateway: Gateway, text: str, folder: str | None) -> Callable[[], Look]:
    from pfq.status.outputs import recorded, run

    if folder is None:
        _here(gateway)
    if gateway.system.os != "linux":
        from pfq.status import pf

        return lambda: pf.look(gateway, text, run(pf.COMMANDS) if folder is None else recorded(folder, pf.COMMANDS), time.monotonic())
    from pfq.status import linux
    from pfq.status.linux_commands import queue_commands, rule_commands
    from pfq.status.script import read_script

    script = read_script(text)
    commands = queue_commands(script)
    # tc answers anybody, nft only root.
    if folder is not None or os.geteuid() == 0:
        commands += rule_commands(script)
    return lambda: linux.look(gateway, script, run(commands) if folder is None else recorded(folder, commands), time.monotonic())


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise refuse("bad-number", f"--watch: {text[:40]!r} is no number of seconds", hint=f"{LEAST_SECONDS:g} to {MOST_SECONDS:g}, as in: --watch 5")
    return seconds


def run(arguments: Namespace) -> int:
    """Runs the command. Returns the exit status: 1 if what runs is not what the model compiles to. Raises Refused for what cannot be done."""
    from pfq.status import show
    from pfq.status.state import with_rates

    seconds = None if arguments.watch is None else _seconds(arguments.watch)
    if seconds is not None and arguments.recorded is not None:
        raise refuse("bad-use", "a recording does not change: --watch and --recorded do not go together")
    gateway, text = _gateway(arguments.site, arguments.host)
    look = _looker(gateway, text, arguments.recorded)
    name, system = gateway.name, gateway.system.name
    as_json = arguments.format == "json"
    if seconds is not None:
        return _watch(gateway, look, seconds, as_json)
    now = look()
    if arguments.recorded is None:
        time.sleep(FIRST_SECONDS)
        now = with_rates(now, look())
    sys.stdout.write(show.json_text(name, system, now) if as_json else show.text(name, now, _in_colour()))
    return FINDINGS if now.findings else FINE


def _in_colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _watch(gateway: Gateway, look: Callable[[], Look], seconds: float, as_json: bool) -> int:
    """Shows the queues until it is interrupted: in place on a terminal, else one after the other; JSON an object a line."""
    from pfq.status import show
    from pfq.status.state import with_rates

    in_place = sys.stdout.isatty() and not as_json
    before = None
    try:
        while True:
            now = look()
            shown = now if before is None else with_rates(before, now)
            before = now
            if as_json:
                sys.stdout.write(show.json_line(gateway.name, gateway.system.name, shown))
            else:
                text = show.text(gateway.name, shown, _in_colour())
                # Home, each line to its end, and what is left below.
                sys.stdout.write(f"\x1b[H{text.replace(chr(10), chr(27) + '[K' + chr(10))}\x1b[J" if in_place else f"{text}\n")
            sys.stdout.flush()
            time.sleep(max(0.0, now.at + seconds - time.monotonic()))
    except KeyboardInterrupt:
        return FINE
