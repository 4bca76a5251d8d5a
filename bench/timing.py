"""CPU seconds of commands and of code, as medians; every benchmark prints ratios of these within one run."""

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable


def cpu_of_command(words: list[str], runs: int = 15) -> float:
    """Median CPU seconds (user and system) of a command, its output thrown away."""
    found = []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True, env=dict(os.environ, PYTHONDONTWRITEBYTECODE=""))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return statistics.median(found)


def cpu_of(call: Callable[[], object], runs: int = 3) -> float:
    """Least CPU seconds of a call in this process."""
    found = []
    for _ in range(runs):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)
