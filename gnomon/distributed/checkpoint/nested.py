"""Nested dicts and lists as one dict of paths, with the place of every value in them.

What can say its own state, such as a model or a schedule, is asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from gnomon.errors import CheckpointError
from gnomon.tensor.tensor import Paired, Tensor

__all__ = ["Stateful", "ValuePlace", "places", "stateful_parts", "states"]

INNER = (dict, list, Tensor, Paired)
"""Types of entries by which a list is a container, and not a value."""


@runtime_checkable
class Stateful(Protocol):
    """Protocol of objects with state_dict and load_state_dict.

    >>> import gnomon as gn
    >>> isinstance(gn.nn.Linear(1, 1), Stateful), isinstance(gn.ones(2), Stateful)
    (True, False)
    """

    def state_dict(self) -> dict[str, Any]:
        """The object's state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state."""
        ...


class ValuePlace(NamedTuple):
    """The place of a value: its container and key."""

    holder: Any
    key: Any

    @property
    def value(self) -> Any:
        """The value."""
        return self.holder[self.key]

    @value.setter
    def value(self, found: Any) -> None:
        self.holder[self.key] = found


def stateful_parts(state_dict: Mapping[str, Any]) -> dict[str, Stateful]:
    """The values of a dict that have a state_dict."""
    return {key: value for key, value in state_dict.items() if isinstance(value, Stateful)}


def states(state_dict: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a dict with the states of its stateful objects."""
    own = {key: value.state_dict() for key, value in stateful_parts(state_dict).items()}
    return {**state_dict, **own}


def places(state_dict: dict[str, Any]) -> dict[str, ValuePlace]:
    """The place of each value, by its path: keys joined by dots.

    >>> found = places({"model": {"weight": 1}, "rates": [0.1], "parts": [{"a": 2}]})
    >>> {path: place.value for path, place in found.items()}
    {'model.weight': 1, 'rates': [0.1], 'parts.0.a': 2}
    """
    found: dict[str, ValuePlace] = {}
    for path, place in walked(state_dict, ()):
        name = ".".join(map(str, path))
        if name in found:
            raise CheckpointError(f"checkpoint: two values are called {name}. Rename a key.")
        found[name] = place
    return found


def walked(holder: Any, path: tuple) -> Iterator[tuple[tuple, ValuePlace]]:
    """Every value below a dict or a list, with its path."""
    keys: Sequence = [*holder] if isinstance(holder, Mapping) else range(len(holder))
    for key in keys:
        value, inner = holder[key], (*path, key)
        parts = isinstance(value, list) and any(isinstance(x, INNER) for x in value)
        if parts or (isinstance(value, Mapping) and value):
            yield from walked(value, inner)
        else:
            yield inner, ValuePlace(holder, key)
