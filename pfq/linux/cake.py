"""CAKE's tins. Source: sch_cake.c diffserv3, diffserv4, diffserv8, precedence, normal_order, bulk_order, cake_config_* (Linux 6.1)."""

from collections.abc import Mapping

TINS: Mapping[str, int] = {"besteffort": 1, "diffserv3": 3, "diffserv4": 4, "diffserv8": 8, "precedence": 8}

_BY_CODE_POINT: Mapping[str, str] = {
    "diffserv3": "0100200010000000" "0000000000000000" "0000000000002020" "2000000020000000",
    "diffserv4": "0100200010000000" "2020202020202020" "3020202030003030" "3000000030000000",
    "diffserv8": "2012422212121212" "5242424232323232" "6232323262226262" "7222222272222222",
    "precedence": "".join(str(number) * 8 for number in range(8)),
}


def tin_of_code_point(mode: str, code: int) -> int:
    """The tin of a DSCP."""
    return int(_BY_CODE_POINT[mode][code])


def tin_order(mode: str) -> tuple[int, ...]:
    """The tins in the order in which a priority or mark of 1, 2, ... names them: bulk first."""
    return (1, 0, *range(2, TINS[mode])) if mode in ("diffserv3", "diffserv4") else tuple(range(TINS[mode]))
