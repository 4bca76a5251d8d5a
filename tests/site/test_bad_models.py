"""Every mistake is one diagnostic, at its place, with a way out."""

import pytest

from tests.site.faults import faults_of

LINK = '[links.dsl]\nup = "1 Mbit"\ndown = "16 Mbit"\n'
HOST = '[hosts.gw]\nsystem = "openbsd-7.6"\nlinks.dsl = "em0"\n'
MODEL = LINK + HOST
SMALL = '[links.dsl]\nup = "1 Mbit"\ndown = "4 Mbit"\n'


def attached(table: str, system: str = "openbsd-7.6", inside: str = "", link: str = LINK) -> str:
    """A model whose host (line 5 and on) is attached as `table` says, at line 6, column 13."""
    return link + f'[hosts.gw]\nsystem = "{system}"\nlinks.dsl = {table}\n{inside}'


def policy(classes: str, table: str = '"eth0"', system: str = "linux-6.1", head: str = "") -> str:
    """A model whose policy has these classes, from line 7, column 1."""
    return f'{SMALL}policy = "p"\n[policies.p]\n{head}classes = [\n{classes}\n]\n[hosts.gw]\nsystem = "{system}"\nlinks.dsl = {table}\n'


def test_the_models_that_the_mistakes_are_made_in_are_good() -> None:
    assert faults_of(MODEL) == []
    assert faults_of(attached('{ interface = "em0" }', inside='inside = "em1"\n')) == []
    assert faults_of(policy('{ name = "e", express = true },\n{ name = "v", match = "udp/5060" },\n{ name = "b" }')) == []


CASES = {
    # Keys.
    "unknown key": (MODEL.replace("down", "dwon"), "unknown-key", 3, 1, "did you mean 'down'?"),
    "unknown key, nothing like it": (MODEL + "xyzzy = 1\n", "unknown-key", 7, 1, "known: system, inside, links"),
    "unknown key in an inline table": (attached('{ interface = "em0", qeue_on = "em1" }'), "unknown-key", 6, 34, "did you mean 'queue_on'?"),
    "unknown dotted key": (MODEL + "inside.interface = 'em1'\ninside.network = '10.0.0.0/8'\n", "unknown-key", 8, 8, "did you mean 'networks'?"),
    "required key misspelt": (MODEL.replace("up =", "upp ="), "unknown-key", 2, 1, "did you mean 'up'?"),
    "hosts misspelt": (MODEL.replace("[hosts", "[host"), "unknown-key", 4, 2, "did you mean 'hosts'?"),
    "links misspelt": (MODEL.replace("[links", "[link"), "unknown-key", 1, 2, "did you mean 'links'?"),
    "policies misspelt": (policy('{ name = "b" }').replace("[policies", "[polices"), "unknown-key", 5, 2, "did you mean 'policies'?"),
    "class name misspelt": (policy('{ nam = "b" }'), "unknown-key", 7, 3, "did you mean 'name'?"),
    "match misspelt": (policy('{ name = "v", mach = "icmp" },\n{ name = "b" }'), "unknown-key", 7, 15, "did you mean 'match'?"),
    "accept misspelt": (
        'acept = ["soft-order"]\n' + policy('{ name = "e", express = true }, { name = "b" }', '{ interface = "eth0", scheduler = "cake" }'),
        "unknown-key", 1, 1, "did you mean 'accept'?",
    ),
    "missing key": (MODEL.replace('up = "1 Mbit"\n', ""), "missing-key", 1, 1, "up: rate towards the Internet"),
    "missing links": (HOST, "missing-key", 1, 1, "links: the lines to the Internet"),
    "missing hosts": (LINK, "missing-key", 1, 1, "hosts: the gateways"),
    # Values.
    "bare number": (MODEL.replace('"1 Mbit"', "1000"), "no-unit", 2, 6, "'128 kbit'"),
    "bare decimal": (MODEL.replace('"1 Mbit"', "1e400"), "no-unit", 2, 6, "'128 kbit'"),
    "bare huge number": (MODEL.replace('"1 Mbit"', "0x" + "f" * 6000), "no-unit", 2, 6, "'128 kbit'"),
    "huge number": (attached(f'{{ interface = "em0", mss = 0x{"f" * 6000} }}'), "out-of-range", 6, 40, "536 to 1460"),
    "bytes": (MODEL.replace("1 Mbit", "1 MB"), "bad-quantity", 2, 6, "multiply the bytes by 8"),
    "text without unit": (MODEL.replace("1 Mbit", "1000"), "bad-quantity", 2, 6, "'1000 kbit'"),
    "a time for a rate": (MODEL.replace("1 Mbit", "20 ms"), "bad-quantity", 2, 6, "known units"),
    "wrong type": (MODEL.replace('"1 Mbit"', "[1]"), "wrong-type", 2, 6, "'128 kbit'"),
    "date": (MODEL.replace('"1 Mbit"', "2020-01-01"), "wrong-type", 2, 6, "'128 kbit'"),
    "table of tables": ('links = 1\n' + HOST, "wrong-type", 1, 9, ""),
    "encapsulation": (MODEL.replace("[hosts", 'encapsulation = "pppoe"\n[hosts'), "unknown-word", 4, 17, "one of pppoe-vcmux, pppoe-llc"),
    "scheduler": (attached('{ interface = "em0", scheduler = "fairq" }', "freebsd-14"), "unknown-word", 6, 46, "known: priq, cbq, hfsc"),
    "mtu": (MODEL.replace("[hosts", 'encapsulation = "pppoe-llc"\nmtu = 1500\n[hosts'), "out-of-range", 5, 7, "leave mtu out"),
    "host bits": (MODEL + 'inside = { interface = "em1", networks = "192.168.1.1/24" }', "bad-network", 7, 42, "the network is 192.168.1.0/24"),
    "mask": (MODEL + 'inside = { interface = "em1", networks = "10.0.0.0/255.0.0.0" }', "bad-network", 7, 42, "192.168.1.0/24"),
    "zone": (MODEL + 'inside = { interface = "em1", networks = ["fe80::%$(reboot)/64"] }', "bad-network", 7, 43, "2001:db8:1::/48"),
    "text about host bits": (MODEL + 'inside = { interface = "em1", networks = "host bits" }', "bad-network", 7, 42, "192.168.1.0/24"),
    "address": (attached('{ interface = "em0", nat = "fe80::1%em0" }'), "bad-address", 6, 40, "192.168.1.1"),
    "port": (policy('{ name = "v", match = "udp/0" },\n{ name = "b" }'), "bad-match", 7, 23, "1 to 65535"),
    "port range": (policy('{ name = "v", match = "udp/9-5" },\n{ name = "b" }'), "bad-match", 7, 23, "the smaller one first"),
    "ports of gre": (policy('{ name = "v", match = { protocol = "gre", port = 1 } },\n{ name = "b" }'), "bad-match", 7, 23, "protocol = 'tcp'"),
    "two families": (
        policy('{ name = "v", match = { from = "10.0.0.0/8", to = "fc00::/7" } },\n{ name = "b" }'), "unreachable", 7, 23, "make two matches",
    ),
    "empty match": (policy('{ name = "v", match = {} },\n{ name = "b" }'), "empty-match", 7, 23, "default = true"),
    "half a curve": (policy('{ name = "v", match = "icmp", guarantee = { rate = "5%", burst = "9%" } },\n{ name = "b" }'), "half-a-curve", 7, 43, "for = "),
    "up beside rate": (policy('{ name = "v", match = "icmp", guarantee = { rate = "5%", up = "9%" } },\n{ name = "b" }'), "mixed-demand", 7, 43, "inside `up`"),
    # Names.
    "site name with a line": ('name = "a\\nb"\n' + MODEL, "bad-name", 1, 8, "one line of text"),
    "site name that continues a comment": ("name = 'a\\'\n" + MODEL, "bad-name", 1, 8, "without a backslash"),
    "site name with a control character": ('name = "a\\u009bb"\n' + MODEL, "bad-name", 1, 8, "one line of text"),
    "host name": (MODEL.replace("hosts.gw", 'hosts."../gw"'), "bad-name", 4, 8, "as in a host name"),
    "interface": (MODEL.replace("em0", "em0; reboot"), "bad-name", 6, 13, "letters, digits"),
    "interface of another system": (MODEL.replace("em0", "eth0.7"), "bad-name", 6, 13, "such as em0"),
    "long class name": (policy(f'{{ name = "{"a" * 64}" }}'), "too-long", 7, 10, "at most 63"),
    # References.
    "no such policy": (MODEL.replace("[hosts", 'policy = "offce"\n[hosts'), "dangling", 4, 10, "known: default"),
    "no such link": (MODEL.replace("links.dsl =", "links.dls ="), "dangling", 6, 7, "did you mean 'dsl'?"),
    "no such parent": (policy('{ name = "v", match = "icmp", parent = "bulkk" },\n{ name = "bulk" }'), "dangling", 7, 40, "did you mean 'bulk'?"),
    "no such unclassified": (policy('{ name = "b" }', head='unclassified = "x"\n'), "dangling", 6, 16, "known: b"),
    "host without link": (MODEL.replace("links.dsl = ", "links = {} # "), "empty", 4, 1, "add links.NAME"),
    "no host": (LINK + "[hosts]\n", "empty", 1, 1, "add a table [hosts.NAME]"),
    # Policies.
    "no class": (policy(""), "empty", 6, 11, "write at least one"),
    "class twice": (policy('{ name = "b", match = "icmp" },\n{ name = "b" }'), "twice", 8, 10, "names are unique"),
    "two defaults": (policy('{ name = "a", match = "icmp", default = true },\n{ name = "b", default = true }'), "twice", 8, 25, "there can be one"),
    "two express": (policy('{ name = "a", express = true },\n{ name = "c", express = true },\n{ name = "b" }'), "twice", 8, 25, "there can be one"),
    "express default": (policy('{ name = "b", express = true, default = true }'), "express-default", 7, 41, "add a class"),
    "express alone": (policy('{ name = "b", express = true }'), "no-default", 5, 1, "default = true"),
    "no default": (policy('{ name = "b", match = "icmp" }'), "no-default", 5, 1, "default = true"),
    "unreachable class": (policy('{ name = "a" },\n{ name = "b" }'), "unreachable", 7, 1, "give it a match"),
    "unreachable match": (
        policy('{ name = "a", match = "udp" },\n{ name = "c", match = ["icmp", "udp/53"] },\n{ name = "b" }'),
        "unreachable", 8, 32, "move it above",
    ),
    "part of itself": (policy('{ name = "a", parent = "a", match = "icmp" },\n{ name = "b" }'), "circle", 7, 24, "above its parts"),
    "circle": (policy('{ name = "a", parent = "c" },\n{ name = "b", parent = "a" },\n{ name = "c", parent = "b" },\n{ name = "d" }'), "circle", 7, 24, "above"),
    "too deep": (
        policy("\n".join(f'{{ name = "c{i}", parent = "c{i - 1}" }},' if i else '{ name = "c0" },' for i in range(900))),
        "too-deep", 13, 25, "at most 6 levels",
    ),
    "packets in an inner class": (policy('{ name = "a", match = "icmp" },\n{ name = "b", parent = "a" }'), "inner-class", 7, 1, "without parts"),
    # Sums.
    "guarantee above the link": (policy('{ name = "v", match = "icmp", guarantee = "2 Mbit" },\n{ name = "b" }'), "above-link", 7, 43, "at most 988 kbit/s"),
    "guarantee above the link, up": (
        policy('{ name = "v", match = "icmp", guarantee = { down = "2 Mbit", up = "2 Mbit" } },\n{ name = "b" }'), "above-link", 7, 67, "at most 988 kbit/s",
    ),
    "burst above the link": (
        policy('{ name = "v", match = "icmp", guarantee = { rate = "5%", burst = "9 Gbit", for = "5 ms" } },\n{ name = "b" }'),
        "above-link", 7, 43, "at most 988 kbit/s",
    ),
    "ceiling above the link": (policy('{ name = "v", match = "icmp", ceiling = "9 Mbit" },\n{ name = "b" }'), "above-link", 7, 41, "at most 988 kbit/s"),
    "sum of guarantees": (
        policy('{ name = "v", match = "icmp", guarantee = "60%" },\n{ name = "w", match = "udp/1", guarantee = "60%" },\n{ name = "b" }'),
        "impossible-sum", 7, 43, "lower one",
    ),
    "nothing left": (policy('{ name = "v", match = "icmp", guarantee = "100%" },\n{ name = "b" }'), "impossible-sum", 8, 1, "lower a guarantee"),
    "ceiling below guarantee": (
        policy('{ name = "v", match = "icmp", guarantee = "50%", ceiling = "20%" },\n{ name = "b" }'), "contradiction", 7, 60, "raise the ceiling",
    ),
    "guarantee of nothing": (policy('{ name = "v", match = "icmp", guarantee = "0.00001%" },\n{ name = "b" }'), "too-small", 7, 43, "write a rate"),
    "express too small": (policy('{ name = "e", express = true, guarantee = "1 kbit" },\n{ name = "b" }'), "express-too-small", 7, 43, "(163 a second)"),
    "express squeezed": (
        policy('{ name = "e", express = true },\n{ name = "v", match = "icmp", guarantee = "90%" },\n{ name = "b" }'),
        "express-too-small", 7, 1, "lower a guarantee",
    ),
    "express in a small part": (
        policy('{ name = "q", share = 1 },\n{ name = "e", express = true, parent = "q" },\n{ name = "b", share = 9 },\n{ name = "v", match = "icmp" }'),
        "express-too-small", 8, 1, "leave its `parent` out",
    ),
    "express under a low ceiling": (policy('{ name = "e", express = true, ceiling = "1%" },\n{ name = "b" }'), "contradiction", 7, 41, "raise the ceiling"),
    "shaped above the line": (attached('{ interface = "em0", shaped_up = "2 Mbit" }'), "above-link", 6, 46, "at most 1 Mbit/s"),
    "too slow": (MODEL.replace('"1 Mbit"', '"2 kbit"'), "too-slow", 2, 6, "at least 8 kbit/s"),
    "next to nothing": (MODEL.replace('"1 Mbit"', '"1 bit"'), "too-slow", 2, 6, "at least 8 kbit/s"),
    "slow interface": (attached('"em0"', inside='inside = { interface = "em1", speed = "10 Mbit" }'), "contradiction", 7, 39, "`speed`"),
    # Hosts.
    "interface twice": (
        MODEL + '[links.b]\nup = "1 Mbit"\n[hosts.gw2]\nsystem = "linux-6.1"\nlinks = { dsl = "eth0", b = "eth0" }',
        "twice", 11, 29, "of its own",
    ),
    "inside twice": (MODEL + 'inside = ["em1", "em1"]', "twice", 7, 18, "in one table"),
    "one arm without networks": (MODEL + 'inside = "em0"', "needs-networks", 7, 10, "networks = "),
    "NAT of IPv6 networks to an IPv4 address": (
        attached('{ interface = "em0", nat = true }', inside='inside = { interface = "em1", networks = "fd00::/64" }\n'),
        "needs-networks", 6, 40, "networks = ",
    ),
    "NAT of nothing": (attached('{ interface = "em0", nat = true }'), "needs-networks", 6, 40, "networks = "),
    "1:1 across families": (attached('{ interface = "em0", one_to_one = [{ inside = "10.0.0.1", outside = "fc00::1" }] }'), "bad-nat", 6, 48, ""),
    "1:1 twice": (
        attached('{ interface = "em0", one_to_one = [{ inside = "10.0.0.1", outside = "10.9.0.1" },\n{ inside = "10.0.0.1", outside = "10.9.0.2" }] }'),
        "twice", 7, 1, "one pair an address",
    ),
    "service": (attached('{ interface = "em0", inbound = { services = ["http"] } }'), "bad-service", 6, 58, "'tcp/443'"),
    "group": (MODEL.replace("em0", "egress"), "group", 6, 13, "queue_on = 'em0'"),
    "VLAN of FreeBSD": (attached('"vlan5"', "freebsd-14"), "unsupported", 6, 13, "queue_on"),
    "queue lost on the way": (attached('{ interface = "tun0", queue_on = "em0" }'), "unsupported", 6, 27, "on the interface itself"),
    "cbq after Linux 6.2": (attached('{ interface = "eth0", scheduler = "cbq" }', "linux-6.3"), "unsupported", 6, 47, "it has prio, htb, hfsc, cake"),
    "hfsc before OpenBSD 3.4": (attached('{ interface = "em0", scheduler = "hfsc" }', "openbsd-3.3"), "unsupported", 6, 46, "it has priq, cbq"),
    "leaf outside Linux": (attached('{ interface = "em0", leaf = "sfq" }'), "unsupported", 6, 41, "it is for Linux"),
    "no arrival queue": (attached('{ interface = "em0", shape_down = "ingress" }'), "unsupported", 6, 47, "shape_down = 'inside'"),
    "inside of one link that carries another": (
        attached('{ interface = "em0", shape_down = "inside" }', inside='inside = { interface = "em1", networks = "10.0.0.0/8" }\nlinks.other = "em1"\n')
        + LINK.replace("dsl", "other"),
        "inside", 6, 47, "shape_down = 'none'",
    ),
    "no inside": (attached('{ interface = "em0", shape_down = "inside" }'), "inside", 6, 47, "name the one inside interface"),
    "no download rate": (
        attached('{ interface = "em0", shape_down = "inside" }', inside='inside = "em1"', link='\n[links.dsl]\nup = "1 Mbit"\n'),
        "contradiction", 6, 47, "add it",
    ),
    "download not shaped": (attached('{ interface = "em0", shape_down = "none", shaped_down = "1 Mbit" }'), "contradiction", 6, 69, "leave it out"),
    "system": (MODEL.replace("openbsd-7.6", "windows-11"), "unknown-system", 5, 10, "'openbsd-7.6'"),
    "system without version": (MODEL.replace("openbsd-7.6", "openbsd"), "unknown-system", 5, 10, "'openbsd-7.6'"),
    "system too old": (MODEL.replace("openbsd-7.6", "openbsd-2.9"), "unknown-system", 5, 10, "openbsd-3.3 to"),
    # Schedulers.
    "priq without shares": (
        policy('{ name = "v", match = "icmp", share = 1 },\n{ name = "b", share = 2 }', '{ interface = "em0", scheduler = "priq" }', "freebsd-14"),
        "unsupported", 12, 46, "choose hfsc or cbq, or leave `share` out",
    ),
    "nobody has curves": (
        policy('{ name = "v", match = "icmp", guarantee = { rate = "5%", burst = "9%", for = "5 ms" } },\n{ name = "b" }', '"em0"', "openbsd-3.3"),
        "unsupported", 12, 13, "it has priq, cbq",
    ),
    "priq beside other traffic": (
        attached('{ interface = "em0", scheduler = "priq", exclude = "10.0.0.0/8" }', "freebsd-14"),
        "unsupported", 6, 46, "choose hfsc or cbq",
    ),
    "soft order": (
        policy('{ name = "e", express = true },\n{ name = "b" }', '{ interface = "eth0", scheduler = "cake" }'),
        "difference", 12, 47, "accept = ['soft-order']",
    ),
    # No TOML, or none that is a model.
    "empty": ("", "empty", 1, 1, "pfq init"),
    "comments": ("# nothing\n\n", "empty", 1, 1, "pfq init"),
    "open bracket": ("[links\n", "not-toml", 1, 7, "toml.io"),
    "open text": ('name = "x', "not-toml", 1, 10, "toml.io"),
    "key twice": ("a = 1\na = 2", "not-toml", 2, 6, "toml.io"),
    "NUL": ("a = 1\nb = \0", "not-toml", 2, 5, "toml.io"),
    "byte order mark": ("\ufeff" + MODEL, "not-toml", 1, 1, "toml.io"),
    "lists in lists": ("a = " + "[" * 5000, "not-toml", 1, 1, "nests five deep"),
    "tables in tables": ("a = " + "{ a = " * 5000, "not-toml", 1, 1, "nests five deep"),
    "endless number": ("a = 1\nb = " + "9" * 5000, "not-toml", 2, 5, "ten"),
    "endless key": ("\n[" + "a." * 100_000 + "b]", "not-toml", 2, 1, "at most five"),
    "endless dotted key": ("a = { " + '"a" . ' * 100_000 + "b = 1 }", "not-toml", 1, 5, "at most five"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "column", "hint"), CASES.values(), ids=CASES)
def test_one_diagnostic(text: str, code: str, line: int, column: int, hint: str) -> None:
    found = faults_of(text)
    assert [d.code for d in found] == [code], found
    diagnostic = found[0]
    assert diagnostic.place
    assert (diagnostic.place.file, diagnostic.place.line, diagnostic.place.column) == ("m", line, column), diagnostic
    assert hint in diagnostic.hint, diagnostic


def test_all_faults_of_a_file_in_one_run() -> None:
    text = """\
name = "x\\ny"
unknown = 1
accept = ["soft-ordr"]

[links.dsl]
up = "20 MB"

[links.fibre]
up = "10 Mbit"
policy = "nowhere"

[policies.p]
classes = [{ name = "a", share = 0 }, { name = "b", drop = "rde" }]

[policies.q]
classes = [{ name = "a" }, { name = "b" }]

[hosts.gw]
system = "openbsd-1.0"
links.dsl = "em0"

[hosts.gw2]
system = "freebsd-14"
links.dls = "em0"
links.fibre = { interface = "em1", nat = true, mss = 9 }

[hosts.gw3]
system = "freebsd-14"
links.fibre = { interface = "vlan1", scheduler = "htb" }
"""
    assert [(d.code, d.place.line if d.place else 0) for d in faults_of(text)] == [
        ("bad-name", 1),
        ("unknown-key", 2),
        ("unknown-word", 3),
        ("bad-quantity", 6),
        ("dangling", 10),
        ("out-of-range", 13),
        ("unknown-word", 13),
        ("unreachable", 16),
        ("unknown-system", 19),
        ("dangling", 24),
        ("out-of-range", 25),
        ("unsupported", 29),
        ("unsupported", 29),
    ]


@pytest.mark.parametrize("system", [("openbsd-7.6", "pppoe0"), ("openbsd-5.4", "tun0"), ("freebsd-14", "em0"), ("linux-6.1", "eth0")], ids=lambda s: s[0])
def test_a_fault_of_a_policy_is_said_once_however_many_gateways_share_it(system: tuple[str, str]) -> None:
    text = policy('{ name = "v", match = "icmp", guarantee = "2 Mbit" },\n{ name = "b" }')
    text += "".join(f'[hosts.h{n}]\nsystem = "{system[0]}"\nlinks.dsl = "{system[1]}"\n' for n in range(20))
    assert [d.code for d in faults_of(text)] == ["above-link"]


def test_a_fault_of_an_attachment_is_said_for_each() -> None:
    text = LINK + "".join(f'[hosts.h{n}]\nsystem = "linux-6.1"\nlinks.dsl = {{ interface = "eth0", shaped_up = "2 Mbit" }}\n' for n in range(3))
    assert [d.place.line for d in faults_of(text) if d.place] == [6, 9, 12]


def test_megabytes_of_faults_are_reported_in_reasonable_steps() -> None:
    """A search among similar words for every one of them would take minutes."""
    text = LINK + "".join(f"[hosts.gatewy{n}]\nsystm = 1\nlnks = 2\n" for n in range(5_000))
    found = faults_of(text)
    assert len(found) > 10_000
    assert sum("did you mean" in d.hint for d in found) <= 200
