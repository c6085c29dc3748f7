"""Panels hold what the operand holds, in every layout."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.packing import Packing, emit_pack
from gnomon.codegen.kernels.strides import merge
from tests.codegen.kernels.jit import aligned, machine_for, parse
from tests.codegen.kernels.operands import guarded


def pack(packing: Packing, x: np.ndarray, first: int, panels: int, steps: range) -> np.ndarray:
    """Panels [panel][step][row] as the emitted function writes them."""
    return pack_units(packing, x, first, panels, steps).view(x.dtype)


def pack_units(
    packing: Packing, x: np.ndarray, first: int, panels: int, steps: range
) -> np.ndarray:
    """The bits of units, [panel][unit][row]."""
    emit_pack(module := LLVMModule(), "pack", packing)
    text = module.text().replace("define internal", "define")
    machine = machine_for()
    engine = llvm.create_mcjit_compiler(parse(text, machine), machine)
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    told = packing.numbers
    kinds = (pointer, number, number, number, number, pointer, pointer, *[number] * len(told))
    call = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("pack"))
    units = -(-len(steps) // packing.source.together)
    count = panels * units * packing.width
    target, offsets = aligned((count + 1024) * packing.item), aligned(8 * packing.slots)
    call(
        x.ctypes.data, first, panels, steps.start, len(steps), target.ctypes.data,
        offsets.ctypes.data, *told,
    )  # fmt: skip
    flat = target[: count * packing.item].view(f"u{packing.item}")
    return flat.reshape(panels, units, packing.width)


@pytest.mark.parametrize("scalar", ["float", "double"])
@pytest.mark.parametrize("width", [1, 4, 6, 12, 16, 48])
@pytest.mark.parametrize("layout", ["rows", "steps", "neither", "nested"])
def test_panels_hold_the_operand_in_every_layout(rng, scalar, width, layout):
    rows, steps = 61, 43
    x = rng.standard_normal((rows, 2 * steps)).astype({"float": "f4", "double": "f8"}[scalar])
    walks = {
        "rows": ([(rows, 1)], [(steps, rows)]),
        "steps": ([(rows, steps)], [(steps, 1)]),
        "neither": ([(rows, 2)], [(steps, 2 * rows)]),
        "nested": ([(3, 430), (20, 20), (1, 0)], [(4, 100), (9, 1)]),
    }
    walk_rows, walk_steps = (merge(walk) for walk in walks[layout])
    some = range(5, 30)
    first = width if width < 20 else 0

    packed = pack(Packing(scalar, width, walk_rows, walk_steps), x, first, 2, some)

    at_row, at_step = places(walk_rows), places(walk_steps)
    # places past the last row hold anything
    exist = min(2 * width, len(at_row) - first)
    wanted = list(range(first, first + exist))
    expected = x.ravel()[at_row[wanted][:, None] + at_step[list(some)]]
    flat = packed.transpose(0, 2, 1).reshape(2 * width, len(some))
    assert np.array_equal(flat[:exist], expected)


def places(dims: tuple[tuple[int, int], ...]) -> np.ndarray:
    """Where each flat index lies."""
    grids = np.indices([size for size, _ in dims]).reshape(len(dims), -1)
    return grids.T @ [stride for _, stride in dims]


@pytest.mark.parametrize("width", [3, 4, 5, 6, 12, 16])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("steps", [1, 7])
def test_many_neighbouring_panels_are_copied_together(rng, width, first, steps):
    rows, all_steps = 157, 9
    x = guarded(rng.standard_normal((all_steps, rows)).astype("f4"))
    panels = -(-(rows - first * width) // width)
    some = range(all_steps - steps, all_steps)
    packing = Packing("float", width, merge([(rows, 1)]), merge([(all_steps, rows)]))

    packed = pack(packing, x, first * width, panels, some)

    flat = packed.transpose(1, 0, 2).reshape(steps, -1)[:, : rows - first * width]
    assert np.array_equal(flat, x[list(some), first * width :])
