"""Rows for orders: sort, argsort, topk, searches and counts."""

from __future__ import annotations

from tests.parity.record import Table, distinct, exactly, integers

TABLE = Table()
add = TABLE.add

add("sort", lambda lib, x: lib.sort(x, dim=-1), distinct(3, 7))
add("sort down", lambda lib, x: lib.sort(x, dim=1, descending=True), distinct(3, 7))
add("sort the first axis", lambda lib, x: x.sort(dim=0), distinct(7, 3))
add("sort has names", lambda lib, x: [x.sort(dim=0).values, x.sort(dim=0).indices], distinct(7))
add("sort is stable", lambda lib, i: i.sort(dim=0, stable=True), integers(0, 3, 17))
add("sort a long axis", lambda lib, x: x.sort(dim=-1).values, distinct(2, 300))
add(
    "sort puts nan last",
    lambda lib, x: x.sort(dim=0),
    exactly([2.0, float("nan"), 1.0]),
    gradient=False,
)
add("argsort", lambda lib, x: lib.argsort(x, dim=1), distinct(3, 7), gradient=False)
add(
    "argsort down", lambda lib, x: x.argsort(dim=0, descending=True), distinct(7, 3), gradient=False
)
add("topk", lambda lib, x: lib.topk(x, 3), distinct(4, 8))
add("topk of the first axis", lambda lib, x: lib.topk(x, k=2, dim=0), distinct(8, 3))
add("topk of the least", lambda lib, x: x.topk(3, largest=False), distinct(4, 8))
add("topk has names", lambda lib, x: [x.topk(2).values, x.topk(2).indices], distinct(4, 8))
add("topk of all", lambda lib, x: x.topk(5, dim=-1), distinct(2, 5))
add("kthvalue", lambda lib, x: lib.kthvalue(x, 3, dim=1), distinct(4, 8))
add("bincount", lambda lib, i: lib.bincount(i), integers(0, 6, 20))
add("bincount of at least", lambda lib, i: lib.bincount(i, minlength=9), integers(0, 6, 20))
add("unique", lambda lib, i: lib.unique(i), integers(0, 9, 20))
add("unique with inverse", lambda lib, i: lib.unique(i, return_inverse=True), integers(0, 9, 20))
add("unique with counts", lambda lib, i: lib.unique(i, return_counts=True), integers(0, 9, 20))
add(
    "searchsorted",
    lambda lib, x, y: lib.searchsorted(x, y),
    exactly([0.0, 1.0, 2.5]),
    exactly([0.5, 1.0, 3.0]),
    gradient=False,
)
add(
    "searchsorted from the right",
    lambda lib, x, y: lib.searchsorted(x, y, right=True),
    exactly([0.0, 1.0, 2.5]),
    exactly([0.5, 1.0, 3.0]),
    gradient=False,
)
add(
    "bucketize",
    lambda lib, x, y: lib.bucketize(x, y),
    exactly([0.5, 1.0, 3.0]),
    exactly([0.0, 1.0, 2.5]),
    gradient=False,
)
add("isin", lambda lib, i, j: lib.isin(i, j), integers(0, 9, 12), integers(0, 9, 4))
