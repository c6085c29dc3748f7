"""Lazy layers, which take a size from their first input and become plain layers.

Until then their parameters have no shapes; they stay the same objects afterwards, so that an
optimizer can be made before.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import getdoc, signature
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    Convolution,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from gnomon.nn.linear import Linear
from gnomon.nn.module import Module
from gnomon.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from gnomon.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import zeros_like
from gnomon.tensor.device import CPU, META
from gnomon.tensor.tensor import Tensor


class LazyModuleMixin(Module):
    """Base of modules whose parameters' shapes follow from the first input.

    Put it before the layer's class in the bases of a module, which registers parameters and buffers
    without shapes and defines `initialize_parameters`. After the first call the module is of class
    `cls_to_become`, if that is set.

    Shapes: as forward says.

    >>> class Scale(LazyModuleMixin):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = UninitializedParameter()
    ...
    ...     def initialize_parameters(self, x):
    ...         self.weight.materialize(x.shape[-1:])
    ...
    ...     def forward(self, x):
    ...         return x + self.weight
    >>> Scale()(ones(2, 3)).shape
    Size([2, 3])
    """

    cls_to_become: Any = None

    def __init__(self, *settings: Any, **named: Any) -> None:
        super().__init__(*settings, **named)
        self._until_called = self.register_forward_pre_hook(first_call, with_kwargs=True)

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def initialize_parameters(self, *inputs: Any, **named: Any) -> None:
        """Set the shapes and first values of parameters from the inputs of forward."""
        raise NotImplementedError(
            f"initialize_parameters: {type(self).__name__} does not define it."
        )


class LazyLayer(LazyModuleMixin):
    """A layer whose constructor omits the input's size.

    Shapes: input (*s) -> (*t)

    >>> layer = LazyLinear(2)
    >>> layer.has_uninitialized_params(), layer(ones(4, 3)).shape, type(layer).__name__
    (True, Size([4, 2]), 'Linear')
    """

    OWN: Mapping[str, Any] = {}
    """Settings with defaults other than the class's."""

    def __init__(self, *settings: Any, **named: Any) -> None:
        given = list(signature(self.cls_to_become.__init__).parameters)[2 : 2 + len(settings)]
        named = {k: x for k, x in self.OWN.items() if k not in given} | named
        with META:  # nothing is drawn for what has no elements
            super().__init__(0, *settings, **named)
        self._given = settings, named
        for place, kind in ((self._parameters, UninitializedParameter), (self._buffers, None)):
            for name, value in place.items():
                if value is not None and value.dtype.is_floating_point:
                    place[name] = (kind or UninitializedBuffer)(dtype=value.dtype)
                elif value is not None:
                    place[name] = zeros_like(value, device=CPU)

    def initialize_parameters(self, input: Tensor) -> None:
        """Set the shapes and first values of parameters from an input."""
        size = input.shape[channel_axis(self.cls_to_become, input)]
        settings, named = vars(self).pop("_given")
        plain = self.cls_to_become(size, *settings, **named)
        setattr(self, size_of(self.cls_to_become), size)
        with no_grad():
            kept: dict[str, Any] = {**self._parameters, **self._buffers}
            for name, value in (*plain._parameters.items(), *plain._buffers.items()):
                if is_lazy(kept[name]):
                    kept[name].materialize(tuple(value.shape))
                    kept[name].copy_(value)


def first_call(module: Any, inputs: tuple, named: dict[str, Any]) -> None:
    """Initialize a lazy module before its first forward, and change its class."""
    module.initialize_parameters(*inputs, **named)
    if module.has_uninitialized_params():
        raise ArgumentError(
            f"{type(module).__name__}: parameters or buffers are without shapes behind "
            "initialize_parameters. Materialize all of them there."
        )
    module._until_called.remove()
    del module._until_called
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def channel_axis(kind: Any, input: Tensor) -> int:
    """The axis of an input's channels for a class of layers."""
    if issubclass(kind, Linear):
        return -1
    return -1 - kind.COUNT if issubclass(kind, Convolution) else 1


def size_of(kind: type[Module]) -> str:
    """The name of the constructor's first argument of a class."""
    return list(signature(kind.__init__).parameters)[1]


def lazy(kind: type[Module], *example: str, **own: Any) -> type[Module]:
    """Make the lazy class of a layer's class.

    example: the settings and the input's shape in the docstring's example. own: settings whose
    defaults differ from the class's.
    """
    name, settings, shape = f"Lazy{kind.__name__}", *example
    shapes = next(part for part in (getdoc(kind) or "").split("\n\n") if part.startswith("Shapes:"))
    body = {
        "cls_to_become": kind,
        "OWN": own,
        "__module__": __name__,
        "__doc__": f"""{kind.__name__} that takes `{size_of(kind)}` from its first input.

    {shapes.replace(size_of(kind), "c")}

    >>> layer = {name}({settings})
    >>> layer(ones({shape})).shape[0], layer.{size_of(kind)}
    (2, 3)
    """,
    }
    return type(name, (LazyLayer, kind), body)


LazyLinear = lazy(Linear, "4", "2, 3")
LazyConv1d = lazy(Conv1d, "4, 1", "2, 3, 5")
LazyConv2d = lazy(Conv2d, "4, 1", "2, 3, 5, 5")
LazyConv3d = lazy(Conv3d, "4, 1", "2, 3, 5, 5, 5")
LazyConvTranspose1d = lazy(ConvTranspose1d, "4, 1", "2, 3, 5")
LazyConvTranspose2d = lazy(ConvTranspose2d, "4, 1", "2, 3, 5, 5")
LazyConvTranspose3d = lazy(ConvTranspose3d, "4, 1", "2, 3, 5, 5, 5")
LazyBatchNorm1d = lazy(BatchNorm1d, "", "2, 3")
LazyBatchNorm2d = lazy(BatchNorm2d, "", "2, 3, 5, 5")
LazyBatchNorm3d = lazy(BatchNorm3d, "", "2, 3, 5, 5, 5")
INSTANCES = {"affine": True, "track_running_stats": True}
"""Defaults of PyTorch's lazy instance norms, unlike those of the plain ones."""
LazyInstanceNorm1d = lazy(InstanceNorm1d, "", "2, 3, 5", **INSTANCES)
LazyInstanceNorm2d = lazy(InstanceNorm2d, "", "2, 3, 5, 5", **INSTANCES)
LazyInstanceNorm3d = lazy(InstanceNorm3d, "", "2, 3, 5, 5, 5", **INSTANCES)
