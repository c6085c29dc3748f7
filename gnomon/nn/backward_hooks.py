"""Backward hooks of modules, with the gradients of outputs and inputs.

A call's tensors pass through a function whose gradient calls the hooks. Hooks of single tensors are
in tensor/autograd/hooks.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.errors import GradientError
from gnomon.tensor.autograd.function import Function
from gnomon.tensor.creation import zeros
from gnomon.tensor.state import grads
from gnomon.tensor.tensor import Tensor

GradientTuple = tuple[Tensor | None, ...]


class HookedCall:
    """One call of a module with backward hooks: the hooks, and the outputs' gradients once set."""

    def __init__(
        self, module: Any, before: dict[int, Callable], after: dict[int, Callable]
    ) -> None:
        self.module = module
        self.before, self.after = [*before.values()], [*after.values()]
        self.outputs: GradientTuple | None = None
        self.count, self.places = 0, None
        self.kinds: list[tuple | None] = []
        """Shapes and dtypes of floating-point inputs; hooks get zeros for a missing gradient."""

    def inputs_of(self, given: tuple) -> tuple:
        """The call's inputs, connected so that hooks receive their gradients."""
        self.count = len(given)
        made, self.places = passed_on(given, self._at_inputs)
        self.kinds = [(x.shape, x.dtype) if is_float(x) else None for x in given]
        return made

    def output_of(self, output: Any) -> Any:
        """Attach the hooks to the gradients of a call's output."""
        given = output if isinstance(output, tuple) else (output,)
        made, _ = passed_on(given, self._at_outputs)
        if not isinstance(output, tuple):
            return made[0]
        return type(output)(*made) if hasattr(output, "_fields") else made

    def _at_outputs(self, gradients: GradientTuple) -> GradientTuple:
        """Run the pre-hooks on the gradients of all outputs; returns the possibly changed ones."""
        for hook in self.before:
            answer = hook(self.module, gradients)
            gradients = gradients if answer is None else as_tuple_of(answer, gradients, "pre hook")
        self.outputs = gradients
        if self.places is None:  # no input has a gradient: there is nothing to wait for
            for hook in self.after:
                answer = hook(self.module, (None,) * self.count, gradients)
                if answer is not None and any(x is not None for x in answer):
                    raise GradientError(
                        "full backward hook: no input of the module requires a gradient, and the "
                        "hook gives one. Return None, or a tuple of None."
                    )
            self.outputs = None
        return gradients

    def _at_inputs(self, gradients: GradientTuple) -> GradientTuple:
        """Run the hooks on the gradients of all inputs; returns the possibly changed ones."""
        if self.outputs is None:
            return gradients  # a gradient came past the outputs, as those of gradients do
        gradients = tuple(
            zeros(kind[0], dtype=kind[1]) if g is None and kind else g
            for g, kind in zip(gradients, self.kinds, strict=True)
        )
        for hook in self.after:
            answer = hook(self.module, gradients, self.outputs)
            gradients = gradients if answer is None else as_tuple_of(answer, gradients, "hook")
        self.outputs = None
        return gradients


class Passed(Function):
    """The identity of tensors, whose gradients go through a function that may change them."""

    calls_hooks = True

    @staticmethod
    def forward(context: Any, through: Callable[[list], list], *tensors: Tensor) -> tuple:
        """Return the tensors unchanged; only those that need gradients are differentiable."""
        context.through, wanted = through, context.needs_input_grad[1:]
        context.set_materialize_grads(False)
        silent = [x for x, needed in zip(tensors, wanted, strict=True) if not needed]
        context.mark_non_differentiable(*silent)
        return tensors

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple:
        """The gradients, changed by the function."""
        return (None, *context.through([*gradients]))


def passed_on(given: tuple, change: Callable[[GradientTuple], GradientTuple]) -> tuple[tuple, Any]:
    """A call's arguments with `change` applied to their gradients, and the tensors' positions.

    If no tensor requires a gradient, the arguments are returned unchanged, with None for positions.
    """
    places = [k for k, x in enumerate(given) if isinstance(x, Tensor)]
    tensors = [given[k] for k in places]
    if not (grads.get() and any(x.requires_grad for x in tensors)):
        return given, None

    def through(gradients: list[Tensor | None]) -> list[Tensor | None]:
        whole: list[Tensor | None] = [None] * len(given)
        for k, gradient in zip(places, gradients, strict=True):
            whole[k] = gradient
        changed = change(tuple(whole))
        return [changed[k] for k in places]

    made = [*given]
    for k, x in zip(places, Passed.apply(through, *tensors), strict=True):
        made[k] = x
    return tuple(made), places


def is_float(value: Any) -> bool:
    """Whether a value is a floating-point tensor."""
    return isinstance(value, Tensor) and value.dtype.is_floating_point


def as_tuple_of(answer: Any, gradients: GradientTuple, what: str) -> GradientTuple:
    """The gradients returned by a hook as a tuple, whose number is checked."""
    found = answer if isinstance(answer, tuple) else (answer,)
    if len(found) != len(gradients):
        raise GradientError(
            f"full backward {what}: returned {len(found)} gradients where there are "
            f"{len(gradients)}."
        )
    return found
