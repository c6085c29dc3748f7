"""detect_anomaly: debug_nans by PyTorch's name, around backward passes."""

from __future__ import annotations

from gnomon.tensor.evaluate import evaluate_all
from gnomon.tensor.nans import debug_nans
from gnomon.tensor.state import is_capturing

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly(debug_nans):
    """Look for NaN in values and gradients from now on, or inside a `with`.

    The first operation that makes one is named with its line; what a block leaves pending is
    computed at its end.

    >>> import gnomon as gn
    >>> x = gn.tensor([4.0], requires_grad=True)
    >>> with set_detect_anomaly(True):
    ...     x.sqrt().sum().backward()
    >>> x.grad
    Tensor([0.25])
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(bool(mode and check_nan))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not is_capturing():
                evaluate_all()
        finally:
            super().__exit__()


class detect_anomaly(set_detect_anomaly):
    """set_detect_anomaly(True) as a context manager."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)
