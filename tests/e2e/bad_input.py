"""Runs on a kernel: starts and checks on a gateway where something stands in the way, and what they say and change."""

import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.gateways import differences, listing
from tests.e2e.lab import Lab


def every_obstacle(argument: dict[str, Any]) -> dict[str, Any]:
    """argument: script; obstacles: commands that make one and take it away, by name. For each: status, messages and what changed."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, Lab() as lab:
        script = Path(folder) / "pfq.sh"
        script.write_text(argument["script"])
        words = ["env", f"PFQ_STATE={folder}/state", "sh", str(script)]
        for name, (make, unmake) in argument["obstacles"].items():
            lab.run_gateway(["sh", "-ec", make], settle=False)
            before = listing(lab)
            done = [lab.run_gateway([*words, word], check=False, settle=False) for word in ("start", "check")]
            changed = differences(before, listing(lab))
            found[name] = {"status": [each.returncode for each in done], "said": [each.stderr for each in done], "changed": changed}
            lab.run_gateway(["sh", "-ec", unmake], settle=False)
        whole = lab.run_gateway([*words, "start"], check=False)
        found["nothing"] = {"status": [whole.returncode], "said": [whole.stderr], "changed": []}
        lab.run_gateway([*words, "stop"])
    return found
