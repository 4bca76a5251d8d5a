"""The pf.conf language: read as pfctl reads it, for the releases in `dialects`, on any machine."""

from .dialects import NAMES, UnknownDialect
from .system import Interface, System, load_system
from .verdict import Tree, Verdict, check, read, read_text

__all__ = [
    "NAMES", "Interface", "System", "Tree", "UnknownDialect", "Verdict", "check", "load_system", "read", "read_text",
]
