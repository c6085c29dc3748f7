"""Tensors as text."""

from __future__ import annotations

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


def test_a_traced_tensor_shows_no_values():
    shown = []

    @gn.compile
    def double(x):
        shown.append(repr(x))
        return x * 2

    double(gn.ones(2, 3))

    assert shown == ["Tensor(traced, shape=(2, 3), dtype=gnomon.float32)"]


def test_notebooks_see_what_is_pending_and_never_html():
    large = gn.zeros(100, 100) + 1

    assert "pending" in large._repr_html_()
    assert "computed" in gn.tensor([1.0])._repr_html_()
    assert "<b>Tensor (1,) float32" in gn.tensor([1.0])._repr_html_()
