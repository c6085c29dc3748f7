"""Hooks before and after the steps of all optimizers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
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
    """Call two sets of hooks with an optimizer and its closure, one set after the other.

    A step inside of a subclass's own step, which has called them, calls none.
    """
    if optimizer._is_stepping:
        return
    for hook in [*first.values(), *then.values()]:
        hook(optimizer, (closure,), {})


class HookedSteps:
    """Mixin of optimizers: hooks around a step, those of a subclass's own step included."""

    _is_stepping = False
    """Whether a subclass's own step is under way, which calls the hooks."""
    _shared: StepHooks
    _before: dict[int, Callable]
    _after: dict[int, Callable]

    def _patch_step_function(self) -> None:
        """Prepare the hooks of an optimizer, and have the step of its class call them."""
        self._shared, self._before, self._after = hooks_of_all(), {}, {}
        cls: Any = type(self)
        if not cls.step.__module__.startswith("gnomon."):
            cls.step = with_hooks(cls.step)

    def register_step_pre_hook(self, hook: Callable) -> Handle:
        """Call hook(optimizer, args, kwargs) before every step."""
        return attach(self._before, hook)

    def register_step_post_hook(self, hook: Callable) -> Handle:
        """Call hook(optimizer, args, kwargs) after every step."""
        return attach(self._after, hook)


def with_hooks(step: Callable) -> Callable:
    """A step of a subclass that calls the hooks before and after it."""

    @wraps(step)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        shared = self._shared
        if self._is_stepping or not any((shared.before, self._before, self._after, shared.after)):
            return step(self, *args, **kwargs)
        for hook in [*shared.before.values(), *self._before.values()]:
            hook(self, args, kwargs)
        self._is_stepping = True
        try:
            loss = step(self, *args, **kwargs)
        finally:
            self._is_stepping = False
        for hook in [*self._after.values(), *shared.after.values()]:
            hook(self, args, kwargs)
        return loss

    call.__module__ = __name__
    return call


def register_optimizer_step_pre_hook(hook: Callable) -> Handle:
    """Call hook(optimizer, args, kwargs) before every step of any optimizer."""
    return attach(everywhere.before, hook)


def register_optimizer_step_post_hook(hook: Callable) -> Handle:
    """Call hook(optimizer, args, kwargs) after every step of any optimizer."""
    return attach(everywhere.after, hook)
