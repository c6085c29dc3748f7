"""Rows for the type of a result: of two tensors, of a tensor and a Python number, of an op."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

from tests.parity.record import Table, booleans, integers, normal

TABLE = Table()
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")


def pair(left: str, right: str, op: Any) -> Any:
    """A call that applies an op to tensors of two types and gives float64 and the type's name."""

    def call(lib: Any) -> list[Any]:
        result = op(
            lib, lib.ones(3, dtype=getattr(lib, left)), lib.ones(3, dtype=getattr(lib, right))
        )
        return [str(result.dtype).split(".")[-1], result.to(lib.float64)]

    return call


def with_number(dtype: str, number: Any, op: Any) -> Any:
    """A call that applies an op to a tensor and a Python number."""

    def call(lib: Any) -> list[Any]:
        result = op(lib.ones(3, dtype=getattr(lib, dtype)), number)
        return [str(result.dtype).split(".")[-1], result.to(lib.float64)]

    return call


for one, other in combinations_with_replacement(DTYPES, 2):
    TABLE.add(f"{one} + {other}", pair(one, other, lambda lib, x, y: x + y))
    TABLE.add(f"{one} / {other}", pair(one, other, lambda lib, x, y: x / y))
for dtype in DTYPES:
    for number in (True, 2, 1.5):
        TABLE.add(f"{dtype} * {number}", with_number(dtype, number, lambda x, n: x * n))
        TABLE.add(f"{number} + {dtype}", with_number(dtype, number, lambda x, n: n + x))

add = TABLE.add
add(
    "result_type",
    lambda lib, i, x: str(lib.result_type(i, x)).split(".")[-1],
    integers(0, 3, 2),
    normal(2),
    gradient=False,
)
add("promote_types", lambda lib: str(lib.promote_types(lib.int8, lib.float16)).split(".")[-1])
add("sum of bools counts", lambda lib, b: b.sum(), booleans(9))
add("sum of int32 is int64", lambda lib, i: i.int().sum(), integers(0, 9, 9))
add("prod of int32 is int64", lambda lib, i: i.int().prod(), integers(1, 4, 5))
add("cumsum of bools", lambda lib, b: b.cumsum(0), booleans(9))
add("sum with a dtype", lambda lib, i: i.sum(dtype=lib.float64), integers(0, 9, 9))
add("mean with a dtype", lambda lib, i: i.mean(dtype=lib.float64), integers(0, 9, 9))
add("argmax is int64", lambda lib, x: x.argmax(), normal(5), gradient=False)
add("comparison is bool", lambda lib, i: i > 2, integers(0, 5, 6))
add("sqrt of integers", lambda lib, i: lib.sqrt(i), integers(0, 9, 6))
add("exp of bools", lambda lib, b: lib.exp(b), booleans(6))
add("division of integers", lambda lib, i: i / 2, integers(-9, 9, 6))
add("floor division of integers", lambda lib, i: i // 2, integers(-9, 9, 6))
add("remainder of integers", lambda lib, i: i % 3, integers(-9, 9, 9))
add("floor division by negatives", lambda lib, i, j: i // -j, integers(-9, 9, 9), integers(1, 5, 9))
add("remainder by negatives", lambda lib, i, j: i % -j, integers(-9, 9, 9), integers(1, 5, 9))
add("integer power", lambda lib, i: i**3, integers(-5, 5, 8))
add("integer powers of integers", lambda lib, i, j: i**j, integers(-5, 5, 8), integers(0, 9, 8))
add("int64 wraps", lambda lib, i: i * i * i, integers(2**40, 2**45, 4))
add("uint8 wraps", lambda lib: lib.arange(250, 255, dtype=lib.uint8) + 10)
add("sum of products is exact", lambda lib, i: (i * i).sum(), integers(2**29, 2**30, 7))
add("a float scalar keeps float32", lambda lib, i: i.float() * 0.1, integers(-9, 9, 5))
add("a 0-d float beats an integer", lambda lib, i: i + lib.tensor(0.5), integers(0, 9, 5))
