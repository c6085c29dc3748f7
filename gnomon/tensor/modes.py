"""Functions, generators and coroutines that run inside a block, such as no_grad."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from gnomon.tensor.state import grads, inference, narrow

__all__ = ["inside"]

GENERATOR, COROUTINE = 0x20, 0x80
"""Flags of code that runs in steps."""


def kind_of(function: Any) -> int:
    """The kind of a function that runs in steps: a generator or a coroutine."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return flags & (GENERATOR | COROUTINE)


def inside(block: Callable[[], Any], function: Callable) -> Callable:
    """A function that runs inside a context, and a generator with each step inside it."""
    if kind_of(function) == GENERATOR:

        @functools.wraps(function)
        def in_steps(*args: Any, **kwargs: Any) -> Iterator:
            return steps(block, function(*args, **kwargs))

        return in_steps
    if kind_of(function) == COROUTINE:

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with block():
                return await function(*args, **kwargs)

        return awaited

    @functools.wraps(function)
    def at_once(*args: Any, **kwargs: Any) -> Any:
        before = grads.get(), inference.get(), narrow.get()
        try:
            with block():
                return function(*args, **kwargs)
        except BaseException:
            # Ctrl-C may come as the block is left, before it has restored anything
            restore(before)
            raise

    return at_once


def restore(before: tuple) -> None:
    """Restore the saved modes of gradients, inference and autocast."""
    for mode, value in zip((grads, inference, narrow), before, strict=True):
        mode.set(value)


def steps(block: Callable[[], Any], made: Any) -> Iterator:
    """A generator whose steps run inside a context, which its caller's code does not."""
    resume, given = made.send, None
    try:
        while True:
            with block():
                try:
                    value = resume(given)
                except StopIteration as end:
                    return end.value
            try:
                resume, given = made.send, (yield value)
            except GeneratorExit:
                raise
            except BaseException as error:
                resume, given = made.throw, error
    finally:
        with block():
            made.close()
