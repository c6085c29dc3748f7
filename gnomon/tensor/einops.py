"""einops on tensors: a backend that registers itself as soon as einops is there.

einops looks through the subclasses of its AbstractBackend, so one must exist before its first call;
importing einops for that would load it for everybody. So its import is watched instead.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gnomon.lazy import Lazy
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec

imports = Lazy("importlib.util")

MODULE = "einops._backends"


def register(backends: ModuleType) -> None:
    """Define einops' backend for tensors, as a subclass of its base class."""

    class EinopsBackend(backends.AbstractBackend):
        framework_name = "gnomon"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def arange(self, start: int, stop: int) -> Tensor:
            return sys.modules["gnomon"].arange(start, stop)

        def stack_on_zeroth_dimension(self, tensors: list) -> Tensor:
            return FUNCTIONS["stack"](tensors)

        def tile(self, x: Tensor, repeats: tuple) -> Tensor:
            return FUNCTIONS["tile"](x, repeats)

        def concat(self, tensors: list, axis: int) -> Tensor:
            return FUNCTIONS["cat"](tensors, axis)

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return FUNCTIONS["unsqueeze"](x, new_position)

        def add_axes(self, x: Tensor, n_axes: int, pos2len: dict) -> Tensor:
            for place in sorted(pos2len):
                x = FUNCTIONS["unsqueeze"](x, place)
            sizes = [pos2len.get(k, n) for k, n in enumerate(x.shape)]
            return FUNCTIONS["expand"](x, sizes)

        def reduce(self, x: Tensor, operation: str, axes: tuple) -> Tensor:
            for axis in sorted(axes, reverse=True):
                x = FUNCTIONS[operation](x, axis=axis)
            return x

        def transpose(self, x: Tensor, axes: tuple) -> Tensor:
            return FUNCTIONS["permute"](x, tuple(axes))

        def is_float_type(self, x: Tensor) -> bool:
            return x.dtype.is_floating_point

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return FUNCTIONS["einsum"](pattern, *x)

    # subclasses are held weakly: the module that looks for it keeps it alive
    backends.GnomonBackend = EinopsBackend


class Watcher:
    """An import hook that registers the backend once einops is imported."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module's spec, with a loader that also registers the backend."""
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = imports.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = Registering(spec.loader)
        return spec


class Registering:
    """A loader that registers the backend after it loaded the module."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module by the true loader."""
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module by the true loader; then register."""
        self.loader.exec_module(module)
        register(module)


def install() -> None:
    """Register the backend now if einops is imported, or as soon as it is."""
    if MODULE in sys.modules:
        register(sys.modules[MODULE])
    else:
        sys.meta_path.insert(0, Watcher())


install()
