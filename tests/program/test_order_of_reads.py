"""Every call reads what was made before it, whatever the order of kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.compiler.build import build
from gnomon.dtypes import float32
from gnomon.errors import CompileError
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import constant, elementwise
from gnomon.ops.control_primitives import call
from gnomon.program.buffer_assignment import BufferAssignment
from gnomon.settings import override

pytestmark = pytest.mark.unit


def with_a_number_in_memory() -> Graph:
    """A kernel that comes before the loop for which a number is put into memory reads it too."""
    arena, inner = Arena(), Arena()
    x, k = arena.input((8,), float32), arena.input((), float32)
    rows, three = arena.input((2, 8), float32), constant(arena, 3.0, float32)
    row, factor = inner.input((8,), float32), inner.input((), float32)
    body = Graph([row, factor], [row * factor])
    about = {"folds": ("add",), "carried": 0, "sliced": 1, "length": 2, "reverse": False}
    first = elementwise("exp", x)
    (total,) = call("fold_over", [rows, three], body=body, **about)
    number = elementwise("exp", k * three)
    return Graph([x, k, rows], [first, total, first + number, elementwise("sin", number)])


@pytest.mark.parametrize("without", ["", "arrange", "fuse"])
def test_a_number_that_a_loop_is_given_is_at_hand_for_all_others(without: str):
    with override(without=without):
        kernels = build(with_a_number_in_memory()).kernels

    read = [x for k in kernels if k.name == "sin" for x in k.buffers[k.outputs :]]
    assert [x.op for x in read if x.op == "const"] == []


def test_an_order_in_which_a_call_reads_what_is_not_there_is_refused():
    block = build(with_a_number_in_memory()).block
    turned = replace(block, parts=block.parts[::-1])

    with pytest.raises(CompileError, match=r"would read .* before it is made"):
        BufferAssignment(turned)
