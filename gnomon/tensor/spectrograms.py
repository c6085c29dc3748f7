"""gn.stft and gn.istft: transforms of windows that move along a signal, and their inverse."""

from __future__ import annotations

from typing import Any

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ops.registry import explained
from gnomon.tensor import fft
from gnomon.tensor.complex_tensor import Complex, compose
from gnomon.tensor.creation import ones
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.state import is_capturing
from gnomon.tensor.tensor import Tensor, array_of, pair_of

LEAST = 1e-11
"""Windows may not weigh less in sum, for a signal to be found again."""


def sizes_of(
    name: str, n_fft: int, hop_length: int | None, win_length: int | None
) -> tuple[int, int]:
    """The step between windows, and the length of a window, with defaults."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if n_fft < 1 or hop < 1 or not 0 < length <= n_fft:
        raise ArgumentError(
            f"{name}: needs n_fft > 0, hop_length > 0 and 0 < win_length <= n_fft: got {n_fft}, "
            f"{hop} and {length}."
        )
    return hop, length


def window_of(name: str, window: Tensor | None, length: int, n_fft: int, dtype: Any) -> Tensor:
    """The window of n_fft numbers: the given one, zero-padded on both sides."""
    made = ones(length, dtype=dtype) if window is None else window
    if tuple(made.shape) != (length,):
        raise ShapeError(f"{name}: the window has win_length {length}: got {tuple(made.shape)}.")
    left = (n_fft - length) // 2
    return FUNCTIONS["pad"](made, [left, n_fft - length - left]) if length < n_fft else made


@explained
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The transforms of windows along signals: frequencies, then windows.

    Shapes: input (*b, l) -> (*b, f, t)

    center: the windows' middles, not their beginnings, lie hop_length apart from the signal's
    first number. align_to_window: without center, the signal begins at win_length's first number.

    >>> import gnomon as gn
    >>> stft(gn.ones(16), 4, return_complex=True).shape
    Size([3, 17])
    """
    hop, length = sizes_of("stft", n_fft, hop_length, win_length)
    whole = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not whole:
        raise ArgumentError(
            "stft: return_complex must be given for real signals. Give True, or False for pairs."
        )
    if input.ndim not in (1, 2) or (onesided and whole):
        raise ArgumentError(
            f"stft: needs signals of one axis, or a batch, real ones where onesided=True: got "
            f"{tuple(input.shape)} of {input.dtype.name}."
        )
    if center and align_to_window is not None:
        raise ArgumentError("stft: align_to_window goes with center=False: got center=True.")
    rows = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        side = n_fft // 2
        rows = FUNCTIONS["pad"](rows.unsqueeze(1), [side, side], pad_mode).squeeze(1)
    elif align_to_window:
        left = (n_fft - length) // 2
        rows = FUNCTIONS["pad"](rows, [left, n_fft - length - left])
    if rows.shape[-1] < n_fft:
        raise ShapeError(f"stft: a signal has n_fft {n_fft} numbers: got {rows.shape[-1]}.")
    blocks = rows.unfold(-1, n_fft, hop)
    blocks = blocks * window_of("stft", window, length, n_fft, input.dtype.to_real())
    half = not whole if onesided is None else onesided
    made: Any = (fft.rfft if half else fft.fft)(blocks, norm="ortho" if normalized else None)
    made = made.mT if input.ndim == 2 else made.mT.squeeze(0)
    return made if return_complex or return_complex is None else pair_of(made)


@explained
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signals whose transforms of windows these are, by least squares.

    Shapes: input (*b, f, t) -> (*b, l)

    >>> import gnomon as gn
    >>> istft(stft(gn.ones(16), 4, return_complex=True), 4).shape
    Size([16])
    """
    hop, size = sizes_of("istft", n_fft, hop_length, win_length)
    half = input.shape[-2:-1] != (n_fft,) if onesided is None else onesided
    if half and return_complex:
        raise ArgumentError("istft: half a transform gives real numbers. Leave out return_complex.")
    wanted = n_fft // 2 + 1 if half else n_fft
    if not isinstance(input, Complex) or input.ndim not in (2, 3) or input.shape[-2] != wanted:
        raise ShapeError(
            f"istft: needs complex numbers of {wanted} frequencies and windows: got "
            f"{tuple(input.shape)} of {input.dtype.name}."
        )
    rows: Any = input if input.ndim == 3 else input.unsqueeze(0)
    norm = "ortho" if normalized else None
    made: Any = (fft.ifft if return_complex else fft.irfft)(rows.mT, n_fft, norm=norm)
    kernel = window_of("istft", window, size, n_fft, input.dtype.to_real())
    weights = (kernel * kernel).reshape(1, 1, -1).expand(1, rows.shape[-1], n_fft)
    start = n_fft // 2 if center else 0
    total = n_fft + hop * (rows.shape[-1] - 1)
    stop = total - start if length is None else min(start + length, total)
    sums = overlapped(weights, hop)[:, start:stop]
    if not is_capturing() and not bool((array_of(sums.detach().abs()) > LEAST).all()):
        raise ArgumentError("istft: windows weigh nothing somewhere. Use smaller hops, or center.")
    found = overlapped(made * kernel, hop)[:, start:stop] / sums
    if length is not None and length > stop - start:
        found = FUNCTIONS["pad"](found, [0, length - (stop - start)])
    return found if input.ndim == 3 else found.squeeze(0)


def overlapped(blocks: Any, hop: int) -> Any:
    """The sum of windows (b, t, n), each a hop behind the one before."""
    if isinstance(blocks, Complex):
        both = [overlapped(part, hop) for part in (blocks.real, blocks.imag)]
        return compose(*both)
    count, size = blocks.shape[1:]
    total = size + hop * (count - 1)
    made = FUNCTIONS["col2im"](blocks.mT, (1, total), (1, size), stride=(1, hop))
    return made.reshape(blocks.shape[0], total)
