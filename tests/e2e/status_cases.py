"""Runs on a test kernel: `pfq status` on a gateway of the laboratory, before and after something is changed behind its back."""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from pfq.cli import main
from tests.e2e.lab import GATEWAY, Lab
from tests.e2e.namespaces import LabError, within
from tests.status.recording import traffic


def _status(lab: Lab, model: str) -> dict[str, Any]:
    """Run in this process, which starting another one would take ten times as long as."""
    output, errors = io.StringIO(), io.StringIO()
    with within(lab.namespace(GATEWAY)), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = main(["status", model, "--format", "json"])
    return {"status": status, "said": errors.getvalue(), "seen": json.loads(output.getvalue()) if output.getvalue() else None}


def _nobodys_status(lab: Lab, model: str) -> dict[str, Any]:
    words = ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-m", "pfq", "status", model, "--format", "json"]
    done = lab.run_gateway(words, check=False, settle=False)
    return {"status": done.returncode, "said": done.stderr, "seen": json.loads(done.stdout) if done.stdout else None}


def changed_behind_its_back(argument: dict[str, Any]) -> dict[str, Any]:
    """argument: model, script; changes: commands by name, each followed by a look and by its undoing. Every look by the change's name,
    'started' after some packets, 'stopped' at the end, 'nobody' without root."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        Path(folder).chmod(0o755)
        model, script = Path(folder) / "site.toml", Path(folder) / "pfq.sh"
        model.write_text(argument["model"])
        script.write_text(argument["script"])
        lab.run_gateway(["sh", str(script), "start"])
        with contextlib.suppress(LabError):
            lab.set_gateway("net/netfilter/nf_conntrack_tcp_be_liberal", 1)
        traffic(lab, argument["outside"])
        found["started"] = _status(lab, str(model))
        found["nobody"] = _nobodys_status(lab, str(model))
        for name, (change, undo) in argument["changes"].items():
            lab.run_gateway(["sh", "-c", change])
            found[name] = _status(lab, str(model))
            lab.run_gateway(["sh", "-c", undo])
        found["undone"] = _status(lab, str(model))
        lab.run_gateway(["sh", str(script), "stop"])
        found["stopped"] = _status(lab, str(model))
    return found
