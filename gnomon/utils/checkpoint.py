"""torch.utils.checkpoint: activation checkpointing, which recomputes values for the backward pass.

Arguments and results are marked here; gnomon/passes/recompute.py recomputes. Values and gradients
are bitwise those of the function. A compiled step, or any backward pass whose forward pass is still
pending, keeps only arguments and results alive; values that Python has read are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.passes.recompute import marked
from gnomon.tensor.autograd.engine import is_grad_enabled
from gnomon.tensor.functions import apply
from gnomon.tensor.pytree import flatten, unflatten
from gnomon.tensor.tensor import Tensor

IGNORED = frozenset(
    {"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug"}
    | {"early_stop"}
)
"""PyTorch's options of recomputation that are accepted without effect."""


def checkpoint(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Call a function without keeping its intermediate values for the backward pass.

    Values that it reads beside its arguments and parameters are recomputed too; pass them as
    arguments.

    >>> checkpoint(max, 3, 5, use_reentrant=False)
    5
    """
    named = {name: v for name, v in kwargs.items() if name not in IGNORED}
    if not is_grad_enabled():
        return function(*args, **named)
    args, named = mark_tensors((args, named), ends=False)
    return mark_tensors(function(*args, **named), ends=True)


def set_checkpoint_early_stop(enable: bool) -> nullcontext[None]:
    """A context manager without effect, since recomputation computes only what is needed.

    >>> with set_checkpoint_early_stop(False):
    ...     checkpoint(max, 3, 5)
    5
    """
    return nullcontext()


def set_checkpoint_debug_enabled(enabled: bool | None) -> nullcontext[None]:
    """A context manager without effect; `explain` lists what is recomputed.

    >>> with set_checkpoint_debug_enabled(True):
    ...     checkpoint(max, 3, 5)
    5
    """
    return nullcontext()


def mark_tensors(value: Any, ends: bool) -> Any:
    """Mark all floating-point tensors in a nested value."""
    found: list[Tensor] = []
    structure = flatten(value, found)
    mark = partial(marked, ends=ends)
    return unflatten(
        structure, [apply(mark, (x,)) if x.dtype.is_floating_point else x for x in found]
    )


def checkpoint_sequential(
    functions: Sequence[Callable], segments: int, input: Any, **kwargs: Any
) -> Any:
    """Chain functions in `segments` parts, all but the last checkpointed."""
    if not 1 <= segments <= len(functions):
        raise ArgumentError(
            f"checkpoint_sequential: {len(functions)} functions do not fall into {segments} parts."
        )
    size = len(functions) // segments
    for number in range(segments - 1):
        part = functions[number * size : (number + 1) * size]
        input = checkpoint(partial(chained, part), input, **kwargs)
    return chained(functions[(segments - 1) * size :], input)


def chained(functions: Sequence[Callable], value: Any) -> Any:
    """Apply functions one after another to a value."""
    for function in functions:
        value = function(value)
    return value
