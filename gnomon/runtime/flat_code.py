"""Object code of many functions as one piece that runs at any address: a small linker of ELF.

LLVM's objects refer to each other and to their constants relative to themselves, so all is settled
here. What is left to whoever loads the piece are the addresses of a few functions of the C library:
a call of one jumps through a word of the piece.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gnomon.errors import CompileError

__all__ = ["FlatCode", "flat_code"]

ALLOCATED, WRITABLE = 2, 1
SYMBOLS, RELOCATIONS, EMPTY = 2, 4, 8
"""Kinds of sections; an empty one has no bytes in the file."""
X86 = 62
"""The number of x86-64 in a header; the other processor is AArch64."""
STUB = 16
"""Bytes of a jump through a word."""
HEADER, SECTION, SYMBOL, RELOCATION = (
    struct.Struct(x) for x in ("<16xHHIQQQIHHHHHH", "<IIQQQQIIQQ", "<IBBHQQ", "<QQq")
)
SHIFTS = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}
"""Arm's relocations of the low 12 bits of an address, by the bytes that are read there."""


class FlatCode(NamedTuple):
    """Machine code: its bytes, offsets of functions, and the words for external functions."""

    content: bytes
    functions: dict[str, int]
    imports: dict[str, int]


class ObjectSection(NamedTuple):
    """A section of an object file."""

    name: str
    kind: int
    flags: int
    content: bytes
    link: int
    about: int
    align: int


class ObjectSymbol(NamedTuple):
    """A symbol of an object file: its section, 0 if undefined, and offset."""

    name: str
    section: int
    value: int
    is_local: bool


class ObjectFile:
    """An object file: sections and symbols."""

    def __init__(self, content: bytes) -> None:
        fields = HEADER.unpack_from(content)
        self.machine, start, size, count, names = fields[1], fields[5], *fields[-3:]
        rows = [SECTION.unpack_from(content, start + k * size) for k in range(count)]
        texts = self._content(content, rows[names])
        self.sections = [
            ObjectSection(text_at(texts, x[0]), x[1], x[2], self._content(content, x), *x[6:9])
            for x in rows
        ]
        found = next((x for x in self.sections if x.kind == SYMBOLS), None)
        self.symbols = [] if found is None else [*self._symbols(found)]

    @staticmethod
    def _content(content: bytes, row: tuple[int, ...]) -> bytes:
        return bytes(row[5]) if row[1] == EMPTY else content[row[4] : row[4] + row[5]]

    def _symbols(self, table: ObjectSection) -> Iterator[ObjectSymbol]:
        names = self.sections[table.link].content
        for name, kind, _, section, value, _ in SYMBOL.iter_unpack(table.content):
            yield ObjectSymbol(text_at(names, name), section, value, kind >> 4 == 0)

    def relocations(self) -> Iterator[tuple[int, int, int, ObjectSymbol, int]]:
        """The relocations: section, offset, kind, symbol, addend."""
        for table in self.sections:
            if table.kind == RELOCATIONS and self.sections[table.about].flags & ALLOCATED:
                for place, packed, more in RELOCATION.iter_unpack(table.content):
                    yield table.about, place, packed & 0xFFFFFFFF, self.symbols[packed >> 32], more


def text_at(texts: bytes, start: int) -> str:
    """The name at an offset of a string table."""
    return texts[start : texts.index(b"\0", start)].decode()


def flat_code(objects: Sequence[bytes], allowed: frozenset[str]) -> FlatCode:
    """Object code linked into one position-independent piece that may call the `allowed` functions.

    Raises CompileError for calls of others, and for sections that a piece cannot have.
    """
    files = [ObjectFile(x) for x in objects]
    image, functions = bytearray(), dict[str, int]()
    places: list[dict[int, int]] = []
    for file in files:
        own: dict[int, int] = {}
        for k, section in enumerate(file.sections):
            if section.flags & ALLOCATED and section.content:
                if section.flags & WRITABLE:
                    raise CompileError(f"export: code has data of its own, {section.name}.")
                image.extend(bytes(-len(image) % max(section.align, 1)))
                own[k] = len(image)
                image += section.content
        places.append(own)
        for x in file.symbols:
            if x.section in own and not x.is_local:
                functions.setdefault(x.name, own[x.section] + x.value)
    missing = sorted(
        {x.name for f in files for *_, x, _ in f.relocations() if not x.section} - functions.keys()
    )
    if not allowed.issuperset(missing):
        names = ", ".join(x for x in missing if x not in allowed)
        raise CompileError(f"export: the code calls {names}, which no file can hold.")
    image.extend(bytes(-len(image) % STUB))
    stubs = {name: len(image) + STUB * k for k, name in enumerate(missing)}
    words = len(image) + STUB * len(missing)
    imports = {name: words + 8 * k for k, name in enumerate(missing)}
    image.extend(bytes((STUB + 8) * len(missing)))
    for name, at in stubs.items():
        image[at : at + STUB] = stub(files[0].machine, imports[name] - at)
    settle(image, files, places, stubs | functions)
    return FlatCode(bytes(image), functions, imports)


def stub(machine: int, distance: int) -> bytes:
    """The machine code of a jump through an address stored at a distance."""
    if machine == X86:
        return struct.pack("<HiQxx", 0x25FF, distance - 6, 0)
    return struct.pack("<IIQ", 0x58000010 | (distance >> 2 << 5), 0xD61F0200, 0)


def settle(
    image: bytearray,
    files: Sequence[ObjectFile],
    places: Sequence[Mapping[int, int]],
    known: Mapping[str, int],
) -> None:
    """Apply the relocations of object files in an image."""
    for file, own in zip(files, places, strict=True):
        for section, place, kind, symbol, more in file.relocations():
            at = own[section] + place
            inside = symbol.section in own
            target = (own[symbol.section] + symbol.value if inside else known[symbol.name]) + more
            (word,) = struct.unpack_from("<I", image, at)
            settled = (x86_word if file.machine == X86 else arm_word)(kind, word, at, target)
            struct.pack_into("<I", image, at, settled)


def x86_word(kind: int, word: int, at: int, target: int) -> int:
    """The relocated word on x86: the distance of a target."""
    if kind not in (2, 4):
        raise CompileError(f"export: no relocation {kind} of x86-64 in code for a file.")
    return (target - at) & 0xFFFFFFFF


def arm_word(kind: int, word: int, at: int, target: int) -> int:
    """The relocated instruction on Arm: a page's distance, a part of an address, or a distance."""
    if kind == 275:
        pages = (target >> 12) - (at >> 12)
        return word | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
    if kind in SHIFTS:
        return word | (target & 0xFFF) >> SHIFTS[kind] << 10
    if kind in (282, 283):
        return word | (target - at >> 2 & 0x3FFFFFF)
    if kind == 261:
        return (target - at) & 0xFFFFFFFF
    raise CompileError(f"export: no relocation {kind} of AArch64 in code for a file.")
