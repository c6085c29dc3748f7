"""Hooks around steps: those of all optimizers, which come before an optimizer's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.tensor.autograd.hooks import Handle, attach


class StepHooks:
    """Hooks of all optimizers by their numbers; each optimizer holds the one object."""

    def __init__(self) -> None:
        self.before: dict[int, Callable] = {}
        self.after: dict[int, Callable] = {}

    def __deepcopy__(self, _: dict[int, Any]) -> StepHooks:
        return self

    def __reduce__(self) -> tuple:
        return hooks_of_all, ()


everywhere = StepHooks()


def hooks_of_all() -> StepHooks:
    """The hooks of all optimizers."""
    return everywhere


def call_hooks(
    first: dict[int, Callable], then: dict[int, Callable], optimizer: Any, closure: Any
) -> None:
    """Call the hooks of a step; those of all optimizers are around those of one, as PyTorch's."""
    for hook in [*first.values(), *then.values()]:
        hook(optimizer, (closure,), {})


def register_optimizer_step_pre_hook(hook: Callable) -> Handle:
    """Call hook(optimizer, args, kwargs) before every step of any optimizer."""
    return attach(everywhere.before, hook)


def register_optimizer_step_post_hook(hook: Callable) -> Handle:
    """Call hook(optimizer, args, kwargs) after every step of any optimizer."""
    return attach(everywhere.after, hook)
