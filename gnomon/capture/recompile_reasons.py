"""Why a compiled function was captured again: what differs from the program that comes nearest.

What is compared, and when, is guards.py.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any
from weakref import ref

from gnomon.capture.closure_state import Places
from gnomon.capture.guards import Guard, module_snapshot
from gnomon.capture.number_places import CellContents, NumberPlace, place_in
from gnomon.capture.object_state import PLAIN
from gnomon.capture.object_trees import Attributed
from gnomon.capture.snapshot import MISSING, held_by, own_of, parts_of, same_parts
from gnomon.ir.memo import typed
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec, is_number
from gnomon.tensor.traced_numbers import kind_of_number

__all__ = ["changed_numbers", "reasons"]

SIGNATURE = (
    *("shape", "dtype", "requires_grad", "being a leaf that wants gradients", "having .grad"),
    *("being part of what gradients pass", "the form of its strides"),
)
"""The names of the parts of signature_of a tensor, for messages."""
MODES = ("inference_mode", "autocast", "the default dtype")
"""The names of other modes that concern all operations."""


def reasons(key: tuple, entries: Mapping[tuple, Sequence[tuple[Guard, Any]]]) -> list[str]:
    """The reasons why no captured program fits a call with this key."""
    if key in entries:
        guard, program = entries[key][-1]
        return [*of_guard(guard), *of_checks(program.guards)] or ["a value that it reads changed"]
    found = [list(of_key(known, key)) for known in entries]
    return min(found, key=len, default=[])


def of_key(old: tuple, new: tuple) -> Iterator[str]:
    """The differences between the arguments of two calls."""
    (tree, signatures, modes, *memory), (tree_now, signatures_now, modes_now, *memory_now) = (
        old,
        new,
    )
    yield from of_tree(tree, tree_now, "")
    for k, (was, now) in enumerate(zip_longest(signatures, signatures_now)):
        if was is None or now is None:
            yield f"tensor {k}: {'a new one' if was is None else 'it is not there any more'}"
            continue
        for what, a, b in zip(SIGNATURE, was, now, strict=True):
            if a != b:
                yield f"tensor {k}: {what} is {short_text(b)}, was {short_text(a)}"
    if modes[0] != modes_now[0]:
        yield f"gradients are {'recorded' if modes_now[0] else 'not recorded'} now"
    for what, was, now in zip(MODES, modes[1:], modes_now[1:], strict=True):
        yield from text_of_change(what, was, now)
    if memory != memory_now:
        yield "which arguments share memory"


def of_tree(old: Any, new: Any, path: str) -> Iterator[str]:
    """The differences between two structures of arguments."""
    if old == new:
        return
    where = f"argument{path}" if path else "arguments"
    if isinstance(old, TreeSpec) and isinstance(new, TreeSpec):
        alike = old.kind == new.kind and old.names == new.names and len(old.parts) == len(new.parts)
        if alike:
            names = [x.value for x in old.names] or range(len(old.parts))
            for name, a, b in zip(names, old.parts, new.parts, strict=True):
                yield from of_tree(a, b, f"{path}[{name!r}]")
            return
        yield f"{where}: {described(new)}, was {described(old)}"
    elif isinstance(old, Constant) and isinstance(new, Constant):
        yield f"{where} is {short_text(new.value)}, was {short_text(old.value)}"
    else:
        yield f"{where} is {described(new)}, was {described(old)}"


def described(tree: Any) -> str:
    """A short description of a structure."""
    if isinstance(tree, TreeLeaf):
        return f"tensor {tree.number}"
    if isinstance(tree, Constant):
        return short_text(tree.value)
    if not isinstance(tree, TreeSpec):
        return "an object that is passed twice"
    if is_number(tree):
        return "a number that varies"
    kind = tree.kind.kind if isinstance(tree.kind, Attributed) else tree.kind
    return f"a {kind.__name__} of {len(tree.parts)}"


def of_guard(guard: Guard) -> Iterator[str]:
    """The values in a guard that have changed, as reasons."""
    if guard.lost:
        yield f"{guard.lost}, so that no program fits twice"
    places: Places = guard._places
    for names, name, was, _ in guard._read:
        yield from text_of_change(f"entry {name}", was, names.get(name))
    if any(read() != known for read, known in places._states):
        yield "an array, a generator of random numbers or the like that it reads changed"
    for names, name, was in places._names:
        yield from text_of_change(f"global {name}", was, names.get(name, MISSING))
    for cell, was in places._cells:
        now = held_by(cell, MISSING)
        yield from text_of_change(f"closure variable {cell_name(guard.function, cell)}", was, now)
    for function, code, defaults, named in places._functions:
        now = (function.__code__, function.__defaults__, function.__kwdefaults__)
        if any(x is not y for x, y in zip(now, (code, defaults, named), strict=True)):
            yield f"function {function.__qualname__} was changed"
    for value, parts in places._parts:
        if not same_parts(value, parts):
            kind = type(getattr(value, "value", value)).__name__
            yield f"what is inside of a {kind} that it reads changed"
    for tensor, storage, wanted in places._tensors:
        yield from text_of_change("the storage of a tensor that it reads", storage, tensor._storage)
        yield from text_of_change(
            "requires_grad of a tensor that it reads", wanted, tensor.requires_grad
        )
    for module, was in zip(places.modules, guard._inside, strict=True):
        yield from of_module(type(module).__name__, was, module_snapshot(module, guard.any_number))


def changed_numbers(guard: Guard) -> Iterator[NumberPlace]:
    """The changed numbers that the function reads, with their places."""
    places: Places = guard._places
    for names, name, was in places._names:
        if isinstance(names, dict) and is_another(was, names.get(name)):
            yield NumberPlace(names, name)
    for cell, was in places._cells:
        if is_another(was, CellContents(cell).get(None)):
            yield NumberPlace(CellContents(cell), None)
    for value, parts in places._parts:
        found = parts_of(value)
        others = [k for k, pair in enumerate(zip(parts, found, strict=False)) if is_another(*pair)]
        if len(found) == len(parts):
            yield from filter(None, (place_in(value, k) for k in others))
    for module, was in zip(places.modules, guard._inside, strict=True):
        yield from numbers_of_module(module, was, module_snapshot(module, guard.any_number))


def numbers_of_module(module: Any, old: tuple, new: tuple) -> Iterator[NumberPlace]:
    """The places of changed numbers in a module and its submodules, given the old ones."""
    owners = {id(inner): own_of(inner) for inner in module.modules()}
    own: Any = None
    for was, now in zip(old, new, strict=False):
        own = owners.get(now, own) if type(now) is int else own
        named = all(isinstance(x, tuple) and len(x) == 2 for x in (was, now))
        if named and was[0] == now[0] and is_another(as_value(was[1]), own.get(now[0])):
            yield NumberPlace(own, now[0], is_of_module=True)


def is_another(was: Any, now: Any) -> bool:
    """Whether a number differs from another of its class."""
    kind = kind_of_number(was)
    return kind is not None and kind_of_number(now) is kind and typed(was) != typed(now)


def text_of_change(what: str, was: Any, now: Any) -> Iterator[str]:
    """The text that says that a value changed; nothing if it did not."""
    alike = issubclass(type(was), PLAIN) and issubclass(type(now), PLAIN)
    if was is not now and not (alike and typed(was) == typed(now)):
        yield f"{what} is {short_text(now)}, was {short_text(was)}"


def cell_name(function: Callable, cell: Any) -> str:
    """The name of a closure's variable."""
    function = getattr(function, "__func__", function)
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells = getattr(function, "__closure__", None) or ()
    return next((n for n, c in zip(names, cells, strict=False) if c is cell), "of a function")


def of_module(name: str, old: Any, new: Any) -> Iterator[str]:
    """The differences inside of a module."""
    if old == new:
        return
    pairs = [(a, b) for a, b in zip_longest(old, new) if a != b]
    for was, now in pairs:
        if isinstance(was, tuple) and isinstance(now, tuple) and was[0] == now[0] != "hooks":
            replaced = any(isinstance(x[1], tuple) and isinstance(x[1][0], ref) for x in (was, now))
            news = f"is {short_text(as_value(now[1]))}, was {short_text(as_value(was[1]))}"
            yield f"module {name}: {now[0]} {'was replaced' if replaced else news}"
            return
    yield f"module {name}: its parts or hooks changed"


def of_checks(checks: Sequence[tuple[Callable, Any]]) -> Iterator[str]:
    """The values that the capture depended on and that have changed, as reasons."""
    for read, was in checks:
        now = read()
        if now != was:
            owner = getattr(read, "__self__", None)
            what = type(owner).__name__ if owner is not None else read.__qualname__.split(".")[0]
            yield f"{what}: what it took for granted is {short_text(now)}, was {short_text(was)}"


def as_value(key: Any) -> Any:
    """A value from its comparable form.

    >>> as_value(typed(True)), as_value(typed(0.5)), as_value(typed("a"))
    (True, 0.5, 'a')
    """
    if not isinstance(key, tuple) or len(key) != 2:
        return key
    return float.fromhex(key[1]) if key[0] == "float" else key[1]


def short_text(value: Any) -> str:
    """A short text of a value."""
    return "not there" if value is MISSING else reprlib.repr(value)
