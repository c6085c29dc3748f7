"""Headers say what they say, and whatever does not fit its file is refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.gguf.reader import DEEPEST, Cursor, read_header
from tests.gguf.parts import (
    ARRAY,
    BOOL,
    F32,
    STRING,
    U8,
    U32,
    U64,
    entry,
    file_of,
    key,
    text,
    u32,
    u64,
)

pytestmark = pytest.mark.unit

TWO = bytes(8)
"""Two numbers of 32 bits."""
MANY = 1 << 60


def test_a_header_gives_keys_and_tensors_in_order():
    keys = [key("a", U8, b"\7"), key("b", STRING, text("é")), key("c", BOOL, b"\1")]
    entries = [entry("w", (2, 3)), entry("v", (4,), 24, 32)]

    version, metadata, found, start = read_header(file_of(keys, entries, bytes(36)))

    assert (version, start % 32) == (3, 0)
    assert metadata == {"a": 7, "b": "é", "c": True}
    assert type(metadata["a"]) is np.uint8
    assert type(metadata["c"]) is bool
    assert [(x.name, x.shape, x.kind.name, x.offset, x.nbytes) for x in found] == [
        ("w", (3, 2), "F32", 0, 24),
        ("v", (4,), "I8", 32, 4),
    ]


def test_version_two_is_read_as_version_three():
    assert read_header(file_of(start=b"GGUF" + u32(2))).version == 2


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        *((0, "u1"), (1, "i1"), (2, "u2"), (3, "i2"), (4, "u4"), (5, "i4"), (6, "f4")),
        *((10, "u8"), (11, "i8"), (12, "f8")),
    ],
)
def test_numbers_keep_their_types(kind, dtype):
    numbers = np.array([0, 1, 100], dtype)
    keys = [
        key("one", kind, numbers[2:].tobytes()),
        key("all", ARRAY, u32(kind) + u64(3) + numbers.tobytes()),
    ]

    metadata = read_header(file_of(keys)).metadata

    assert metadata["one"] == 100
    assert metadata["one"].dtype == metadata["all"].dtype == np.dtype(dtype)
    assert metadata["all"].tolist() == [0, 1, 100]
    with pytest.raises(ValueError, match="read-only"):
        metadata["all"][0] = 1


def test_arrays_hold_strings_truths_and_arrays():
    strings = u32(STRING) + u64(2) + text("a") + text("")
    truths = u32(BOOL) + u64(2) + b"\1\0"
    nested = u32(ARRAY) + u64(2) + truths + strings
    keys = [key("s", ARRAY, strings), key("t", ARRAY, truths), key("n", ARRAY, nested)]

    found = read_header(file_of([*keys, key("e", ARRAY, u32(ARRAY) + u64(0))])).metadata

    assert found["s"] == ["a", ""]
    assert found["t"].tolist() == [True, False]
    assert found["t"].dtype == np.bool_
    assert [list(x) for x in found["n"]] == [[True, False], ["a", ""]]
    assert found["e"] == []


def test_the_alignment_is_the_files_own():
    keys = [key("general.alignment", U32, u32(8))]
    content = file_of(keys, [entry("w"), entry("v", offset=8)], TWO * 2, alignment=8)

    assert [x.offset for x in read_header(content).entries] == [0, 8]


def nested(levels: int) -> bytes:
    """An array of an array, and so on."""
    return (u32(ARRAY) + u64(1)) * (levels - 1) + u32(U8) + u64(0)


def test_arrays_are_nested_so_deep_and_no_deeper():
    assert read_header(file_of([key("n", ARRAY, nested(DEEPEST))])).metadata["n"]
    with pytest.raises(ValueError, match="more than 8 deep"):
        read_header(file_of([key("n", ARRAY, nested(DEEPEST + 1))]))
    with pytest.raises(ValueError, match="more than 8 deep"):
        read_header(file_of([key("n", ARRAY, nested(100_000))]))


def with_alignment(kind: int, value: bytes) -> bytes:
    """A file that says of which number places are multiples."""
    return file_of([key("general.alignment", kind, value)])


WRONG = {
    "begins with b'PK": b"PK\3\4" + bytes(40),
    "begins with b'GG'": b"GG",
    "its version is 1": file_of(start=b"GGUF" + u32(1)),
    "its version is 4": file_of(start=b"GGUF" + u32(4)),
    "big-endian": file_of(start=b"GGUF" + bytes([0, 0, 0, 3])),
    "8 bytes should follow at byte 8, and 0 do": b"GGUF" + u32(3),
    f"cannot hold {MANY:,} tensors": b"GGUF" + u32(3) + u64(MANY, 0),
    f"cannot hold {MANY:,} keys": b"GGUF" + u32(3) + u64(0, MANY),
    f"cannot hold {MANY:,} strings": file_of([key("a", ARRAY, u32(STRING) + u64(MANY))]),
    f"cannot hold {MANY:,} numbers": file_of([key("a", ARRAY, u32(F32) + u64(MANY))]),
    f"cannot hold {MANY:,} arrays": file_of([key("a", ARRAY, u32(ARRAY) + u64(MANY))]),
    f"{MANY:,} bytes should follow": file_of([key("a", STRING, u64(MANY))]),
    "no value has type 13": file_of([key("a", 13, u64(0))]),
    "no value has type 99": file_of([key("a", ARRAY, u32(99) + u64(0))]),
    "the key 'a' is there twice": file_of([key("a", U8, b"\1")] * 2),
    "truths other than 0 and 1": file_of([key("a", BOOL, b"\2")]),
    "can't decode byte 0xff": file_of([key("a", STRING, text(b"\xff"))]),
    "tensor 'w' is there twice": file_of([], [entry("w"), entry("w", offset=32)], bytes(64)),
    "tensors 'w' and 'v' overlap": file_of(
        [], [entry("w", (9,)), entry("v", offset=32)], bytes(64)
    ),
    "tensors 'a' and 'b' overlap": file_of([], [entry("a"), entry("b")], TWO),
    "begins at 4, no multiple of 32": file_of([], [entry("w", offset=4)], bytes(64)),
    "should end at byte 8 of the tensors, which have 7": file_of([], [entry("w")], bytes(7)),
    "should end at byte 40": file_of([], [entry("w", offset=32)], TWO),
    "has 5 axes": file_of([], [entry("w", (1,) * 5)], TWO),
    "has 4,000,000,000 axes": file_of([], [text("w") + u32(4_000_000_000) + bytes(50)], TWO),
    "tensor 'w' has shape": file_of([], [entry("w", (MANY, MANY))], TWO),
    "tensor 'w' has shape (0": file_of([], [entry("w", (MANY, 2, 0))], TWO),
    "rows of 31, which are no blocks of 32": file_of([], [entry("w", (31,), 8)], bytes(99)),
    "rows of 1, which are no blocks of 256": file_of([], [entry("w", (), 12)], bytes(999)),
    "general.alignment is np.uint32(0)": with_alignment(U32, u32(0)),
    "general.alignment is np.uint32(24)": with_alignment(U32, u32(24)),
    "general.alignment is np.uint64(32)": with_alignment(U64, u64(32)),
    "general.alignment is '32'": with_alignment(STRING, text("32")),
}


@pytest.mark.parametrize("reason", WRONG)
def test_what_does_not_fit_is_refused(reason):
    with pytest.raises(ValueError) as refused:
        read_header(WRONG[reason])

    assert reason in str(refused.value)


def test_every_beginning_of_a_file_is_refused():
    whole = file_of([key("a", ARRAY, nested(3))], [entry("w")], TWO)

    for length in range(len(whole)):
        with pytest.raises(ValueError, match=r"should (follow|end)|cannot hold|begins with"):
            read_header(whole[:length])


def test_empty_tensors_share_their_place_and_unknown_types_have_no_end():
    entries = [entry("e", (0, 5)), entry("w"), entry("u", (7,), 77, 32)]

    found = read_header(file_of([], entries, bytes(33))).entries

    assert [x.nbytes for x in found] == [0, 8, 0]
    with pytest.raises(ValueError, match="overlap"):
        read_header(file_of([], [*entries[:2], entry("u", (7,), 77, 0)], bytes(33)))


def test_a_cursor_says_where_it_ended():
    cursor = Cursor(b"12345")
    cursor.take(3)

    with pytest.raises(ValueError, match="4 bytes should follow at byte 3, and 2 do"):
        cursor.u32()
