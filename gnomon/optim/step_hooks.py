"""Hooks before and after the steps of all optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.tensor.autograd.hooks import Handle, attach


class StepHooks:
    """The hooks of all optimizers; each optimizer holds this one object."""

    def __init__(self) -> None:
        self.before: dict[int, Callable] = {}
        self.after: dict[int, Callable] = {}

    def __deepcopy__(self, _: dict[int, Any]) -> StepHooks:
        return self

    def __reduce__(self) -> tuple:
        return hooks_of_all, ()


everywhere = StepHooks()


def hooks_of_all() -> StepHooks:
    """The object with the hooks of all optimizers."""
    return everywhere


def call_hooks(
    first: dict[int, Callable], then: dict[int, Callable], optimizer: Any, closure: Any
) -> None:
    """Call two sets of hooks with an optimizer and its closure, one set after the other."""
    for hook in [*first.values(), *then.values()]:
        hook(optimizer, (closure,), {})


def register_optimizer_step_pre_hook(hook: Callable) -> Handle:
    """Call hook(optimizer, args, kwargs) before every step of any optimizer."""
    return attach(everywhere.before, hook)


def register_optimizer_step_post_hook(hook: Callable) -> Handle:
    """Call hook(optimizer, args, kwargs) after every step of any optimizer."""
    return attach(everywhere.after, hook)
