"""torch.compiler's names: marks on functions, and questions about the compiler.

Most marks tell PyTorch's compiler what it can't find out. Here a capture sees every read and every
effect, so that such a mark changes nothing; `disable` is heard where a function is compiled by
itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.capture.compile_options import BACKENDS
from gnomon.capture.jit import ALL, Compiled, compile
from gnomon.errors import ArgumentError
from gnomon.tensor.absent import Switches
from gnomon.tensor.state import is_capturing

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "config"]
__all__ += ["cudagraph_mark_step_begin", "disable", "graph_break", "is_compiling"]
__all__ += ["is_dynamo_compiling", "is_exporting", "list_backends", "mark_dynamic", "mark_static"]
__all__ += ["maybe_mark_dynamic", "nested_compile_region", "reset", "set_stance"]
__all__ += ["substitute_in_graph"]

STANCES = ("default", "force_eager")


class Configuration(Switches):
    """A stand-in for the settings of PyTorch's compiler; accepts any name, without effect."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, Configuration())
        return getattr(self, name)


config = Configuration()


def is_compiling() -> bool:
    """Whether a function is being captured by gn.compile now.

    >>> is_compiling()
    False
    """
    return is_capturing()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """Whether a function is being exported: never."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function or a module that gn.compile does not compile when given it.

    Called inside a compiled function, it is part of that one's program, with the same values.

    >>> compile(disable(abs))(-1)
    1
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise ArgumentError(f"disable: must be called with a function: got {fn!r}.")
    if hasattr(fn, "parameters"):
        fn.is_left_eager = True
        return fn
    inner = fn.function if isinstance(fn, Compiled) else fn

    @functools.wraps(inner)
    def left_eager(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    left_eager.is_left_eager = True
    return left_eager


def allow_in_graph(fn: Any) -> Any:
    """Return the function unchanged: a capture looks inside of it.

    >>> allow_in_graph(abs)(-1)
    1
    """
    return fn


assume_constant_result = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn: Callable, **options: bool) -> Callable[[Any], Any]:
    """Return a decorator that leaves functions unchanged: captures run Python's own functions.

    >>> substitute_in_graph(abs)(max)(1, 2)
    2
    """
    return allow_in_graph


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no CUDA graphs."""


def graph_break(message: str = "") -> None:
    """Do nothing: a capture breaks by itself where Python reads a value."""


def mark_dynamic(value: Any, index: Any, **bounds: Any) -> None:
    """Do nothing: sizes become symbols by themselves when they change."""


mark_static = maybe_mark_dynamic = mark_dynamic


def list_backends(exclude_tags: Sequence[str] = ()) -> list[str]:
    """The names that gn.compile takes as `backend`.

    >>> "gnomon" in list_backends()
    True
    """
    return list(BACKENDS)


def reset() -> None:
    """Forget every captured program: the next calls capture again."""
    for each in list(ALL):
        each.programs, each.varying, each.in_whole = {}, None, {}
        each.uncompiled.clear()


class set_stance:
    """Set whether compiled functions run compiled ("default") or uncompiled ("force_eager").

    It takes effect at once, and as a context manager until its end.

    >>> with set_stance("force_eager"):
    ...     compile(lambda: is_compiling())()
    False
    """

    def __init__(self, stance: str = "default", **options: Any) -> None:
        if stance not in STANCES:
            raise ArgumentError(f"set_stance: must be one of {STANCES}: got {stance!r}.")
        self.before = Compiled.eager
        Compiled.eager = stance == "force_eager"

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *_: object) -> None:
        Compiled.eager = self.before

    def __call__(self, function: Callable) -> Callable:
        """A function that runs under the stance."""
        stance, Compiled.eager = STANCES[Compiled.eager], self.before

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with set_stance(stance):
                return function(*args, **kwargs)

        return inside
