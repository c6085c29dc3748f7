"""Storages that are saved by themselves come back, beside tensors that show them."""

from __future__ import annotations

import io
from typing import Any

import pytest

import gnomon as gn
from gnomon.serialization.loose_storages import with_storages

KINDS = pytest.mark.parametrize("zipped", [True, False])


def again(value: Any, zipped: bool) -> Any:
    """A value, saved and loaded."""
    file = io.BytesIO()
    gn.save(value, file, _use_new_zipfile_serialization=zipped)
    return gn.load(io.BytesIO(file.getvalue()))


@KINDS
def test_a_storage_is_a_value(zipped: bool):
    x = gn.arange(6.0).reshape(2, 3)

    found = again({"x": x[1], "typed": x.storage(), "deep": [(1, (x.storage(),))]}, zipped)

    assert found["typed"].tolist() == found["deep"][0][1][0].tolist() == x.flatten().tolist()
    found["x"].fill_(7.0)
    assert found["typed"].tolist() == [0.0, 1.0, 2.0, 7.0, 7.0, 7.0]


@KINDS
def test_bytes_and_complex_numbers(zipped: bool):
    typed = again(gn.tensor([1 + 2j]).storage(), zipped)
    plain = again(gn.tensor([1.0]).untyped_storage(), zipped)

    assert typed.tolist() == [1 + 2j]
    assert plain.tolist() == [0, 0, 128, 63]


def test_other_values_stay_the_objects_that_they_are():
    inner = (1, "a")
    value = {"a": [inner, inner], "b": inner}

    found = with_storages(value, bytearray, bytes)

    assert found is value
    assert found["a"][0] is found["a"][1] is found["b"] is inner


def test_each_part_is_looked_at_once():
    shared: Any = (bytearray(b"x"),)
    for _ in range(60):
        shared = (shared, shared)  # 2 ** 60 parts, were they not shared
    ring: list = []
    ring.append(ring)

    found = with_storages([shared, ring], bytearray, bytes)

    for _ in range(60):
        assert found[0][0] is found[0][1]
        found[0] = found[0][0]
    assert found[0] == (b"x",)
