"""Modules that hold settings and call one function: a row each, instead of a class each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gnomon.nn.module import Module

REQUIRED = object()
"""Stands for a setting without a default."""


class Settings(Module):
    """A module whose constructor's arguments are all settings of its function."""

    SETTINGS: Mapping[str, Any] = {}
    FUNCTION: Callable

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__()
        given = dict(zip(self.SETTINGS, values, strict=False))
        if len(values) > len(self.SETTINGS):
            raise TypeError(
                f"{type(self).__name__} takes {len(self.SETTINGS)} arguments: got {len(values)}"
            )
        given.update(named)
        for name, default in self.SETTINGS.items():
            value = given.pop(name, default)
            if value is REQUIRED:
                raise TypeError(f"{type(self).__name__} needs the argument '{name}'")
            setattr(self, name, value)
        if given:
            raise TypeError(f"{type(self).__name__} takes no argument {', '.join(given)!r}")

    def forward(self, *inputs: Any) -> Any:
        """The function of the inputs, as the settings say."""
        kept = {name: getattr(self, name) for name in self.SETTINGS}
        return type(self).FUNCTION(*inputs, **kept)

    def extra_repr(self) -> str:
        """The settings that are not the defaults."""
        return ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name, default in self.SETTINGS.items()
            if getattr(self, name) is not default
        )


def module_of(name: str, function: Callable, /, **settings: Any) -> type[Module]:
    """A class of modules that call a function with these settings."""
    first = (function.__doc__ or name).strip().splitlines()[0]
    body = {
        "SETTINGS": settings,
        "FUNCTION": staticmethod(function),
        "__doc__": f"{first} As a module.",
        "__module__": "gnomon.nn",
    }
    return type(name, (Settings,), body)
