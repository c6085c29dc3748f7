"""Meanings of PyTorch's names, where Gnomon's namespace, the array API's, has another.

Methods have PyTorch's meaning, so a function of two meanings is its method here (0017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from types import SimpleNamespace
from typing import Any

import gnomon as gn
from gnomon.lazy import HOMES, reached

__all__ = ["IDLE", "MEANINGS", "target_of"]

IDLE = ("accelerator", "backends", "cuda", "mps", "mtia", "xpu")
"""Modules that are here for programs that ask first."""


def as_method(name: str) -> Callable[..., Any]:
    """A function that is a tensor's method of its name."""

    def call(input: gn.Tensor, *args: Any, **named: Any) -> Any:
        return methodcaller(name, *args, **named)(input)

    call.__name__ = call.__qualname__ = name
    return call


def meshgrid(*tensors: Any, indexing: str = "ij") -> Sequence[gn.Tensor]:
    """PyTorch's grid: its first axis is the first tensor's."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return gn.meshgrid(*given, indexing=indexing)


MEANINGS: dict[str, Any] = {
    **{name: as_method(name) for name in ("equal", "nonzero", "squeeze", "std", "var")},
    "__version__": "2.13.0+gnomon",
    "meshgrid": meshgrid,
    "version": SimpleNamespace(__version__="2.13.0+gnomon", cuda=None, hip=None, git_version=""),
}
"""Names of torch itself."""


def target_of(path: str) -> Any:
    """The stand-in of a module of PyTorch's, by its path below torch; None where there is none."""
    return reached(HOMES.get(path, path))
