"""gn.testing.make_tensor: a tensor of any dtype, of values that tests can use."""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import bool_, dtype_of
from gnomon.tensor.creation import full, full_like
from gnomon.tensor.limits import finfo
from gnomon.tensor.random import rand, randint
from gnomon.tensor.selection import where
from gnomon.tensor.tensor import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: object,
    device: object = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    exclude_zero: bool = False,
    **layout: Any,
) -> Tensor:
    """Values drawn between low and high: -9 and 9 for floats, integers to 9, 0 and 1 for bool.

    `layout` holds PyTorch's memory formats, which change nothing.

    >>> import gnomon as gn
    >>> x = make_tensor(2, 3, dtype=gn.int64, device="cpu", low=0)
    >>> x.shape, bool((x >= 0).all()), bool((x < 10).all())
    (Size([2, 3]), True, True)
    """
    kind = dtype_of(dtype)
    sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    least = (0 if kind is bool_ or kind.kind == "uint" else -9) if low is None else low
    most = (9 if kind.is_floating_point else 2 if kind is bool_ else 10) if high is None else high
    if least == most and kind.is_floating_point:
        made = full(tuple(sizes), float(least), dtype=kind, device=device)
    elif kind.is_floating_point:
        drawn = rand(*sizes, device=device)
        made = (drawn * (most - least) + least).to(kind)
    else:
        made = randint(int(least), int(most), tuple(sizes), device=device).to(kind)
    if exclude_zero:
        one = finfo(kind).tiny if kind.is_floating_point else 1
        made = where(made == 0, full_like(made, one), made)
    return made.requires_grad_(requires_grad)
