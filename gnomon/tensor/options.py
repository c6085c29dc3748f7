"""What gn.compile takes: PyTorch's options, and which optimisations are done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.settings import OPTIMISATIONS

__all__ = ["check"]

OPTIONS = {
    "fullgraph": (True, False),
    "dynamic": (None, False),
    "backend": ("gnomon", "inductor"),
    "mode": (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
    "disable": (False, True),
}
"""What PyTorch's compile takes beside `options`, and the values that mean something here."""


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
