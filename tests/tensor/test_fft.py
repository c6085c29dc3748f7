"""gn.fft is numpy's, batched, with gradients that are transforms, and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, ShapeError

SINGLE = ["fft", "ifft", "hfft", "irfft", "rfft", "ihfft"]
OF_REAL = ("rfft", "ihfft")


def drawn(rng, name, *shape):
    """Numbers that a transform takes: real or complex."""
    x = rng.standard_normal(shape)
    return x if name.startswith(OF_REAL) else x + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize(("n", "dim"), [(None, -1), (7, 0), (2, 1), (4, -1)])
@pytest.mark.parametrize("name", SINGLE)
def test_a_transform_is_numpys(name, n, dim, norm, rng):
    x = drawn(rng, name, 3, 4, 5)

    made = getattr(gn.fft, name)(gn.tensor(x), n, dim, norm)

    wanted = getattr(np.fft, name)(x, n, dim, norm)
    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ending", ["2", "n"])
@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "rfft"])
def test_a_transform_along_several_axes_is_numpys(name, ending, rng):
    x, full = drawn(rng, name, 3, 4, 5), name + ending

    np.testing.assert_allclose(
        getattr(gn.fft, full)(gn.tensor(x)).numpy(), getattr(np.fft, full)(x), atol=1e-12
    )
    np.testing.assert_allclose(
        getattr(gn.fft, full)(gn.tensor(x), (6, 3), (0, 2)).numpy(),
        getattr(np.fft, full)(x, (6, 3), (0, 2)),
        atol=1e-12,
    )


def test_hermitian_transforms_undo_each_other(rng):
    x = drawn(rng, "rfft", 4, 6)

    back = gn.fft.hfftn(gn.fft.ihfftn(gn.tensor(x)), x.shape)

    np.testing.assert_allclose(back.numpy(), x, atol=1e-12)


def test_float32_stays_float32_and_a_size_of_one_is_itself():
    assert gn.fft.fft(gn.ones(3)).dtype is gn.complex64
    assert gn.fft.fft(gn.tensor([2 + 1j])).tolist() == [2 + 1j]
    assert gn.fft.rfft(gn.tensor([2, 2])).tolist() == [4, 0]
    assert gn.fft.fft(gn.zeros(0, 4)).shape == (0, 4)


@pytest.mark.parametrize("size", [1, 2, 5, 6])
def test_frequencies_and_shifts_are_numpys(size, rng):
    x = rng.standard_normal((size, 3))

    for name in ("fftfreq", "rfftfreq"):
        made = getattr(gn.fft, name)(size, 0.5)
        np.testing.assert_allclose(made.numpy(), getattr(np.fft, name)(size, 0.5))
    for name in ("fftshift", "ifftshift"):
        made = getattr(gn.fft, name)(gn.tensor(x), 0)
        np.testing.assert_array_equal(made.numpy(), getattr(np.fft, name)(x, 0))


@pytest.mark.parametrize(("size", "norm"), [(1, None), (4, "ortho"), (5, None)])
@pytest.mark.parametrize("name", SINGLE)
def test_the_gradient_is_the_adjoint(name, norm, size, rng):
    """⟨F x, g⟩ = ⟨x, F* g⟩ for every x, since a transform is linear."""
    function = getattr(gn.fft, name)
    words = {"n": size, "norm": norm} if name in ("irfft", "hfft") else {"norm": norm}
    x, v = (gn.tensor(drawn(rng, name, 2, size)) for _ in range(2))
    x.requires_grad = True
    y = function(x, **words)
    g = gn.tensor(drawn(rng, "fft" if y.is_complex() else "rfft", *y.shape))

    y.backward(g)

    over = (function(v, **words).numpy() * g.numpy().conj()).real.sum()
    under = (v.numpy() * x.grad.numpy().conj()).real.sum()
    assert over == pytest.approx(under, rel=1e-10)


def test_gradients_of_gradients_pass(rng):
    x = gn.tensor(rng.standard_normal(6), requires_grad=True)

    (first,) = gn.autograd.grad((gn.fft.fft(x).abs() ** 2).sum(), x, create_graph=True)
    (second,) = gn.autograd.grad(first.square().sum(), x)

    np.testing.assert_allclose(first.detach().numpy(), 12 * x.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(second.numpy(), 288 * x.detach().numpy(), rtol=1e-12)


def test_compiled_transforms_have_the_same_bits(rng):
    x = gn.tensor(rng.standard_normal((3, 8)).astype(np.float32))

    def f(x):
        return gn.fft.irfft(gn.fft.rfft(x) * 2j).sum(0)

    assert gn.compile(f)(x).numpy().tobytes() == f(x).numpy().tobytes()


def test_samples_are_transformed_together(rng):
    x = rng.standard_normal((4, 6))

    made = gn.func.vmap(lambda row: gn.fft.rfft(row).abs())(gn.tensor(x))

    np.testing.assert_allclose(made.numpy(), np.abs(np.fft.rfft(x)), atol=1e-12)


def test_what_cannot_be_transformed_is_refused():
    with pytest.raises(DtypeError, match=r"fft\.rfft: needs real numbers: got complex64"):
        gn.fft.rfft(gn.tensor([1j]))
    with pytest.raises(ShapeError, match=r"invalid number of data points \(0\)"):
        gn.fft.fft(gn.zeros(0))
    with pytest.raises(ArgumentError, match="norm is one of"):
        gn.fft.fft(gn.ones(2), norm="unit")
    with pytest.raises(ShapeError, match="needs axes"):
        gn.fft.fft(gn.ones(2), dim=1)
    with pytest.raises(DtypeError, match="float16 is not supported"):
        gn.fft.fft(gn.ones(2, dtype=gn.float16))


def test_the_standards_words_and_pytorchs_are_understood(rng):
    x = gn.tensor(rng.standard_normal((3, 4)))

    for name in ("fft", "fftn", "rfft", "irfft2", "ihfft", "fftshift", "ifftshift"):
        function = getattr(gn.fft, name)
        word = "axes" if "shift" in name or name[-1] in "n2" else "axis"
        value = (0,) if word == "axes" else 0

        made, wanted = function(x, **{word: value}), function(input=x, dim=value)

        assert made.tolist() == function(x=x, **{word: value}).tolist() == wanted.tolist()


def test_frequencies_take_words_for_a_tensor():
    made = gn.fft.rfftfreq(4, d=0.5, dtype=gn.float64, device="cpu", requires_grad=True)

    assert (made.dtype, made.requires_grad) == (gn.float64, True)
    assert made.tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(DtypeError, match="no such dtype"):
        gn.fft.fftfreq(4, dtype="no dtype")


@pytest.mark.parametrize("name", [*SINGLE, "fftn", "irfft2", "fftshift", "fftfreq"])
@pytest.mark.parametrize("word", [1j, 2.5])
def test_words_of_a_wrong_kind_are_refused(name: str, word: object):
    function = getattr(gn.fft, name)

    with pytest.raises(ArgumentError, match=rf"^fft.{name}: \w+ must be an integer"):
        function(*([] if name == "fftfreq" else [gn.ones(3, 4)]), word)
