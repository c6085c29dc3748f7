"""Options of gn.compile: PyTorch's, and the optimisations to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.settings import OPTIMISATIONS

__all__ = ["check"]

EAGER = ("aot_eager", "eager")
"""Backends that compile nothing."""
BACKENDS = ("gnomon", "inductor", "cudagraphs", *EAGER)
"""Names of compilers: one is here, whatever it is called."""
OPTIONS = {
    "fullgraph": (True, False),
    "breaks": ("allow", "error"),
    "dynamic": (None, False, True),
    "backend": BACKENDS,
    "mode": (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
    "disable": (False, True),
}
"""What PyTorch's compile takes beside `options`, what is ours, and the values with a meaning."""


def check(options: Mapping[str, Any], switches: Mapping[str, Any]) -> None:
    """Refuse what has no meaning here; switches are what `options=` held."""
    for name, value in options.items():
        if name not in OPTIONS:
            told = ", ".join((*OPTIONS, "options"))
            raise ArgumentError(f"compile: no option {name!r}. It takes {told}.")
        if value not in OPTIONS[name]:
            allowed = ", ".join(map(repr, OPTIONS[name]))
            raise ArgumentError(f"compile: {name} must be one of {allowed}: got {value!r}.")
    for name, value in switches.items():
        if name not in OPTIMISATIONS:
            told = ", ".join(OPTIMISATIONS)
            raise ArgumentError(f"compile: options: no optimisation {name!r}. There are {told}.")
        if not isinstance(value, bool):
            raise ArgumentError(f"compile: options: {name} must be True or False: got {value!r}.")


def is_idle(options: Mapping[str, Any]) -> bool:
    """Whether nothing is to be compiled."""
    return bool(options.get("disable")) or options.get("backend") in EAGER
