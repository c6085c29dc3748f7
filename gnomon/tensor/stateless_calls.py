"""Calls of modules with other tensors in place of their own, which come back after the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.tensor import Tensor

MISSING = object()
"""A marker for an attribute that a module does not have."""


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """A call of a module with other tensors in place of its parameters and buffers.

    Other tensors may stand in place of its attributes too, or of what it does not have, unless
    strict; what the call assigns to their names is in the dict afterwards, if that is one.

    >>> import gnomon as gn
    >>> layer = gn.nn.Linear(2, 1, bias=False)
    >>> functional_call(layer, {"weight": gn.ones(1, 2)}, gn.tensor([1.0, 2.0]))
    Tensor([3.])
    """
    single = isinstance(parameter_and_buffer_dicts, Mapping)
    given = dict(parameter_and_buffer_dicts) if single else union(parameter_and_buffer_dicts)
    owned = names_of(module) if tie_weights or strict else {}
    values = with_tied(owned, given) if tie_weights else given
    if strict and values.keys() != owned.keys():
        wrong = sorted(values.keys() ^ owned.keys())
        raise ArgumentError(f"functional_call: names that do not fit the module: {wrong}.")
    before: dict[str, Any] = {}
    try:
        for path, value in values.items():
            before[path] = swapped(module, path, value)
        handed = () if args is None else args if isinstance(args, tuple) else (args,)
        return module(*handed, **(kwargs or {}))
    finally:
        for path, value in reversed(before.items()):
            after = swapped(module, path, value)
            if single and path in given and after is not given[path]:
                parameter_and_buffer_dicts[path] = after


def union(dicts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The union of dicts, whose keys must differ."""
    found: dict[str, Tensor] = {}
    for part in dicts:
        twice = sorted(found.keys() & part.keys())
        if twice:
            raise ArgumentError(f"functional_call: several dicts have values for {twice}.")
        found.update(part)
    return found


def names_of(module: Any) -> dict[str, Tensor]:
    """A module's parameters and buffers by path; shared ones occur under each of their paths."""
    parameters = module.named_parameters(remove_duplicate=False)
    return {**dict(parameters), **dict(module.named_buffers(remove_duplicate=False))}


def with_tied(owned: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The given values, extended to all other names of the same tensors."""
    together: dict[int, list[str]] = {}
    for name, value in owned.items():
        together.setdefault(id(value), []).append(name)
    found = dict(given)
    for names in together.values():
        values = {id(given[name]): given[name] for name in names if name in given}
        if len(values) > 1:
            raise ArgumentError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        for value in values.values():
            found.update(dict.fromkeys(names, value))
    return found


def swapped(module: Any, path: str, value: Any) -> Any:
    """The previous value at a path, after it is replaced; MISSING means none."""
    before, _, name = path.rpartition(".")
    part = module.get_submodule(before)
    holder = next((x for x in (part._parameters, part._buffers) if name in x), None)
    kept = getattr(part, name, MISSING) if holder is None else holder[name]
    for x in (value, kept):
        if not (x is None or x is MISSING or isinstance(x, Tensor)):
            whose = "" if x is value else f"attribute `{path}`: "
            raise TypeError(f"{whose}{x} is not an instance of torch.Tensor")
    if holder is not None and value is MISSING:
        del holder[name]
    elif holder is not None:
        holder[name] = value
    elif value is not MISSING:
        setattr(part, name, value)
    elif kept is not MISSING:
        delattr(part, name)
    return kept
