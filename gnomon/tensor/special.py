"""gn.special: PyTorch's special functions, and orthogonal polynomials by their recurrences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.lazy import settle
from gnomon.ops.registry import Op, operations
from gnomon.tensor.creation import get_default_dtype, ones_like, zeros_like
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.overrides import overridable
from gnomon.tensor.tensor import Tensor


def names_of(op: Op) -> tuple[str, ...]:
    """The names of an operation in gn.special."""
    said = op.facts.special
    return said if isinstance(said, tuple) else (op.__name__,) if said else ()


ENTRIES = {name: FUNCTIONS[op.__name__] for op in operations() for name in names_of(op)}

RecurrenceStep = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""The polynomial of degree k + 1 of k, x, that of degree k and the one before."""


def polynomial(
    name: str, first: Callable[[Tensor], Tensor], step: RecurrenceStep, shift: bool
) -> Callable:
    """A family of orthogonal polynomials that begins with 1 and `first`; shift: over [0, 1]."""

    @overridable
    def function(x: Any, n: Any) -> Tensor:
        x = as_floats(x, n)
        x = 2 * x - 1 if shift else x
        degrees = n.trunc() if isinstance(n, Tensor) else n
        most = int(degrees.max()) if isinstance(n, Tensor) and n.numel() else 0
        most = most if isinstance(n, Tensor) else int(n)
        before, now, found = zeros_like(x), ones_like(x), zeros_like(x)
        for k in range(most + 1):
            if k:
                before, now = now, first(x) if k == 1 else step(k - 1, x, now, before)
            met = degrees == k
            found = FUNCTIONS["where"](met, now, found) if isinstance(n, Tensor) else now
        return found

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The polynomial {name} of degree n, a number or one for each element."
    return function


def as_floats(x: Any, n: Any) -> Tensor:
    """x as floats, broadcast with the degrees."""
    x = x if isinstance(x, Tensor) else n * 0 + x
    x = x if x.dtype.is_floating_point else x.to(get_default_dtype())
    return FUNCTIONS["broadcast_tensors"](x, n)[0] if isinstance(n, Tensor) else x


def chebyshev(k: int, x: Tensor, now: Tensor, before: Tensor) -> Tensor:
    """The next Chebyshev polynomial, 2x · now − before."""
    return 2 * x * now - before


FAMILIES: dict[str, tuple[Callable[[Tensor], Tensor], RecurrenceStep]] = {
    "chebyshev_polynomial_t": (lambda x: x, chebyshev),
    "chebyshev_polynomial_u": (lambda x: 2 * x, chebyshev),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, chebyshev),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, chebyshev),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda k, x, p, q: 2 * x * p - 2 * k * q),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, p, q: x * p - k * q),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1),
    ),
    "legendre_polynomial_p": (
        lambda x: x,
        lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1),
    ),
}
POLYNOMIALS = {name: polynomial(name, *rule, False) for name, rule in FAMILIES.items()} | {
    f"shifted_{name}": polynomial(f"shifted_{name}", *rule, True)
    for name, rule in FAMILIES.items()
    if rule[1] is chebyshev
}
globals().update(ENTRIES | POLYNOMIALS)
settle("gnomon.special", ENTRIES | POLYNOMIALS)
__all__ = sorted([*ENTRIES, *POLYNOMIALS])
