"""Captured programs as methods: tensors that they share, structures as rows."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.capture.program_methods import HeldTensors, row_of
from gnomon.errors import TraceError
from gnomon.tensor.pytree import flatten


def test_a_tensor_has_one_number_whoever_reads_it():
    held, x, y = HeldTensors(), gn.ones(3), gn.zeros(2)

    assert [held.number("x", x), held.number("y", y), held.number("again", x)] == [0, 1, 0]
    held.written.add(1)
    y += 4
    found = held.content()
    assert [(each.name, each.written) for each in found] == [("x", False), ("y", True)]
    assert found[1].content == y.numpy().tobytes()


def test_structures_are_rows_of_plain_data():
    tree = flatten(({"a": [gn.ones(1), None], 3: ()}, 1.5), [])

    assert row_of("f", tree) == [
        "tuple",
        [],
        [
            ["dict", ["a", 3], [["list", [], [0, ["", None]]], ["tuple", [], []]]],
            ["", 1.5],
        ],
    ]
    with pytest.raises(TraceError, match="f takes or gives back a complex"):
        row_of("f", flatten((1j,), []))
