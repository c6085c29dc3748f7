"""Containers: modules and parameters in lists, dicts and sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gnomon.nn.module import Module, name_part
from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor


def renumbered(owner: Module, modules: Iterable[Module]) -> None:
    """Keep these modules under 0, 1, 2 and so on."""
    owner._modules.clear()
    for number, module in enumerate(modules):
        owner.add_module(str(number), module)


class NumberedContainer(Module):
    """Base of containers whose modules have numbers."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: int | slice) -> Any:
        found = list(self._modules.values())[index]
        return type(self)(*self._as_arguments(found)) if isinstance(index, slice) else found

    def _as_arguments(self, modules: list[Module]) -> tuple:
        return (modules,)

    def __setitem__(self, index: int, module: Module) -> None:
        self.add_module(list(self._modules)[index], module)

    def __delitem__(self, index: int | slice) -> None:
        kept = list(self._modules.values())
        del kept[index]
        renumbered(self, kept)

    def append(self, module: Module) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before a place."""
        kept = list(self._modules.values())
        kept.insert(index, module)
        renumbered(self, kept)
        return self

    def pop(self, index: int = -1) -> Module:
        """Take a module out."""
        found = self[index]
        del self[index]
        return found


class Sequential(NumberedContainer):
    """Modules called one after another.

    >>> Sequential(Module(), Module())[1]
    Module()
    >>> len(Sequential(Module(), Module()))
    2
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            renumbered(self, modules)

    def _as_arguments(self, modules: list[Module]) -> tuple:
        return tuple(modules)

    def forward(self, input: Any) -> Any:
        """The last module's output."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(NumberedContainer):
    """Modules in a list.

    >>> len(ModuleList([Module(), Module()]))
    2
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        renumbered(self, modules or ())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])


class NamedContainer:
    """The part of a dict that ModuleDict and ParameterDict share."""

    PLACE = ""

    def __len__(self) -> int:
        return len(getattr(self, self.PLACE))

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(self, self.PLACE))

    def __contains__(self, key: str) -> bool:
        return key in getattr(self, self.PLACE)

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self.PLACE)[key]

    def __delitem__(self, key: str) -> None:
        del getattr(self, self.PLACE)[key]

    def keys(self) -> Iterable[str]:
        """The names."""
        return getattr(self, self.PLACE).keys()

    def values(self) -> Iterable[Any]:
        """The values that are kept."""
        return getattr(self, self.PLACE).values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names with what is kept under them."""
        return getattr(self, self.PLACE).items()

    def pop(self, key: str) -> Any:
        """Take one out."""
        return getattr(self, self.PLACE).pop(key)

    def clear(self) -> None:
        """Take all out."""
        getattr(self, self.PLACE).clear()

    def update(self, others: Any) -> None:
        """Add or replace several."""
        named = isinstance(others, (Mapping, NamedContainer))
        for key, value in others.items() if named else others:
            self[key] = value


class ModuleDict(NamedContainer, Module):
    """Modules under names.

    >>> list(ModuleDict({"first": Module()}))
    ['first']
    """

    PLACE = "_modules"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __setitem__(self, key: str, module: Module) -> None:
        self._modules[key] = module
        name_part(self, module, key)


class ParameterDict(NamedContainer, Module):
    """Parameters under names.

    >>> list(ParameterDict({"scale": Parameter(tensor([1.0]))}))
    ['scale']
    """

    PLACE = "_parameters"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __setitem__(self, key: str, value: Tensor) -> None:
        self._parameters[key] = value if isinstance(value, Parameter) else Parameter(value)


class ParameterList(Module):
    """Parameters in a list.

    >>> len(ParameterList([tensor([1.0]), tensor([2.0])]))
    2
    """

    def __init__(self, values: Iterable[Tensor] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def __getitem__(self, index: int | slice) -> Any:
        found = list(self._parameters.values())[index]
        return ParameterList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: Tensor) -> None:
        name = list(self._parameters)[index]
        self._parameters[name] = value if isinstance(value, Parameter) else Parameter(value)

    def append(self, value: Tensor) -> ParameterList:
        """Add a parameter at the end."""
        kept = value if isinstance(value, Parameter) else Parameter(value)
        self._parameters[str(len(self))] = kept
        return self

    def extend(self, values: Iterable[Tensor]) -> ParameterList:
        """Add parameters at the end."""
        for value in values:
            self.append(value)
        return self
