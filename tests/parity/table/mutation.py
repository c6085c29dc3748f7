"""Rows for writes: in place, through views, by index; each call writes into a copy of its own."""

from __future__ import annotations

from typing import Any

from tests.parity.record import Table, booleans, distinct, exactly, integers, normal

TABLE = Table()
add = TABLE.add


def written(write: Any) -> Any:
    """A call that writes into a copy of the first tensor and gives the copy."""

    def call(lib: Any, x: Any, *others: Any) -> Any:
        copy = x * 1
        write(lib, copy, *others)
        return copy

    return call


def add_written(name: str, write: Any, *makers: Any, **options: Any) -> None:
    """A row for a write."""
    add(name, written(write), *makers, **options)


def set_item(index: Any, value: Any = None) -> Any:
    """A write of a number, or of the next tensor, at a fixed index."""

    def write(lib: Any, x: Any, *others: Any) -> None:
        x[index] = others[0] if others else value

    return write


add_written("x[1] = number", set_item(1, 2.0), normal(3, 4))
add_written("x[1:] = number", set_item(slice(1, None), 0), normal(3, 4))
add_written("x[:, 0] = tensor", set_item((slice(None), 0)), normal(3, 4), normal(3))
add_written(
    "x[..., ::2] = tensor", set_item((..., slice(None, None, 2))), normal(3, 5), normal(3, 3)
)
add_written("x[1, 2] = 0-d tensor", set_item((1, 2)), normal(3, 4), normal())
# where nothing of x is left torch gives it zeros, here it has no gradient
add_written("x[:] = row", set_item(slice(None)), normal(3, 4), normal(4), gradient=False)
add_written("x[[0, 2]] = tensor", set_item([0, 2]), normal(3, 4), normal(2, 4))
add_written("x[...] = number", set_item(..., 1.5), normal(3, 4), gradient=False)


def write_rows(lib: Any, x: Any, i: Any, y: Any) -> None:
    x[i] = y


def write_mask(lib: Any, x: Any, m: Any) -> None:
    x[m] = 0.5


def write_masked_rows(lib: Any, x: Any, m: Any, y: Any) -> None:
    x[m] = y


def add_masked(lib: Any, x: Any, m: Any) -> None:
    x[m] += 2 * x[m]


def through_view(lib: Any, x: Any) -> None:
    x.view(-1)[2:5] = 9.0


def through_transpose(lib: Any, x: Any) -> None:
    x.t()[0] *= 3


def through_row(lib: Any, x: Any) -> None:
    row = x[1]
    row += 1
    row.mul_(2)


def through_split(lib: Any, x: Any) -> None:
    left, right = x[:, :2], x[:, 2:]
    left.copy_(right.exp())


def through_diagonal(lib: Any, x: Any) -> None:
    x.diagonal().fill_(0.0)


def base_under_view(lib: Any, x: Any) -> None:
    view = x[0]
    x.mul_(2)
    x.add_(view.clone())


def chain(lib: Any, x: Any) -> None:
    x.add_(1).mul_(0.5).sub_(0.25).div_(2)


def rows_of(lib: Any, x: Any, i: Any, y: Any) -> None:
    x.index_add_(0, i, y)


add_written("x[i] = tensor", write_rows, normal(4, 3), exactly([3, 1], "int64"), normal(2, 3))
add_written("x[mask] = number", write_mask, normal(3, 4), booleans(3, 4))
add_written("x[mask] = row", write_masked_rows, normal(5, 3), booleans(5), normal(3))
add_written("x[mask] += x[mask]", add_masked, normal(5, 3), booleans(5))
add_written("a write through a view", through_view, normal(3, 4))
add_written("a write through a transpose", through_transpose, normal(3, 4))
add_written("writes through a row", through_row, normal(3, 4))
add_written("a write from one half to the other", through_split, normal(3, 4))
add_written("a write through the diagonal", through_diagonal, normal(4, 4))
add_written("a view sees its base change", base_under_view, normal(3, 4))
add_written("a chain of writes", chain, normal(3, 4))
add_written("index_add_", rows_of, normal(4, 3), integers(0, 4, 6), normal(6, 3))
add_written("masked_fill_", lambda lib, x, m: x.masked_fill_(m, 3.0), normal(3, 4), booleans(3, 4))
add_written(
    "scatter_add_",
    lambda lib, x, i, y: x.scatter_add_(0, i, y),
    normal(4),
    integers(0, 4, 7),
    normal(7),
)
add_written(
    "scatter_", lambda lib, x, y: x.scatter_(0, lib.tensor([2, 0]), y), normal(4), normal(2)
)
add_written("zero_ and fill_", lambda lib, x: (x[0].zero_(), x[1].fill_(2.0)), normal(3, 4))
add_written("copy_", lambda lib, x, y: x.copy_(y), normal(3, 4), normal(4), gradient=False)
add_written("clamp_", lambda lib, x: x.clamp_(-0.6, 0.6), distinct(3, 4))
add_written("exp_", lambda lib, x: x.exp_(), normal(3, 4))
add_written("tanh_", lambda lib, x: x.tanh_(), normal(3, 4))
add_written("lerp_", lambda lib, x, y: x.lerp_(y, 0.25), normal(3), normal(3))
add_written("tril_ of a copy", lambda lib, x: x.tril_(), normal(4, 4))
add_written("integers in place", lambda lib, i: i.add_(3).mul_(2), integers(-9, 9, 5))
add("in-place operators", lambda lib, i: [i.__iadd__(2), i.__imul__(3)][1], integers(0, 9, 4))
add("unsqueeze_", lambda lib, i: i.clone().unsqueeze_(0), integers(0, 9, 4))
