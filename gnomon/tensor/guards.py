"""What a captured function depends on besides tensors: its arguments' structure, and Python values.

Values are compared by snapshots of what the function may read (surroundings.py), and of what is
inside modules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError
from gnomon.ir.node import typed
from gnomon.late import Late
from gnomon.tensor import changes
from gnomon.tensor.device import Device
from gnomon.tensor.tensor import Tensor, raw

surroundings = Late("gnomon.tensor.surroundings")

PLAIN = (bool, int, float, str, bytes, type(None), DType, Device, complex)
LONGEST = 64
"""Parts of a container that are looked at one by one."""


class Place(NamedTuple):
    """Stands for the k-th tensor of a nested value."""

    number: int


PLACES = tuple(map(Place, range(LONGEST)))


class Nest(NamedTuple):
    """A nested value's container: its kind, its names, its parts."""

    kind: Any
    names: tuple
    parts: tuple


class Constant:
    """A Python value inside a nested one, compared with its type and its sign of zero."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self.key: Hashable = typed(value)
            hash(self.key)
        except TypeError:
            self.key = ("object", id(value))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key


def structure_of_call(args: tuple, kwargs: dict) -> tuple[Any, Sequence[Tensor]]:
    """The structure of a call's arguments, and their tensors; most are tensors alone."""
    count = len(args)
    if not kwargs and count < LONGEST:
        for x in args:
            if type(x) is not Tensor:
                break
        else:
            if count < 2 or len(set(map(id, args))) == count:
                return tensors_alone(count), args
    found: list[Tensor] = []
    return flatten((args, kwargs), found), found


@cache
def tensors_alone(count: int) -> Nest:
    """The structure of a call with so many different tensors."""
    return Nest(tuple, (), (Nest(tuple, (), PLACES[:count]), nothing(dict)))


def flatten(value: Any, found: list[Tensor]) -> Any:
    """The structure of a nested value; its tensors are added to the list."""
    return structure_of(value, found, {id(t): k for k, t in enumerate(found)})


def structure_of(value: Any, found: list[Tensor], places: dict[int, int]) -> Any:
    """The same, given the places of the tensors in the list."""
    if isinstance(value, Tensor):
        place = places.setdefault(id(value), len(found))
        if place == len(found):
            found.append(value)
        return PLACES[place] if place < LONGEST else Place(place)
    if isinstance(value, (dict, list, tuple)) and not isinstance(value, (Place, Nest)):
        if not value:
            return nothing(type(value))
        if not isinstance(value, dict):
            return Nest(type(value), (), tuple([structure_of(v, found, places) for v in value]))
        parts = tuple([structure_of(v, found, places) for v in value.values()])
        return Nest(type(value), tuple(map(Constant, value)), parts)
    return Constant(value)


@cache
def nothing(kind: Any) -> Nest:
    """The structure of an empty container."""
    return Nest(kind, (), ())


def unflatten(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """A nested value from its structure."""
    if isinstance(tree, Place):
        return tensors[tree.number]
    if isinstance(tree, Constant):
        return tree.value
    parts = [unflatten(part, tensors) for part in tree.parts]
    if issubclass(tree.kind, dict):
        return tree.kind(zip((name.value for name in tree.names), parts, strict=True))
    return tree.kind(*parts) if hasattr(tree.kind, "_fields") else tree.kind(parts)


def signature_of(tensor: Tensor) -> tuple:
    """What a program fixes about an argument."""
    rare, leaf = tensor._rare, tensor._requires
    gathered = rare is not None and rare.grad is not None
    if tensor._view is None:
        storage = tensor._storage
        node, wanted = storage.node, leaf or storage.tracked
    else:
        node, wanted = raw(tensor), tensor.requires_grad
    return (node.shape, node.dtype, wanted, leaf, gathered)


# Python values that the function may read


class Guard:
    """The values that a function may read, as they were when it was captured."""

    def __init__(self, function: Callable, objects: tuple[Any, ...] = ()) -> None:
        self.function, self.objects = function, objects
        self._looked = changes.latest()
        self._outside, self._places = surroundings.of_function(function, objects)
        self._inside = [module_snapshot(module) for module in self._places.modules]
        self._read: list[tuple[Any, Any, Tensor, tuple]] = []
        self._alike: list[tuple[Any, Any, tuple]] = []
        self._lost = False
        """Whether the function itself changes what it may read: replays would not."""

    @property
    def modules(self) -> list[Any]:
        """The modules among them."""
        return self._places.modules

    def settle(self, capture: Any) -> None:
        """Tell a capture of the tensors that the function put in attributes and lists.

        What it read there before is read anew by every replay; what else it read there must stay.
        """
        kept, written = self._places.kept, capture.written()
        self._lost = not self._same()
        shared = Counter(before._storage for _, _, before in kept)
        for names, key, before in kept:
            now, storage = names.get(key), before._storage
            made = now is not before and capture.has_made(now)
            if made:
                capture.placed.append((names, key, now))
            if storage not in capture.first:
                continue
            own = shared[storage] == 1 and storage not in written
            if made and own and signature_of(before) == signature_of(now):
                capture.read_at(before, names, key)
                self._alike.append((names, key, signature_of(now)))
            else:
                self._read.append((names, key, before, watched(before)))

    def holds(self) -> bool:
        """Whether they are the same now."""
        if self._lost:
            return False
        for names, name, tensor, known in self._read:
            if names.get(name) is not tensor or known != watched(tensor):
                return False
        for names, name, known in self._alike:
            tensor = names.get(name)
            if not isinstance(tensor, Tensor) or signature_of(tensor) != known:
                return False
        return self._same()

    def _same(self) -> bool:
        """The same of what is no tensor; modules are looked into only if any has changed."""
        now, places = changes.latest(), self._places
        held = places.hold()
        if held is False:
            return False
        if held is None:
            found, places = surroundings.of_function(self.function, self.objects)
            if found != self._outside:
                return False
            self._places = places
        if now != self._looked:
            if [module_snapshot(module) for module in places.modules] != self._inside:
                return False
            self._looked = now
        return True


def watched(tensor: Tensor) -> tuple[object, bool]:
    """Where a tensor has its value, and whether it wants gradients."""
    return tensor._storage, tensor.requires_grad


def guard_of(function: Callable, call: Any = None) -> Guard:
    """A guard over what a function may read, given the structure of its arguments."""
    if not callable(function):
        raise ArgumentError(f"compile: expected a function or a module: got {function!r}.")
    return Guard(function, tuple(objects_in(call)))


def objects_in(tree: Any) -> Iterator[Any]:
    """The Python objects among nested arguments."""
    if isinstance(tree, Constant) and not isinstance(tree.value, PLAIN):
        yield tree.value
    for part in tree.parts if isinstance(tree, Nest) else ():
        yield from objects_in(part)


def module_snapshot(module: Any) -> Hashable:
    """A module by what is inside: plain attributes, its mode among them, parameters, buffers."""
    parts: list[Hashable] = []
    for inner in module.modules():
        parts.append(id(inner))
        parts += [
            (name, typed(value))
            for name, value in inner.__dict__.items()
            if isinstance(value, PLAIN) or (isinstance(value, tuple) and is_plain(value))
        ]
        parts += [
            (name, None if value is None else (id(value._storage), value.requires_grad))
            for name, value in (*inner._parameters.items(), *inner._buffers.items())
        ]
        parts += [len(inner._modules), len(inner._forward_hooks), len(inner._forward_pre_hooks)]
    return tuple(parts)


def is_plain(values: tuple) -> bool:
    """Whether a tuple holds plain values only."""
    return all(isinstance(value, PLAIN) for value in values)
