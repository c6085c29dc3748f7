"""Traverse a module's submodules, parameters and buffers, with their paths.

Each is visited once, however often it is used, in the order of assignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor


class Walked:
    """Base of Module with the iterations over submodules, parameters and buffers."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The module and all its submodules with paths, each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """The module and all its submodules, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct submodules with their names, each once."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Any]:
        """The direct submodules, each once."""
        return (module for _, module in self.named_children())

    def _named(
        self, place: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        """Parameters or buffers with their paths; shared ones once with remove_duplicate."""
        seen: set[int] = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in owners:
            for name, value in getattr(module, place).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths; shared ones once by default."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, each once."""
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths; shared ones once by default."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, each once."""
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Any:
        """The submodule at a path."""
        found = self
        for name in filter(None, target.split(".")):
            found = getattr(found, name)
            if not isinstance(found, Walked):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Replace the submodule at a path, or add one unless strict."""
        path, _, name = target.rpartition(".")
        if not target:
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Walked):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        owner = self.get_submodule(path)
        if strict and not hasattr(owner, name):
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if not isinstance(getattr(owner, name, module), Walked):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(owner, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path."""
        path, _, name = target.rpartition(".")
        return parameter_or_buffer(self.get_submodule(path), "_parameters", name)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        path, _, name = target.rpartition(".")
        return parameter_or_buffer(self.get_submodule(path), "_buffers", name)


def parameter_or_buffer(module: Any, kind: str, name: str) -> Any:
    """The parameter or buffer of a name; raises AttributeError if there is none."""
    if name not in getattr(module, kind):
        what = kind.strip("_").removesuffix("s")
        raise AttributeError(f"{type(module).__name__} has no {what} `{name}`")
    return getattr(module, kind)[name]
