"""Tables: `table <name>` with addresses and files. Source: tabledef and table_opts of parse.y."""

from . import clauses, peers
from .lexer import STRING
from .nodes import ADDRESS, DYNAMIC, NO_ROUTE, RANGE, TABLE, URPF_FAILED, Host, Table, TableFile
from .reading import Reading


def table_rule(r: Reading) -> None:
    """`table <name> ...`."""
    r.i += 1
    r.want("<")
    found = Table(r.string())
    r.want(">")
    found.line = r.lines[r.first]
    while True:
        kind = r.kinds[r.i]
        start = r.i
        if kind == STRING:
            word = r.values[r.i]
            r.i += 1
            if word not in ("const", "persist", "counters") or (word == "counters" and not r.dialect.table_counters):
                raise r.fail(f"invalid table option '{word}'")
            setattr(found, word, True)
        elif kind == "{":
            r.i += 1
            r.newline()
            if not r.take("}"):
                found.parts.append(_table_hosts(r))
                r.i += 1
                _refuse(r, found.parts[-1])
            found.initialised = True
        elif kind == "file":
            r.i += 1
            found.parts.append(TableFile(r.string()))
            found.initialised = True
        else:
            break
        r.mark(kind if kind != STRING else r.values[start], start)
    r.at_end()
    if len(found.name) >= clauses.TABLE_NAME:
        raise r.fail(f"table name too long, max {clauses.TABLE_NAME - 1} chars", ahead=True)
    for part in found.parts:
        if isinstance(part, TableFile):
            _read_table_file(r, part.path)
        elif any(host.bits > 32 and host.af == 4 for host in part):
            raise r.fail("cannot create address buffer: Invalid argument", ahead=True)
    if r.verbose:
        from .print import table_text

        r.stdout.append(table_text(found))
    r.tables.append(found)
    r.result = found


def _table_hosts(r: Reading) -> list[Host]:
    if not r.dialect.weights:
        return peers.host_list(r) or []
    return peers.host_list(r, _table_item) or []


def _table_item(r: Reading) -> list[Host]:
    if r.kinds[r.i] == "{":
        return peers.inner_list(r, _table_item) or []
    found = peers.host_or_not(r)
    if r.take("weight"):
        weight = r.number()
        if not 1 <= weight <= 65535:
            raise r.fail("weight out of range")
        for host in found:
            host.weight = weight
    return found


def _refuse(r: Reading, hosts: list[Host] | TableFile) -> None:
    for host in hosts if isinstance(hosts, list) else ():
        if host.kind == ADDRESS:
            continue
        if host.kind == RANGE:
            raise r.fail("address ranges are not permitted inside tables")
        if host.kind == DYNAMIC:
            raise r.fail("dynamic addresses are not permitted inside tables")
        if host.kind == TABLE:
            raise r.fail("tables cannot contain tables")
        if host.kind in (NO_ROUTE, URPF_FAILED):
            raise r.fail(f'"{host.kind}" is not permitted inside tables')
        raise r.fail("unknown address type 4")


def _read_table_file(r: Reading, path: str) -> None:
    try:
        text = r.open_file(path) if r.open_file is not None else ""
    except OSError as error:
        raise r.fail(f'cannot load "{path}": {error.strerror or "No such file or directory"}', ahead=True) from None
    for line in text.split("\n"):
        for word in line.partition("#")[0].partition(";")[0].split():
            address = word.lstrip("!")
            if word == "weight":
                break
            if not address or r.resolver.resolve(address) is None:
                raise r.fail(f'file "{path}" contains bad data', ahead=True)
