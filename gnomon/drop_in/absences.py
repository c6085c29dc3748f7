"""Stand-ins for PyTorch's names that Gnomon lacks, for imports, annotations and registrations.

A stand-in that refuses to work does so when it is used, and says its name. The names are PyTorch's
public ones, from a table that is read on first use (tools/torch_names.py writes it).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

from gnomon.errors import ArgumentError
from gnomon.lazy import Lazy, load, vision_ops

__all__ = ["Operators", "absent_module", "absent_value"]

FILE = Path(__file__).with_name("torch_names.txt")
jsons = Lazy("json")

VISION = "torchvision"
"""A library whose operators Gnomon has."""


@cache
def table() -> dict[str, dict[str, tuple[str, str]]]:
    """Module -> name -> its kind, and its value if that is a number or a string."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    module = ""
    for line in FILE.read_text().splitlines():
        if line.startswith(" "):
            kind, *names = line.split()
            parts = (name.partition("=") for name in names)
            found[module].update((name, (kind, value)) for name, _, value in parts)
        elif not line.startswith("#"):
            module = line.partition(":")[0]
            found[module] = {}
    return found


def absent_module(full: str) -> SimpleNamespace | None:
    """An empty namespace for a module that Gnomon lacks; None if PyTorch lacks it too."""
    return SimpleNamespace() if full in table() else None


def absent_value(module: str, name: str, note: Callable[[str], None]) -> Any:
    """A stand-in for a name in a module; None if PyTorch lacks it too.

    note is called with the name when it is used.
    """
    kind, value = table().get(module, {}).get(name, ("", ""))
    return MAKERS[kind](f"{module}.{name}", value, note) if kind else None


def refuse(full: str, note: Callable[[str], None]) -> NoReturn:
    """Report the use of a name and raise ArgumentError."""
    note(full)
    raise ArgumentError(f"{full}: Gnomon has this name for imports alone. Leave the call out.")


class Refusing(type):
    """The metaclass of PyTorch's classes that cannot be instantiated here but subclassed."""

    asked: str
    note: Callable[[str], None]

    def __call__(cls, *_: Any, **__: Any) -> NoReturn:
        refuse(cls.asked, cls.note)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        return refusing_function(f"{cls.asked}.{name}", "", cls.note)

    def __getitem__(cls, _: Any) -> Refusing:
        return cls


def class_of(full: str, _: str, note: Callable[[str], None]) -> type:
    """Make a class that refuses to be instantiated."""
    module, _, name = full.rpartition(".")
    kept = {"asked": full, "note": staticmethod(note), "__module__": module}
    return Refusing(name, (), kept)


def error_of(full: str, base: type[Exception]) -> type[Exception]:
    """Make an exception or warning class that nothing raises."""
    module, _, name = full.rpartition(".")
    return type(name, (base,), {"__module__": module})


def with_torch_name(full: str, made: Any) -> Any:
    """Give a function PyTorch's name and module, and return it."""
    made.__module__, _, made.__name__ = full.rpartition(".")
    made.__qualname__ = made.__name__
    return made


def refusing_function(full: str, _: str, note: Callable[[str], None]) -> Callable[..., NoReturn]:
    """Make a function that refuses to be called."""

    def refused(*_: Any, **__: Any) -> NoReturn:
        refuse(full, note)

    return with_torch_name(full, refused)


def returning_decorator(full: str, _: str, note: Callable[[str], None]) -> Callable[..., Any]:
    """Make a decorator that returns what it decorates."""

    def marked(*given: Any, **options: Any) -> Any:
        alone = len(given) == 1 and not options and callable(given[0])
        return given[0] if alone else first_argument

    return with_torch_name(full, marked)


def first_argument(value: Any = None, *_: Any, **__: Any) -> Any:
    """Return the first argument."""
    return value


class NamedValue:
    """A dtype, layout or operator of PyTorch's, to be compared and used as a key."""

    def __init__(self, full: str, _: str, note: Callable[[str], None]) -> None:
        self._full, self._note = full, note

    def __repr__(self) -> str:
        return self._full

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        refuse(self._full, self._note)


class Operators(NamedValue):
    """torch.ops: PyTorch's own operators have names, other libraries' are missing."""

    own = ("_c10d_functional", "aten", "prim", "prims", "symm_mem")

    def __getattr__(self, name: str) -> Any:
        depth = self._full.count(".")
        if name.startswith("__") or (depth == 2 and self._full.rpartition(".")[2] not in self.own):
            raise AttributeError(f"{self._full!r} has no attribute {name!r} in Gnomon")
        if self._full == "torch.ops" and name == "load_library":
            found: Any = load_library
        elif self._full == "torch.ops" and name == VISION:
            found = vision_ops.VisionOperators()
        else:
            found = Operators(f"{self._full}.{name}", "", self._note)
        vars(self)[name] = found
        return found


def load_library(path: Any) -> None:
    """Do nothing for torchvision, whose operators are here; raise OSError for other libraries."""
    if Path(path).parent.name == VISION:
        return
    raise OSError(f"torch.ops.load_library: {path} is written for PyTorch. Gnomon loads none.")


class Register:
    """A registry of operators or keys that ignores all entries."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Ignore all arguments."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return first_argument

    def __or__(self, _: Any) -> Register:
        return self


def registry_class(full: str, _: str, note: Callable[[str], None]) -> type[Register]:
    """Make a class of registries."""
    module, _, name = full.rpartition(".")
    return type(name, (Register,), {"__module__": module})


def aliased_value(full: str, value: str, note: Callable[[str], None]) -> Any:
    """The value of a name in another module, of PyTorch's or of Python's library."""
    module, _, name = value.rpartition(".")
    return getattr(load(module), name)


MAKERS: dict[str, Callable[[str, str, Callable[[str], None]], Any]] = {
    "alias": aliased_value,
    "class": class_of,
    "error": lambda full, _, note: error_of(full, RuntimeError),
    "function": refusing_function,
    "mark": returning_decorator,
    "name": NamedValue,
    "register": registry_class,
    "value": lambda full, value, note: jsons.loads(value),
    "warning": lambda full, _, note: error_of(full, UserWarning),
}
"""Functions that make a stand-in, by the kind of the name."""
