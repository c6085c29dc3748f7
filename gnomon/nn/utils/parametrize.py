"""Parameters that are computed from others: torch.nn.utils.parametrize's names and state_dict keys.

A module with such a parameter is of a class of its own, made here, on which the parameter is a
property; what it is computed from lies in `module.parametrizations`.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.containers import ModuleDict, ModuleList
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.state import ModeBlock
from gnomon.tensor.tensor import Tensor


class ParametrizationList(ModuleList):
    """The functions from originals to a parameter, one after another, and the originals."""

    def __init__(self, module: Module, original: Parameter) -> None:
        super().__init__([module])
        inverse = getattr(module, "right_inverse", None)
        with no_grad():
            start = original if inverse is None else inverse(original)
        self.is_tensor = isinstance(start, Tensor)
        names = ["original"] if self.is_tensor else [f"original{k}" for k in range(len(start))]
        for name, value in zip(names, [start] if self.is_tensor else start, strict=True):
            kept = Parameter(value.detach(), original.requires_grad)
            self.register_parameter(name, original if value is original else kept)
        self.names = names

    def forward(self) -> Tensor:
        """The parameter."""
        first, *others = self
        value = first(*(getattr(self, name) for name in self.names))
        for module in others:
            value = module(value)
        return value


_cache: ContextVar[dict | None] = ContextVar("gnomon_parametrize_cache", default=None)


class cached(ModeBlock):
    """Compute each parameter once inside this block.

    >>> with cached():
    ...     pass
    """

    def __enter__(self) -> None:
        known = _cache.get()
        self.enter({_cache: {} if known is None else known})


def type_before_parametrizations(module: Module) -> type:
    """The class of a module without what was made for its computed parameters.

    >>> from gnomon.nn import Linear
    >>> type_before_parametrizations(Linear(1, 1)).__name__
    'Linear'
    """
    return type(module).__mro__[1] if is_parametrized(module) else type(module)


def computed(name: str) -> property:
    """A parameter as a property."""

    def read(self: Module) -> Tensor:
        known, kept = _cache.get(), self.parametrizations[name]
        if known is None:
            return kept()
        if kept not in known:
            known[kept] = kept()
        return known[kept]

    def write(self: Module, value: Tensor) -> None:
        kept = self.parametrizations[name]
        for module in reversed(list(kept)):
            value = module.right_inverse(value)
        with no_grad():
            for original, part in zip(
                kept.names, [value] if kept.is_tensor else value, strict=True
            ):
                getattr(kept, original).copy_(part)

    return property(read, write, doc="Computed from its originals.")


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter be computed by a module from what its right_inverse gives."""
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    original = module._parameters.get(tensor_name)
    if original is None:
        raise ArgumentError(
            f"register_parametrization: {type(module).__name__} has no parameter {tensor_name!r}."
        )
    if not is_parametrized(module):
        own = type(f"Parametrized{type(module).__name__}", (type(module),), {})
        own.__module__ = type(module).__module__
        module.__class__ = own
        module.parametrizations = ModuleDict()
    made = ParametrizationList(parametrization, original)
    del module._parameters[tensor_name]
    setattr(type(module), tensor_name, computed(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a parameter, or any, is computed."""
    found = module._modules.get("parametrizations")
    return isinstance(found, ModuleDict) and (tensor_name is None or tensor_name in found)


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a parameter plain again, with the value that it has, or its original's."""
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(f"remove_parametrizations: {tensor_name!r} is not parametrized.")
    kept = module.parametrizations[tensor_name]
    with no_grad():
        value: Any = kept() if leave_parametrized else kept.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    module.register_parameter(tensor_name, Parameter(value.detach().clone()))
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module).__mro__[1]
    return module
