"""torch.nn.utils.prune: parameters times masks, with PyTorch's names and state_dict keys.

A pruned `weight` is a parameter `weight_orig` times a buffer `weight_mask`, set by a hook before
every forward. Pruning again considers only the elements that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.nn.utils.reweighting import taken
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import ones_like
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.random import rand
from gnomon.tensor.tensor import Tensor, array_of, from_array


def count_of(amount: float, size: int) -> int:
    """The number of entries to prune out of `size`, from a fraction or a number."""
    if not 0 <= amount <= (size if isinstance(amount, int) else 1):
        raise ArgumentError(
            f"prune: amount must be a share, or a number up to {size}: got {amount!r}."
        )
    return amount if isinstance(amount, int) else round(amount * size)


class BasePruningMethod:
    """Base of pruning methods: set PRUNING_TYPE and define compute_mask."""

    PRUNING_TYPE = "global"
    _tensor_name: str
    handle: Any

    def __call__(self, module: Module, inputs: Any) -> None:
        """Set the parameter to its masked value, before each forward."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The new mask for a tensor of scores, from the previous mask."""
        raise NotImplementedError

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter times its mask."""
        original, mask = (getattr(module, f"{self._tensor_name}_{x}") for x in ("orig", "mask"))
        return original * mask.to(original.dtype)

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a module's parameter; of an already pruned one, the remaining entries."""
        before = next((hook for hook in hooks_of(module) if hook._tensor_name == name), None)
        method = cls(*args, **kwargs)
        method._tensor_name = name
        current = getattr(module, name).detach()
        hook = method if before is None else PruningContainer(before, method)
        known = ones_like(current) if before is None else getattr(module, f"{name}_mask").clone()
        scores = current if importance_scores is None else importance_scores
        mask = hook.compute_mask(scores.detach(), known).to(current.dtype)
        if before is None:
            module.register_parameter(f"{name}_orig", taken(module, name))
        else:
            before.handle.remove()
        module.register_buffer(f"{name}_mask", mask)
        hook(module, None)
        hook.handle = module.register_forward_pre_hook(hook)
        return hook

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """A tensor times its computed mask."""
        known = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, known)

    def remove(self, module: Module) -> None:
        """Make pruning permanent: the parameter keeps its masked values."""
        name = self._tensor_name
        with no_grad():
            value, original = self.apply_mask(module), module._parameters.pop(f"{name}_orig")
            original.copy_(value)
        self.handle.remove()
        delattr(module, name)
        del module._buffers[f"{name}_mask"]
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods, applied in turn."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: list[BasePruningMethod] = []
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method, or all methods of a container."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        name = getattr(method, "_tensor_name", None)
        own = self.__dict__.setdefault("_tensor_name", name)
        if own != name:
            raise ArgumentError(
                f"add_pruning_method: the container prunes {own!r}: got a method for {name!r}."
            )
        self._pruning_methods += method if isinstance(method, PruningContainer) else [method]

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, applied to the entries that the others left."""
        method, mask = self._pruning_methods[-1], array_of(default_mask.to(t.dtype)).copy()
        left: Any = mask == 1 if method.PRUNING_TYPE == "unstructured" else ...
        if method.PRUNING_TYPE == "structured":
            axis = method.dim % mask.ndim
            others = tuple(k for k in range(mask.ndim) if k != axis)
            left = (*[slice(None)] * axis, mask.any(axis=others))
        parts = from_array(array_of(t)[left].copy()), from_array(mask[left].copy())
        mask[left] = array_of(method.compute_mask(*parts))
        return from_array(mask)


class Identity(BasePruningMethod):
    """A pruning method that prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The previous mask."""
        return default_mask


class ByAmount(BasePruningMethod):
    """Base of methods that prune a number or a fraction of the entries of least score."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        count_of(amount, 1 << 62)
        self.amount = amount

    def scores(self, t: Tensor) -> Tensor:
        """The score of each entry or slice that may be pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The previous mask with 0 at the least scores."""
        scores = array_of(self.scores(t))
        mask = np.ones(scores.size, default_mask.dtype.numpy)
        count = count_of(self.amount, scores.size)
        mask[np.argsort(scores.reshape(-1), kind="stable")[:count]] = 0
        return default_mask * from_array(mask.reshape(scores.shape))


class RandomUnstructured(ByAmount):
    """Prune random elements."""

    def scores(self, t: Tensor) -> Tensor:
        """A random number for each element."""
        return rand(*t.shape)


class L1Unstructured(ByAmount):
    """Prune the elements of least magnitude."""

    def scores(self, t: Tensor) -> Tensor:
        """The elements' magnitudes."""
        return t.abs()


class RandomStructured(ByAmount):
    """Prune random slices along an axis."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def scores(self, t: Tensor) -> Tensor:
        """A random number for each slice."""
        return rand(*(size if k == self.dim % t.ndim else 1 for k, size in enumerate(t.shape)))


class LnStructured(RandomStructured):
    """Prune the slices along an axis with the least norms."""

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def scores(self, t: Tensor) -> Tensor:
        """The norm of each slice."""
        others = tuple(k for k in range(t.ndim) if k != self.dim % t.ndim)
        return FUNCTIONS["norm"](t, self.n, dim=others, keepdim=True)


class CustomFromMask(BasePruningMethod):
    """Prune by a given mask."""

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The given mask, applied to the entries that remain."""
        return default_mask * self.mask.to(default_mask.dtype)


def hooks_of(module: Module) -> list[BasePruningMethod]:
    """The pruning hooks of a module."""
    hooks = module._forward_pre_hooks.values()
    return [hook for hook in hooks if isinstance(hook, BasePruningMethod)]


def pruning_function(way: type[BasePruningMethod], text: str) -> Callable[..., Module]:
    """A function that prunes a module's parameter by a method, and returns the module."""

    def prune(module: Module, name: str, *args: Any, **kwargs: Any) -> Module:
        way.apply(module, name, *args, **kwargs)
        return module

    prune.__doc__ = text
    return prune


identity = pruning_function(Identity, "Give a parameter a mask of ones.")
random_unstructured = pruning_function(
    RandomUnstructured, "Prune a number, or a share, of a parameter's elements at random."
)
l1_unstructured = pruning_function(
    L1Unstructured, "Prune a number, or a share, of a parameter's elements: those next to 0."
)
random_structured = pruning_function(
    RandomStructured, "Prune a number, or a share, of slices along an axis at random."
)
ln_structured = pruning_function(
    LnStructured, "Prune a number, or a share, of slices along an axis: those of least norm."
)
custom_from_mask = pruning_function(CustomFromMask, "Prune a parameter where a mask is 0.")


def global_unstructured(
    parameters: Sequence[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune a number or a fraction of the elements of several parameters together."""
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise TypeError("prune: only an unstructured method can prune several parameters at once.")
    values = [getattr(module, name).detach() for module, name in parameters]
    given = importance_scores or {}
    scores = [given.get(pair, value) for pair, value in zip(parameters, values, strict=True)]
    masks = [
        getattr(module, f"{name}_mask", ones_like(value))
        for (module, name), value in zip(parameters, values, strict=True)
    ]
    joined = [FUNCTIONS["concat"]([x.reshape(-1) for x in each]) for each in (scores, masks)]
    whole = PruningContainer(pruning_method(**kwargs)).compute_mask(*joined)
    parts = FUNCTIONS["split"](whole, [value.numel() for value in values])
    for (module, name), value, part in zip(parameters, values, parts, strict=True):
        custom_from_mask(module, name, part.reshape(tuple(value.shape)))


def remove(module: Module, name: str) -> Module:
    """Make pruning permanent: the parameter becomes plain, with its zeros."""
    for hook in hooks_of(module):
        if hook._tensor_name == name:
            hook.remove(module)
            return module
    raise ArgumentError(
        f"prune: parameter {name!r} of module {module} has to be pruned before pruning can be "
        "removed."
    )


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module or a submodule is pruned.

    >>> from gnomon.nn import Linear
    >>> is_pruned(Linear(1, 1))
    False
    """
    return any(hooks_of(part) for part in module.modules())
