"""Where the command begins: what needs no other module is answered before one is loaded."""

import gc
import sys

from pfq import __version__

# Most of what a short run makes lives to its end: looking for garbage every 700 objects costs a tenth of its time.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> int:
    """The command line; the exit status."""
    if sys.argv[1:] == ["--version"]:
        print(f"pfq {__version__}")
        return 0
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    from pfq.cli import main as command

    return command()
