"""tc command lines: `tc qdisc add dev ...`, lines of a batch, and what `tc qdisc|class|filter show` prints. Sources: tc(8), iproute2 6.1."""

from collections.abc import Mapping
from itertools import count

from pfq.diagnostics import Place
from pfq.linux.faults import Faults, Skip
from pfq.linux.queues import ARRIVING, INGRESS, LEAVING, ROOT, Devices, Filter, Qdisc, QueueClass
from pfq.linux.tc_actions import actions
from pfq.linux.tc_filters import TESTS
from pfq.linux.tc_words import Words, handle

# Disciplines whose classes are modelled; those that are one queue, or queues of flows; those that are filters only.
CLASSFUL = frozenset({"htb", "hfsc", "prio", "cbq"})
FLAT = frozenset({
    "pfifo", "bfifo", "pfifo_fast", "pfifo_head_drop", "fq_codel", "fq", "sfq", "codel", "red", "tbf", "pie", "fq_pie", "noqueue", "cake", "netem",
})  # fmt: skip
HOOKED = frozenset({"ingress", "clsact"})
# Not modelled, but with one queue a card: what is below is what the kernel made itself.
_MULTIPLE = frozenset({"mq"})
# The options of stab take a value each.
_STAB = frozenset({"mtu", "tsize", "mpu", "overhead", "linklayer", "data", "minimum"})
_FLAGS = {
    "cake": frozenset({
        "besteffort", "diffserv8", "diffserv4", "diffserv3", "precedence", "wash", "nowash", "nat", "nonat", "unlimited", "bounded", "raw", "ack-filter",
        "no-ack-filter", "ack-filter-aggressive", "split-gso", "no-split-gso", "ingress", "egress", "flowblind", "srchost", "dsthost", "hosts", "flows",
        "dual-srchost", "dual-dsthost", "triple-isolate", "noatm", "atm", "ptm", "conservative", "ethernet", "docsis", "pppoe-vcmux", "pppoe-llcsnap",
        "autorate-ingress",
    }),
    "cbq": frozenset({"bounded", "isolated", "sharing", "borrow"}),
}  # fmt: skip


class TcReader:
    """Reads lines and keeps what is in force in the end."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.devices = Devices()
        self._preferences = count(49152, -1)

    def line(self, line: str, place: Place, device: str = "", hook: str = "") -> None:
        """One command or one line of a listing; `device` and `hook` (ingress, egress) are those of the listing."""
        try:
            words = Words(line, place, self.faults)
            while words.take("tc", "-batch", "-force", "-s", "-d", "-n"):
                pass
            if words.done:
                return
            what = words.next()
            if what not in ("qdisc", "class", "filter"):
                raise words.not_modelled(f"tc {what}")
            verb = words.next() if words.now in ("add", "replace", "change", "del", "delete", "show") else "listed"
            if verb == "show":
                return
            {"qdisc": self._qdisc, "class": self._class, "filter": self._filter}[what](words, verb, device, hook)
        except Skip:
            return
        except ValueError:
            try:
                raise self.faults.syntax("a number is missing in this line", place)
            except Skip:
                return

    # --- disciplines

    def _qdisc(self, words: Words, verb: str, device: str, hook: str) -> None:
        kind, number, parent = "", 0, ROOT
        if verb == "listed":
            kind, number = words.next(), words.handle()
        while not words.done and not (kind and verb != "listed"):
            word = words.next()
            if word == "dev":
                device = words.next()
            elif word in ("root", "ingress", "clsact"):
                parent = ROOT if word == "root" else INGRESS
                if word != "root":
                    kind, number = word, 0xFFFF0000
            elif word == "parent":
                parent = words.handle()
            elif word == "handle":
                number = words.handle()
            elif word == "refcnt":
                words.next()
            elif word == "stab":
                while words.now in _STAB:
                    words.next()
                    words.next()
            elif verb == "listed":
                words.back()
                break
            else:
                kind = word
        if not device:
            raise words.wrong("the device is missing")
        if kind in HOOKED:
            number, parent = 0xFFFF0000, INGRESS
            words.rest()
        options = _options(words, kind)
        if verb in ("del", "delete"):
            self._remove(device, parent, number)
            return
        if kind not in CLASSFUL | FLAT | HOOKED | _MULTIPLE:
            raise self.faults.not_modelled(f"the queueing discipline {kind}", words.place)
        if kind in _MULTIPLE and number:
            raise self.faults.not_modelled(f"the queueing discipline {kind} with a handle", words.place)
        if verb in ("replace", "change"):
            self.devices.qdiscs = [each for each in self.devices.qdiscs if (each.device, each.parent) != (device, parent)]
        self.devices.qdiscs.append(Qdisc(device, kind, number, parent, options, words.place, words.line))

    def _remove(self, device: str, parent: int, number: int) -> None:
        """A discipline with everything below it."""
        own = self.devices
        gone = [each for each in own.qdiscs if each.device == device and (each.parent == parent or (number and each.handle == number))]
        for qdisc in gone:
            own.qdiscs.remove(qdisc)
            majors = {qdisc.handle >> 16}
            own.classes = [each for each in own.classes if each.device != device or each.number >> 16 not in majors]
            own.filters = [each for each in own.filters if each.device != device or each.parent >> 16 not in majors]
            for below in [each for each in own.qdiscs if each.device == device and each.parent >> 16 in majors and each.parent != ROOT]:
                self._remove(device, below.parent, below.handle)

    # --- classes

    def _class(self, words: Words, verb: str, device: str, hook: str) -> None:
        kind, number, parent = "", 0, ROOT
        if verb == "listed":
            kind, number = words.next(), words.handle()
        while not words.done and not (kind and verb != "listed"):
            word = words.next()
            if word == "dev":
                device = words.next()
            elif word == "root":
                parent = ROOT
            elif word == "parent":
                parent = words.handle()
            elif word == "classid":
                number = words.handle()
            elif word == "leaf":
                words.handle()
            elif verb == "listed":
                words.back()
                break
            else:
                kind = word
        if not device:
            raise words.wrong("the device is missing")
        if kind not in CLASSFUL:
            if verb == "listed":
                # Flows of fq_codel and the like, which come and go.
                return
            raise self.faults.not_modelled(f"a class of {kind}", words.place)
        if verb == "listed" and kind in ("hfsc", "cbq") and not number & 0xFFFF:
            return
        if verb in ("del", "delete"):
            self.devices.classes = [each for each in self.devices.classes if (each.device, each.number) != (device, number)]
            return
        if verb in ("replace", "change"):
            self.devices.classes = [each for each in self.devices.classes if (each.device, each.number) != (device, number)]
        if parent == ROOT:
            parent = number & 0xFFFF0000
        self.devices.classes.append(QueueClass(device, kind, number, parent, _options(words, kind), words.place, words.line))

    # --- filters

    def _filter(self, words: Words, verb: str, device: str, hook: str) -> None:
        parent: int | None = {"ingress": ARRIVING, "egress": LEAVING}.get(hook, handle(hook) if hook else None)
        protocol, preference, handle_text, kind = "all", 0, "", ""
        while not words.done and not kind:
            word = words.next()
            if word == "dev":
                device = words.next()
            elif word == "parent":
                parent = words.handle()
            elif word in ("ingress", "egress", "root"):
                parent = {"ingress": ARRIVING, "egress": LEAVING, "root": ROOT}[word]
            elif word in ("protocol", "proto"):
                protocol = words.next()
            elif word in ("prio", "pref", "preference", "priority"):
                preference = words.number()
            elif word == "handle":
                handle_text = words.next()
            elif word in ("estimator", "chain"):
                if words.next() != "0":
                    raise words.not_modelled(f"filter {word}")
            else:
                kind = word
        if not device:
            raise words.wrong("the device is missing")
        if verb == "listed":
            if words.take("chain"):
                words.next()
            if words.done or words.line.split("fh ")[-1].split()[1:2] == ["ht"]:
                # The preference itself, and u32's own tables.
                return
            if words.take("handle"):
                handle_text = words.next()
            if kind == "u32" and words.take("fh"):
                handle_text = words.next()
        parent = ARRIVING if parent in (INGRESS, 0xFFFF0000) else ROOT if parent is None else parent
        if verb in ("del", "delete"):
            self.devices.filters = [
                each for each in self.devices.filters if each.device != device or each.parent != parent or preference not in (0, each.preference)
            ]
            return
        if kind == "flow":
            # Which of a leaf's own queues: no class.
            return
        if kind not in TESTS:
            raise self.faults.not_modelled(f"a filter of kind {kind}", words.place)
        found = TESTS[kind](words, handle_text)
        classid = found.classid
        if words.take("classid", "flowid"):
            classid = words.handle()
        done = actions(words)
        number = 0
        if handle_text and kind not in ("fw",):
            number = int(handle_text.rpartition(":")[2] or "0", 16)
        preference = preference or next(self._preferences)
        new = Filter(device, parent, protocol, preference, number, found.test, classid, done, words.place, words.line)
        # cls_bpf and cls_basic put a new one before those of the same preference; a listing has them in the order in which they are asked.
        self._insert(new, first=kind in ("bpf", "basic") and verb != "listed")

    def _insert(self, new: Filter, first: bool) -> None:
        """A filter behind the others, or before those of its preference."""
        filters, place = self.devices.filters, (new.device, new.parent, new.preference)
        same = (index for index, each in enumerate(filters) if first and (each.device, each.parent, each.preference) == place)
        filters.insert(next(same, len(filters)), new)


def _options(words: Words, kind: str) -> Mapping[str, str]:
    """Parameters by name. Flags have the value ''."""
    flags = _FLAGS.get(kind, frozenset())
    found: dict[str, str] = {}
    while not words.done:
        word = words.next()
        if word == "priomap":
            numbers = []
            while words.now.isdigit():
                numbers.append(words.next())
            found["priomap"] = " ".join(numbers)
        elif word in flags:
            found[word] = ""
        elif (kind in CLASSFUL or (kind == "cake" and word == "fwmark")) and not words.done:
            found[word] = words.next()
        else:
            found[word] = ""
    return found


__all__ = ["TcReader", "handle"]
