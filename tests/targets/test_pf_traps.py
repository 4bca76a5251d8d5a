"""The traps of pf's queueing, each with a test that names it. A random model must not run into any of them."""

import re
from collections.abc import Iterator

import pytest

from pfq.diagnostics import Refused
from pfq.targets.pf_dialects import dialect_of
from tests.strategies import ALTQ, QUEUE, seeded
from tests.targets.pf_render import ACKS, LINK, TARGETS, codes, compiled, hartmeier, host, plan, refusals, statements

SEEDS = range(60)


def _compiled(systems: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """(system, statements) of random models that are not refused."""
    for seed in SEEDS:
        made = plan(seeded(seed, systems))
        for gateway in made.gateways:
            try:
                (file,) = TARGETS[gateway.system.family].render(made, gateway, None)
            except Refused:
                continue
            yield gateway.system.name, statements(file.text)


@pytest.fixture(scope="module")
def modern() -> list[tuple[str, list[str]]]:
    return list(_compiled(QUEUE))


@pytest.fixture(scope="module")
def altq() -> list[tuple[str, list[str]]]:
    return list(_compiled(ALTQ))


def _named(line: str) -> list[str]:
    """The queues that a rule names."""
    found = re.search(r"queue (?:\(([^)]*)\)|(\S+))$", line) if line.startswith(("pass", "match")) else None
    return [name.strip() for name in (found[1] or found[2]).split(",")] if found else []


OFFICE = """
accept = ["ipv6-express", "ipv6-dscp", "exact-low-delay"]
[links.adsl]
up = "1 Mbit"
down = "10 Mbit"
policy = "office"
[policies.office]
classes = [
  { name = "ack", express = true },
  { name = "voip", match = { dscp = "ef" } },
  { name = "rest" },
]
"""


# --- traps of the queue era


def test_trap_match_queue_is_lost_without_state_so_a_stateful_pass_ends_the_file(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        assert re.match(r"pass (out )?on \S+ all$", found[-1])


def test_trap_a_queue_on_the_final_pass_beats_every_match(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        for line in found:
            if line.startswith("pass") and _named(line):
                assert "no state" in line


def test_trap_packets_without_state_take_the_final_rules_own_queue() -> None:
    found = statements(compiled(hartmeier("openbsd-7.6")))
    stateless = found.index("pass on kue0 proto tcp from any to any flags any no state set queue (q_def, q_pri)")
    assert stateless < found.index("pass on kue0 all")


def test_trap_without_max_on_the_root_nothing_is_shaped(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        roots = [line for line in found if line.startswith("queue ") and " parent " not in line]
        assert roots
        for line in roots:
            assert re.search(r"bandwidth (\w+), max \1$", line), line


def test_trap_flows_beside_min_is_a_plain_fifo(modern: list[tuple[str, list[str]]]) -> None:
    lines = [line for _, found in modern for line in found if line.startswith("queue ")]
    assert any(" flows " in line for line in lines)
    assert any(", min " in line for line in lines)
    assert not any(" flows " in line and " min " in line for line in lines)


def test_trap_qlimit_of_a_queue_with_flows_counts_for_nothing(modern: list[tuple[str, list[str]]]) -> None:
    assert not any(" flows " in line and " qlimit " in line for _, found in modern for line in found)


def test_trap_curves_of_32_bits_wrap_above_4_29_gigabit() -> None:
    model = LINK + ACKS + host("openbsd-7.6", '"em0"', 'inside = { interface = "em1", speed = "10 Gbit" }')
    (fault,) = refusals(model)
    assert fault.code == "rate-too-high"
    assert "4294967295" in fault.hint


def test_trap_queues_cannot_be_defined_in_an_anchor(modern: list[tuple[str, list[str]]], altq: list[tuple[str, list[str]]]) -> None:
    for _, found in modern + altq:
        inside = False
        for line in found:
            inside = line.endswith("{") or (inside and line != "}")
            assert not (inside and line.startswith(("queue ", "altq ", "table ")))


def test_trap_a_rule_names_only_queues_with_a_parent_that_are_defined_above(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        children: set[str] = set()
        for line in found:
            if line.startswith("queue ") and " parent " in line:
                children.add(line.split()[1])
            assert set(_named(line)) <= children


def test_trap_a_child_with_its_roots_name_is_a_loop(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        queues = [line for line in found if line.startswith("queue ")]
        parents = {line.split(" parent ")[1].split()[0] for line in queues if " parent " in line}
        roots = {line.split()[1] for line in queues if " parent " not in line}
        names = {line.split()[1] for line in queues if " parent " in line}
        assert not roots & names
        assert parents <= roots | names


def test_trap_one_name_under_two_parents_of_an_interface_never(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        keys = [re.match(r"queue (\S+)(?: on (\S+))?", line) for line in found if line.startswith("queue ")]
        pairs = [(key[1], key[2]) for key in keys if key]
        assert len(pairs) == len(set(pairs))


def test_trap_every_root_has_one_default(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        roots = [line for line in found if line.startswith("queue ") and " parent " not in line]
        assert len([line for line in found if re.search(r"^queue .* default\b", line)]) == len(roots)


def test_trap_a_queue_on_an_interface_group_does_not_load() -> None:
    model = LINK + ACKS + host("openbsd-7.6", '{ interface = "egress", queue_on = "em0" }')
    found = statements(compiled(model))
    assert not any(line.startswith("queue ") and "egress" in line for line in found)
    assert any(line.startswith("match on egress ") for line in found)


def test_trap_no_percent_and_only_units_that_are_read(modern: list[tuple[str, list[str]]]) -> None:
    for _, found in modern:
        for line in found:
            if line.startswith("queue "):
                assert re.findall(r"(?:bandwidth|min|max|burst) (\S+?),?(?= |$)", line)
                assert all(re.fullmatch(r"\d+[KMG]?", rate) for rate in re.findall(r"(?:bandwidth|min|max|burst) ([^\s,]+)", line))


def test_trap_ports_and_flags_cannot_be_seen_after_nat_so_the_assignment_stands_before_it() -> None:
    model = OFFICE + host("openbsd-7.6", '{ interface = "em0", nat = true }', 'inside = { interface = "em1", networks = "192.168.1.0/24" }')
    found = statements(compiled(model))
    last_queue = max(index for index, line in enumerate(found) if line.startswith("match") and " set queue " in line)
    assert last_queue < next(index for index, line in enumerate(found) if " nat-to " in line)


# --- traps of ALTQ


def test_trap_altq_never_upgrades_ipv6_acks() -> None:
    model = LINK.replace("ipv6 = false", "ipv6 = true") + ACKS
    assert codes(model + host("openbsd-4.4")) == {"difference"}
    assert codes(model + host("freebsd-14")) == {"difference"}
    assert codes(model + host("freebsd-15")) == set()
    assert codes(model + host("openbsd-5.4")) == set()
    assert "(accepted: ipv6-express)" in compiled('accept = ["ipv6-express"]\n' + model + host("openbsd-4.4"))


def test_trap_a_typo_in_a_queue_name_is_silent_so_every_name_is_defined_and_listed(altq: list[tuple[str, list[str]]]) -> None:
    for _, found in altq:
        defined = {line.split()[1] for line in found if line.startswith("queue ")}
        listed = {name for line in found if line.startswith(("queue ", "altq ")) for group in re.findall(r"\{ (.*?) \}", line) for name in group.split(", ")}
        assert defined == listed
        assert {name for line in found for name in _named(line)} <= defined


def test_trap_a_missing_default_on_one_of_several_interfaces_drops_packets(altq: list[tuple[str, list[str]]]) -> None:
    for _, found in altq:
        interfaces = [line.split()[2] for line in found if line.startswith("altq ")]
        defaults = [line for line in found if re.search(r"^queue .*\((?:[^)]*\b)?default\b", line)]
        assert len(defaults) == len(interfaces)
        if len(interfaces) > 1:
            assert sorted(line.split()[3] for line in defaults) == sorted(interfaces)


def test_trap_nat_pass_skips_the_rules_that_assign(altq: list[tuple[str, list[str]]]) -> None:
    assert not any(re.match(r"(nat|rdr|binat) pass", line) for _, found in altq for line in found)


def test_trap_strict_order_with_the_lowest_as_default_starves_arp() -> None:
    found = statements(compiled(hartmeier("openbsd-4.4")))
    assert [line.split()[1] for line in found if "default" in line] == ["q_pri"]
    starving = LINK + ACKS + 'unclassified = "q_def"\n' + host("openbsd-4.4")
    assert codes(starving) == {"difference"}
    assert "(accepted: starved-control)" in compiled('accept = ["starved-control"]\n' + starving)
    accepted = statements(compiled('accept = ["starved-control"]\n' + starving))
    assert [line.split()[1] for line in accepted if "priq(default)" in line] == ["q_def"]


def test_trap_tos_is_compared_with_the_ecn_bits_in_old_altq() -> None:
    found = statements(compiled(OFFICE + host("openbsd-4.4")))
    assert [line.split("tos ")[1].split()[0] for line in found if " tos " in line] == ["0xb8", "0xb9", "0xba", "0xbb"]
    found = statements(compiled(OFFICE + host("freebsd-12.1")))
    assert [line.split("tos ")[1].split()[0] for line in found if " tos " in line] == ["0xb8"]


def test_trap_ipv6_has_no_dscp_in_old_pf() -> None:
    model = OFFICE.replace(', "ipv6-dscp"', "")
    assert codes(model + host("openbsd-4.4")) == {"difference"}
    assert codes(model + host("freebsd-13")) == set()
    assert codes(model.replace('dscp = "ef"', 'dscp = "ef", family = "ipv4"') + host("openbsd-4.4")) == set()


def test_trap_rules_on_the_inside_interface_take_the_queue_of_the_link_away(altq: list[tuple[str, list[str]]]) -> None:
    model = LINK + ACKS + host("openbsd-4.4", '"kue0"', 'inside = "em1"')
    found = statements(compiled(model))
    assert any(line.startswith("queue q_def on em1 ") for line in found)
    assert any(line.startswith("queue q_def on kue0 ") for line in found)
    assert not any(line.startswith("pass") and "on em1" in line for line in found)
    for _, found in altq:
        assert not any(" tag " in line and _named(line) for line in found)


def test_trap_icmp_and_udp_never_reach_the_second_queue_by_size_so_they_have_rules() -> None:
    found = statements(compiled(LINK.replace('policy = "acks"\n', "") + host("openbsd-4.4")))
    assert "pass on kue0 inet proto icmp all queue interactive" in found
    assert "pass on kue0 inet6 proto ipv6-icmp all queue interactive" in found
    assert "pass on kue0 proto udp from any to any port 53 queue interactive" in found


def test_trap_a_higher_priority_is_better_in_pf(altq: list[tuple[str, list[str]]]) -> None:
    model = LINK + '[policies.acks]\nclasses = [{name="a", express=true}, {name="b", match="tcp/1"}, {name="c", match="tcp/2"}, {name="d"}]\n'
    found = statements(compiled(model + host("openbsd-4.4")))
    assert [line.split()[1:4:2] for line in found if line.startswith("queue ")] == [["a", "7"], ["b", "5"], ["c", "3"], ["d", "1"]]
    for _, found in altq:
        by_tree: dict[str, list[str]] = {}
        for line in found:
            if line.startswith("queue ") and " priority " in line and " bandwidth " not in line:
                by_tree.setdefault(line.split(" on ")[1].split()[0] if " on " in line else "", []).append(line.split(" priority ")[1].split()[0])
        for numbers in by_tree.values():
            assert len(numbers) == len(set(numbers))
            assert all(0 <= int(number) <= 15 for number in numbers)


def test_trap_units_are_spelled_so_that_every_parser_takes_them(altq: list[tuple[str, list[str]]]) -> None:
    for _, found in altq:
        for line in found:
            if line.startswith(("altq ", "queue ")):
                rates = re.findall(r"(?:bandwidth|realtime|upperlimit) \(?([^\s)]+)", line)
                assert all(re.fullmatch(r"\d+(?:b|Kb|Mb|Gb)", rate) for rate in rates), line


def test_trap_interfaces_without_a_speed_need_an_absolute_rate_and_tbrsize(altq: list[tuple[str, list[str]]]) -> None:
    for name, found in altq:
        for line in found:
            if line.startswith("altq "):
                size = re.search(r"bandwidth \d+\w+ tbrsize (\d+) queue", line)
                assert size
                assert 0 < int(size[1]) <= (65535 if name.startswith("openbsd") else 2**32 - 1)


def test_trap_rates_of_32_bits_wrap_round() -> None:
    fast = 'accept = ["ipv6-express"]\nlinks.adsl.up = "5 Gbit"\n' + host("openbsd-4.4")
    assert codes(fast) == {"rate-too-high"}
    assert codes(fast.replace("openbsd-4.4", "freebsd-14")) == {"rate-too-high"}
    hfsc = fast.replace("openbsd-4.4", "freebsd-14").replace('"kue0"', '{ interface = "em0", scheduler = "hfsc" }')
    assert codes(hfsc) == set()


def test_trap_cbq_below_5_59_kilobit_cannot_be_counted(altq: list[tuple[str, list[str]]]) -> None:
    for _, found in altq:
        for line in found:
            if "cbq" in line and line.startswith("queue "):
                number, unit = re.findall(r"bandwidth (\d+)(\w+)", line)[0]
                assert int(number) * {"b": 1, "Kb": 1000, "Mb": 10**6, "Gb": 10**9}[unit] >= 6000


def test_trap_real_time_above_80_percent_of_the_interface_is_refused() -> None:
    model = LINK + '[policies.acks]\nclasses = [{name="a", match="tcp/1", guarantee="85 %"}, {name="b"}]\n'
    (fault,) = refusals(model + host("openbsd-4.4", '{ interface = "kue0", scheduler = "hfsc" }'))
    assert (fault.code, fault.place and fault.place.line) == ("realtime-sum", 9)
    assert codes(model.replace("85 %", "80 %") + host("openbsd-4.4", '{ interface = "kue0", scheduler = "hfsc" }')) == set()


def test_trap_a_convex_curve_must_begin_with_nothing() -> None:
    curve = '[policies.acks]\nclasses = [{name="a", match="tcp/1", guarantee={rate="20 kbit", burst="10 kbit", for="20 ms"}}, {name="b"}]\n'
    assert codes(LINK + curve + host("openbsd-4.4")) == {"convex-curve"}
    concave = curve.replace('"10 kbit"', '"40 kbit"')
    assert any("realtime (40Kb 20 20Kb)" in line for line in statements(compiled(LINK + concave + host("openbsd-4.4"))))
    assert any(", min 20K burst 40K for 20ms" in line for line in statements(compiled(LINK + concave + host("openbsd-7.6"))))


def test_trap_linkshares_above_the_parents_fail(altq: list[tuple[str, list[str]]]) -> None:
    """The reader of pf.conf refuses them as pfctl does, see test_pf_reads; here: cbq, where they only warn."""
    unit = {"b": 1, "Kb": 1000, "Mb": 10**6, "Gb": 10**9}
    for _, found in altq:
        rates: dict[tuple[str, str], int] = {}
        for line in found:
            match = re.match(r"queue (\S+)(?: on (\S+))? bandwidth (\d+)(\w+)", line)
            if match:
                rates[match[1], match[2] or ""] = int(match[3]) * unit[match[4]]
        for line in found:
            match = re.match(r"(?:queue (\S+)(?: on (\S+))?|altq on (\S+) \w+) bandwidth (\d+)(\w+).*\{ (.*) \}$", line)
            if match and rates:
                where = match[2] or match[3] or ""
                parts = [rates.get((name, where), rates.get((name, ""))) for name in match[6].split(", ")]
                assert sum(part for part in parts if part is not None) <= int(match[4]) * unit[match[5]], line


def test_trap_qlimit_is_at_least_one_packet_and_fits_16_bits(modern: list[tuple[str, list[str]]], altq: list[tuple[str, list[str]]]) -> None:
    limits = [int(number) for _, found in modern + altq for line in found for number in re.findall(r" qlimit (\d+)", line)]
    assert limits
    assert all(1 <= limit <= 65535 for limit in limits)


# --- traps of the text


def test_trap_a_backslash_at_the_end_of_a_comment_swallows_the_next_line(modern: list[tuple[str, list[str]]]) -> None:
    for seed in SEEDS:
        made = plan(seeded(seed, ALTQ + QUEUE))
        for gateway in made.gateways:
            for part in (None, "queues", "rules"):
                try:
                    (file,) = TARGETS[gateway.system.family].render(made, gateway, part)
                except Refused:
                    continue
                assert file.text.endswith("\n")
                assert file.text.isascii()
                assert not any(line.endswith("\\") for line in file.text.splitlines())


@pytest.mark.parametrize(
    ("system", "name"),
    [
        ("openbsd-3.3", "red"), ("openbsd-4.4", "state"), ("openbsd-5.4", "match"), ("openbsd-7.6", "default"), ("openbsd-7.6", "flows"),
        ("freebsd-12.1", "codelq"),
    ],
)
def test_trap_a_reserved_word_is_no_name(system: str, name: str) -> None:
    (fault,) = refusals(LINK + ACKS.replace("q_def", name) + host(system))
    assert fault.code == "reserved-name"
    assert f"{name}_q" in fault.hint
    assert system.split("-")[1] in fault.message


def test_trap_a_word_that_only_another_dialect_reserves_is_a_name() -> None:
    assert codes(LINK + ACKS.replace("q_def", "default") + host("openbsd-4.4")) == set()
    assert codes(LINK + ACKS.replace("q_def", "flows") + host("openbsd-5.5")) == set()


def test_trap_long_names_are_cut_off() -> None:
    long = LINK + ACKS.replace("q_def", "a_class_of_sixteen")
    assert codes(long + host("openbsd-3.3")) == {"long-name"}
    assert codes(long + host("openbsd-4.4")) == set()


def test_trap_lists_expand_to_a_rule_for_each_entry_so_long_ones_are_tables() -> None:
    networks = ", ".join(f'"10.1.{number}.0/24"' for number in range(30))
    model = LINK + f'[policies.acks]\nclasses = [{{name="a", match={{to=[{networks}]}}}}, {{name="b"}}]\n'
    for system in ("openbsd-4.4", "openbsd-7.6"):
        found = statements(compiled(model + host(system)))
        assert sum(line.startswith("table <") for line in found) == 1
        assert any("to <pfq_0_1_to>" in line for line in found)


def test_every_dialect_has_a_source_for_every_fact() -> None:
    from pfq.site.systems import parse_system
    from pfq.targets.pf_dialects import FACTS

    assert all(fact.source for fact in FACTS)
    assert dialect_of(parse_system("openbsd-5.5")).flows is False
    assert dialect_of(parse_system("openbsd-6.2")).flows is True
