"""Rows for reading by index: basic, integer and boolean indices, gather and scatter."""

from __future__ import annotations

from tests.parity.record import Table, booleans, exactly, integers, normal

TABLE = Table()
add = TABLE.add
ORDER = exactly([2, 0, 1], "int64")

add("an integer", lambda lib, x: x[1], normal(3, 4))
add("an integer from the end", lambda lib, x: x[-1], normal(3, 4))
add("two integers", lambda lib, x: x[1, -2], normal(3, 4))
add("a slice", lambda lib, x: x[1:], normal(3, 4))
add("a slice from the end", lambda lib, x: x[:, -2:], normal(3, 4))
add("a slice past the end", lambda lib, x: x[1:99], normal(3, 4))
add("an empty slice", lambda lib, x: x[2:1], normal(3, 4))
add("a step", lambda lib, x: x[:, 1::2], normal(3, 7))
add("an ellipsis", lambda lib, x: x[..., 0], normal(2, 3, 4))
add("an ellipsis in the middle", lambda lib, x: x[0, ..., 1:3], normal(2, 3, 4))
add("new axes", lambda lib, x: x[:, None, :, None], normal(2, 3))
add("a mix of all", lambda lib, x: x[1, None, ..., ::2], normal(2, 3, 5))
add("no index", lambda lib, x: x[()], normal(2))
add("a tensor of rows", lambda lib, x, i: x[i], normal(4, 3), integers(0, 4, 6))
add("a tensor of columns", lambda lib, x, i: x[:, i], normal(4, 5), integers(-5, 5, 3))
add("a matrix of rows", lambda lib, x, i: x[i], normal(4, 3), integers(0, 4, 2, 3))
add("a list", lambda lib, x: x[[2, 0, 2]], normal(4, 3))
add("two tensors", lambda lib, x, i, j: x[i, j], normal(4, 5), integers(0, 4, 3), integers(0, 5, 3))
add(
    "two tensors that broadcast",
    lambda lib, x, i, j: x[i[:, None], j],
    normal(4, 5),
    integers(0, 4, 2),
    integers(0, 5, 3),
)
add("arange and labels", lambda lib, x, i: x[lib.arange(4), i], normal(4, 5), integers(0, 5, 4))
add(
    "two tensors and a new axis",
    lambda lib, x, i, j: x[i, j, None],
    normal(4, 5),
    integers(0, 4, 3),
    integers(0, 5, 3),
)
add("a tensor and a slice", lambda lib, x, i: x[1:, i], normal(4, 5), integers(0, 5, 3))
add("a tensor and an integer", lambda lib, x, i: x[i, 0], normal(4, 5), integers(0, 4, 3))
add("tensors apart", lambda lib, x, i: x[i, :, i], normal(4, 3, 4), integers(0, 4, 5))
add("tensors in the middle", lambda lib, x, i: x[:, i, i], normal(2, 4, 4), integers(0, 4, 5))
add("a 0-d tensor", lambda lib, x: x[lib.tensor(1)], normal(3, 4))
add("no rows", lambda lib, x: x[lib.tensor([], dtype=lib.int64)], normal(3, 4), gradient=False)
add("a mask", lambda lib, x, m: x[m], normal(3, 4), booleans(3, 4))
add("a mask of rows", lambda lib, x, m: x[m], normal(5, 3), booleans(5))
add("a mask of columns", lambda lib, x, m: x[:, m], normal(3, 5), booleans(5))
add("a comparison", lambda lib, x: x[x > 0], normal(4, 5))
add("a mask and an integer", lambda lib, x, m: x[m, 1], normal(5, 3), booleans(5))
add("masked_select", lambda lib, x, m: lib.masked_select(x, m), normal(3, 4), booleans(3, 4))
add("nonzero", lambda lib, i: lib.nonzero(i, as_tuple=False), integers(0, 2, 3, 4))
add("nonzero by axis", lambda lib, i: lib.nonzero(i, as_tuple=True), integers(0, 2, 3, 4))
add("nonzero by method", lambda lib, m: m.nonzero(), booleans(9))
add("where gives positions", lambda lib, m: lib.where(m), booleans(3, 4))
add("argwhere", lambda lib, m: lib.argwhere(m), booleans(3, 4))

add("gather", lambda lib, x, i: lib.gather(x, 1, i), normal(3, 5), integers(0, 5, 3, 2))
add(
    "gather of the first axis", lambda lib, x, i: x.gather(0, i), normal(4, 3), integers(0, 4, 2, 3)
)
add(
    "gather of the last axis",
    lambda lib, x, i: x.gather(dim=-1, index=i),
    normal(2, 3, 5),
    integers(0, 5, 2, 3, 1),
)
add(
    "take_along_dim",
    lambda lib, x, i: lib.take_along_dim(x, i, dim=1),
    normal(3, 5),
    integers(0, 5, 3, 2),
)
add("index_select", lambda lib, x, i: lib.index_select(x, 1, i), normal(3, 5), integers(0, 5, 4))
add("index_select of rows", lambda lib, x, i: x.index_select(0, i), normal(5, 3), integers(0, 5, 7))
add(
    "scatter",
    lambda lib, x, y: x.scatter(0, lib.tensor([[2, 0, 1]]), y),
    normal(4, 3),
    normal(1, 3),
)
add(
    "scatter a number",
    lambda lib, x, i: x.scatter(1, i[:, None], 1.0),
    normal(3, 5),
    integers(0, 5, 3),
)
add(
    "scatter_add",
    lambda lib, x, i, y: x.scatter_add(1, i, y),
    normal(3, 5),
    integers(0, 5, 3, 4),
    normal(3, 4),
)
add(
    "scatter_add of the first axis",
    lambda lib, x, i, y: lib.scatter_add(x, 0, i, y),
    normal(4, 3),
    integers(0, 4, 6, 3),
    normal(6, 3),
)
add(
    "scatter_reduce of the greatest",
    lambda lib, x, i, y: x.scatter_reduce(0, i, y, reduce="amax"),
    normal(4),
    integers(0, 4, 9),
    normal(9),
)
for word in ("amax", "amin"):
    add(
        f"scatter_reduce {word} of equals",
        lambda lib, x, i, y, word=word: x.scatter_reduce(1, i, y, reduce=word),
        exactly([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [2.0, 2.0, 2.0]], "float64"),
        integers(0, 3, 2, 5),
        exactly([[1.0, 2.0, 1.0, 0.0, 2.0], [0.0, 1.0, 1.0, 1.0, 0.0]], "float64"),
    )
add(
    "scatter_reduce of sums",
    lambda lib, x, i, y: x.scatter_reduce(0, i, y, reduce="sum"),
    normal(4),
    integers(0, 4, 9),
    normal(9),
)
add(
    "index_add",
    lambda lib, x, i, y: lib.index_add(x, 0, i, y),
    normal(4, 3),
    integers(0, 4, 6),
    normal(6, 3),
)
add(
    "index_add with alpha",
    lambda lib, x, i, y: x.index_add(1, i, y, alpha=-0.5),
    normal(2, 4),
    integers(0, 4, 6),
    normal(2, 6),
)
add("index_copy", lambda lib, x, i, y: x.index_copy(0, i, y), normal(4, 3), ORDER, normal(3, 3))
add("index_fill", lambda lib, x, i: x.index_fill(1, i, 7.0), normal(4, 3), exactly([0, 2], "int64"))
add(
    "masked_scatter", lambda lib, x, m, y: x.masked_scatter(m, y), normal(6), booleans(6), normal(6)
)
add(
    "embedding",
    lambda lib, i, w: lib.nn.functional.embedding(i, w),
    integers(0, 7, 2, 5),
    normal(7, 3),
)
add(
    "embedding with padding",
    lambda lib, i, w: lib.nn.functional.embedding(i, w, padding_idx=0),
    integers(0, 3, 2, 5),
    normal(3, 4),
)
add(
    "index_put sums",
    lambda lib, x, i, y: x.index_put((i,), y, accumulate=True),
    normal(4, 3),
    integers(0, 4, 6),
    normal(6, 3),
)
