"""Containers: modules and parameters in lists, dicts and sequences."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.module import Module, name_part
from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor


def replace_modules(owner: Module, modules: Iterable[Module]) -> None:
    """Replace a container's modules by these, named 0, 1, 2 and so on."""
    owner._modules.clear()
    for number, module in enumerate(modules):
        owner.add_module(str(number), module)


class NumberedContainer(Module):
    """Base of containers whose modules are named by their positions."""

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
        replace_modules(self, kept)

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
        """Insert a module before a position."""
        kept = list(self._modules.values())
        if not -len(kept) <= index <= len(kept):
            raise IndexError(f"insert: no place {index} among {len(kept)} modules.")
        kept.insert(index, module)
        replace_modules(self, kept)
        return self

    def pop(self, index: int = -1) -> Module:
        """Remove a module, and return it."""
        found = self[index]
        del self[index]
        return found


def parts_of(other: object) -> list[Module]:
    """The modules of a Sequential operand of +; ArgumentError for other types."""
    if not isinstance(other, Sequential):
        raise ArgumentError(f"Sequential: + takes another Sequential: got {type(other).__name__}.")
    return [*other]


def at_least_once(times: object) -> int:
    """The number of repetitions of a Sequential, checked to be 1 or more."""
    if not isinstance(times, int):
        raise TypeError(f"Sequential: * takes a whole number: got {type(times).__name__}.")
    if times < 1:
        raise ArgumentError(f"Sequential: * takes 1 or more: got {times}.")
    return times


class Sequential(NumberedContainer):
    """A chain of modules; each one's output is the input of the next.

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
            replace_modules(self, modules)

    def _as_arguments(self, modules: list[Module]) -> tuple:
        return tuple(modules)

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self, *parts_of(other))

    def __iadd__(self, other: Sequential) -> Sequential:
        return self.extend(parts_of(other))

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*[*self] * at_least_once(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        return self.extend([*self] * (at_least_once(times) - 1))

    def forward(self, input: Any) -> Any:
        """The output of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(NumberedContainer):
    """A list of modules.

    >>> len(ModuleList([Module(), Module()]))
    2
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        replace_modules(self, modules or ())

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __iadd__(self, other: Iterable[Module]) -> ModuleList:
        return self.extend(other)

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The numbers and text of consecutive modules with equal text."""
        at = 0
        for text, alike in groupby(map(repr, self)):
            count = len(list(alike))
            last = at + count - 1
            yield (f"{at}-{last}", f"{count} x {text}") if count > 1 else (str(at), text)
            at += count


class NamedContainer:
    """Base of ModuleDict and ParameterDict: the methods of a dict."""

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
        """The values."""
        return getattr(self, self.PLACE).values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The pairs of names and values."""
        return getattr(self, self.PLACE).items()

    def pop(self, key: str) -> Any:
        """Remove a name, and return its value."""
        return getattr(self, self.PLACE).pop(key)

    def clear(self) -> None:
        """Remove all values."""
        getattr(self, self.PLACE).clear()

    def update(self, others: Any) -> None:
        """Add or replace several values, from a mapping or from pairs."""
        named = isinstance(others, (Mapping, NamedContainer))
        for key, value in others.items() if named else others:
            self[key] = value


class ModuleDict(NamedContainer, Module):
    """A dict of modules by name.

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
    """A dict of parameters by name.

    >>> list(ParameterDict({"scale": Parameter(tensor([1.0]))}))
    ['scale']
    """

    PLACE = "_parameters"

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The names and descriptions of the parameters."""
        return ((name, parameter_line(x, x.type())) for name, x in self._parameters.items())

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __setitem__(self, key: str, value: Tensor | None) -> None:
        made = value if value is None or isinstance(value, Parameter) else Parameter(value)
        self._parameters[key] = made

    def __reversed__(self) -> Iterator[str]:
        return reversed([*self])

    def __or__(self, other: Any) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> ParameterDict:
        made = type(self)(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def update(self, others: Any) -> None:
        """Add or replace several parameters; those of a plain dict are sorted by name."""
        ordered = isinstance(others, (OrderedDict, ParameterDict))
        plain = isinstance(others, Mapping) and not ordered
        super().update(sorted(others.items()) if plain else others)

    def get(self, key: str, default: Any = None) -> Any:
        """The parameter of a name, or the default."""
        return self._parameters.get(key, default)

    def setdefault(self, key: str, default: Tensor | None = None) -> Parameter | None:
        """The parameter of a name, which is set to the default if missing."""
        if key not in self:
            self[key] = default
        return self._parameters[key]

    def popitem(self) -> tuple[str, Parameter | None]:
        """Remove the last parameter, and return its name and value."""
        return self._parameters.popitem()

    def copy(self) -> ParameterDict:
        """A new ParameterDict with the same parameters."""
        return type(self)(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Tensor | None = None) -> ParameterDict:
        """A ParameterDict with one value for all names."""
        return type(self)(OrderedDict.fromkeys(keys, default))


def parameter_line(x: Tensor, kind: object) -> str:
    """The line that describes a parameter in a container's text."""
    name = "Parameter containing" if isinstance(x, Parameter) else "Object of type"
    return f"{name}: [{kind} of size {'x'.join(map(str, x.shape))}]"


class ParameterList(Module):
    """A list of parameters.

    >>> len(ParameterList([tensor([1.0]), tensor([2.0])]))
    2
    """

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The numbers and descriptions of the parameters."""
        return ((name, parameter_line(x, x.dtype)) for name, x in self._parameters.items())

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

    def __iadd__(self, values: Iterable[Tensor]) -> ParameterList:
        return self.extend(values)

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
