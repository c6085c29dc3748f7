"""gn.signal.windows: symmetric ones, and ones that may be repeated."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.signal import windows

NAMES = (
    *("bartlett", "blackman", "cosine", "exponential", "gaussian"),
    *("general_hamming", "hamming", "hann", "kaiser", "nuttall"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_window_is_the_same_backwards_and_one_longer_without_its_last_may_be_repeated(name: str):
    call = getattr(windows, name)
    whole = call(8, dtype=gn.float64).numpy()

    np.testing.assert_allclose(whole, whole[::-1], atol=1e-12)
    np.testing.assert_allclose(call(7, sym=False, dtype=gn.float64).numpy(), whole[:-1])


def test_windows_of_few_numbers_and_of_forms():
    assert windows.kaiser(1).tolist() == [1]
    assert windows.hann(0).shape == (0,)
    assert windows.general_cosine(3, a=[0.5, 0.5]).tolist() == windows.hann(3).tolist()
    assert windows.exponential(3, sym=False, center=0, tau=1.0)[0].item() == 1
    with pytest.raises(ArgumentError, match="not negative"):
        windows.hann(-1)
