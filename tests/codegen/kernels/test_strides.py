"""Flat indices over nested axes, run as emitted code."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.strides import merge, named_walk, offset, total
from tests.codegen.kernels.jit import machine_for, parse


@pytest.mark.parametrize("dims", [[(4, 3)], [(2, 50), (3, 7), (4, 1)], [(3, -2), (2, 0), (5, 9)]])
def test_a_flat_index_finds_its_place(dims):
    e = (module := LLVMModule()).function("place", [("i64", "index")], returns="i64")
    e.ret(f"i64 {offset(e, '%index', merge(dims))}")
    machine = machine_for()
    engine = llvm.create_mcjit_compiler(parse(module.text(), machine), machine)
    place = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("place"))

    found = [place(index) for index in range(total(dims))]

    grids = np.indices([size for size, _ in dims]).reshape(len(dims), -1)
    assert found == [int(p) for p in grids.T @ [stride for _, stride in dims]]


def test_axes_that_one_stride_serves_become_one():
    assert merge([(2, 12), (3, 4), (4, 1)]) == ((24, 1),)
    assert merge([(2, 13), (3, 4), (4, 1)]) == ((2, 13), (12, 1))
    assert merge([(1, 99)]) == ((1, 0),)


def test_a_walk_is_named_by_its_numbers_but_for_strides_of_zero_and_one():
    found = named_walk(((2, 50), (3, 0), (4, 1)), "row")

    assert found.dims == (("%row_size0", "%row_stride0"), ("%row_size1", 0), ("%row_size2", 1))
    assert found.parameters == ("row_size0", "row_stride0", "row_size1", "row_size2")
    assert found.numbers == (24, 50, 3, 4)
