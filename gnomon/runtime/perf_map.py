"""Kernels in the list that Linux's `perf` looks names up in: /tmp/perf-PID.map.

Written when GNOMON_PERF_MAP asks for it; a line is an address, a size and a name. Sizes come from
the symbol tables of object code (ELF, 64 bits, as this machine writes it).
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator, Mapping

__all__ = ["add", "keep_sizes", "path"]

from gnomon.forking import held

SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
SYMBOLS = 2
"""The type of a section that holds a symbol table."""

_sizes: dict[str, int] = {}
_written: set[tuple[str, int]] = set()
_change = held(threading.Lock())


def path() -> str:
    """The file in which perf looks up this process's symbols."""
    return f"/tmp/perf-{os.getpid()}.map"


def keep_sizes(objects: Mapping[str, bytes]) -> None:
    """Record the sizes of the functions in some object code."""
    for code in objects.values():
        _sizes.update(sizes_of(code))


def add(names: Mapping[str, str], addresses: Mapping[str, int]) -> None:
    """List functions under readable names; `names` are by symbol. Each address is listed once."""
    with _change:
        rows = [
            f"{addresses[symbol]:x} {_sizes.get(symbol, 1):x} {name}:{symbol}\n"
            for symbol, name in names.items()
            if symbol in addresses and (symbol, addresses[symbol]) not in _written
        ]
        _written.update((symbol, addresses.get(symbol, 0)) for symbol in names)
        if rows:
            with open(path(), "a", encoding="utf-8", opener=without_links) as file:
                file.writelines(rows)


def without_links(name: str, flags: int) -> int:
    """Open a file without following symbolic links, which anybody may create in /tmp."""
    return os.open(name, flags | os.O_NOFOLLOW, 0o600)


def sizes_of(code: bytes) -> dict[str, int]:
    """The bytes of each function of an object file; nothing of one that is not ELF."""
    if code[:5] != b"\x7fELF\x02":
        return {}
    (first,), (size, count) = (
        struct.unpack_from("<Q", code, 40),
        struct.unpack_from("<HH", code, 58),
    )
    sections = [SECTION.unpack_from(code, first + k * size) for k in range(count)]
    found = {}
    for section in sections:
        if section[1] == SYMBOLS:
            names = sections[section[6]][4]
            found.update(functions(code, section[4], section[5], names))
    return found


def functions(code: bytes, start: int, length: int, names: int) -> Iterator[tuple[str, int]]:
    """The functions of a symbol table, and their sizes."""
    for at in range(start, start + length, SYMBOL.size):
        name, kind, _, _, _, size = SYMBOL.unpack_from(code, at)
        if kind & 15 == 2:
            end = code.index(b"\0", names + name)
            yield code[names + name : end].decode(), size


def forget() -> None:
    """Start a new map file in a fork's child."""
    _written.clear()


os.register_at_fork(after_in_child=forget)
