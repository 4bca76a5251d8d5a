"""The command line: one short function a command. Exit status 0: fine; 1: findings; 2: broken use or input."""

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from pfq import __version__
from pfq.diagnostics import Diagnostic, Refused, as_text, refuse

FINE, FINDINGS, BROKEN = 0, 1, 2


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(BROKEN, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


# Commands whose options stand in a module of their own: name, summary, module with `add_arguments` and `run`, examples.
_ELSEWHERE = (
    (
        "check", "say what pfctl of another system would say about a pf.conf", "pfq.pf.command",
        "examples:\n  pfq check --as openbsd-7.6 /etc/pf.conf\n  pfq check --as freebsd-12.1 -v -D ext_if=em0 pf.conf",
    ),
    (
        "lint", "find what is wrong or without effect in pf.conf files and models", "pfq.lint.command",
        "examples:\n  pfq lint --as openbsd-7.6 /etc/pf.conf\n  pfq lint --format sarif rulesets/*.conf > pfq.sarif",
    ),
    ("rule", "explain a rule of pfq lint", "pfq.lint.rule_command", "example: pfq rule PFQ101"),
    (
        "convert", "rewrite a pf.conf with ALTQ, nat and scrub rules for OpenBSD 5.5 and later", "pfq.convert.command",
        "examples:\n  pfq convert --from openbsd-4.4 --to openbsd-7.6 /etc/pf.conf > pf.conf.new\n"
        "  pfq convert --from freebsd-14.0 --to openbsd-7.6 --accept soft-order,tbrsize -o pf.conf.new pf.conf",
    ),
    (
        "simulate", "show ping and throughput of a model with and without its queues", "pfq.simulate.command",
        "examples:\n  pfq simulate site.toml\n  pfq simulate site.toml --scenario both --sweep up=90..120kbit",
    ),
    (
        "status", "show what the gateway's queues do, and where it does not run what the model compiles to", "pfq.status.command",
        "examples:\n  pfq status site.toml\n  pfq status site.toml --host gw2 --watch 5\n  pfq status site.toml --format json --watch | jq .links",
    ),
    (
        "explain", "say which class a packet gets on each gateway, and which line decides it", "pfq.parity.explain_command",
        "examples:\n  pfq explain site.toml --packet 'tcp 192.168.1.5:40000 > 198.51.100.7:443 ack len 0'\n"
        "  pfq explain site.toml --packet 'udp 192.168.1.5:5060 > 198.51.100.7:5060 len 160 dscp ef' --state\n"
        "  pfq explain site.toml --pcap trouble.pcap --host gw2",
    ),
    (
        "verify", "prove that every packet has the same class on every gateway", "pfq.parity.verify_command",
        "examples:\n  pfq verify site.toml\n  pfq verify site.toml --against out     # files that somebody has edited or recorded\n"
        "  pfq verify --as openbsd-7.6 old.conf new.conf --format github",
    ),
)


def parser(chosen: str | None = None) -> ArgumentParser:
    """The whole command line; completion and the manual are made from it. With `chosen`, only that command has all its options:
    the others' modules are not imported."""
    top = _Parser(
        prog="pfq",
        formatter_class=RawDescriptionHelpFormatter,
        description="Compile one link model to pf.conf (OpenBSD, FreeBSD) and to tc + nftables (Linux).",
        epilog=(
            "begin:   pfq init --system openbsd-7.6 --interface pppoe0 --up '1 Mbit' --down '16 Mbit' > site.toml\n"
            "look:    pfq plan site.toml\n"
            "compile: pfq compile site.toml > pf.conf && pfctl -nf pf.conf\n\n"
            "exit status: 0 fine, 1 findings, 2 broken use or input"
        ),
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"pfq {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[Namespace], int], summary: str, more: str = "") -> ArgumentParser:
        sub: ArgumentParser = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=more or None,
            formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False,
        )
        sub.set_defaults(run=run)
        return sub

    sub = command(
        "compile", compile_, "compile a model to what its gateways load",
        "examples:\n  pfq compile site.toml > /etc/pf.conf\n  pfq compile site.toml --host gw2 | ssh gw2 'cat > pfq.sh'\n"
        "  pfq compile site.toml -o out        # a folder a host, and out/manifest.json\n"
        "  pfq compile site.toml --part queues # to include from a pf.conf of your own",
    )
    _site_argument(sub)
    sub.add_argument("--host", metavar="NAME", help="the host to compile for; needed if the model has several and there is no -o")
    sub.add_argument("--target", metavar="SYSTEM", help="compile for this system instead of the one that the model names, such as freebsd-14")
    sub.add_argument("--part", choices=("queues", "rules"), help="only the queue definitions, or only the rules that fill them")
    sub.add_argument("-o", "--output", metavar="DIR", help="write a folder a host and manifest.json instead of standard output")

    sub = command("plan", plan, "show what each gateway must do, with the derivation of every number")
    _site_argument(sub)
    sub.add_argument("--host", metavar="NAME", help="only this host")
    sub.add_argument("--format", choices=("text", "json"), default="text", help="text for people (default), json for programs")

    sub = command("init", init, "write a commented model to begin with", "Asks for what is not given when standard input is a terminal.")
    sub.add_argument("--system", metavar="SYSTEM", help="the gateway's system: openbsd-7.6, freebsd-14, linux-6.1")
    sub.add_argument("--interface", metavar="NAME", help="its interface to the line: pppoe0, em0, ppp0")
    sub.add_argument("--up", metavar="RATE", help="rate towards the Internet: '1 Mbit'")
    sub.add_argument("--down", metavar="RATE", help="rate from the Internet: '16 Mbit'")
    sub.add_argument("--encapsulation", metavar="NAME", help="what the line wraps round a packet: pppoe-llc, ptm, ethernet")
    sub.add_argument("--inside", metavar="NAME", help="the interface to the inside network")
    sub.add_argument("-o", "--output", metavar="FILE", help="write this file (never over one that exists) instead of standard output")

    command("schema", schema, "print the model's JSON Schema, for editors", "In a model: #:schema ./pfq.schema.json in the first line.")

    sub = command("targets", targets, "show the systems and what each can express")
    sub.add_argument("system", nargs="?", metavar="SYSTEM", help="only this one, such as freebsd-14")

    sub = command(
        "completion", completion, "print the completion script of a shell",
        "bash: pfq completion bash > ~/.local/share/bash-completion/completions/pfq\n"
        "zsh:  pfq completion zsh > ~/.zfunc/_pfq   (with fpath+=~/.zfunc)\n"
        "fish: pfq completion fish > ~/.config/fish/completions/pfq.fish",
    )
    sub.add_argument("shell", choices=("bash", "zsh", "fish"))

    for name, summary, module, more in _ELSEWHERE:
        if chosen in (None, name):
            found = import_module(module)
            found.add_arguments(command(name, found.run, summary, more))
        else:
            command(name, _not_chosen, summary, more)
    return top


def _not_chosen(arguments: Namespace) -> int:
    raise AssertionError("only the chosen command runs")


def _site_argument(sub: ArgumentParser) -> None:
    sub.add_argument("site", metavar="SITE", help="the model, a TOML file; - for standard input")


def compile_(arguments: Namespace) -> int:
    from pfq.compiling import compile_site

    compiled, plan = compile_site(arguments.site, arguments.host, arguments.target, arguments.part, several=arguments.output is not None)
    if arguments.output is None:
        sys.stdout.write(next(iter(compiled.values()))[0].text)
        return FINE
    from pfq.output import write_folder

    write_folder(arguments.output, [(gateway, compiled[gateway.name]) for gateway in plan.gateways if gateway.name in compiled])
    return FINE


def plan(arguments: Namespace) -> int:
    from pfq.compiling import plan_of
    from pfq.plan import show

    found = plan_of(arguments.site, arguments.host)
    sys.stdout.write(show.as_json(found) if arguments.format == "json" else show.as_text(found))
    return FINE


def init(arguments: Namespace) -> int:
    from pfq.starter import answers, starter

    text = starter(answers(arguments))
    if arguments.output is None:
        sys.stdout.write(text)
        return FINE
    if os.path.lexists(arguments.output):
        raise refuse("exists", f"{arguments.output} is there already", hint="name another file; pfq init writes over none")
    from pfq.output import write_file

    write_file(arguments.output, text)
    return FINE


def schema(arguments: Namespace) -> int:
    import json

    from pfq.site.schema import json_schema

    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")
    return FINE


def targets(arguments: Namespace) -> int:
    from pfq.abilities import show

    sys.stdout.write(show(arguments.system))
    return FINE


def completion(arguments: Namespace) -> int:
    from pfq.completion import script

    sys.stdout.write(script(arguments.shell, parser()))
    return FINE


def report(diagnostics: tuple[Diagnostic, ...]) -> None:
    """Diagnostics on standard error, in colour on a terminal only; nowhere if it is closed."""
    if sys.stderr is None:
        return
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    sys.stderr.write(as_text(diagnostics, colour))


def _discard_output() -> None:
    """What is still in standard output's buffer goes nowhere: Python would try again at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(argv: list[str] | None = None) -> int:
    """Runs a command line (without the program's name) and returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    arguments = parser(words[0] if words else "").parse_args(words)
    run: Callable[[Namespace], int] = arguments.run
    try:
        if sys.stdout is None:
            raise refuse("unwritable", "standard output is closed")
        status = run(arguments)
        sys.stdout.flush()
    except Refused as refused:
        report(refused.diagnostics)
        return BROKEN
    except BrokenPipeError:
        # The reader has gone (`pfq plan | head`): nothing more to say.
        _discard_output()
        return FINE
    except OSError as error:
        # Files are named in faults of their own; what is left is a full disk under standard output.
        _discard_output()
        report(refuse("unwritable", f"{error.filename or 'standard output'} cannot be written: {error.strerror or error}").diagnostics)
        return BROKEN
    except KeyboardInterrupt:
        return 130
    return status
