"""vagrant/check without stand-ins, on a real kernel: every output for Linux in rulesets/ loads, and its queues are the plan's."""

import io
from pathlib import Path

import pytest

from pfq.compiling import compile_site
from pfq.output import write_folder
from tests.e2e.kernel.kernels import KERNELS
from tests.e2e.kernel.machine import Machine, run
from tests.vagrant.standins import CHECK

RULESETS = Path(__file__).parents[2] / "rulesets"


@pytest.mark.kernel
@pytest.mark.slow
def test_every_ruleset_for_linux_is_as_planned_on_a_real_kernel(tmp_path: Path) -> None:
    wanted = set()
    for model in sorted(RULESETS.glob("*/site.toml")):
        name = model.parent.name
        compiled, plan = compile_site(str(model), None, None, None, several=True)
        write_folder(str(tmp_path / name / "out"), [(gateway, compiled[gateway.name]) for gateway in plan.gateways])
        (tmp_path / name / "expected").write_text((model.parent / "expected").read_text())
        # Distributions no longer build cbq.
        wanted |= {
            f"{name} {gateway.name}"
            for gateway in plan.gateways
            if gateway.system.os == "linux" and all(uplink.scheduler != "cbq" for uplink in gateway.uplinks)
        }
    said = io.BytesIO()
    status = run(Machine(KERNELS["current"], tmp_path, timeout=900), ["sh", str(CHECK), str(tmp_path)], stdout=said, stderr=said)
    lines = said.getvalue().decode().splitlines()
    assert [line for line in lines if line.startswith("FAILED")] == []
    assert {" ".join(line.split()[1:3]) for line in lines if line.startswith("ok ")} == wanted
    assert status == 0
