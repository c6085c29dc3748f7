"""stft is rows of numpy's transforms, and istft finds the signal again."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, ShapeError


@pytest.mark.parametrize("words", [{}, {"normalized": True}, {"onesided": False}, {"hop": 3}])
def test_frequencies_are_those_of_each_window(words, rng):
    x, window, hop = rng.standard_normal(30), np.hanning(8), words.pop("hop", 2)

    made = gn.stft(
        *(gn.tensor(x), 8, hop),
        window=gn.tensor(window),
        center=False,
        return_complex=True,
        **words,
    )

    rows = np.stack([x[k : k + 8] * window for k in range(0, 23, hop)])
    transform = np.fft.rfft if words.get("onesided", True) else np.fft.fft
    wanted = transform(rows, norm="ortho" if words.get("normalized") else None).T
    np.testing.assert_allclose(made.numpy(), wanted, atol=1e-12)


def test_windows_stand_in_the_middle_of_padded_signals(rng):
    x = gn.tensor(rng.standard_normal((2, 20)))

    made = gn.stft(x, 8, 4, 4, return_complex=False)

    padded = np.pad(x.numpy(), ((0, 0), (4, 4)), "reflect")
    first = np.fft.rfft(np.concatenate([[0, 0], padded[1, 2:6], [0, 0]]))
    assert made.shape == (2, 5, 6, 2)
    np.testing.assert_allclose(gn.view_as_complex(made)[1, :, 0].numpy(), first, atol=1e-12)


@pytest.mark.parametrize("words", [{}, {"length": 23}, {"return_complex": True, "onesided": False}])
def test_the_inverse_finds_the_signal_again(words, rng):
    x, window = gn.tensor(rng.standard_normal((2, 24))), gn.hann_window(8, dtype=gn.float64)
    whole = {k: v for k, v in words.items() if k == "onesided"}

    rows = gn.stft(x, 8, 2, window=window, return_complex=True, **whole)
    back = gn.istft(rows, 8, 2, window=window, **words)

    np.testing.assert_allclose(back.real.numpy(), x.numpy()[:, : back.shape[1]], atol=1e-12)
    assert back.is_complex() == bool(whole)


def test_gradients_pass_there_and_back(rng):
    x = gn.tensor(rng.standard_normal(16), requires_grad=True)

    back = gn.istft(x.stft(8, 2, return_complex=True), 8, 2)
    back.backward(gn.arange(16).double())

    np.testing.assert_allclose(x.grad.numpy(), np.arange(16), atol=1e-10)


def test_a_compiled_spectrogram_has_the_same_bits(rng):
    x = gn.tensor(rng.standard_normal((2, 32)).astype(np.float32))

    def power(x):
        return x.stft(8, return_complex=True).abs().square()

    assert gn.compile(power)(x).numpy().tobytes() == power(x).numpy().tobytes()


def test_what_does_not_fit_is_refused():
    x = gn.ones(16)

    with pytest.raises(ArgumentError, match="return_complex must be given"):
        gn.stft(x, 4)
    with pytest.raises(ShapeError, match="the window has win_length 4"):
        gn.stft(x, 4, window=gn.ones(3), return_complex=True)
    with pytest.raises(ArgumentError, match="hop_length > 0"):
        gn.stft(x, 4, 0, return_complex=True)
    with pytest.raises(ShapeError, match="complex numbers of 3 frequencies"):
        gn.istft(gn.ones(3, 5), 4)
    with pytest.raises(ArgumentError, match="weigh nothing"):
        gn.istft(
            gn.ones(3, 5, dtype=gn.complex64), 4, window=gn.tensor([0.0, 1, 1, 1]), center=False
        )


def test_rows_of_all_frequencies_are_taken_for_such_without_a_word(rng):
    x = gn.tensor(rng.standard_normal(24))
    rows = x.stft(8, 2, onesided=False, return_complex=True)

    back = gn.istft(rows, 8, 2)

    assert back.dtype == x.dtype
    np.testing.assert_allclose(back.numpy(), x[: len(back)].numpy(), atol=1e-12)


def test_a_signal_is_found_again_through_a_complex_window(rng):
    x = gn.tensor(rng.standard_normal(24) + 1j * rng.standard_normal(24))
    window = gn.tensor(np.exp(0.3j * np.arange(8)))
    rows = x.stft(8, 8, window=window, return_complex=True)

    back = gn.istft(rows, 8, 8, window=window, return_complex=True)

    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-12)
