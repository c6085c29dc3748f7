"""Copies of operands into shared memory: where a thread reads, and where it writes."""

from __future__ import annotations

import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.staging import STEPS, Side
from gnomon.codegen.kernels.tiled import TiledWriter
from gnomon.codegen.machine import CARD


def writer(a: tuple[int, int], b: tuple[int, int], steps: int = 48) -> TiledWriter:
    """The writer of a product whose operands have these strides of indices and steps."""
    spec = MatmulSpec(
        "float",
        (),
        (Axis(64, a=a[0], c=64),),
        (Axis(64, b=b[0], c=1),),
        (Axis(steps, a=a[1], b=b[1]),),
        tile=(32, 64),
    )
    return TiledWriter(LLVMModule(), "product", spec, CARD)


@pytest.mark.parametrize(
    ("a", "b", "along"),
    [
        ((48, 1), (1, 64), (True, False)),
        ((1, 64), (48, 1), (False, True)),
        ((1, 64), (1, 64), (False, False)),
    ],
)
def test_neighbouring_threads_copy_what_is_together_in_memory(a, b, along):
    assert tuple(side.along for side in writer(a, b).sides) == along


def test_a_tile_of_few_rows_is_copied_along_steps():
    side = Side("a", (Axis(8, a=1),), 8, True, 0, 4)

    assert len(writer((48, 1), (1, 64)).indices(side)) == 1


def test_operands_do_not_overlap_and_loads_are_aligned():
    a, b = writer((48, 1), (1, 64)).sides

    assert a.start == 0
    assert a.end == b.start == STEPS * a.pitch
    assert a.pitch % 16 == b.pitch % 16 == 0


@pytest.mark.parametrize(("steps", "ragged"), [(48, False), (50, True), (3, True)])
def test_only_ragged_chunks_ask_whether_a_step_exists(steps, ragged):
    assert writer((steps, 1), (1, 64), steps).is_ragged == ragged
