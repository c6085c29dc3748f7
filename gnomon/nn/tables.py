"""Make modules that hold settings and call one function, from a table of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gnomon.lazy import Lazy
from gnomon.nn.module import Module
from gnomon.nn.module_texts import LINES, SETTLED, line_of
from gnomon.ops.older_words import OLDER, reduction_of

ast, doctest, inspect = map(Lazy, ("ast", "doctest", "inspect"))

REQUIRED = object()
"""The marker of a setting without a default."""


class ReducedLoss(Module):
    """Base of losses with a `reduction`."""

    def __init__(
        self, size_average: object = None, reduce: object = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = reduction_of(size_average, reduce, reduction)


class SettingsModule(Module):
    """Base of modules whose constructor's arguments are the settings of a function."""

    SETTINGS: Mapping[str, Any] = {}
    ORDER: Sequence[str] = ()
    """The settings in PyTorch's order, including the deprecated ones of losses."""
    FUNCTION: Callable
    LINE = ""
    """The format of the printed settings."""
    SETTLED: Sequence[Callable[[Any], None]] = ()
    """Functions that compute settings from others."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__()
        order = self.ORDER or tuple(self.SETTINGS)
        given = dict(zip(order, values, strict=False))
        if len(values) > len(order):
            raise TypeError(
                f"{type(self).__name__}() takes {len(order)} arguments: got {len(values)}"
            )
        given.update(named)
        if "reduction" in self.SETTINGS and not given.keys().isdisjoint(OLDER):
            wanted = given.get("reduction", self.SETTINGS["reduction"])
            given["reduction"] = reduction_of(*(given.pop(x, None) for x in OLDER), wanted)
        for name, default in self.SETTINGS.items():
            value = given.pop(name, default)
            if value is REQUIRED:
                raise TypeError(f"{type(self).__name__}() missing a required argument: '{name}'")
            setattr(self, name, value)
        if given:
            raise TypeError(f"{type(self).__name__}() takes no argument {', '.join(given)!r}")
        for change in self.SETTLED:
            change(self)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Call the function on the inputs, with the settings."""
        kept = {name: getattr(self, name) for name in self.SETTINGS}
        return type(self).FUNCTION(*inputs, **{**kept, **named})

    def extra_repr(self) -> str:
        """The settings as text, as PyTorch prints them."""
        return line_of(self)


class ModuleText:
    """A descriptor of a class's docstring, derived from its function's on first use."""

    def __get__(self, _: object, kind: Any) -> str:
        function = kind.FUNCTION
        first, *more = (function.__doc__ or kind.__name__).strip().split("\n\n")
        shapes = [" ".join(part.split()) for part in more if part.strip().startswith("Shapes:")]
        return "\n\n".join([f"{first} As a module.", *shapes, *example_of(kind, function)])


def example_of(kind: Any, function: Callable) -> Iterator[str]:
    """The function's first example that fits the module, with settings in the constructor."""
    parameters = inspect.signature(function).parameters
    names = [x.name for x in parameters.values() if x.kind < x.VAR_POSITIONAL]
    others = {k for k in names if kind.SETTINGS.get(k, REQUIRED) is not REQUIRED}
    others = {k for k in others if parameters[k].default != kind.SETTINGS[k]}
    for source, want in examples_with_output(function):
        calls = [x for x in ast.walk(ast.parse(source)) if isinstance(x, ast.Call)]
        calls = [x for x in calls if ast.unparse(x.func) == function.__name__]
        if len(calls) != 1 or len(calls[0].args) > len(names):
            continue
        given = [(k, ast.unparse(x)) for k, x in zip(names, calls[0].args, strict=False)]
        given += [(x.arg, ast.unparse(x.value)) for x in calls[0].keywords]
        if others <= dict(given).keys():
            settings = ", ".join(f"{k}={x}" for k, x in given if k in kind.SETTINGS)
            inputs = ", ".join(x for k, x in given if k not in kind.SETTINGS)
            called = f"{kind.__name__}({settings})({inputs})"
            yield f">>> {source.replace(ast.get_source_segment(source, calls[0]), called)}\n{want}"
            return


def examples_with_output(function: Callable) -> Iterator[tuple[str, str]]:
    """A function's one-line examples with output, and their output."""
    for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
        source = example.source.strip()
        if example.want and not example.exc_msg and "\n" not in source:
            yield source, example.want.rstrip()


def module_of(name: str, function: Callable, /, **settings: Any) -> type[Module]:
    """A class of modules that call a function with these settings, with its documentation."""
    body = {
        "SETTINGS": {name: x for name, x in settings.items() if name not in OLDER},
        "ORDER": tuple(settings),
        "FUNCTION": staticmethod(function),
        "LINE": LINES.get(name, ""),
        "SETTLED": SETTLED.get(name, ()),
        "__doc__": ModuleText(),
        "__module__": "gnomon.nn",
    }
    bases = (SettingsModule, ReducedLoss) if "reduction" in settings else (SettingsModule,)
    return type(name, bases, body)
