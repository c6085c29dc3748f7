"""torch.utils.checkpoint's names: which values of a forward pass are kept is the compiler's choice.

Calls are the functions' own, so gradients are the same bits. Nothing is computed twice on request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError

IGNORED = frozenset(
    {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"}
    | {"early_stop"}
)
"""What PyTorch's checkpoint takes for its own way of computing twice."""


def checkpoint(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """The function's result.

    >>> checkpoint(max, 3, 5, use_reentrant=False)
    5
    """
    return function(*args, **{name: v for name, v in kwargs.items() if name not in IGNORED})


def checkpoint_sequential(
    functions: Sequence[Callable], segments: int, input: Any, **kwargs: Any
) -> Any:
    """Functions one after the other."""
    if not 1 <= segments <= len(functions):
        raise ArgumentError(
            f"checkpoint_sequential: {len(functions)} functions do not fall into {segments} parts."
        )
    for function in functions:
        input = checkpoint(function, input, **kwargs)
    return input
