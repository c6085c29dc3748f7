"""Tensors as text."""

from __future__ import annotations

import pytest

import gnomon as gn


def test_values_come_first_and_then_what_is_unusual():
    assert repr(gn.tensor([1.0, 2.5])) == "Tensor([1. , 2.5])"
    assert repr(gn.tensor([1, 2])) == "Tensor([1, 2])"
    assert repr(gn.zeros(2, dtype=gn.float16)) == "Tensor([0., 0.], dtype=gnomon.float16)"
    assert repr(gn.zeros(2, 0)) == "Tensor([], size=(2, 0))"


def test_gradients_are_mentioned():
    x = gn.ones(1, requires_grad=True)

    assert repr(x) == "Tensor([1.], requires_grad=True)"
    assert "grad_fn=" in repr(x * 2)


def test_long_axes_are_shortened():
    assert "..." in repr(gn.arange(2000))
    assert len(repr(gn.arange(2000))) < 100


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        ("allow", "Tensor([[1., 1., 1.],\n        [1., 1., 1.]])"),
        ("error", "Tensor(traced, shape=(2, 3), dtype=gnomon.float32)"),
    ],
)
def test_a_traced_tensor_shows_values_where_python_may_look(breaks: str, told: str):
    shown = []

    def double(x):
        shown.append(repr(x))
        return x * 2

    gn.compile(double, breaks=breaks)(gn.ones(2, 3))

    assert shown == [told]


def test_notebooks_see_what_is_pending_and_never_html():
    large = gn.zeros(100, 100) + 1

    assert "pending" in large._repr_html_()
    assert "computed" in gn.tensor([1.0])._repr_html_()
    assert "<b>Tensor (1,) float32" in gn.tensor([1.0])._repr_html_()


def test_print_options_are_obeyed_and_reset():
    x = gn.arange(6.0) / 3
    try:
        gn.set_printoptions(precision=2, threshold=5, edgeitems=1)
        assert repr(x) == "Tensor([0.  , ..., 1.67])"
        gn.set_printoptions(sci_mode=True, profile="default")
        assert repr(x[1:2]) == "Tensor([3.3333e-01])"
    finally:
        gn.set_printoptions(profile="default")
    assert repr(x[1:2]) == "Tensor([0.3333])"
