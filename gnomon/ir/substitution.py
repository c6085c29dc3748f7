"""Substitute numbers in nested data: parameters of nodes, kernels, plans and results.

The user says by class how a value is replaced (`Rules`); containers are rebuilt around replaced
values, to any depth. Graphs are walked only if a rule says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from operator import is_
from typing import Any, cast

from gnomon.ir.memo import memo
from gnomon.ir.sizes import SymInt
from gnomon.ir.sym_float import SymFloat

__all__ = ["Rules", "names_of", "of_symbols", "substituted", "symbols_in"]

Rules = Mapping[type, Callable[[Any], Any]]
"""Class -> the function that replaces a value of it."""


def substituted(x: Any, rules: Rules) -> Any:
    """Data with values replaced by rules; the same object if nothing changes.

    >>> substituted((2, [3, "a"], {"b": 4}), {int: str})
    ('2', ['3', 'a'], {'b': '4'})
    """
    kind = cast(Any, type(x))
    rule = rules.get(kind)
    if rule is not None:
        return rule(x)
    if issubclass(kind, tuple) or kind is list:
        made = [substituted(part, rules) for part in x]
        if all(map(is_, made, x)):
            return x
        return x._make(made) if hasattr(x, "_make") else x.__class__(made)
    names: Any = x if kind is dict else names_of(kind)
    if not names:
        return x
    parts = (*x.values(),) if kind is dict else tuple([getattr(x, name) for name in names])
    made = substituted(parts, rules)
    if made is parts:
        return x
    return dict(zip(names, made, strict=True)) if kind is dict else x.__class__(*made)


@memo
@cache
def names_of(kind: Any) -> Sequence[str]:
    """The names of the fields from which objects of a class are made; () for other classes."""
    if hasattr(kind, "kwargs"):
        return ("args", "kwargs")
    if is_dataclass(kind):
        return tuple([f.name for f in fields(kind)])
    return getattr(kind, "__struct_fields__", ())


def of_symbols(value_of: Callable[[Any], Any]) -> Rules:
    """Substitution rules that replace symbolic numbers by values."""
    return {SymInt: value_of, SymFloat: value_of}


def symbols_in(x: Any) -> list[Any]:
    """The symbolic numbers in data, each once."""
    found: dict[Any, Any] = {}
    substituted(x, of_symbols(lambda n: found.setdefault(n, n)))
    return [*found]
