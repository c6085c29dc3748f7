"""Parameters computed from others: torch.nn.utils.parametrize's names and state_dict keys.

A module with such a parameter gets a class of its own, in which the parameter is a property; the
originals are stored in `module.parametrizations`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
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
    """The originals of a parameter, and the modules that compute it from them in turn."""

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not len(modules):
            raise ArgumentError("ParametrizationList: needs at least one module: got none.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            start: Any = original
            for module in reversed(self):
                start = right_inverse_of(module, start, start)
        self.is_tensor = isinstance(start, Tensor)
        if not self.is_tensor and not isinstance(start, Sequence):
            raise ArgumentError(f"right_inverse: gives one or several tensors: got {kind(start)}.")
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            check_like("right_inverse", start, None, dtype)
            copy_into(original, start)  # an optimizer may have it
            register_value(self, "original", original)
        else:
            for name, value in zip(self.names, start, strict=True):
                register_value(self, name, as_original(value, original))
        if not unsafe:
            check_like("register_parametrization", self(), shape, dtype)

    @property
    def names(self) -> list[str]:
        """The names of the originals."""
        return ["original"] if self.is_tensor else [f"original{k}" for k in range(self.ntensors)]

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that they give this value."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise ArgumentError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse, so its parameter cannot be set."
                    )
                value = module.right_inverse(value)
            value = (value,) if self.is_tensor else value
            if not isinstance(value, Sequence) or len(value) != self.ntensors:
                count = len(value) if isinstance(value, Sequence) else kind(value)
                raise ArgumentError(
                    f"right_inverse: {self.ntensors} tensors are kept: got {count}."
                )
            for name, part in zip(self.names, value, strict=True):
                original = getattr(self, name)
                check_like("right_inverse", part, None, original.dtype)
                copy_into(original, part)

    def forward(self) -> Tensor:
        """The parameter, computed from its originals."""
        first, *others = self
        value = first(*(getattr(self, name) for name in self.names))
        for module in others:
            value = module(value)
        return value


def kind(value: Any) -> str:
    """The name of a value's class, for an error message."""
    return type(value).__name__


def right_inverse_of(module: Module, value: Any, otherwise: Any) -> Any:
    """The result of a parametrization's right_inverse, or `otherwise` if it has none."""
    inverse = getattr(module, "right_inverse", None)
    try:
        return otherwise if inverse is None else inverse(value)
    except NotImplementedError:
        return otherwise


def check_like(name: str, value: Any, shape: Any, dtype: Any) -> None:
    """Refuse a value that is no tensor of this dtype and shape (None: any shape)."""
    if not isinstance(value, Tensor):
        raise ArgumentError(f"{name}: a parametrization gives a tensor: got {kind(value)}.")
    if value.dtype != dtype or (shape is not None and value.shape != shape):
        wanted = dtype if shape is None else f"{dtype} of {tuple(shape)}"
        raise ArgumentError(
            f"{name}: a parametrization keeps the shape and dtype, {wanted}: got {value.dtype} of "
            f"{tuple(value.shape)}. unsafe=True allows others."
        )


def copy_into(original: Tensor, value: Tensor) -> None:
    """Copy another tensor's values and shape into a tensor in place."""
    if original is not value:
        with no_grad():
            original.data = value.detach().clone()


def as_original(value: Any, original: Tensor) -> Tensor:
    """One of several originals: a parameter if they replace one, else a tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentError(f"right_inverse: gives one or several tensors: got a {kind(value)}.")
    if isinstance(original, Parameter):
        return Parameter(value.detach(), original.requires_grad)
    return value.detach().requires_grad_(original.requires_grad)


def register_value(module: Module, name: str, value: Tensor) -> None:
    """Register a value on a module as a parameter or a buffer."""
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


_cache: ContextVar[dict | None] = ContextVar("gnomon_parametrize_cache", default=None)


class cached(ModeBlock):
    """A context in which each parametrized parameter is computed only once.

    >>> with cached():
    ...     pass
    """

    def __enter__(self) -> None:
        known = _cache.get()
        self.enter({_cache: {} if known is None else known})


def type_before_parametrizations(module: Module) -> type:
    """The class of a module before parametrizations were registered.

    >>> from gnomon.nn import Linear
    >>> type_before_parametrizations(Linear(1, 1)).__name__
    'Linear'
    """
    return type(module).__mro__[1] if is_parametrized(module) else type(module)


def parametrized_property(name: str) -> property:
    """The property that computes a parametrized parameter, and sets it by right_inverse."""

    def read(self: Module) -> Tensor:
        known, kept = _cache.get(), self.parametrizations[name]
        if known is None:
            return kept()
        if kept not in known:
            known[kept] = kept()
        return known[kept]

    def write(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, write, doc="Computed from its originals.")


class Parametrized:
    """The methods of the classes made for parametrized modules."""

    def __getstate__(self) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict()."
        )

    def __deepcopy__(self, copied: dict) -> Any:
        made = copied[id(self)] = type(self).__new__(type(self))
        made.__dict__.update(copy.deepcopy(self.__dict__, copied))
        return made


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace a parameter or buffer by one that a module computes from stored originals."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            value = getattr(module, tensor_name)
            made, like = parametrization(value), (value.shape, value.dtype)
            check_like("register_parametrization", made, *like)
            check_like("right_inverse", right_inverse_of(parametrization, made, value), *like)
        kept = module.parametrizations[tensor_name]
        kept.append(parametrization)
        kept.unsafe |= unsafe
        return module
    place = next((x for x in (module._parameters, module._buffers) if tensor_name in x), None)
    if place is None or place[tensor_name] is None:
        raise ArgumentError(
            f"register_parametrization: {type(module).__name__} has no parameter or buffer "
            f"{tensor_name!r}."
        )
    made = ParametrizationList([parametrization], place[tensor_name], unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        words = {"__module__": type(module).__module__}
        words |= {name: vars(Parametrized)[name] for name in ("__getstate__", "__deepcopy__")}
        module.__class__ = type(f"Parametrized{type(module).__name__}", (type(module),), words)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, parametrized_property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrized parameter, or that of this name."""
    found = module._modules.get("parametrizations")
    return isinstance(found, ModuleDict) and (tensor_name is None or tensor_name in found)


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Replace a parametrized parameter by a plain one with its value, or its original's."""
    if not is_parametrized(module, tensor_name):
        raise ArgumentError(f"remove_parametrizations: {tensor_name!r} is not parametrized.")
    kept = module.parametrizations[tensor_name]
    if not (kept.is_tensor or leave_parametrized):
        raise ArgumentError(
            f"remove_parametrizations: {tensor_name!r} is computed from {kept.ntensors} tensors, "
            "none of which can take its place. Use leave_parametrized=True."
        )
    with no_grad():
        value: Any = getattr(module, tensor_name) if leave_parametrized else None
        plain = kept.original if kept.is_tensor else value
        if kept.is_tensor and leave_parametrized:
            copy_into(plain, value)
    if not kept.is_tensor:
        wanted = any(getattr(kept, name).requires_grad for name in kept.names)
        plain = Parameter(value.detach()) if wanted else value
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    register_value(module, tensor_name, plain)
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module).__mro__[1]
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy a module's parametrizations, and the tensors they need, to another module."""
    if not is_parametrized(from_module):
        return to_module
    names = [*from_module.parametrizations] if tensor_name is None else [tensor_name]
    for name in names:
        theirs = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            value = getattr(from_module, name).detach().clone()
            of_buffer = theirs.names[0] in theirs._buffers
            register_value(to_module, name, value if of_buffer else Parameter(value))
        for function in theirs:
            register_parametrization(to_module, name, function, unsafe=theirs.unsafe)
        ours = to_module.parametrizations[name]
        for original in theirs.names if hasattr(ours, theirs.names[0]) else ():
            setattr(ours, original, getattr(theirs, original))
    return to_module
