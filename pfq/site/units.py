"""Rates, sizes and times as people write them, as exact integers. Decimal prefixes and bits, as on an ISP's invoice."""

import re
from decimal import Decimal

_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµμ/%]*)\s*\Z", re.ASCII)
_COMMA = re.compile(r"\s*\d+,\d")

_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_RATE_SUFFIXES = ("bit/s", "bits/s", "bit", "bits", "bps", "b/s", "b")

# More than any line has, and far inside every integer that a target prints.
MOST_RATE = 10**13


def _rate_units() -> dict[str, int]:
    units = {prefix + suffix: factor for prefix, factor in _PREFIXES.items() for suffix in _RATE_SUFFIXES}
    units |= {prefix: factor for prefix, factor in _PREFIXES.items() if prefix}
    return units


_RATE_UNITS = _rate_units()
# The micro sign, and the Greek letter that looks like it.
_TIME_UNITS = {"us": 1, "µs": 1, "μs": 1, "ms": 1000, "s": 1_000_000}
_SIZE_UNITS = {"bytes": 1, "byte": 1, "B": 1, "kB": 1000, "KB": 1000, "MB": 10**6}


class UnitError(ValueError):
    """The text is no quantity of the kind; `hint` says what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def _split(text: str, kind: str, example: str) -> tuple[Decimal, str]:
    found = _NUMBER.match(text) if len(text) <= 40 else None
    if not found:
        hint = f"write a number and a unit, such as {example!r}"
        raise UnitError(f"{text[:40]!r} is not a {kind}", "decimals take a point: '1.5 Mbit'" if _COMMA.match(text) else hint)
    return Decimal(found[1]), found[2]


def _whole(number: Decimal, factor: int, text: str, kind: str, unit: str) -> int:
    # Decimal's own arithmetic rounds at 28 digits; that of integers never does.
    numerator, denominator = number.as_integer_ratio()
    value, rest = divmod(numerator * factor, denominator)
    if rest:
        raise UnitError(f"{text!r} is not a whole number of {unit}", f"round the {kind}")
    return value


def parse_rate(text: str) -> int:
    """Bits per second of '128 kbit', '100Kb', '20M', '1.5 Mbit/s'. Decimal prefixes, bits; range 1 .. 10^13.

    Raises UnitError for a bare number, for bytes and for binary prefixes.
    """
    number, unit = _split(text, "rate", "128 kbit")
    factor = _RATE_UNITS.get(unit)
    if factor is None:
        if not unit:
            hint = f"say the unit: '{number} kbit' or '{number} Mbit'"
        elif unit[:1] in "kKMGT" and unit[1:].lower() in _RATE_SUFFIXES and "Bit" in unit:
            hint = f"write it small: '{number} {unit.replace('B', 'b')}'"
        elif "B" in unit or unit.lower().startswith(("kbyte", "mbyte", "byte")):
            hint = "rates are in bits: multiply the bytes by 8 and write, for instance, '400 kbit'"
        elif "i" in unit.lower().replace("bit", ""):
            hint = "prefixes are decimal here: k = 1000, M = 1000000"
        elif unit[0] == "m" and unit[1:] in ("", *_RATE_SUFFIXES):
            hint = "a capital M means mega: '20 Mbit'"
        else:
            hint = "known units: bit, kbit, Mbit, Gbit (also Kb, Mb, Gb, K, M, G)"
        raise UnitError(f"{text!r} is not a rate" if unit else f"the rate {text!r} has no unit", hint)
    rate = _whole(number, factor, text, "rate", "bit/s")
    if not 1 <= rate <= MOST_RATE:
        raise UnitError(f"the rate {text!r} is out of range", "1 bit to 10 Tbit")
    return rate


def parse_percent(text: str) -> Decimal:
    """The number before '%', in 0 < x <= 100. Raises UnitError."""
    number, unit = _split(text, "percentage", "10%")
    if unit != "%" or not 0 < number <= 100:
        raise UnitError(f"{text!r} is not a percentage", "write more than 0% and at most 100%")
    return number


def parse_time(text: str) -> int:
    """Microseconds of '20 ms', '1.5 s', '500 us'; range 1 us .. 60 s. Raises UnitError."""
    number, unit = _split(text, "time", "20 ms")
    if unit not in _TIME_UNITS:
        raise UnitError(f"{text!r} is not a time", "write a number with us, ms or s, such as '20 ms'")
    time = _whole(number, _TIME_UNITS[unit], text, "time", "microseconds")
    if not 1 <= time <= 60_000_000:
        raise UnitError(f"the time {text!r} is out of range", "1 us to 60 s")
    return time


def parse_size(text: str) -> int:
    """Bytes of '6 kB', '1500 bytes'; range 1 .. 10^9. Raises UnitError."""
    number, unit = _split(text, "size", "6 kB")
    if unit not in _SIZE_UNITS:
        raise UnitError(f"{text!r} is not a size", "write a number with bytes, kB or MB, such as '6 kB'")
    size = _whole(number, _SIZE_UNITS[unit], text, "size", "bytes")
    if not 1 <= size <= 10**9:
        raise UnitError(f"the size {text!r} is out of range", "1 byte to 1000 MB")
    return size


def parse_packets(text: str) -> int:
    """Packets of '50 packets'; range 1 .. 65535 (the largest qlimit of pf). Raises UnitError."""
    number, unit = _split(text, "number of packets", "50 packets")
    if unit not in ("packets", "packet"):
        raise UnitError(f"{text!r} is not a number of packets", "write, for instance, '50 packets'")
    packets = _whole(number, 1, text, "number", "packets")
    if not 1 <= packets <= 65535:
        raise UnitError(f"{text!r} is out of range", "1 to 65535 packets")
    return packets


def tidy(rate: int) -> int:
    """The rate with four significant digits, rounded down: what a computed rate can honestly claim, and what reads well."""
    unit: int = 10 ** max(0, len(str(rate)) - 4)
    return rate // unit * unit


def show_rate(rate: int) -> str:
    """A rate for people: the largest unit that is exact to three decimals, else plain bits ('1.5 Mbit/s', '99840 bit/s')."""
    for factor, name in ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if rate >= factor and rate * 1000 % factor == 0:
            whole, rest = divmod(rate * 1000 // factor, 1000)
            return f"{whole}.{rest:03d}".rstrip("0").rstrip(".") + f" {name}"
    return f"{rate} bit/s"


def show_time(microseconds: int) -> str:
    """A time for people: '12 ms', '1.696 ms', '800 us'."""
    if microseconds < 1000:
        return f"{microseconds} us"
    whole, rest = divmod(microseconds, 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".") + " ms"
