"""Object trees: nested values by structure, and by which lists, dictionaries and objects are in it.

A pytree takes containers for values. Those of a call are objects too: a function writes to them,
gives them back, or has one under two names. Who compares them is call_objects.py.
"""

from __future__ import annotations

import copy
import functools
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnomon.capture.code_names import is_of_package
from gnomon.capture.object_state import PLAIN, never_changes
from gnomon.capture.snapshot import own_of
from gnomon.tensor.overrides import as_subclass
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec, leaf_of
from gnomon.tensor.tensor import Paired, Tensor
from gnomon.tensor.traced_numbers import TracedNumber, varies

__all__ = [
    "Attributed",
    "Builder",
    "Copied",
    "ObjectWalk",
    "Outside",
    "content",
    "fill",
    "is_data",
    "split",
]

COPIED = (set, deque, bytearray, np.ndarray)
"""Classes of what is copied for each result, where no tensors are inside."""
CALLED = (types.FunctionType, functools.partial)
"""Classes of what may hold tensors where nobody looks."""
FACTORY = "default_factory"
"""The attribute of a dictionary with defaults that is kept beside its content."""
HEAP = 1 << 9
"""CPython's flag of classes that are made by Python code."""


class Given(NamedTuple):
    """A reference in a tree to an object of the call, by its number."""

    number: int


class Shared(NamedTuple):
    """A reference in a tree to an object that occurs earlier, by its number."""

    number: int


class Outside(NamedTuple):
    """An object that existed before the call and is shared with the result."""

    value: Any


class Copied(NamedTuple):
    """An object of Python's or numpy's without tensors inside, copied for each result."""

    value: Any


class Attributed(NamedTuple):
    """The kind of a tree with attributes: names as keys, the content as a part."""

    kind: type
    has_content: bool


def split(tree: TreeSpec) -> tuple[TreeSpec | TreeLeaf | None, tuple[tuple[Constant, Any], ...]]:
    """The parts of an object's tree: of its content, or None, and of its attributes.

    The content of a Tensor's subclass is a tensor.
    """
    if not isinstance(tree.kind, Attributed):
        return tree, ()
    pairs = tuple(zip(tree.names, tree.parts, strict=True))
    return (tree.parts[-1], pairs[:-1]) if tree.kind.has_content else (None, pairs)


def is_data(value: Any) -> bool:
    """Whether an object is its attributes alone: of a Python class, no module, not Gnomon's."""
    kind = type(value)
    if kind is types.SimpleNamespace or is_ours(kind):
        return True
    made = kind.__flags__ & HEAP and kind.__new__ is object.__new__ and not issubclass(kind, type)
    hidden = hasattr(kind, "register_forward_hook") or any(map(is_of_package, kind.__mro__))
    plain = issubclass(kind, PLAIN) or hasattr(kind, "__del__")
    return bool(made) and not (hidden or plain)


def is_ours(kind: type) -> bool:
    """Whether a class is one of Gnomon's whose objects are data."""
    return getattr(kind, "_is_data", False)


def is_plain(value: Any) -> bool:
    """Whether a set, an array or the like has neither tensors nor objects inside."""
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    return all(isinstance(x, PLAIN) for x in value)


def slots_of(kind: type) -> dict[str, Any]:
    """The slots of a class's objects, and the descriptor that reads each."""
    found = {name: x for base in kind.__mro__ for name, x in vars(base).items()}
    return {
        name: x
        for name, x in found.items()
        if type(x) is types.MemberDescriptorType and not name.startswith("__")
    }


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots too."""
    kind, own = type(value), dict(own_of(value) or {})
    for name, slot in slots_of(kind).items() if is_data(value) else ():
        try:
            own[name] = slot.__get__(value)
        except AttributeError:
            continue
    return own | {FACTORY: value.default_factory} if issubclass(kind, defaultdict) else own


def content(value: Any) -> tuple[Any, dict[str, Any]]:
    """A list or dictionary as a plain one, or None; and the object's attributes."""
    kind = type(value)
    if kind is list or kind is dict:
        return value.copy(), {}
    if issubclass(kind, list):
        return list(list.__iter__(value)), attributes(value)
    if issubclass(kind, dict):
        return {key: dict.__getitem__(value, key) for key in base_of(kind).__iter__(value)}, (
            attributes(value)
        )
    return None, attributes(value)


def base_of(kind: type) -> type:
    """The built-in class that a class of dictionaries derives from."""
    return OrderedDict if issubclass(kind, OrderedDict) else dict


def fill(value: Any, inside: Any, own: Mapping[str, Any], removed: Collection[str] = ()) -> None:
    """Set an object's content and attributes, without running its own methods."""
    kind = type(value)
    if issubclass(kind, list):
        list.__setitem__(value, slice(None), inside)
    elif issubclass(kind, dict):
        base = base_of(kind)
        if [*base.__iter__(value)] != [*inside]:
            base.clear(value)
        for key, part in inside.items():
            base.__setitem__(value, key, part)
    if own or removed:
        put_attributes(value, own, removed)


def put_attributes(value: Any, own: Mapping[str, Any], removed: Collection[str]) -> None:
    """Set some attributes of an object, and delete others."""
    kept, slots = own_of(value), slots_of(type(value)) if is_data(value) else (FACTORY,)
    for name in removed:
        object.__delattr__(value, name) if name in slots else kept.pop(name, None)
    for name, part in own.items():
        if name in slots:
            object.__setattr__(value, name, part)
        else:
            kept[name] = part


def empty(kind: type) -> Any:
    """A new object of a class; __init__ is not run."""
    bases = (list, OrderedDict, defaultdict, dict, types.SimpleNamespace)
    return next((x for x in bases if issubclass(kind, x)), object).__new__(kind)


class ObjectWalk:
    """A walk over nested values that numbers tensors and objects in the order of the walk."""

    def __init__(
        self,
        tensors: list[Tensor],
        named: Mapping[type, frozenset[str] | None],
        known: Callable[[Any], Any] | None = None,
    ) -> None:
        self.tensors, self.objects = tensors, []
        self.tuples: list[tuple] = []
        """Tuples in which there are objects."""
        self.opaque: list[Any] = []
        """Objects that are not looked into and may change."""
        self.met: defaultdict[int, int] = defaultdict(int)
        """Id of an object -> the number of times that it was met."""
        self.has_objects = False
        """Whether a pytree would not tell all of it."""
        self._places = {id(t): k for k, t in enumerate(tensors)}
        self._numbers: dict[int, int] = {}
        self._named, self._known = named, known

    def tree(self, value: Any) -> Any:
        """The tree of a value; None in `named` takes the attributes of every object of data."""
        kind = type(value)
        if issubclass(kind, Tensor):
            is_object = kind._overrides or value.__dict__
            return self._object(value, True) if is_object else self._leaf(value)
        if kind in PLAIN or kind is type:
            return Constant(value)
        if issubclass(kind, tuple) and not issubclass(kind, (TreeLeaf, TreeSpec)):
            parts = tuple(map(self.tree, tuple.__iter__(value)))
            if not all(isinstance(part, (TreeLeaf, Constant)) for part in parts):
                self.tuples.append(value)
                self.met[id(value)] += 1
            return self._with(TreeSpec(kind, (), parts), value)
        if varies(value) and value.settled is None:
            return TreeSpec(kind, (), (self.tree(value.tensor),))
        if issubclass(kind, Paired):
            return TreeSpec(value.plain, (), (self.tree(value._pair),))
        taken = kind in self._named or is_ours(kind)
        is_object = issubclass(kind, (list, dict)) or (self._known is None and taken)
        if self._known is None and not is_object:
            return Constant(value)
        return self._object(value, is_object)

    def _leaf(self, tensor: Tensor) -> TreeLeaf:
        """The place of a tensor among all."""
        return leaf_of(tensor, self.tensors, self._places)

    def _object(self, value: Any, is_object: bool) -> Any:
        """The tree of an object, or a reference if it occurred before."""
        number = self._numbers.get(id(value))
        if number is not None:
            self.met[id(value)] += 1
            self.has_objects = True
            return Shared(number)
        if self._known is not None:
            if not is_object and not is_data(value):
                return self._opaque(value)
            if (leaf := self._known(value)) is not None:
                self.has_objects = True
                self.met[id(value)] += 1
                return leaf
        self._note(value)
        return self._inside(value)

    def _note(self, value: Any) -> None:
        """Number an object."""
        self._numbers[id(value)] = len(self.objects)
        self.objects.append(value)
        self.met[id(value)] += 1

    def _opaque(self, value: Any) -> Any:
        """A leaf for an object that is not walked: copied for each result, or shared."""
        if type(value) in COPIED and is_plain(value):
            self._note(value)
            self.has_objects = True
            return Copied(copy.copy(value))
        if not never_changes(value) or type(value) in CALLED:
            self.opaque.append(value)
            self.met[id(value)] += 1
        return Constant(value)

    def _inside(self, value: Any) -> TreeSpec:
        """The tree of a list, dictionary or object."""
        kind = type(value)
        if kind is list or kind is dict:
            return self.content(kind, value)
        if issubclass(kind, Tensor):
            # a result is a tensor that nobody holds, and an argument the object that was given
            plain = value if self._known is None else as_subclass(value, Tensor)
            return self._with(self._leaf(plain), value)
        inside, _ = content(value)
        return self._with(None if inside is None else self.content(kind, inside), value)

    def content(self, kind: type, inside: Any) -> TreeSpec:
        """The tree of the content of a list or dictionary."""
        if not isinstance(inside, dict):
            return TreeSpec(kind, (), tuple(map(self.tree, inside)))
        return TreeSpec(kind, tuple(map(Constant, inside)), tuple(map(self.tree, inside.values())))

    def parts(self, inside: Any, own: Mapping[str, Any]) -> tuple[TreeSpec | None, Any]:
        """The trees of an object's content, None where it has none, and of its attributes."""
        tree = None if inside is None else self.content(type(inside), inside)
        return tree, tuple((Constant(name), self.tree(x)) for name, x in own.items())

    def _with(self, tree: TreeSpec | TreeLeaf | None, value: Any) -> TreeSpec:
        """The structure of an object: that of its content, and its attributes."""
        kind = type(value)
        if kind is tuple:
            return tree
        own = attributes(value)
        named = self._named.get(kind) if tree is None else None
        if named is not None:
            own = {name: x for name, x in own.items() if name in named}
        if tree is not None and not own and not isinstance(tree, TreeLeaf):
            self.has_objects = self.has_objects or not issubclass(kind, tuple)
            return tree
        self.has_objects = True
        parts = [*map(self.tree, own.values()), *(() if tree is None else (tree,))]
        names = [*map(Constant, own), *(() if tree is None else (Constant(None),))]
        return TreeSpec(Attributed(kind, tree is not None), tuple(names), tuple(parts))


class Builder:
    """Builder of values from object trees, given the tensors and the objects of a call."""

    def __init__(
        self, tensors: Sequence[Tensor], given: Sequence[Any], first: Sequence[Any] = ()
    ) -> None:
        self.tensors, self.given, self.first = tensors, given, first
        """`first` are objects that are filled instead of new ones."""
        self.made: list[Any] = []

    def value(self, tree: Any) -> Any:
        """The value of a tree."""
        match tree:
            case TreeLeaf():
                return self.tensors[tree.number]
            case Constant() | Outside():
                return tree.value
            case Given():
                return self.given[tree.number]
            case Shared():
                return self.made[tree.number]
            case Copied():
                return self._noted(lambda: copy.copy(tree.value))
        return self._container(tree)

    def _noted(self, make: Callable[[], Any]) -> Any:
        """The next object in the order of the walk: an existing one, or a new one by `make`."""
        number = len(self.made)
        self.made.append(self.first[number] if number < len(self.first) else make())
        return self.made[-1]

    def _container(self, tree: TreeSpec) -> Any:
        """A tuple, list, dictionary or object with what is inside."""
        kind, (inside, own) = tree.kind, split(tree)
        kind = kind.kind if isinstance(kind, Attributed) else kind
        if issubclass(kind, (TracedNumber, Paired)):
            return kind([self.tensors[tree.parts[0].number]])
        if issubclass(kind, Tensor):
            found = self._noted(lambda: as_subclass(self.tensors[inside.number], kind))
            fill(found, None, self.content(None, own)[1])
            return found
        if issubclass(kind, tuple):
            found = tuple.__new__(kind, map(self.value, inside.parts))
            vars(found).update({name.value: self.value(x) for name, x in own}) if own else None
            return found
        found = self._noted(lambda: empty(kind))
        fill(found, *self.content(inside, own))
        return found

    def content(
        self, inside: TreeSpec | None, own: Sequence[tuple[Constant, Any]]
    ) -> tuple[Any, dict[str, Any]]:
        """The content and the attributes of an object, built from their trees."""
        parts = () if inside is None else [*map(self.value, inside.parts)]
        keyed = inside is not None and issubclass(inside.kind, dict)
        found = dict(zip((x.value for x in inside.names), parts, strict=True)) if keyed else parts
        return found, {name.value: self.value(part) for name, part in own}
