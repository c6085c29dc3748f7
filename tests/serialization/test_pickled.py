"""Pickles by an interpreter of our own: Python's values, and no name that is not in a table."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

from gnomon.errors import ArgumentError
from gnomon.serialization.pickled import DEEPEST_KEY, Interpreter
from gnomon.serialization.torch_files import Storages


def read(content: bytes, trusted: bool = False, **names: Any) -> Any:
    """A pickle's value, where a file has these names."""
    known = {f"builtins.{name}": value for name, value in names.items()}
    return Interpreter(known, lambda *_: False, lambda x: x, trusted).read(io.BytesIO(content))


@pytest.mark.parametrize("protocol", range(2, 6))
def test_values_of_every_protocol_come_back(protocol):
    shared = [1, -1, 2**40, 2**3000, 0.5, "é" * 300, None, True]
    value = {"a": shared, (1, ("b",)): [shared, (), (1, 2, 3, 4)], 2: {"x": {}}}

    back = read(pickle.dumps(value, protocol))

    assert back == value
    assert back[(1, ("b",))][0] is back["a"]


def test_a_name_that_is_not_known_is_refused_before_it_is_imported():
    with pytest.raises(ArgumentError, match=r"it holds nowhere\.thing, and to make one"):
        read(b"\x80\x02cnowhere\nthing\n.")
    with pytest.raises(ArgumentError, match=r"it holds torch\.jit\.x, which is PyTorch's own"):
        read(b"\x80\x02ctorch.jit\nx\n.", trusted=True)


def doubled(levels: int) -> bytes:
    """A tuple that holds one tuple twice, which does so too: 2^levels parts in a few bytes."""
    steps = (b"q" + bytes([k]) + b"h" + bytes([k]) + b"\x86" for k in range(levels))
    return b")" + b"".join(steps)


def test_an_error_says_little_of_a_value_of_many_parts():
    value = read(b"\x80\x02" + doubled(60) + b".")

    with pytest.raises(ValueError, match="no storage is named like a very long tuple"):
        Storages(lambda *_: None).named(value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x80\x02}q\0(K\1K\1R.", "calls what is no function"),
        (b"\x80\x02]K\1K\2s.", "takes a list for a dict"),
        (b"\x80\x02cbuiltins\nset\n}b.", "changes a value of"),
        (b"\x80\x02\x85.", "takes more than it has"),
        (b"\x80\x02I1\n.", "operation INT"),
        (b"\x80\x02}" + b")" + b"\x85" * (DEEPEST_KEY + 2) + b"K\1s.", "too many levels"),
        (b"\x80\x02}" + doubled(15) + b"K\1s.", "too many parts"),
        (b"\x80\x02h\7.", "7"),
        (b"\x80\x02X\xff\xff\xff\x7fab.", "expected"),
    ],
)
def test_a_pickle_that_makes_no_sense_is_refused(content, said):
    with pytest.raises((ValueError, LookupError), match=said):
        read(content, set=lambda: set())
