"""Modules whose activations are recomputed, or kept elsewhere, by PyTorch's wrappers.

What is recomputed is gnomon/utils/checkpoint.py's; the wrappers change no name in a state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import partial
from typing import Any

from gnomon.distributed.wrapping import (
    Policy,
    WrapperModule,
    WrapPolicy,
    apply_policy,
    lambda_auto_wrap_policy,
)
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.autograd.graph import save_on_cpu
from gnomon.utils.checkpoint import checkpoint

__all__ = [
    "ActivationWrapper",
    "CheckpointImpl",
    "CheckpointWrapper",
    "OffloadWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
    "offload_wrapper",
]

INNER = "_checkpoint_wrapped_module"


class CheckpointImpl(Enum):
    """PyTorch's two implementations of recomputation, which are one."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class ActivationWrapper(WrapperModule):
    """Base of wrappers that set how a module's activations are stored."""

    inner = INNER

    def named_parameters(self, *given: Any, **named: Any) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths in the plain module."""
        for name, value in super().named_parameters(*given, **named):
            yield name.replace(f"{INNER}.", ""), value


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations are recomputed for gradients.

    Shapes: input (*s) -> (*t)

    >>> import gnomon as gn
    >>> model = CheckpointWrapper(gn.nn.Linear(3, 2))
    >>> model(gn.ones(4, 3)).shape, sorted(model.state_dict())
    (Size([4, 2]), ['bias', 'weight'])
    """

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        self.checkpoint_fn = partial(checkpoint_fn or checkpoint, **checkpoint_fn_kwargs)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The module's result."""
        return self.checkpoint_fn(self._modules[INNER], *inputs, **named)


class OffloadWrapper(ActivationWrapper):
    """A module whose activations are in main memory, as they all are.

    Shapes: input (*s) -> (*t)

    >>> import gnomon as gn
    >>> OffloadWrapper(gn.nn.Linear(3, 2))(gn.ones(4, 3)).shape
    Size([4, 2])
    """

    def __init__(self, mod: Module) -> None:
        super().__init__(mod)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The module's result."""
        with save_on_cpu():
            return self._modules[INNER](*inputs, **named)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """Wrap a module to recompute its activations, by checkpoint_fn if given.

    >>> from gnomon.nn import Linear
    >>> checkpoint_wrapper(Linear(3, 2)).in_features
    3
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def offload_wrapper(module: Module) -> Module:
    """Wrap a module to store its activations in main memory."""
    return OffloadWrapper(module)


def every_module(module: Module) -> bool:
    """Return True for every module."""
    return True


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = every_module,
    auto_wrap_policy: Policy | WrapPolicy | None = None,
) -> None:
    """Wrap modules inside of a model that check_fn or a policy selects.

    >>> from gnomon.nn import Linear, Sequential
    >>> model = Sequential(Linear(3, 2))
    >>> apply_activation_checkpointing(model, check_fn=lambda m: isinstance(m, Linear))
    >>> type(model[0]).__name__
    'CheckpointWrapper'
    """
    by_check = partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    apply_policy(model, auto_wrap_policy or by_check, checkpoint_wrapper_fn)
