"""Rows for functions that make tensors from sizes, numbers and other tensors; no random ones."""

from __future__ import annotations

import numpy as np

from tests.parity.record import Table, between, booleans, integers, normal

TABLE = Table()
add = TABLE.add

add("zeros of sizes", lambda lib: lib.zeros(2, 3))
add("zeros of a tuple", lambda lib: lib.zeros((2, 3), dtype=lib.int32))
add("zeros of no axes", lambda lib: lib.zeros(()))
add("zeros with an empty axis", lambda lib: lib.zeros(2, 0, 3))
add("ones", lambda lib: lib.ones(3, 2, dtype=lib.float64))
add("ones of int64", lambda lib: lib.ones(3, dtype=lib.long))
add("empty has its shape", lambda lib: lib.empty(2, 5).fill_(1.5))
add("full takes the value's type", lambda lib: lib.full((2, 2), 7))
add("full of a float", lambda lib: lib.full((2, 2), 7.5))
add("full of a bool", lambda lib: lib.full((3,), True))
add("full with a dtype", lambda lib: lib.full((3,), 2, dtype=lib.float64))
add("arange of stop", lambda lib: lib.arange(5))
add("arange of start and stop", lambda lib: lib.arange(2, 9))
add("arange down", lambda lib: lib.arange(9, 1, -3))
add("arange of floats", lambda lib: lib.arange(0.0, 1.0, 0.25))
add("arange with a dtype", lambda lib: lib.arange(4, dtype=lib.float64))
add("arange of nothing", lambda lib: lib.arange(0))
add("linspace", lambda lib: lib.linspace(-1, 2, 7))
add("linspace of one", lambda lib: lib.linspace(3, 4, 1))
add("linspace in float64", lambda lib: lib.linspace(0.0, 1.0, 5, dtype=lib.float64))
add("eye", lambda lib: lib.eye(3))
add("eye of two sizes", lambda lib: lib.eye(2, 4, dtype=lib.float64))
add("tensor of a number", lambda lib: lib.tensor(2.5))
add("tensor of an integer", lambda lib: lib.tensor(3))
add("tensor of a list", lambda lib: lib.tensor([[1, 2], [3, 4]]))
add("tensor of mixed numbers", lambda lib: lib.tensor([1, 2.5]))
add("tensor of bools", lambda lib: lib.tensor([True, False]))
add("tensor of nothing", lambda lib: lib.tensor([]))
add("tensor with a dtype", lambda lib: lib.tensor([1.9, -1.9], dtype=lib.int64))
add("tensor of float64 numpy", lambda lib: lib.tensor(np.arange(3.0)))
add("tensor of int32 numpy", lambda lib: lib.tensor(np.arange(3, dtype=np.int32)))
add("as_tensor of a list", lambda lib: lib.as_tensor([1, 2]))
add("from_numpy of float32", lambda lib: lib.from_numpy(np.ones((2, 3), dtype=np.float32)))
add("from_numpy of bool", lambda lib: lib.from_numpy(np.array([True, False])))
add("from_numpy of uint8", lambda lib: lib.from_numpy(np.arange(4, dtype=np.uint8)))
add("zeros_like", lambda lib, x: lib.zeros_like(x), normal(2, 3), gradient=False)
add("ones_like of integers", lambda lib, x: lib.ones_like(x), integers(0, 5, 3))
add(
    "ones_like with a dtype",
    lambda lib, x: lib.ones_like(x, dtype=lib.float64),
    booleans(4),
)
add("full_like", lambda lib, x: lib.full_like(x, 0.9), normal(2, 3), gradient=False)
add("empty_like", lambda lib, x: lib.empty_like(x).zero_(), normal(2, 3), gradient=False)
add("new_zeros", lambda lib, x: x.new_zeros(2, 2), integers(0, 5, 3))
add("new_ones", lambda lib, x: x.new_ones((2, 2)), normal(3), gradient=False)
add("new_full", lambda lib, x: x.new_full((2,), 3.0), normal(3), gradient=False)
add("new_tensor", lambda lib, x: x.new_tensor([1, 2]), normal(3), gradient=False)
add("tril", lambda lib, x: lib.tril(x), normal(4, 5))
add("tril above the diagonal", lambda lib, x: lib.tril(x, diagonal=1), normal(2, 4, 4))
add("triu", lambda lib, x: lib.triu(x), normal(4, 3))
add("triu strictly", lambda lib, x: lib.triu(x, 1), normal(4, 4))
add("tril of ones", lambda lib: lib.tril(lib.ones(4, 4, dtype=lib.bool)))
add("tril_indices", lambda lib: lib.tril_indices(3, 4))
add("triu_indices", lambda lib: lib.triu_indices(3, 3, offset=1))
add("diag of a vector", lambda lib, x: lib.diag(x), normal(3))
add("diag of a matrix", lambda lib, x: lib.diag(x), normal(3, 4))
add("diagonal", lambda lib, x: lib.diagonal(x, dim1=-2, dim2=-1), normal(2, 3, 3))
add("meshgrid ij", lambda lib, x, y: lib.meshgrid(x, y, indexing="ij"), normal(3), normal(2))
add("meshgrid xy", lambda lib, x, y: lib.meshgrid(x, y, indexing="xy"), normal(3), normal(2))
add("clone", lambda lib, x: x.clone() * x, normal(3))
add("one_hot", lambda lib, i: lib.nn.functional.one_hot(i, 6), integers(0, 5, 2, 3))
add("one_hot finds the size", lambda lib, i: lib.nn.functional.one_hot(i), integers(0, 5, 7))
add("to float64", lambda lib, x: x.to(lib.float64), normal(3))
add("to float16", lambda lib, x: x.to(lib.float16).to(lib.float32), normal(7), gradient=False)
add("to bfloat16", lambda lib, x: x.to(lib.bfloat16).float(), normal(7), gradient=False)
add("bfloat16 sums", lambda lib, x: (x.bfloat16() + 1).float(), normal(7), gradient=False)
add("half products", lambda lib, x: (x.half() * 3).float(), normal(7), gradient=False)
add("to int32 cuts", lambda lib, x: x.to(lib.int32), between(-9.0, 9.0, 8), gradient=False)
add(
    "int long short",
    lambda lib, x: [x.int(), x.long(), x.short()],
    between(-9.0, 9.0, 8),
    gradient=False,
)
add("to bool", lambda lib, i: i.bool(), integers(-1, 2, 6))
add("to uint8", lambda lib, i: i.to(lib.uint8), integers(0, 255, 6))
add("int8 wraps", lambda lib, i: i.to(lib.int8), integers(-500, 500, 9))
add("float of bools", lambda lib, b: b.float(), booleans(5))
add("double of integers", lambda lib, i: i.double(), integers(-9, 9, 5))
add("type_as", lambda lib, i, x: i.type_as(x), integers(-9, 9, 5), normal(1), gradient=False)
add("item and tolist", lambda lib, i: [i[0].item(), *i.tolist()], integers(-9, 9, 3))
add(
    "shape, size and numel",
    lambda lib, x: [*x.shape, x.size(1), x.numel(), x.dim()],
    normal(2, 3),
    gradient=False,
)
