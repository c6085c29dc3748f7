"""torch._foreach_*: an operation on each tensor of a list, as optimizers and clipping call it.

Each is the tensors' method of its name; what is computed together is the evaluation's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ShapeError
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

__all__ = ["foreach"]

PREFIX = "_foreach_"


def powsum(x: Tensor, ord: float = 2, dtype: object = None) -> Tensor:
    """The sum of the absolute values' powers."""
    return FUNCTIONS["sum"](abs(x) ** ord, dtype=dtype)


def norm(x: Tensor, ord: float = 2, dtype: object = None) -> Tensor:
    """The length of all elements together."""
    return FUNCTIONS["vector_norm"](x if dtype is None else x.to(dtype), ord)


def of_scalars(name: str) -> Callable[..., Tensor]:
    """addcmul or addcdiv, whose factor is a number, or an element of a tensor of them."""

    def call(x: Tensor, one: Tensor, two: Tensor, value: Any = 1) -> Tensor:
        factor = value.item() if isinstance(value, Tensor) else value
        return FUNCTIONS[name](x, one, two, value=factor)

    return call


MEANINGS: dict[str, Callable[..., Tensor]] = {
    "addcdiv": of_scalars("addcdiv"),
    "addcmul": of_scalars("addcmul"),
    "clone": lambda x: x.clone(),
    "maximum": lambda x, least: x.clamp(min=least),
    "minimum": lambda x, most: x.clamp(max=most),
    "norm": norm,
    "powsum": powsum,
}
"""Names that are no method of their own."""
OF_LISTS = frozenset(
    {
        *("abs", "acos", "add", "addcdiv", "addcmul", "asin", "atan", "ceil", "clamp_max"),
        *("clamp_min", "clone", "cos", "cosh", "div", "erf", "erfc", "exp", "expm1", "floor"),
        *("frac", "lerp", "lgamma", "log", "log10", "log1p", "log2", "max", "maximum"),
        *("minimum", "mm", "mul", "neg", "norm", "pow", "powsum", "reciprocal", "round"),
        *("rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "sub", "tan", "tanh", "trunc"),
    }
)
WRITING = frozenset({"copy", "zero"}) | (OF_LISTS - {"clone", "max", "mm", "norm", "powsum"})
"""Names with an underscore at the end: results are stored in the tensors."""


def foreach(name: str) -> Callable[..., Any] | None:
    """The function of a name; None where PyTorch has none."""
    stem = name.removeprefix(PREFIX)
    writes = stem.endswith("_")
    stem = stem.removesuffix("_")
    if stem not in (WRITING if writes else OF_LISTS):
        return None
    one = written(stem) if writes else MEANINGS.get(stem) or FUNCTIONS.get(stem)
    one = one or getattr(Tensor, stem)

    def call(self: Any, *args: Any, **named: Any) -> Any:
        results = [one(*each, **named) for each in calls(name, self, args)]
        return list(self) if writes else tuple(results)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{stem} of each tensor of a list{', stored in it' if writes else ''}."
    return call


def written(stem: str) -> Callable[..., Tensor]:
    """The method of a name that stores its result."""
    method = getattr(Tensor, f"{stem}_")
    meant = MEANINGS.get(stem)
    return method if meant is None else lambda x, *rest, **named: x.copy_(meant(x, *rest, **named))


def calls(name: str, first: Any, args: Sequence[Any]) -> list[tuple]:
    """The arguments of each call: lists give one value to each, anything else is everyone's."""
    of_each = name.startswith(("_foreach_addc",))
    given = [x.unbind() if of_each and isinstance(x, Tensor) else x for x in (first, *args)]
    counts = {len(x) for x in given if isinstance(x, (list, tuple))}
    if len(counts) != 1:
        raise ShapeError(f"{name}: needs lists of one length: got {sorted(counts)}.")
    (count,) = counts
    columns = [x if isinstance(x, (list, tuple)) else [x] * count for x in given]
    return list(zip(*columns, strict=True))
