"""Why a compiled function was captured again: what differs from the program that comes nearest.

What is compared, and when, is guards.py.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from gnomon.ir.node import typed
from gnomon.tensor.guards import PLAIN, Constant, Guard, Nest, Place, module_snapshot
from gnomon.tensor.surroundings import MISSING, Places, same_parts

__all__ = ["reasons"]

SIGNATURE = ("shape", "dtype", "requires_grad", "being a leaf that wants gradients", "having .grad")
"""What signature_of says of a tensor, in words."""


def reasons(key: tuple, entries: Mapping[tuple, Sequence[tuple[Guard, Any]]]) -> list[str]:
    """What a call with this key has that no program was captured for."""
    if key in entries:
        guard, program = entries[key][-1]
        return [*of_guard(guard), *of_checks(program.guards)] or ["a value that it reads changed"]
    found = [list(of_key(known, key)) for known in entries]
    return min(found, key=len, default=[])


def of_key(old: tuple, new: tuple) -> Iterator[str]:
    """What differs between the arguments of two calls."""
    (tree, signatures, grad), (tree_now, signatures_now, grad_now) = old, new
    yield from of_tree(tree, tree_now, "")
    for k, (was, now) in enumerate(zip_longest(signatures, signatures_now)):
        if was is None or now is None:
            yield f"tensor {k}: {'a new one' if was is None else 'it is not there any more'}"
            continue
        for what, a, b in zip(SIGNATURE, was, now, strict=True):
            if a != b:
                yield f"tensor {k}: {what} is {told(b)}, was {told(a)}"
    if grad != grad_now:
        yield f"gradients are {'recorded' if grad_now else 'not recorded'} now"


def of_tree(old: Any, new: Any, path: str) -> Iterator[str]:
    """What differs between two structures of arguments."""
    if old == new:
        return
    where = f"argument{path}" if path else "arguments"
    if isinstance(old, Nest) and isinstance(new, Nest):
        alike = old.kind is new.kind and old.names == new.names and len(old.parts) == len(new.parts)
        if alike:
            names = [x.value for x in old.names] or range(len(old.parts))
            for name, a, b in zip(names, old.parts, new.parts, strict=True):
                yield from of_tree(a, b, f"{path}[{name!r}]")
            return
        yield f"{where}: {described(new)}, was {described(old)}"
    elif isinstance(old, Constant) and isinstance(new, Constant):
        yield f"{where} is {told(new.value)}, was {told(old.value)}"
    else:
        yield f"{where} is {described(new)}, was {described(old)}"


def described(tree: Any) -> str:
    """A structure in a few words."""
    if isinstance(tree, Place):
        return f"tensor {tree.number}"
    if isinstance(tree, Constant):
        return told(tree.value)
    return f"a {tree.kind.__name__} of {len(tree.parts)}"


def of_guard(guard: Guard) -> Iterator[str]:
    """Which values that the function names are others now."""
    if guard._lost:
        yield "the function changes Python values that it may read, so that no program fits twice"
    places: Places = guard._places
    for names, name, was, _ in guard._read:
        yield from changed(f"entry {name}", was, names.get(name))
    if any(read() != known for read, known in places._states):
        yield "a numpy array or a generator of random numbers that it reads changed"
    for names, name, was in places._names:
        yield from changed(f"global {name}", was, names.get(name, MISSING))
    for cell, was in places._cells:
        try:
            now = cell.cell_contents
        except ValueError:
            now = MISSING
        yield from changed(f"closure variable {cell_name(guard.function, cell)}", was, now)
    for function, code, defaults in places._functions:
        if function.__code__ is not code or function.__defaults__ is not defaults:
            yield f"function {function.__qualname__} was changed"
    for value, parts in places._parts:
        if not same_parts(value, parts):
            yield f"what is inside of a {type(value).__name__} that it reads changed"
    for tensor, storage, wanted in places._tensors:
        yield from changed("the storage of a tensor that it reads", storage, tensor._storage)
        yield from changed("requires_grad of a tensor that it reads", wanted, tensor.requires_grad)
    for module, was in zip(places.modules, guard._inside, strict=True):
        yield from of_module(type(module).__name__, was, module_snapshot(module))


def changed(what: str, was: Any, now: Any) -> Iterator[str]:
    """A value that is another one."""
    alike = isinstance(was, PLAIN) and isinstance(now, PLAIN)
    if was is not now and not (alike and typed(was) == typed(now)):
        yield f"{what} is {told(now)}, was {told(was)}"


def cell_name(function: Callable, cell: Any) -> str:
    """The name of a closure's variable."""
    function = getattr(function, "__func__", function)
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    return next((n for n, c in zip(names, cells, strict=False) if c is cell), "of a function")


def of_module(name: str, old: Any, new: Any) -> Iterator[str]:
    """What differs inside of a module."""
    if old == new:
        return
    pairs = [(a, b) for a, b in zip_longest(old, new) if a != b]
    for was, now in pairs:
        if isinstance(was, tuple) and isinstance(now, tuple) and was[0] == now[0]:
            replaced = any(isinstance(x[1], tuple) and type(x[1][0]) is int for x in (was, now))
            news = f"is {told(plain(now[1]))}, was {told(plain(was[1]))}"
            yield f"module {name}: {now[0]} {'was replaced' if replaced else news}"
            return
    yield f"module {name}: its parts or hooks changed"


def of_checks(checks: Sequence[tuple[Callable, Any]]) -> Iterator[str]:
    """Which values that the capture took for granted are others now."""
    for read, was in checks:
        now = read()
        if now != was:
            owner = getattr(read, "__self__", None)
            what = type(owner).__name__ if owner is not None else read.__qualname__.split(".")[0]
            yield f"{what}: what it took for granted is {told(now)}, was {told(was)}"


def plain(key: Any) -> Any:
    """A value from the form in which it is compared.

    >>> plain(typed(True)), plain(typed(0.5)), plain(typed("a"))
    (True, 0.5, 'a')
    """
    if not isinstance(key, tuple) or len(key) != 2:
        return key
    return float.fromhex(key[1]) if key[0] == "float" else key[1]


def told(value: Any) -> str:
    """A value in a few words."""
    return "not there" if value is MISSING else reprlib.repr(value)
