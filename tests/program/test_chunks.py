"""Regions in chunks as kernels: each buffer lies where its chunk says."""

from __future__ import annotations

from gnomon.dtypes import float32
from gnomon.ir.node import Arena
from gnomon.program.chunks import with_chunks
from gnomon.program.kernel import Kernel
from tests.ops.test_logit_chunks import Loss, program


def test_turns_stand_in_their_regions_place():
    x = Arena().input((2,), float32)
    one, two = (Kernel(name, None, (x,), 1, None, (x,), 0) for name in ("one", "two"))
    both = Kernel("both", None, (x,), 1, None, (x,), 0, chunks=(one, two))

    assert with_chunks([two, both, one]) == [two, one, two, one]


def test_parts_lie_inside_their_values():
    for kernel in program(Loss((64,), 512, (2, 4), bias=True).graph()).kernels:
        for buffer, (home, start) in zip(kernel.buffers, kernel.places, strict=True):
            assert start + buffer.size * buffer.dtype.itemsize <= home.size * home.dtype.itemsize
