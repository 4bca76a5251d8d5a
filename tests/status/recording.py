"""Makes the recordings anew: `python3 -m tests.status.recording`. Each model of recordings/ is started on the test kernel, sees a few packets,
and what the system's tools say of it is written beside the model, with the script that was compiled then."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from pfq.plan.build import build
from pfq.site.load import load_text
from pfq.status.linux_commands import queue_commands, rule_commands
from pfq.status.script import read_script
from pfq.targets import linux
from tests.e2e.gateways import port_of
from tests.e2e.kernel.call import call
from tests.e2e.lab import CLIENT, INSIDE, SERVER, UPLINK, Lab
from tests.e2e.packet import ACK, TCP, TIMESTAMPS, UDP, Packet

RECORDINGS = Path(__file__).parent / "recordings"

_WEB = Packet("192.168.1.10", "198.51.100.7", TCP, 40_000, 80, ACK)


def traffic(lab: Lab, outside: str) -> None:
    """Three empty ACKs and two requests out, one answer in, two packets of a call out. outside: the inside host's address as the link sees it."""
    for _ in range(3):
        lab.send(CLIENT, Packet(_WEB.source, _WEB.destination, TCP, 40_000, 80, ACK, tcp_options=TIMESTAMPS))
    for _ in range(2):
        lab.send(CLIENT, Packet(_WEB.source, _WEB.destination, TCP, 40_000, 80, ACK, payload=500))
    lab.send(SERVER, Packet(_WEB.destination, outside, TCP, 80, 40_000, ACK, payload=1000))
    for _ in range(2):
        lab.send(CLIENT, Packet(_WEB.source, _WEB.destination, UDP, 5060, 5060, payload=100))


def record(models: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Runs on the test kernel. models: script and ports, by name. Returns each command's output by the name of its file."""
    found = {}
    for name, model in models.items():
        script = read_script(model["script"])
        with Lab((port_of(model["inside"]),), tuple(port_of(port) for port in model["links"])) as lab:
            lab.run_gateway(["sh", "-c", 'cat >/tmp/pfq.sh && sh /tmp/pfq.sh start'], model["script"])
            lab.set_gateway("net/netfilter/nf_conntrack_tcp_be_liberal", 1)
            traffic(lab, model["outside"])
            found[name] = {
                command.name: lab.run_gateway(command.words, command.text, settle=False).stdout
                for command in (*queue_commands(script), *rule_commands(script))
            }
    return found


def arguments() -> dict[str, dict[str, Any]]:
    """What `record` needs for each recording."""
    found = {}
    for folder in sorted(path for path in RECORDINGS.iterdir() if (path / "site.toml").is_file()):
        plan = build(load_text((folder / "site.toml").read_text(), "site.toml"))
        gateway = plan.gateways[0]
        if gateway.system.family == "linux":
            outside = "203.0.113.2" if gateway.uplinks[0].nat else "192.168.1.10"
            script = linux.render(plan, gateway, None)[0].text
            found[folder.name] = {"script": script, "outside": outside, "inside": asdict(INSIDE), "links": [asdict(UPLINK)]}
    return found


def main() -> None:
    models = arguments()
    for name, outputs in call("current", "tests.status.recording:record", models).items():
        folder = RECORDINGS / name
        for path in folder.iterdir():
            if path.name != "site.toml":
                path.unlink()
        for file, text in {**outputs, "pfq.sh": models[name]["script"]}.items():
            (folder / file).write_text(text)


if __name__ == "__main__":
    main()
