"""Explain failed calls: check arguments against the annotations of an operation's function.

It runs only after an error: a call that works pays nothing. Bounds of numbers are checked by the
operations themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError, GnomonError
from gnomon.ir.node import Node

ALIASES = {
    "Operand": "Node | bool | int | float",
    "Scalar": "bool | int | float",
    "Axes": "int | Sequence[int] | None",
    "Sizes": "int | Sequence[int] | None",
    "Numbers": "int | Sequence[int]",
    "Pairs": "int | Sequence[int | Sequence[int]]",
    "Correction": "int | float",
}
"""Name of a kind in annotations -> the kinds that it stands for."""
ATOMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Tensor": (lambda v: hasattr(v, "_storage"), "a tensor"),
    "Node": (lambda v: isinstance(v, Node), "a tensor"),
    "int": (lambda v: isinstance(v, int), "an integer"),
    "float": (lambda v: isinstance(v, (int, float)), "a number"),
    "bool": (lambda v: isinstance(v, int) and v in (0, 1), "True or False"),
    "str": (lambda v: isinstance(v, str), "a word"),
    "None": (lambda v: v is None, "None"),
}
SEQUENCES: tuple[type, ...] = (Sequence,)
LISTS: tuple[type, ...] = (list, tuple)
MOST_SHOWN = 60


def alternatives(kind: str) -> list[str]:
    """The alternatives that an annotation lists, with brackets kept together.

    >>> alternatives("int | Sequence[int | None]")
    ['int', 'Sequence[int | None]']
    """
    parts: list[str] = []
    for part in kind.split(" | "):
        if parts and parts[-1].count("[") > parts[-1].count("]"):
            parts[-1] = f"{parts[-1]} | {part}"
        else:
            parts += alternatives(ALIASES[part]) if part in ALIASES else [part]
    return list(dict.fromkeys(parts))


def is_of(value: Any, kind: str) -> bool:
    """Whether a value fits an annotation; unknown kinds fit every value."""
    return any(is_one(value, each) for each in alternatives(kind))


def is_one(value: Any, kind: str) -> bool:
    """Whether a value is of one kind."""
    if kind in ATOMS:
        return ATOMS[kind][0](value)
    if not kind.startswith("Sequence["):
        return True
    inner = kind.removeprefix("Sequence[").removesuffix("]")
    if not isinstance(value, SEQUENCES) or isinstance(value, (str, bytes)):
        return False
    return all(is_of(part, inner) for part in value)


def in_words(kind: str) -> str:
    """An annotation in words.

    >>> in_words("int | Sequence[int] | None")
    'an integer or several or None'
    """
    words = [
        ATOMS[each][1] if each in ATOMS else "several" if each.startswith("Sequence[") else each
        for each in alternatives(kind)
    ]
    return " or ".join(dict.fromkeys(words))


def brief(value: Any) -> str:
    """A short text of an argument for messages."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"a tensor {tuple(value.shape)} of {value.dtype.name}"
    if isinstance(value, LISTS):
        text = "(" + ", ".join(map(brief, value)) + ")"
        return text if len(text) <= MOST_SHOWN else f"{len(value)} of them"
    known = isinstance(value, (int, float, complex, str, type(None), DType))
    return repr(value)[:MOST_SHOWN] if known else f"a {type(value).__name__}"


def refuse(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    cause: Exception,
) -> NoReturn:
    """Raise the error of a failed call: about its first argument of a wrong kind, if any."""
    if isinstance(cause, GnomonError):
        raise cause
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError as misfit:
        raise TypeError(f"{name}() {misfit}") from None
    for word, value in given.items():
        parameter = signature.parameters[word]
        several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        for each in value if several else (value,):
            if not is_of(each, str(parameter.annotation)):
                kind = in_words(str(parameter.annotation))
                raise ArgumentError(f"{name}: {word} must be {kind}: got {brief(each)}.") from cause
    if isinstance(cause, MemoryError):
        raise cause
    named = [(word, value) for word, value in given.items() if word != "self"]
    listed = ", ".join(f"{word} {brief(value)}" for word, value in named)
    raise ArgumentError(f"{name}: arguments do not fit each other: {listed}.") from cause


def refuse_numbers(name: str, function: Callable[..., Any], args: Sequence[Any]) -> None:
    """Refuse a number as argument where a tensor is required, since it would broadcast."""
    kinds = function.__annotations__
    for word, value in zip(function.__code__.co_varnames, args, strict=False):
        if kinds.get(word) == "Node" and isinstance(value, (bool, int, float, complex)):
            raise ArgumentError(f"{name}: {word} must be a tensor: got {brief(value)}.")
