"""Functions of torch itself take their arguments in torch's order under `gnomon run`."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.drop_in.argument_orders import ARGUMENT_ORDERS as ORDERS
from gnomon.nn import functional as F

X = gn.arange(24.0).reshape(2, 3, 4)
W, B = gn.tensor([1.0, 2.0, 3.0]), gn.tensor([0.5, 0.0, -0.5])


@pytest.mark.parametrize("name", ["alpha_dropout", "dropout", "feature_alpha_dropout"])
def test_a_dropout_takes_whether_it_trains_last(name: str):
    assert ORDERS[name](X, 0.5, False).tolist() == X.tolist()
    assert ORDERS[name](X, p=0.5, train=True).tolist() != X.tolist()


def test_norms_take_weights_first():
    seen = gn.zeros(3), gn.ones(3)

    made = ORDERS["batch_norm"](X, W, B, *seen, False, 0.1, 1e-5, True)
    assert made.tolist() == F.batch_norm(X, *seen, W, B).tolist()
    made = ORDERS["instance_norm"](X, W, B, None, None, True, 0.1, 1e-5, False)
    assert made.tolist() == F.instance_norm(X, weight=W, bias=B).tolist()


def test_embeddings_take_the_table_first():
    table, rows = gn.arange(6.0).reshape(3, 2), gn.tensor([2, 0])

    assert ORDERS["embedding"](table, rows, -1, False, False).tolist() == [[4.0, 5.0], [0.0, 1.0]]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_convolution_is_the_one_of_its_axes(axes: int, transposed: bool):
    x, w = gn.randn(1, 2, *[4] * axes), gn.randn(2, 2, *[3] * axes)
    one, zero = (1,) * axes, (0,) * axes

    made = ORDERS["convolution"](x, w, None, (2,) * axes, one, one, transposed, zero, 1)

    wanted = getattr(F, f"conv_transpose{axes}d" if transposed else f"conv{axes}d")
    assert made.tolist() == wanted(x, w, stride=2, padding=1).tolist()


def test_a_convolution_of_no_axes_is_refused():
    with pytest.raises(gn.errors.ArgumentError, match="the weight has 3 to 5 axes: got 2"):
        ORDERS["convolution"](X[0], X[0], None, (), (), (), False, (), 1)


def test_other_words_of_old():
    square = gn.randn(4, 2)

    assert ORDERS["qr"](square, False).Q.shape == (4, 4)
    assert ORDERS["qr"](square).Q.shape == (4, 2)
    assert ORDERS["bernoulli"](X, 1.0).tolist() == gn.ones_like(X).tolist()
    assert ORDERS["bernoulli"](gn.zeros(3)).tolist() == [0.0, 0.0, 0.0]
