"""PyTorch's words for how a new tensor lies: row by row here, whatever they say."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError

WORDS = frozenset({"layout", "memory_format", "pin_memory", "requires_grad"})


def with_placing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a tensor, with those of the words that it does not take itself."""
    more = WORDS - inspect.signature(function).parameters.keys()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {word: kwargs.pop(word) for word in more & kwargs.keys()}
        if given.get("layout") not in (None, "strided"):
            raise ArgumentError(f"{call.__name__}: layout is strided: got {given['layout']!r}.")
        made = function(*args, **kwargs)
        return made.requires_grad_() if given.get("requires_grad") else made

    return call
