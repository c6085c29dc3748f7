"""Files with something wrong in them: bytes, JSON values, TOML lines, zip fields, tensor headers.

Each mutation takes the bytes of a sound file and a `random.Random`, and gives other bytes. Which
readers meet them is in fuzz_files.py.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import pickletools
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from typing import Any

import msgspec

from gnomon.capture.program_writer import PACKED, deflated
from gnomon.runtime.program_file import ABI, FORMAT, HEAD, MAGIC, NOTES, PAGE, ROW

Mutation = Callable[[bytes, random.Random], bytes]

TEXTS = (
    *("", "x", "../../../etc/passwd", "/etc/passwd", "..", ".", "a\0b", "\udc80", "\ud800", "🙂"),
    *("model.safetensors", "a/b", "n" * 5000, "object", "O", "O8", "float32", "(2,)f4", "f4,f4"),
    *("i4,,", "V8", "datetime64[s]", "%s%n", "[red]x[/red]", "\x1b[31m", "**", "1" * 400),
)
NUMBERS = (
    *(0, -1, 1, 2, 3, 7, 256, 257, -257, 2**31 - 1, 2**31, 2**32, -(2**31), 2**53 + 1, 2**62),
    *(2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 10**400, 0.5, -0.0, 1e308, -1e308, 5e-324),
)
VALUES = (*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], [None], {"": None}, [-1], [2**62, 4])
# what JSON itself does not allow, and what only its grammar allows
RAW = (
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "01", "1.", ".5", "+1", "0x10", "nul"),
    *('"\\ud800"', '"\\ud83d\\ude00"', '"\\u0000"', "9" * 5000, "[" * 5000 + "]" * 5000),
    *('{"a":' * 3000 + "1" + "}" * 3000, "[" * 200_000, "1e5", "1.0", '"' + "a" * 50_000 + '"'),
)
HOLE = "\x01hole\x01"
TOML_VALUES = (
    *RAW,
    *('"x"', "''", "nan", "inf", "-inf", "0xffffffffffffffffff", "1979-05-27T07:32:00Z"),
    *("{a=1}", "[1, 'a']", '"""', "'''", "true", "9223372036854775808", '"../../x"', '"a\\u0000b"'),
)


# bytes


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Some bits are turned."""
    made = bytearray(content or b"\0")
    for _ in range(chance.choice((1, 1, 1, 2, 8, 64))):
        made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def inserted(content: bytes, chance: random.Random) -> bytes:
    """Some bytes come in."""
    at = chance.randrange(len(content) + 1)
    some = bytes(chance.randrange(256) for _ in range(chance.choice((1, 2, 8, 300))))
    return content[:at] + chance.choice((some, b"\0" * 64, b"\xff" * 8)) + content[at:]


def cut(content: bytes, chance: random.Random) -> bytes:
    """Some bytes go: the end, the beginning, or a piece between."""
    first, last = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return chance.choice((content[:first], content[first:], content[:first] + content[last:]))


def doubled(content: bytes, chance: random.Random) -> bytes:
    """A piece comes twice."""
    first, last = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    return content[:last] + content[first:last] + content[last:]


def overwritten(content: bytes, chance: random.Random) -> bytes:
    """A binary number becomes an extreme one."""
    code = chance.choice(["<H", "<I", "<Q"])
    size = struct.calcsize(code)
    if len(content) < size:
        return b"\xff" * size
    at = chance.randrange(len(content) - size + 1)
    at = chance.choice((at, 0, max(len(content) - 22, 0)))
    most = 2 ** (8 * size) - 1
    number = chance.choice((0, 1, most, most // 2, most // 2 + 1, chance.randint(0, most)))
    return content[:at] + struct.pack(code, number) + content[at + size :]


def replaced(content: bytes, chance: random.Random) -> bytes:
    """Another kind of file lies there."""
    return chance.choice(
        (
            b"",
            b"\0",
            b"\0" * 5000,
            b"\xff\xfe",
            b"{}",
            b"[]",
            b"null",
            b"\x80\x04]q\x00.",
            b"PK\5\6",
        )
    )


BYTES: tuple[Mutation, ...] = (flipped, inserted, cut, doubled, overwritten, replaced)


# JSON


def places(value: Any, path: tuple = ()) -> list[tuple]:
    """The path of every value inside one, itself too."""
    found = [path]
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for name, part in parts:
        found += places(part, (*path, name))
    return found


def at(value: Any, path: tuple) -> Any:
    """The value at a path."""
    for name in path:
        value = value[name]
    return value


def restructured(content: bytes, chance: random.Random) -> bytes:
    """A JSON value is another one, or its key is gone, renamed, doubled."""
    try:
        tree = json.loads(content)
    except ValueError:
        return flipped(content, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        inner = places(tree)[1:]
        if not inner:
            break
        *path, name = chance.choice(inner)
        change(at(tree, tuple(path)), name, chance)
    text = json.dumps(tree)
    if json.dumps(HOLE) in text:
        text = text.replace(json.dumps(HOLE), chance.choice(RAW))
    return text.encode("utf-8", "surrogatepass")


def change(holder: Any, name: Any, chance: random.Random) -> None:
    """Change one entry of a list or an object."""
    how = chance.randrange(6)
    if how == 0:
        del holder[name]
    elif how == 1:
        holder[name] = HOLE
    elif how == 2 and isinstance(holder, dict):
        holder[chance.choice((name + "x", name.upper(), *TEXTS))] = holder.pop(name)
    elif how == 3 and isinstance(holder, list):
        holder.insert(name, deepcopy(holder[name]))
    elif how == 4 and isinstance(holder[name], (int, float)):
        holder[name] = chance.choice((-1, 1, 2, -2, 10**6)) * holder[name] + chance.choice(
            (0, 1, -1)
        )
    else:
        holder[name] = deepcopy(chance.choice(VALUES))


def key_twice(content: bytes, chance: random.Random) -> bytes:
    """An object has a key twice, with different values."""
    text = content.decode("utf-8", "replace")
    keys = list(re.finditer(r'"[^"\\]*"\s*:', text))
    if not keys:
        return doubled(content, chance)
    key = chance.choice(keys)
    value = chance.choice((*RAW[:8], "1", '"x"', "[]", "{}"))
    return (text[: key.start()] + f"{key.group()}{value}," + text[key.start() :]).encode()


JSON: tuple[Mutation, ...] = (restructured, restructured, restructured, key_twice, *BYTES)


# TOML, and lines of JSON


def revalued(content: bytes, chance: random.Random) -> bytes:
    """A line of TOML has another value, or another key."""
    lines = content.decode("utf-8", "replace").splitlines()
    if not lines:
        return b"=" * 3
    number = chance.randrange(len(lines))
    key, _, value = lines[number].partition("=")
    if chance.random() < 0.2:
        key = chance.choice(("x", '""', "a.b.c", '"a b"', "[[train]]", "[train", "recipe", "train"))
    lines[number] = f"{key}={chance.choice(TOML_VALUES)}" if value or chance.random() < 0.3 else key
    if chance.random() < 0.2:
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return "\n".join(lines).encode("utf-8", "replace")


def one_line(content: bytes, chance: random.Random) -> bytes:
    """A line among lines of JSON is another one."""
    lines = content.split(b"\n")
    number = chance.randrange(len(lines))
    lines[number] = chance.choice(JSON)(lines[number], chance)
    return b"\n".join(lines)


TOML: tuple[Mutation, ...] = (revalued, revalued, revalued, *BYTES)
LINES: tuple[Mutation, ...] = (one_line, one_line, *BYTES)


# safetensors


def header_changed(content: bytes, chance: random.Random) -> bytes:
    """The header says something else; its length is right, or is not."""
    size = int.from_bytes(content[:8], "little")
    header = chance.choice(JSON)(content[8 : 8 + size], chance)
    told = chance.choice((len(header),) * 6 + (0, 1, len(header) + 1, 2**31, 2**63, 2**64 - 1))
    return struct.pack("<Q", told) + header + content[8 + size :]


SAFETENSORS: tuple[Mutation, ...] = (header_changed, header_changed, header_changed, *BYTES)


# GGUF


def head_changed(content: bytes, chance: random.Random) -> bytes:
    """A number that precedes the tensors is another one: a length, a count, a type or a place."""
    made = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        width, limit = chance.choice(((4, len(made) // 2), (8, len(made) // 2), (8, 24)))
        at = chance.randrange(4, max(limit, 5))
        old = int.from_bytes(made[at : at + width], "little")
        near = (old + 1, old - 1, 2 * old, old ^ 1, old + 32)
        number = chance.choice((*near, *(x for x in NUMBERS if isinstance(x, int) and x >= 0)))
        made[at : at + width] = (number % 2 ** (8 * width)).to_bytes(width, "little")
    return bytes(made)


GGUF: tuple[Mutation, ...] = (head_changed, head_changed, head_changed, *BYTES)


# zip files


def tree_changed(content: bytes, chance: random.Random) -> bytes:
    """One member of a zip says something else; everything around it is right."""
    return rezipped(content, chance, lambda name, x: chance.choice(JSON)(x, chance))


def rezipped(
    content: bytes, chance: random.Random, changed: Callable[[str, bytes], bytes], how: int = 0
) -> bytes:
    """The zip again, with one member changed; mostly the tree."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    described = [name for name in members if name.endswith(("tree.json", "data.pkl"))]
    chosen = chance.choice(described if chance.random() < 0.8 else list(members))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", how) as new:
        for name, member in members.items():
            new.writestr(name, changed(name, member) if name == chosen else member)
    return made.getvalue()


BOMB = bytes(1 << 20)


def bomb(content: bytes, chance: random.Random) -> bytes:
    """A member that is tiny in the file and large when it is read."""
    how = chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    return rezipped(content, chance, lambda name, x: x + BOMB, how)


def field_changed(content: bytes, chance: random.Random) -> bytes:
    """A field of a zip's records is extreme: sizes, offsets, methods, flags, names."""
    records = [
        m.start()
        for m in re.finditer(rb"PK(?:\x01\x02|\x03\x04|\x05\x06|\x06\x06|\x06\x07)", content)
    ]
    if not records:
        return overwritten(content, chance)
    made = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        code = chance.choice(("<H", "<I"))
        place = chance.choice(records) + chance.randrange(4, 46)
        most = 2 ** (8 * struct.calcsize(code)) - 1
        number = chance.choice((0, 1, 8, 9, 12, 14, 99, most, most // 2, chance.randint(0, most)))
        if place + struct.calcsize(code) <= len(made):
            struct.pack_into(code, made, place, number)
    return bytes(made)


def pickle_changed(content: bytes, chance: random.Random) -> bytes:
    """One member of PyTorch's zip has other bytes or other operations, its sum put right."""
    return rezipped(content, chance, lambda _, x: chance.choice((reordered, *BYTES))(x, chance))


def reordered(content: bytes, chance: random.Random) -> bytes:
    """The operations of a pickle are others: one is gone, twice there, or an extreme number."""
    try:
        starts = [place for _, _, place in pickletools.genops(content)]
    except ValueError:
        return flipped(content, chance)
    at = chance.randrange(len(starts) - 1) if len(starts) > 1 else 0
    first, end = starts[at], [*starts, len(content)][at + 1]
    number = chance.choice((0, -1, 2**31 - 1, -(2**31), 2**40, 2**63, 10**30))
    other = chance.choice((b"", content[first:end] * 2, pickle.dumps(number, 2)[2:-1], b"]", b"}"))
    return content[:first] + other + content[end:]


TORCH: tuple[Mutation, ...] = (pickle_changed, pickle_changed, pickle_changed, bomb, *BYTES)
ZIP: tuple[Mutation, ...] = (tree_changed, tree_changed, tree_changed, field_changed, *BYTES)


# program files


def sections(content: bytes) -> list[tuple[int, int, bytes]]:
    """The sections of a program file: kind, target, bytes, those that are packed unpacked."""
    count, found = HEAD.unpack_from(content)[4], []
    for k in range(count):
        kind, target, at, size, whole, _ = ROW.unpack_from(content, HEAD.size + k * ROW.size)
        part = content[at : at + size]
        found.append((kind, target, zlib.decompress(part, -zlib.MAX_WBITS) if whole else part))
    return found


packed_once = lru_cache(16)(deflated)
"""Packs a section; those that mutations leave alone are not packed anew for each."""


def laid_out(
    parts: list[tuple[int, int, bytes]], pack: Callable[[bytes], bytes] = packed_once
) -> bytes:
    """A program file of sections, whose digests fit."""
    rows, body, start = [], b"", HEAD.size + ROW.size * len(parts)
    for kind, target, part in parts:
        whole = len(part) if kind in PACKED else 0
        stored = pack(part) if whole else part
        body += bytes(-(start + len(body)) % PAGE)
        digest = hashlib.sha256(stored).digest()
        rows.append(ROW.pack(kind, target, start + len(body), len(stored), whole, digest))
        body += stored
    head = MAGIC, FORMAT, ABI, start + len(body), len(parts)
    seal = hashlib.sha256(HEAD.pack(*head, bytes(32)) + b"".join(rows)).digest()
    return HEAD.pack(*head, seal) + b"".join(rows) + body


def program_changed(*kinds: int) -> Mutation:
    """A section of one of these kinds says something else; all digests fit."""

    def changed(content: bytes, chance: random.Random) -> bytes:
        try:
            parts = sections(content)
            place = chance.choice([k for k, x in enumerate(parts) if x[0] in kinds])
            kind, target, part = parts[place]
            parts[place] = kind, target, (noted if kind == NOTES else worded)(part, chance)
            return laid_out(parts)
        except (LookupError, TypeError, OverflowError, ValueError, struct.error):
            return flipped(content, chance)

    return changed


def noted(part: bytes, chance: random.Random) -> bytes:
    """Notes of which a few values are others."""
    tree = msgspec.msgpack.decode(part)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        *path, name = chance.choice(places(tree)[1:])
        change(at(tree, tuple(path)), name, chance)
    return msgspec.msgpack.encode(tree)


def worded(part: bytes, chance: random.Random) -> bytes:
    """A section of which a few 8-byte numbers are others, or which is shorter."""
    made = bytearray(part)
    for _ in range(chance.choice((1, 1, 2, 4))):
        number = chance.choice((-1, 0, 1, 2, 8, 1 << 20, 1 << 47, (1 << 63) - 1, -(1 << 63)))
        struct.pack_into("<q", made, 8 * chance.randrange(len(made) // 8), number)
    return bytes(made) if chance.random() < 0.9 else bytes(made[: chance.randrange(len(made))])
