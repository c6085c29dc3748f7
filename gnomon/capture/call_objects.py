"""The objects of a call: lists, dictionaries and objects among its arguments, and those it gives.

While a function is captured, its stand-ins are in the very objects that it was given, so that what
it writes to them is seen, and done by every replay. What it gives back is made for each call,
unless it was there before; object_trees.py has the trees.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gnomon.capture.object_trees import (
    Builder,
    Given,
    ObjectWalk,
    Outside,
    content,
    fill,
    is_data,
    split,
)
from gnomon.settings import Block
from gnomon.tensor.overrides import as_subclass
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec, nothing, unflatten
from gnomon.tensor.tensor import Paired, Tensor
from gnomon.tensor.traced_numbers import TracedNumber

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard

__all__ = [
    "CallTensors",
    "KEPT",
    "Outcome",
    "call_of",
    "copied",
    "learn_classes",
    "objects_of",
    "standing",
    "tensors_of_call",
]

KEPT = (
    "an object that the function was given, or that it gives back, is kept elsewhere, or "
    "cannot be made anew"
)

EMPTY: Mapping[int, int] = MappingProxyType({})
NamedClasses = Mapping[type, frozenset[str] | None]
"""Classes whose objects are arguments by what is in these attributes."""


def references(objects: Iterable[Any], met: Mapping[int, int] = EMPTY) -> list[int]:
    """The reference count of each object, without the references that a walk itself holds."""
    return [sys.getrefcount(x) - met.get(id(x), 0) for x in objects]


ALONE = references([object()])[0]
"""References to an object of a list that nobody holds else."""


class CallTensors(list[Tensor]):
    """The tensors of a call, with the objects that hold them and the call's structure."""

    def __init__(self, tensors: Iterable[Tensor], objects: list[Any], call: Any) -> None:
        super().__init__(tensors)
        self.objects, self.call = objects, call


def tensors_of_call(args: tuple, kwargs: dict, named: NamedClasses) -> tuple[TreeSpec, CallTensors]:
    """The tree of a call's arguments, and their tensors."""
    walk = ObjectWalk([], named)
    words = nothing(dict)
    given = TreeSpec(tuple, (), tuple(map(walk.tree, args))) if args else nothing(tuple)
    if kwargs:
        words = TreeSpec(dict, tuple(map(Constant, kwargs)), tuple(map(walk.tree, kwargs.values())))
    found = CallTensors(walk.tensors, walk.objects, (args, kwargs))
    return TreeSpec(tuple, (), (given, words)), found


def copied(arguments: Sequence[Tensor]) -> list[Tensor]:
    """A copy of the list of a call's tensors that still belongs to the call's objects."""
    if isinstance(arguments, CallTensors):
        return CallTensors(arguments, arguments.objects, arguments.call)
    return list(arguments)


class CapturedCall:
    """The arguments of a function during its capture, and its writes to their objects."""

    def __init__(self, args: tuple, kwargs: dict[str, Any], counts: list[int]) -> None:
        self.args, self.kwargs, self.counts = args, kwargs, counts
        """`counts` are the references to each object before the call."""
        self.writes: list[tuple[int, Any, dict[str, Any], list[str]]] = []
        """The number of each, its content, its new attributes and those that are gone."""

    def note(self, number: int, now: tuple, stood: tuple) -> None:
        """Record the function's changes of an object: content, attributes, removed ones."""
        (inside, own), (before, owned) = now, stood
        found = {name: x for name, x in own.items() if owned.get(name, self) is not x}
        gone = [name for name in owned if name not in own]
        if found or gone or not same(inside, before):
            self.writes.append((number, inside, found, gone))


class StandIns:
    """Placeholders in the objects of a call, and the content that they replaced."""

    def __init__(self, stand_ins: Sequence[Any]) -> None:
        self.stand_ins = stand_ins
        self.filled: list[tuple[Any, tuple, tuple]] = []
        """Each object, what was inside and what is now."""

    def value(self, value: Any, tree: Any) -> Any:
        """A value with its tensors and numbers replaced by placeholders."""
        if isinstance(tree, TreeLeaf):
            return self.stand_ins[tree.number]
        if not isinstance(tree, TreeSpec):
            return value
        if isinstance(tree.kind, type) and issubclass(tree.kind, (TracedNumber, Paired)):
            return tree.kind([self.stand_ins[tree.parts[0].number]])
        if issubclass(type(value), tuple):
            return self._tuple(value, tree)
        return self._object(value, tree)

    def _tuple(self, value: tuple, tree: TreeSpec) -> tuple:
        """A tuple with placeholders; the same tuple if there is nothing to replace in it."""
        inside, pairs = split(tree)
        own = {x.value: self.value(vars(value)[x.value], part) for x, part in pairs}
        parts = list(map(self.value, value, inside.parts))
        if not own and all(map(operator.is_, parts, value)):
            return value
        found = tuple.__new__(type(value), parts)
        vars(found).update(own) if own else None
        return found

    def _object(self, value: Any, tree: TreeSpec) -> Any:
        """An object, filled in place with placeholders for the tensors and numbers inside."""
        of_content, pairs = split(tree)
        if isinstance(of_content, TreeLeaf):
            value = as_given(value, self.stand_ins[of_content.number])
        before = inside, own = content(value)
        place = len(self.filled)
        self.filled.append((value, before, before))
        if isinstance(inside, dict):
            parts = map(self.value, inside.values(), of_content.parts)
            inside = dict(zip(inside, parts, strict=True))
        elif inside is not None:
            inside = list(map(self.value, inside, of_content.parts))
        own = own | {x.value: self.value(own[x.value], part) for x, part in pairs}
        fill(value, inside, own)
        self.filled[place] = (value, before, (inside, own))
        return value


def as_given(value: Tensor, stand_in: Tensor) -> Tensor:
    """A placeholder of an argument of a subclass of Tensor, with the same class and attributes."""
    if stand_in is value:
        return value
    made = as_subclass(stand_in, type(value))
    fill(made, *content(value))
    return made


class standing(Block):
    """A context in which a call's objects hold placeholders; restores them at its end."""

    def __init__(
        self, arguments: Sequence[Tensor], tree: TreeSpec, stand_ins: Sequence[Any]
    ) -> None:
        self.arguments, self.tree, self.filled = arguments, tree, StandIns(stand_ins)
        self.called: CapturedCall | None = None

    def __enter__(self) -> CapturedCall:
        counts, filled = references(objects_of(self.arguments)), self.filled
        args, kwargs = call_of(self.arguments)
        given, words = self.tree.parts
        try:
            values = tuple(map(filled.value, args, given.parts))
            named = dict(zip(kwargs, map(filled.value, kwargs.values(), words.parts), strict=True))
            called = self.called = CapturedCall(values, named, counts)
        except BaseException:
            self.leave()
            raise
        return called

    def leave(self) -> None:
        """Restore the objects' content, and record what the function wrote to them."""
        called = self.called
        for number, (value, before, stood) in enumerate(self.filled.filled):
            now = content(value)
            if called is not None:
                called.note(number, now, stood)
            fill(value, *before, now[1].keys() - before[1].keys())
        if called is not None:
            called.args, called.kwargs = (), {}
        self.called, self.filled = None, StandIns(())


def same(now: Any, before: Any) -> bool:
    """Whether a list or dictionary has the very same objects in the same order."""
    if now is None or before is None or len(now) != len(before):
        return now is before
    if not isinstance(now, dict):
        return all(map(operator.is_, now, before))
    return same([*now.values()], [*before.values()]) and [*now] == [*before]


class Outcome:
    """The recipe of a function's result and of its writes to arguments' objects."""

    def __init__(
        self,
        given_back: list[Any],
        called: CapturedCall,
        arguments: Sequence[Tensor],
        walked: frozenset[int],
    ) -> None:
        given = {id(x): k for k, x in enumerate(objects_of(arguments))}

        def known(value: Any) -> Any:
            if (number := given.get(id(value))) is not None:
                return Given(number)
            return Outside(value) if id(value) in walked else None

        self.tensors: list[Tensor] = []
        walk = ObjectWalk(self.tensors, {}, known)
        self.tree = walk.tree(*given_back)
        self.writes = [(k, *walk.parts(*now), gone) for k, *now, gone in called.writes]
        """The number of each object that is written to, its content and its attributes."""
        self.is_plain = not (walk.has_objects or self.writes)
        """Whether a pytree tells all."""
        held = references([*walk.objects, *walk.tuples], walk.met)
        is_kept = any(number > ALONE + 1 for number in held)
        self._first: list[Any] = walk.objects if is_kept else []
        """Objects that somebody else holds: this call's, and no other's."""
        is_new = any(number <= ALONE for number in references(walk.opaque, walk.met))
        now = references(objects_of(arguments), walk.met)
        self.is_once = is_kept or is_new or any(map(operator.gt, now, called.counts))
        """Whether no replay can give the like."""

    def settled(self, plain: Callable[[Any], Any]) -> Outcome:
        """A copy with plain numbers in place of symbolic sizes."""
        made = copy(self)
        made.tree, made.writes = plain(self.tree), plain(self.writes)
        return made

    def __call__(self, made: Sequence[Tensor], arguments: Sequence[Tensor]) -> Any:
        """The result of a call, built from its tensors; writes to its arguments are repeated."""
        if self.is_plain and not self._first:
            return unflatten(self.tree, made)
        given = objects_of(arguments)
        builder, self._first = Builder(made, given, self._first), []
        result = builder.value(self.tree)
        for number, inside, own, gone in self.writes:
            fill(given[number], *builder.content(inside, own), gone)
        return result


def objects_of(arguments: Sequence[Tensor]) -> Sequence[Any]:
    """The objects among a call's arguments, in the order of the walk."""
    return getattr(arguments, "objects", ())


def call_of(arguments: Sequence[Tensor]) -> tuple[tuple, dict[str, Any]]:
    """The positional and the keyword arguments of a call."""
    return getattr(arguments, "call", None) or (tuple(arguments), {})


def names_read(guards: Iterable[Guard]) -> frozenset[str] | None:
    """The names of all attributes that the guarded functions read; None if they may read any."""
    words = [guard.words for guard in guards]
    if any(x.every for x in words):
        return None
    return frozenset().union(*({name for _, name in x.pairs} for x in words))


def learn_classes(
    named: dict[type, frozenset[str] | None],
    key: tuple,
    programs: Mapping[tuple, Sequence[tuple[Guard, Any]]],
) -> bool:
    """Add the classes by whose objects alone a call differs from known ones to `named`.

    Objects of such classes are passed by their content from then on. Returns whether there were
    any.
    """
    known = [differing(key[0], x[0]) for x in programs if x[1:] == key[1:]]
    found = set().union(*filter(None, known)) - named.keys()
    guards = [guard for kept in programs.values() for guard, _ in kept]
    named |= dict.fromkeys(found, names_read(guards))
    return bool(found)


def differing(new: Any, old: Any) -> set[type] | None:
    """The classes of objects by which two trees differ; None if they differ in other ways too."""
    if isinstance(new, Constant) and isinstance(old, Constant) and new != old:
        alike = type(new.value) is type(old.value) and is_data(new.value)
        return {type(new.value)} if alike else set()
    if not (isinstance(new, TreeSpec) and isinstance(old, TreeSpec)):
        return set() if new == old else None
    if new[:2] != old[:2] or len(new.parts) != len(old.parts):
        return None
    found = [differing(*pair) for pair in zip(new.parts, old.parts, strict=True)]
    return None if None in found else set().union(*found)
