"""How tests run everywhere: hypothesis tries the same examples each time, without a limit on the time of one, which a busy machine would break;
and what waits for a test kernel comes first, so that the rest runs beside it.

`--hypothesis-profile=exploring` tries new examples.
"""

import pytest
from hypothesis import settings

settings.register_profile("pfq", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None, derandomize=False, max_examples=1000)
settings.load_profile("pfq")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Kernels first."""
    items.sort(key=lambda item: item.get_closest_marker("kernel") is None)
