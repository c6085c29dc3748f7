"""The gate refuses what errs more, and every form that `numerics="fast"` takes gets through it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.passes import gate
from gnomon.settings import override

SIZE = 384
"""Terms of each sum: two leaves along the last axis, 16 along rows."""


def test_a_chain_keeps_its_leaves_and_lanes_do_not_need_them():
    assert "large-bias data: mean error" in gate.refused(1024, 8, lanes=False)
    assert gate.refused(512, 4, lanes=True) == ""
    assert gate.refused(96, 1, lanes=False) == ""


def test_an_error_is_weighed_in_the_mean_and_in_its_tail():
    exact = np.linspace(1, 2, 1000, endpoint=False).astype(np.float32)
    unit = np.spacing(exact)
    rare = np.where(np.arange(1000) % 50 == 0, 9 * unit, 0).astype(np.float32)

    assert gate.excess(exact + unit, exact, exact) == ""
    assert "mean" in gate.excess(exact + 4 * unit, exact, exact)
    assert "99th percentile" in gate.excess(exact + rare, exact, exact)
    assert "mean" in gate.excess(np.full_like(exact, np.nan), exact, exact)


def test_orders_that_are_tried_are_those_of_kernels():
    x = dict(gate.kinds(512, SIZE))["normal"]

    rows, columns = gn.from_numpy(x).sum(1).numpy(), gn.from_numpy(x.T.copy()).sum(0).numpy()

    assert (rows == gate.in_order(x, 2, lanes=True)).all()
    assert (columns == gate.in_order(x, 16, lanes=False)).all()


def slope(f: Callable[[gn.Tensor], gn.Tensor], x: gn.Tensor) -> gn.Tensor:
    """The gradient of a function's sum."""
    x = x.detach().requires_grad_()
    f(x).sum().backward()
    return x.grad


def attention(x: gn.Tensor) -> gn.Tensor:
    """Slopes of keys, which are summed over queries."""
    q = (x[:, :256] / 64).reshape(8, 2, 256, 32)
    return slope(lambda k: F.scaled_dot_product_attention(q, k, q, is_causal=True), q * 0.5)


FORMS: dict[str, Callable[[gn.Tensor], gn.Tensor]] = {
    "sum of rows": lambda x: x.sum(1),
    "sum of columns": lambda x: x.T.contiguous().sum(0),
    "both": lambda x: x.reshape(16, -1, 8).sum((0, 1)),
    "product": lambda x: x @ gn.ones(SIZE, 3).to(x.dtype),
    "weight's gradient": lambda x: x.T.contiguous().T[:, :SIZE].T @ x[:, :32],
    "scatter": lambda x: gn.zeros(3, 512).to(x.dtype).index_add(0, gn.arange(SIZE) % 3, x.T),
    "norm's weight": lambda x: slope(lambda w: F.rms_norm(x, (SIZE,), w), x[0]),
    "attention": attention,
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_that_fast_takes_gets_through(name: str):
    form = FORMS[name]
    for kind, terms in gate.kinds(512, SIZE):
        x = gn.from_numpy(terms)
        exact = form(x.to(gn.float64)).numpy()
        plain = form(x).numpy()
        with override(numerics="fast"):
            found = form(x).numpy()

        assert found.dtype == np.float32
        assert gate.excess(found, plain, exact) == "", kind


def test_a_report_says_which_sums_keep_their_leaves_and_why():
    x = gn.ones(1024, 8)
    with override(numerics="fast"):
        f = gn.compile(lambda: (x * 2.0).sum(0))
        f()

    told = f.explain_fusions()

    assert "sums that keep their leaves:" in told
    assert "1 of reduce, large-bias data: mean error" in told
