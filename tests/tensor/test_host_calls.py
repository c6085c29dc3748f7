"""Calls of numpy on values, done at once, and between the programs of compiled functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, TraceError
from gnomon.tensor.host_calls import HostCall, done_on_host

pytestmark = pytest.mark.unit


def halves(array: np.ndarray, factor: int) -> list[np.ndarray]:
    """What is below the mean, and what is not, times a factor."""
    below = array < array.mean()
    return [array[below] * factor, array[~below] * factor]


def test_done_on_host():
    low, high = done_on_host(halves, [(None,), (None,)], gn.tensor([1.0, 2.0, 6.0]), 2)
    assert (low.tolist(), high.tolist()) == ([2.0, 4.0], [12.0])


def test_equal_calls_are_one():
    assert HostCall(halves, (2,)) == HostCall(halves, (2,)) != HostCall(halves, (3,))


CALLS: dict[str, Any] = {
    "mask": lambda x: x[x > 0] * 2,
    "mask of rows": lambda x: x[x[:, 0] > 0].sum(0),
    "mask between": lambda x: x[:, x[0] > 0, None],
    "mask that is written": lambda x: x.clone().masked_fill_(x > 1, 0.0)[x > 0],
    "positions": lambda x: (x > 0).nonzero() + 1,
    "positions of axes": lambda x: x.nonzero(as_tuple=True)[1],
    "where": lambda x: x[gn.where(x > 0)],
    "masked_select": lambda x: gn.masked_select(x, x > 0) - 1,
    "unique": lambda x: gn.unique(x.round()),
    "unique with counts": lambda x: gn.unique(x.round(), return_inverse=True, return_counts=True),
    "unique rows": lambda x: gn.unique(x.round(), dim=-1),
    "neighbours": lambda x: gn.unique_consecutive(x.round(), return_counts=True),
    "neighbours of rows": lambda x: gn.unique_consecutive(x.round(), dim=1, return_inverse=True),
    "unique_all": lambda x: tuple(gn.unique_all(x.round())),
    "bincount": lambda x: gn.bincount(x.round().abs().long().reshape(-1)) * 2,
    "bincount with weights": lambda x: gn.bincount(x[0].round().abs().long(), x[0], 9),
    "histc": lambda x: gn.histc(x, 5) + 1,
    "nonzero_static": lambda x: gn.nonzero_static(x > 0, size=4),
    "frexp": lambda x: gn.frexp(x * 3),
    "of what it gave": lambda x: x[x > 0][x[x > 0] > 1],
}
FIXED = "histc", "nonzero_static", "frexp"


@pytest.mark.parametrize("name", CALLS)
def test_compiled_functions_give_the_same(name: str):
    call, random = CALLS[name], np.random.default_rng(0)
    compiled = gn.compile(call)
    for k in range(7):
        array = random.standard_normal((3, 4)) * (k != 2) + (k == 4) * 3
        x = gn.tensor(array.astype(np.float32))
        found, wanted = compiled(x), call(x)
        many = isinstance(wanted, tuple)
        pairs = zip(found, wanted, strict=True) if many else [(found, wanted)]
        for one, other in pairs:
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert compiled.captures <= (1 if name in FIXED else 7), compiled.recompiled


def test_values_are_no_part_of_a_way():
    compiled = gn.compile(lambda x: x[x > 0] * 2)
    for k in range(4):
        x = np.roll([1.0, 2.0, -1.0, 3.0 + k], k)
        assert compiled(gn.tensor(x)).tolist() == (x[x > 0] * 2).tolist()
    assert compiled.captures == 1
    assert "numpy is asked" in compiled.explain()


def test_what_it_finds_is_the_callers_own():
    @gn.compile
    def marked(x):
        places = x.nonzero()
        places += 10
        return places, x.nonzero()

    for values in ([0.0, 1.0], [1.0, 0.0]):
        shifted, places = marked(gn.tensor(values))
        assert (shifted - 10).tolist() == places.tolist() == np.argwhere(values).tolist()


def test_gradients_pass_what_is_chosen():
    def loss(x):
        y = x * 2
        return (y[y > 0] ** 2).sum()

    compiled = gn.compile(loss)
    for values in ([1.0, -1.0, 3.0], [-1.0, 2.0, 1.0], [1.0, 1.0, 1.0]):
        told = []
        for run in (loss, compiled):
            x = gn.tensor(values, requires_grad=True)
            run(x).backward()
            told.append(x.grad.tolist())
        assert told[0] == told[1] == [8.0 * v if v > 0 else 0.0 for v in values]
    assert compiled.captures == 2


def test_gradients_inside():
    @gn.compile
    def step(w, x):
        loss = (w * x)[x > 0].sum()
        loss.backward()
        return loss

    for values in ([1.0, -1.0, 3.0], [-1.0, 2.0, 1.0]):
        w = gn.ones(3, requires_grad=True)
        step(w, gn.tensor(values))
        assert w.grad.tolist() == [max(v, 0.0) for v in values]


def test_errors_come_up_where_the_function_stands():
    @gn.compile
    def counted(x):
        try:
            return gn.bincount(x - 1)
        except ArgumentError:
            return x * 0

    assert counted(gn.tensor([1, 2, 2])).tolist() == [1, 2]
    assert counted(gn.tensor([0, 2, 2])).tolist() == [0, 0, 0]
    assert counted(gn.tensor([2, 2, 1])).tolist() == [1, 2]


def test_no_breaks():
    whole = gn.compile(lambda x: x[x * 2 > 0], breaks="error")

    with pytest.raises(TraceError):
        whole(gn.ones(2))


def test_inside_of_vmap():
    with pytest.raises(TraceError, match="not known yet"):
        gn.compile(gn.vmap(lambda x: gn.nonzero(x)))(gn.ones(2, 3))
