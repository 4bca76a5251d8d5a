"""Names and numbers in the output: class ids, chain names. Whatever comes from the model passes through here."""

import re
from functools import lru_cache
from hashlib import sha256
from zlib import crc32

from pfq.plan.model import Queue, Tree
from pfq.site.systems import System
from pfq.targets.linux_kernels import has

TABLE = "pfq"
# IFNAMSIZ, linux/if.h, with its NUL byte.
MOST_INTERFACE = 15

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*\Z", re.ASCII).match


class UnsafeName(ValueError):
    """A name that must not reach a script or a ruleset."""


@lru_cache(maxsize=65536)
def word(name: str) -> str:
    """The name itself, if it is letters, digits, '_', '.', '-' and does not begin with '-'. Raises UnsafeName."""
    if not _WORD(name):
        raise UnsafeName(name)
    return name


def remark(text: str) -> str:
    """Text for a comment: one line of printable ASCII."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text)


def chain(system: System, *parts: str) -> str:
    """A chain's name, LINK/up/CLASS; cut and told apart by a digest where the kernel takes no more than 31 characters."""
    name = "/".join(word(part) for part in parts)
    if len(name) > 31 and not has(system, "long-names"):
        return f"{name[:20]}-{sha256(name.encode()).hexdigest()[:10]}"
    return name


def ifb_name(link: str) -> str:
    """The interface on which arriving packets of a link are queued."""
    name = f"ifb-{word(link)}"
    return name if len(name) <= MOST_INTERFACE else f"{name[:10]}{crc32(link.encode()) & 0xFFFFF:05x}"




# Minor numbers on a root: the trees' tops from 1, the class of unshaped traffic, then the classes.
MOST_TREES, BESIDE, FIRST = 14, 0xF, 0x10


def number_queues(trees: list[Tree]) -> list[dict[str, int]]:
    """The minor number of every queue of the trees on one root, inner queues included, in the model's order: 10, 20, ... f0, 100, ..."""

    def walk(queues: tuple[Queue, ...], found: list[str]) -> list[str]:
        for queue in queues:
            found.append(queue.name)
            walk(queue.children, found)
        return found

    named = [walk(tree.queues, []) for tree in trees]
    step = 0x10 if sum(map(len, named)) < 0x7F0 else 1
    numbers: list[dict[str, int]] = []
    minor = FIRST
    for names in named:
        numbers.append({name: minor + index * step for index, name in enumerate(names)})
        minor += len(names) * step
    return numbers
