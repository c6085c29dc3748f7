"""Collectives of complex tensors: those of their real and imaginary parts, side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from gnomon.errors import DtypeError
from gnomon.ops.group_folds import Reduction
from gnomon.tensor.complex_creation import view_as_complex, view_as_real
from gnomon.tensor.tensor import Paired, Tensor

__all__ = ["by_parts"]

P, R = ParamSpec("P"), TypeVar("R")
SUMS = frozenset({"SUM", "AVG", "PREMUL_SUM"})
"""Folds that are those of both parts."""


def by_parts(collective: Callable[P, R]) -> Callable[P, R]:
    """A decorator that makes a collective accept complex tensors."""
    called = signature(collective)

    @wraps(collective)
    def run(*arguments: P.args, **named: P.kwargs) -> R:
        if not any(is_complex(x) for x in (*arguments, *named.values())):
            return collective(*arguments, **named)
        given = called.bind(*arguments, **named).arguments
        rank = next(of_first(x).ndim for x in given.values() if is_complex(x))
        for name, value in given.items():
            refuse_fold(collective.__name__, value)
            given[name] = value + rank if name.endswith("_dim") and value < 0 else real(value)
        made: Any = collective(**given)
        if isinstance(made, Tensor):
            return view_as_complex(made)
        return [view_as_complex(x) for x in made] if isinstance(made, list) else made

    return run


def is_complex(value: object) -> bool:
    """Whether an argument is a complex tensor, or a list of them."""
    return isinstance(of_first(value), Paired)


def of_first(value: Any) -> Any:
    """The first item of a list; any other value unchanged."""
    return (value[0] if value else None) if isinstance(value, (list, tuple)) else value


def real(value: Any) -> Any:
    """Complex tensors as real ones with both parts along a last axis, as the same memory."""
    if not is_complex(value):
        return value
    return view_as_real(value) if isinstance(value, Paired) else [real(each) for each in value]


def refuse_fold(name: str, value: object) -> None:
    """Refuse a fold that does not act on each part separately."""
    fold = value.upper() if isinstance(value, str) else getattr(value, "name", "")
    if isinstance(value, (str, Reduction)) and fold not in SUMS:
        raise DtypeError(
            f"{name}: complex numbers have no fold {fold}: got a complex tensor. "
            "Use SUM or AVG, or fold view_as_real(x)."
        )
