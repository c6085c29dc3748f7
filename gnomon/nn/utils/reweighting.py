"""The older weight_norm and spectral_norm with their state_dict keys: hooks set the weight.

New programs should use those of parametrizations.py.
"""

from __future__ import annotations

from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.functional import normalize
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter, is_lazy
from gnomon.nn.utils.parametrizations import as_matrix, gain, rows_of
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.composites import norm_except_dim
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.random import randn
from gnomon.tensor.tensor import Tensor


class Reweighting:
    """Base of forward pre-hooks that compute a weight and set it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Module, inputs: Any) -> None:
        """Compute and set the weight."""
        setattr(module, self.name, self.compute(module))

    def compute(self, module: Module) -> Tensor:
        """The weight, computed from the module's parameters."""
        raise NotImplementedError

    def attach(self, module: Module) -> Module:
        """Compute the weight now, and before every forward."""
        self(module, None)
        self.handle = module.register_forward_pre_hook(self)
        return module

    def detach(self, module: Module, names: tuple[str, ...]) -> Module:
        """Remove the hook, and make the present weight a parameter."""
        with no_grad():
            value = self.compute(module).detach().clone()
        self.handle.remove()
        for name in (self.name, *names):
            delattr(module, name)
        module.register_parameter(self.name, Parameter(value))
        return module


class WeightNormHook(Reweighting):
    """A hook that computes a weight as norms times directions."""

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = dim

    def compute(self, module: Module) -> Tensor:
        """The weight of norms and directions."""
        g, v = (getattr(module, f"{self.name}_{part}") for part in "gv")
        return v * (g / norm_except_dim(v, dim=self.dim))


class SpectralNormHook(Reweighting):
    """A hook that divides a weight by its largest singular value."""

    def __init__(self, name: str, count: int, dim: int, eps: float) -> None:
        super().__init__(name)
        self.count, self.dim, self.eps = count, dim, eps

    def compute(self, module: Module) -> Tensor:
        """The weight divided by its largest singular value; iterates in training."""
        weight = getattr(module, f"{self.name}_orig")
        kept = [getattr(module, f"{self.name}_{part}") for part in "uv"]
        matrix = as_matrix(weight, self.dim)
        if module.training:
            with no_grad():
                u, v = kept
                for _ in range(self.count):
                    v = normalize(FUNCTIONS["mv"](matrix.mT, u), dim=0, eps=self.eps)
                    u = normalize(FUNCTIONS["mv"](matrix, v), dim=0, eps=self.eps)
                for old, new in zip(kept, (u, v), strict=True):
                    old.copy_(new)
        return weight / gain(matrix, *(x.clone() for x in kept))


def taken(module: Module, name: str) -> Parameter:
    """Remove a parameter from a module, and return it."""
    found = module._parameters.get(name)
    if found is None:
        raise ArgumentError(f"{type(module).__name__} has no parameter {name!r}.")
    if is_lazy(found):
        raise ArgumentError(
            f"{type(module).__name__}: its {name!r} has no shape yet. Call the module once first."
        )
    return module._parameters.pop(name)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a module's weight as norms `weight_g` times directions `weight_v`."""
    weight = taken(module, name)
    module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight.detach(), dim=dim)))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    return WeightNormHook(name, dim).attach(module)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Compute a module's weight as `weight_orig` divided by its largest singular value."""
    rows, weight = rows_of(module, dim), taken(module, name)
    module.register_parameter(f"{name}_orig", weight)
    for part, size in zip("uv", as_matrix(weight.detach(), rows).shape, strict=True):
        start = randn(size, dtype=weight.dtype)
        module.register_buffer(f"{name}_{part}", normalize(start, dim=0, eps=eps))
    return SpectralNormHook(name, n_power_iterations, rows, eps).attach(module)


def hook_of(module: Module, kind: type[Reweighting], name: str) -> Reweighting:
    """The hook that computes a weight; ArgumentError without one."""
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, kind) and hook.name == name:
            return hook
    raise ArgumentError(f"{kind.__name__}: nothing computes {name!r} in this module.")


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Remove weight normalization; the weight becomes a parameter with its present value."""
    return hook_of(module, WeightNormHook, name).detach(module, (f"{name}_g", f"{name}_v"))


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Remove spectral normalization; the weight becomes a parameter with its present value."""
    names = tuple(f"{name}_{part}" for part in ("orig", "u", "v"))
    return hook_of(module, SpectralNormHook, name).detach(module, names)
