"""gn.linalg: the standard's extension, and PyTorch's names, of real and of complex matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from gnomon import errors
from gnomon.lazy import settle
from gnomon.ops.registry import Op, operations
from gnomon.tensor.creation import also
from gnomon.tensor.eigenvalues import eig, eigvals
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.matrices import multi_dot, nearest, powers, tensorinv, tensorsolve
from gnomon.tensor.overrides import overridable
from gnomon.tensor.tensor import Tensor


def names_of(op: Op) -> tuple[str, ...]:
    """The names of an operation in gn.linalg."""
    said = op.facts.linalg
    return said if isinstance(said, tuple) else (op.__name__,) if said else ()


def entry(op: Op) -> Callable:
    """An operation with the standard's defaults, where they differ from PyTorch's."""
    function, defaults = FUNCTIONS[op.__name__], dict(op.facts.standard)
    if not defaults:
        return function

    def standard(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **(defaults | op.respell(kwargs)))

    return overridable(update_wrapper(standard, function))


ENTRIES = {name: entry(op) for op in operations() for name in names_of(op)}
FUNCTIONS_HERE = (eig, eigvals, multi_dot, nearest, powers, tensorinv, tensorsolve)
OTHERS = {f.__name__: overridable(f) for f in FUNCTIONS_HERE}
__all__ = sorted({"LinAlgError", "diagonal", "norm", "trace", *OTHERS, *ENTRIES})

globals().update(ENTRIES | OTHERS)
settle("gnomon.linalg", ENTRIES | OTHERS)
LinAlgError = errors.LinAlgError
Axes = int | Sequence[int] | None


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A diagonal of the last two axes."""
    return FUNCTIONS["diagonal"](A, offset, dim1, dim2)


def trace(x: Tensor, /, *, offset: int = 0, dtype: object = None) -> Tensor:
    """The sum of a diagonal of the last two axes."""
    return FUNCTIONS["sum"](diagonal(x, offset=offset), axis=-1, dtype=dtype)


@overridable
@also(x="input", axis="dim", keepdims="keepdim")
def norm(
    input: Tensor,
    ord: float | str | None = None,
    dim: Axes = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
) -> Tensor:
    """The length of a vector, or of all elements; with an order and two axes, of matrices."""
    x = input if dtype is None else input.to(dtype)
    both = x.ndim == 2 if dim is None else isinstance(dim, Sequence) and len(dim) == 2
    if isinstance(ord, str) or (both and ord is not None):
        return FUNCTIONS["matrix_norm"](x, ord, (-2, -1) if dim is None else dim, keepdim)
    return FUNCTIONS["vector_norm"](x, 2 if ord is None else ord, dim, keepdim)
