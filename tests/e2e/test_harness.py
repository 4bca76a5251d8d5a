"""The harness itself: does it boot, does it pass things on, does it tell the right class?"""

import io
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.harness_cases import CASES, cases_of
from tests.e2e.kernel.call import CallError, call
from tests.e2e.kernel.kernels import KERNELS, KernelError
from tests.e2e.kernel.machine import TIMED_OUT, Machine, run

pytestmark = pytest.mark.kernel

_WHERE = ("current", "old", "cbq", "host")
_results: dict[str, Any] = {}


def _results_on(kernel: str) -> Any:
    """One machine for all cases of a kernel, one attempt even if it fails."""
    if kernel not in _results:
        try:
            _results[kernel] = call(kernel, "tests.e2e.harness_cases:measure", kernel)
        except (CallError, KernelError) as error:
            _results[kernel] = error
    if isinstance(_results[kernel], Exception):
        pytest.fail(str(_results[kernel]))
    return _results[kernel]


@pytest.mark.parametrize(("kernel", "name"), [(kernel, name) for kernel in _WHERE for name in cases_of(kernel)])
def test_class(kernel: str, name: str) -> None:
    case = CASES[name]
    seen = _results_on(kernel)[name]
    assert seen["counted"] == case.expected
    assert seen["dropped"] == case.dropped
    if case.came_out:
        assert tuple(seen["came_out"][0]) == case.came_out


@pytest.mark.parametrize("kernel", ["current", "old", "host"])
def test_counters_equal_what_tc_prints(kernel: str) -> None:
    assert _results_on(kernel)["tc"] == {"differences": []}


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_command(kernel: str, tmp_path: Path) -> None:
    """Exit status, both outputs, the share, the read-only root: in one boot."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    script = f"echo out; echo err >&2; id -u; cp /etc/hostname {tmp_path}/copy; echo $PFQ_TEST_KERNEL; rm -f {__file__}; exit 7"
    status = run(Machine(KERNELS[kernel], tmp_path), ["sh", "-c", script], stdout=stdout, stderr=stderr)
    assert status == 7
    assert stdout.getvalue().decode().split() == ["out", "0", kernel]
    assert stderr.getvalue().startswith(b"err\n")
    assert (tmp_path / "copy").read_bytes() == Path("/etc/hostname").read_bytes()
    assert Path(__file__).is_file()


def test_timeout() -> None:
    output = io.BytesIO()
    machine = Machine(KERNELS["current"], timeout=4)
    assert run(machine, ["sleep", "600"], stdout=output, stderr=output) == TIMED_OUT


def test_an_exception_arrives_with_its_traceback() -> None:
    with pytest.raises(CallError, match="LabError: on purpose"):
        call("host", "tests.e2e.harness_cases:fail", "on purpose")


def test_arguments_and_results_travel() -> None:
    values = ["ü", "'; exit 3", "$HOME"]
    assert call("host", "tests.e2e.harness_cases:echo", values) == values
