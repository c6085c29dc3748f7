"""Rows for folds over axes and for scans along one."""

from __future__ import annotations

from tests.parity.record import Table, between, booleans, distinct, exactly, integers, normal

TABLE = Table()
add, each = TABLE.add, TABLE.each

for op in ("sum", "mean", "amax", "amin", "logsumexp"):
    add(f"{op} of the last axis", lambda lib, x, op=op: getattr(lib, op)(x, dim=-1), distinct(3, 5))
    add(f"{op} of the first axis", lambda lib, x, op=op: getattr(lib, op)(x, dim=0), distinct(4, 3))
    add(
        f"{op} of two axes",
        lambda lib, x, op=op: getattr(lib, op)(x, dim=(0, 2)),
        distinct(3, 2, 4),
    )
    add(
        f"{op} keeps the axis",
        lambda lib, x, op=op: getattr(lib, op)(x, dim=1, keepdim=True),
        distinct(3, 5),
    )
each(
    "sum mean prod max min norm",
    lambda f, x: f(x),
    distinct(2, 7),
    slack=4.0,
    gradient=True,
)
each("any all", lambda f, b: f(b), booleans(3, 4))
add("sum by method", lambda lib, x: x.sum(1), normal(3, 5))
add("sum by axis", lambda lib, x: lib.sum(x, axis=1), normal(3, 5))
add("sum of a long axis", lambda lib, x: x.sum(-1), normal(2, 1000), slack=8.0)
add("sum of a long first axis", lambda lib, x: x.sum(0), normal(1000, 2), slack=8.0)
add("sum of all axes in a tuple", lambda lib, x: x.sum((0, 1, 2)), normal(2, 3, 4))
add("sum of nothing", lambda lib, x: x.sum(), normal(0))
add("sum over an empty axis", lambda lib, x: x.sum(1), normal(3, 0))
add("prod of nothing", lambda lib, x: x.prod(), normal(0), gradient=False)
add("sum of no axes", lambda lib, x: x.sum(), normal())
add("mean by method", lambda lib, x: x.mean(dim=(1, 2), keepdim=True), normal(2, 3, 4))
add("prod of an axis", lambda lib, x: lib.prod(x, dim=1), between(0.5, 1.5, 3, 4))
add("prod with a zero", lambda lib, x: lib.prod(x, dim=0), exactly([2.0, 0.0, 3.0]))
add("prod with two zeros", lambda lib, x: lib.prod(x, dim=0), exactly([0.0, 0.0, 3.0]))
add("max of an axis", lambda lib, x: lib.max(x, dim=1), distinct(3, 5))
add("min of an axis", lambda lib, x: tuple(x.min(0)), distinct(4, 3))
add("max keeps the axis", lambda lib, x: x.max(-1, keepdim=True)[0], distinct(3, 5))
add("max has names", lambda lib, x: [x.max(1).values, x.max(1).indices], distinct(3, 5))
add("max of two tensors", lambda lib, x, y: lib.max(x, y), distinct(5), normal(5))
add("max shares a tie", lambda lib, x: x.max(), exactly([1.0, 3.0, 3.0, 2.0]))
add("amax shares a tie", lambda lib, x: x.amax(0), exactly([1.0, 3.0, 3.0, 2.0]))
add("max of integers", lambda lib, i: i.max(), integers(-50, 50, 3, 4))
add(
    "max sees nan",
    lambda lib, x: [x.max(), x.min()],
    exactly([1.0, float("nan"), 2.0]),
    gradient=False,
)
add("amin of a negative axis", lambda lib, x: x.amin(-2), distinct(3, 4))
each("argmax argmin", lambda f, x: f(x, dim=1), distinct(4, 5), gradient=False)
add("argmax of all", lambda lib, x: x.argmax(), distinct(4, 5), gradient=False)
add(
    "argmax keeps the axis",
    lambda lib, x: x.argmax(0, keepdim=True),
    distinct(4, 5),
    gradient=False,
)
add(
    "argmax takes the first", lambda lib, x: lib.argmax(x), exactly([1.0, 5.0, 5.0]), gradient=False
)
for op in ("var", "std"):
    add(f"{op} of all", lambda lib, x, op=op: getattr(x, op)(), normal(2, 7))
    add(f"{op} of an axis", lambda lib, x, op=op: getattr(x, op)(dim=1), normal(3, 5))
    add(
        f"{op} without correction",
        lambda lib, x, op=op: getattr(lib, op)(x, dim=1, correction=0),
        normal(3, 5),
    )
    add(
        f"{op} biased",
        lambda lib, x, op=op: getattr(x, op)(dim=-1, unbiased=False, keepdim=True),
        normal(3, 5),
    )
    add(f"{op} of two axes", lambda lib, x, op=op: getattr(x, op)(dim=(0, 2)), normal(3, 2, 4))
add("var_mean", lambda lib, x: lib.var_mean(x, dim=1), normal(3, 5))
add("norm of an axis", lambda lib, x: x.norm(dim=-1, keepdim=True), normal(3, 5))
add("norm of order one", lambda lib, x: x.norm(p=1, dim=1), distinct(3, 5))
add("vector_norm", lambda lib, x: lib.linalg.vector_norm(x, dim=1), normal(3, 5))
add(
    "vector_norm of the greatest",
    lambda lib, x: lib.linalg.vector_norm(x, ord=float("inf")),
    distinct(7),
)
add("linalg.norm", lambda lib, x: lib.linalg.norm(x), normal(7))
add("any of an axis", lambda lib, b: b.any(dim=1), booleans(3, 4))
add("all of an axis", lambda lib, b: lib.all(b, dim=0, keepdim=True), booleans(3, 4))
add("any of integers", lambda lib, i: i.any(), integers(0, 2, 5))
add("count_nonzero", lambda lib, i: lib.count_nonzero(i), integers(0, 3, 4, 5))
add("count_nonzero of an axis", lambda lib, i: lib.count_nonzero(i, dim=1), integers(0, 3, 4, 5))
add("nansum", lambda lib, x: lib.nansum(x), exactly([1.0, float("nan"), 2.0]))
add("median of an odd number", lambda lib, x: lib.median(x), distinct(7))
add("median of an even number", lambda lib, x: x.median(), distinct(6))
add("median of an axis", lambda lib, x: lib.median(x, dim=1), distinct(3, 6))
add("quantile", lambda lib, x: lib.quantile(x, 0.3), distinct(9))

each("cumsum cumprod", lambda f, x: f(x, dim=1), between(0.5, 1.5, 3, 5))
add("cumsum of the first axis", lambda lib, x: x.cumsum(0), normal(5, 3))
add("cumsum of a long axis", lambda lib, x: lib.cumsum(x, -1), normal(2, 300), slack=20.0)
add("cumsum of integers", lambda lib, i: i.cumsum(0), integers(-9, 9, 6))
add("cumprod with a zero", lambda lib, x: lib.cumprod(x, 0), exactly([2.0, 3.0, 0.0, 4.0, 5.0]))
add("cummax", lambda lib, x: lib.cummax(x, dim=1), distinct(3, 6))
add("cummin", lambda lib, x: tuple(x.cummin(0)), distinct(6, 3))
add("logcumsumexp", lambda lib, x: lib.logcumsumexp(x, dim=1), normal(3, 6))
add("diff", lambda lib, x: lib.diff(x, dim=1), normal(3, 6))
