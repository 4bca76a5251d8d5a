"""What `tc ... show` prints of filters and actions, as iproute2 6.1 does, means what was loaded."""

import pytest

from pfq.diagnostics import Refused
from pfq.linux import read
from pfq.linux.queues import Filter, name

_LOADED = """qdisc add dev eth0 handle ffff: ingress
filter add dev eth0 parent ffff: protocol all prio 1 matchall action ctinfo cpmark 0x00ff0000 continue
filter add dev eth0 parent ffff: protocol all prio 2 handle 1 bpf bytecode '1,6 0 0 0' action skbedit mark 0 pipe action pass
filter add dev eth0 parent ffff: protocol all prio 3 u32 match u32 0 0 action mirred egress redirect dev ifb0
filter add dev eth0 parent ffff: protocol all prio 50 matchall action police rate 800000bit burst 11500b mtu 65536 overhead 0 mpu 0 conform-exceed drop
filter add dev eth0 parent 1: protocol all prio 1 basic match meta( priority gt 131071 ) classid 1:1
filter add dev eth0 parent 1: protocol ip prio 10 u32 match ip tos 0x10 0xff match ip dst 10.0.0.0/8 flowid 1:10
filter add dev eth0 parent 1: protocol ip prio 12 u32 match tcp dst 80 0xffff flowid 1:10
filter add dev eth0 parent 1: protocol ip prio 13 handle 7 fw classid 1:10
"""
_INGRESS = """filter parent ffff: protocol all pref 1 matchall chain 0
filter parent ffff: protocol all pref 1 matchall chain 0 handle 0x1
  not_in_hw
\taction order 1: ctinfo zone 0 continue
\t index 1 ref 1 bind 1 cpmark 0x00ff0000

filter parent ffff: protocol all pref 2 bpf chain 0
filter parent ffff: protocol all pref 2 bpf chain 0 handle 0x1 not_in_hw bytecode '1,6 0 0 0'
\taction order 1: skbedit  mark 0 pipe
\t index 1 ref 1 bind 1

\taction order 2: gact action pass
\t random type none pass val 0
\t index 1 ref 1 bind 1

filter parent ffff: protocol all pref 3 u32 chain 0
filter parent ffff: protocol all pref 3 u32 chain 0 fh 800: ht divisor 1
filter parent ffff: protocol all pref 3 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid not_in_hw
  match 00000000/00000000 at 0
\taction order 1: mirred (Egress Redirect to device ifb0) stolen
\tindex 1 ref 1 bind 1

filter parent ffff: protocol all pref 50 matchall chain 0
filter parent ffff: protocol all pref 50 matchall chain 0 handle 0x1
  not_in_hw
\taction order 1:  police 0x1 rate 800Kbit burst 11500b mtu 64Kb action drop overhead 0b
\tref 1 bind 1

"""
_ROOT = """filter parent 1: protocol all pref 1 basic chain 0
filter parent 1: protocol all pref 1 basic chain 0 handle 0x1 flowid 1:1
  meta(priority gt 131071)

filter parent 1: protocol ip pref 10 u32 chain 0
filter parent 1: protocol ip pref 10 u32 chain 0 fh 800: ht divisor 1
filter parent 1: protocol ip pref 10 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 *flowid 1:10 not_in_hw
  match 00100000/00ff0000 at 0
  match 0a000000/ff000000 at 16
filter parent 1: protocol ip pref 12 u32 chain 0
filter parent 1: protocol ip pref 12 u32 chain 0 fh 801: ht divisor 1
filter parent 1: protocol ip pref 12 u32 chain 0 fh 801::800 order 2048 key ht 801 bkt 0 *flowid 1:10 not_in_hw
  match 00000050/0000ffff at nexthdr+0
filter parent 1: protocol ip pref 13 fw chain 0
filter parent 1: protocol ip pref 13 fw chain 0 handle 0x7 classid 1:10
"""
_JSON = """[{"parent":"1:","protocol":"ip","pref":10,"kind":"u32","chain":0},
{"parent":"1:","protocol":"ip","pref":10,"kind":"u32","chain":0,"options":{"fh":"800:","ht_divisor":1}},
{"parent":"1:","protocol":"ip","pref":10,"kind":"u32","chain":0,"options":{"fh":"800::800","order":2048,"key_ht":"800","bkt":"0","flowid":"1:10",
"not_in_hw":true,"match":{"value":"100000","mask":"ff0000","offmask":"","off":0},"match":{"value":"a000000","mask":"ff000000","offmask":"","off":16}}}]"""


def _meaning(filters: list[Filter]) -> list[object]:
    return [(each.device, name(each.parent), each.protocol, each.preference, each.test, each.number, each.actions) for each in filters]


def test_a_listing_of_filters() -> None:
    loaded = read({"batch": _LOADED}).devices.filters
    listed = read({"tc filter show dev eth0 ingress": _INGRESS, "tc filter show dev eth0": _ROOT}).devices.filters
    assert _meaning(listed) == _meaning(loaded)
    assert len(listed) == 8


def test_the_device_of_a_listing_may_stand_before_it() -> None:
    text = f"# tc filter show dev eth0 ingress\n{_INGRESS}\n# tc filter show dev eth0\n{_ROOT}"
    assert _meaning(read({"listing": text}).devices.filters) == _meaning(read({"batch": _LOADED}).devices.filters)


def test_json_of_filters() -> None:
    listed = read({"tc -j filter show dev eth0": _JSON}).devices.filters
    assert _meaning(listed) == [each for each in _meaning(read({"batch": _LOADED}).devices.filters) if "10" in str(each[3])]  # type: ignore[index]


def test_json_without_what_it_is_asked_for_is_refused() -> None:
    text = '[{"parent":"1:","protocol":"all","pref":1,"kind":"bpf","chain":0,"options":{"handle":"0x1"}}]'
    with pytest.raises(Refused) as caught:
        read({"tc -j filter show dev eth0": text})
    assert [each.hint for each in caught.value.diagnostics] == ["list the filters without -j"]
