"""Positions are checked also where lookup or table fold into constants, and in gradients alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import IndexOutOfBounds

F = gn.nn.functional
OUTSIDE = (
    r": a position is outside its axis(: -?\d+ for axis \d of size \d+)?\. Check the indices of "
)
BAD = [1, 99]


def positions(constant: bool, of: list[int], dtype: object = gn.int64) -> gn.Tensor:
    """Positions as values, or as numbers that the program itself knows."""
    if not constant:
        return gn.tensor(of, dtype=dtype)
    return gn.cat([gn.full((1,), n, dtype=dtype) for n in of])


def table(constant: bool, *shape: int) -> gn.Tensor:
    """A table of values, or of one number."""
    return gn.ones(*shape) if constant else gn.tensor(np.ones(shape, np.float32))


LOOKUPS: dict[str, Callable[[gn.Tensor, gn.Tensor], gn.Tensor]] = {
    "x[i]": lambda x, i: x[i],
    "x[i, j]": lambda x, i: x[i, i],
    "take": lambda x, i: gn.take(x, i, axis=0),
    "index_select": lambda x, i: gn.index_select(x, 0, i),
    "gather": lambda x, i: gn.gather(x, 0, i[:, None]),
    "take_along_axis": lambda x, i: gn.take_along_axis(x, i[:, None], axis=0),
    "index_add": lambda x, i: gn.index_add(x, 0, i, x[:2] * 1),
    "index_copy": lambda x, i: gn.index_copy(x, 0, i, x[:2] * 1),
    "index_fill": lambda x, i: gn.index_fill(x, 0, i, 7.0),
    "scatter": lambda x, i: gn.scatter(x, 0, i[:, None], 2.0),
    "scatter_add": lambda x, i: gn.scatter_add(x, 0, i[:, None], x[:2]),
    "scatter_reduce": lambda x, i: gn.scatter_reduce(x, 0, i[:, None], x[:2], "amax"),
    "embedding": lambda x, i: F.embedding(i, x),
    "embedding_bag": lambda x, i: F.embedding_bag(i[None], x),
    "offsets of embedding_bag": lambda x, i: F.embedding_bag(i * 0, x, i - 1),
    "one_hot": lambda x, i: F.one_hot(i, 3),
    "cross_entropy": lambda x, i: F.cross_entropy(x[:2], i),
    "weights of cross_entropy": lambda x, i: F.cross_entropy(x[:2], i, x[0]),
    "nll_loss": lambda x, i: F.nll_loss(x[:2], i),
    "multi_margin_loss": lambda x, i: F.multi_margin_loss(x[:2], i),
    "linear_cross_entropy": lambda x, i: F.linear_cross_entropy(x[:2], x, i),
    "grouped_mm by rows": lambda x, i: gn.grouped_mm(x, x[None].expand(2, -1, -1), i),
    "grouped_mm by steps": lambda x, i: gn.grouped_mm(x, x, i),
}


@pytest.mark.parametrize("fixed", ["nothing", "the table", "the positions", "both"])
@pytest.mark.parametrize("name", LOOKUPS)
def test_a_position_outside_is_reported_whatever_is_constant(name: str, fixed: str):
    x = table(fixed in ("the table", "both"), 3, 3)
    index = positions(fixed in ("the positions", "both"), BAD)

    with pytest.raises(IndexOutOfBounds, match=OUTSIDE):
        gn.evaluate(LOOKUPS[name](x, index))


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_position_outside_is_reported_in_a_compiled_function(name: str):
    compiled = gn.compile(lambda i: LOOKUPS[name](gn.ones(3, 3), i))

    with pytest.raises(IndexOutOfBounds, match=OUTSIDE):
        gn.evaluate(compiled(positions(False, BAD)))


def test_an_axis_of_one_has_one_position():
    x = gn.tensor([[5.0, 6.0]])

    with pytest.raises(IndexOutOfBounds, match=OUTSIDE):
        gn.evaluate(gn.take(x, gn.tensor([0, 1]), axis=0))


DIFFERENTIABLE = [
    *("x[i]", "take", "index_select", "gather", "embedding", "embedding_bag", "cross_entropy"),
    *("nll_loss", "multi_margin_loss", "linear_cross_entropy", "scatter_add", "index_add"),
    *("grouped_mm by rows", "grouped_mm by steps"),
]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_gradient_reports_although_nobody_looks_at_the_loss(name: str):
    x = gn.tensor(np.ones((3, 3), np.float32), requires_grad=True)
    LOOKUPS[name](x, positions(False, BAD)).sum().backward()

    with pytest.raises(IndexOutOfBounds, match=OUTSIDE):
        gn.evaluate(x.grad)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_a_step_of_the_optimizer_reports_although_nobody_looks_at_the_loss(name: str):
    x = gn.nn.Parameter(gn.tensor(np.ones((3, 3), np.float32)))
    optimizer = gn.optim.SGD([x], lr=0.1)
    LOOKUPS[name](x, positions(False, BAD)).sum().backward()

    with pytest.raises(IndexOutOfBounds, match=OUTSIDE):
        optimizer.step()


def test_narrow_positions_name_one_place_only():
    index = gn.tensor([3], dtype=gn.uint8)
    x = gn.zeros(1, 300, requires_grad=True)
    F.cross_entropy(x, index).backward()

    assert F.one_hot(index, 300).sum().item() == 1
    assert gn.index_fill(gn.zeros(300), 0, index, 1.0).sum().item() == 1
    assert (x.grad < 0).sum().item() == 1
