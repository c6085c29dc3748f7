"""External operations as nodes: shapes, letters, and one rank's part of a call."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32, int64
from gnomon.errors import ArgumentError
from gnomon.ir.node import PRIMITIVES, Arena
from gnomon.ops.external import (
    EXTERNALS,
    ExternalOp,
    call_of,
    external,
    external_of,
    letters_of,
    parts_of_results,
    results_of,
)
from gnomon.ops.interpret import interpret

pytestmark = pytest.mark.unit

KINDS = (((4, 6), float32), ((4,), int64))


def test_results_of_one_call_have_its_kinds_and_one_key():
    arena = Arena()
    x = arena.input((4, 6), float32)

    made = external(arena, (x,), "a::b@1", "()", KINDS, letters_of("bi->bi,b"))

    assert [(node.shape, node.dtype) for node in made] == list(KINDS)
    assert call_of(made[0]) == call_of(made[1])
    assert results_of(made[1]) == made
    signature = PRIMITIVES["external"].signature(made[1])
    assert (signature.inputs, signature.output) == ((("b", "i"),), ("b",))


def test_without_letters_no_axis_follows_another():
    arena = Arena()
    (node,) = external(arena, (arena.input((4,), float32),), "a::b@1", "()", KINDS[:1], None)

    signature = PRIMITIVES["external"].signature(node)

    assert (signature.inputs, signature.output) == (((None,),), (None, None))


def test_a_split_axis_is_split_in_every_result_that_has_it():
    arena = Arena()
    x = arena.input((4, 6), float32)
    made = external(arena, (x,), "a::b@1", "()", KINDS, letters_of("bi->bi,b"))

    assert parts_of_results(made[0], 0, 2) == (((2, 6), float32), ((2,), int64))
    assert parts_of_results(made[0], 1, 3) == (((4, 2), float32), ((4,), int64))


def test_its_value_is_what_computes_it(monkeypatch: pytest.MonkeyPatch):
    told = ExternalOp("a::b", lambda said, arrays: [arrays[0] * 2])
    monkeypatch.setitem(EXTERNALS, "a::b@1", told)
    arena = Arena()
    x = arena.input((4, 6), float32)
    (node,) = external(arena, (x,), "a::b@1", "()", KINDS[:1], None)

    (value,) = interpret([node], {x: np.ones((4, 6), np.float32)})

    assert value.tolist() == [[2.0] * 6] * 4


def test_an_unknown_operation_is_named():
    with pytest.raises(ArgumentError, match="a::gone: this process has no such operation"):
        external_of("a::gone@1")
