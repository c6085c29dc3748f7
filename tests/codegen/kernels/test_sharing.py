"""Threads take disjoint rectangles that together are everything."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.microkernel import Tile
from gnomon.codegen.kernels.sharing import TileWork, share_work
from tests.codegen.kernels.jit import machine_for, parse

TILE = Tile("float", 8, 6, 16)


def rectangles(work: TileWork, threads: int) -> list[list[int]]:
    """First and last row panel, first and last column panel of each thread."""
    names = [("ptr", "out"), ("i64", "thread"), ("i64", "threads")]
    e = (module := LLVMModule()).function("share", names)
    share = share_work(e, work)
    for place, value in enumerate((*share.rows, *share.columns)):
        e.store(value, e.offset("%out", 8 * place), "i64", 8)
    e.ret()
    machine = machine_for()
    engine = llvm.create_mcjit_compiler(parse(module.text(), machine), machine)
    kinds = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    call = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("share"))
    found = np.zeros((threads, 4), np.int64)
    for thread in range(threads):
        call(found[thread].ctypes.data, thread, threads)
    return found.tolist()


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 12, 64])
@pytest.mark.parametrize("panels", [(1, 1, 40), (1, 90, 1), (12, 3, 5), (1, 200, 200)], ids=str)
def test_every_tile_belongs_to_one_thread(threads, panels):
    batches, rows, columns = panels
    done = np.zeros((batches * rows, columns), int)

    for top, bottom, left, right in rectangles(TileWork(*panels, TILE), threads):
        done[top:bottom, left:right] += 1

    assert np.all(done == 1)


def test_one_row_of_tiles_is_shared_by_columns():
    shares = rectangles(TileWork(1, 1, 40, TILE), 4)

    assert [right - left for _, _, left, right in shares] == [10] * 4
