"""Guards: the Python values that a captured function depends on, as they were when it was captured.

Values are compared by snapshots of what the function may read (closure_state.py), and of what is
inside modules.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any
from weakref import ref

from gnomon.capture import call_objects, closure_state
from gnomon.capture.code_names import CodeNames
from gnomon.capture.number_places import NumberPlace
from gnomon.capture.object_state import PLAIN, TABLES
from gnomon.capture.object_trees import Attributed
from gnomon.capture.signature import signature_of
from gnomon.capture.snapshot import NumberedParts, contents, entry_of, held_by, own_of
from gnomon.errors import ArgumentError
from gnomon.ir.memo import typed
from gnomon.ir.provenance import Site, user_site
from gnomon.settings import current
from gnomon.tensor import module_versions
from gnomon.tensor.autograd.hooks import hooks_of
from gnomon.tensor.pytree import Constant, TreeSpec, dense_parts
from gnomon.tensor.state import refusal
from gnomon.tensor.tensor import Tensor, pairs_of
from gnomon.tensor.traced_numbers import kind_of_number
from gnomon.tensor.views import full_chain

CHANGES = "the function changes Python values that it may read"
UNSEEN = "another profiling tool was active while it was captured first"
TRACKING = frozenset({"requires_grad", "is_leaf", "grad_fn"})
"""Names of what a tensor wants of gradients."""
SCHEDULED = (
    "the function reaches param_groups, by name or as __dict__ and getattr reach all names, of an "
    "optimizer whose schedule it steps, which is done at the end of each call. Read or set them "
    "outside of the function."
)
REMEDY = (
    "so that each of its calls is captured anew. Do it outside, before or after the call, "
    "and pass in what is read"
)


Kept = tuple[Any, Any, Tensor]
"""A holder of a tensor, the key or name, and the tensor."""


class Guard:
    """The guard of a captured program: the values that the function may read, as they were."""

    def __init__(
        self,
        function: Callable,
        objects: tuple[Any, ...] = (),
        numbers: Sequence[NumberPlace] = (),
    ) -> None:
        self.function, self.objects = function, objects
        self.numbers = [place for place in numbers if kind_of_number(place()) is not None]
        """The places where any number of its class will do."""
        self._kinds = [kind_of_number(place()) for place in self.numbers]
        self.any_number = frozenset(place.entry for place in self.numbers)
        self._looked = module_versions.latest()
        self._outside, self._places = self._walked()
        self._inside = [module_snapshot(x, self.any_number) for x in self._places.modules]
        self._stood = [comparable_tensor(x) for *_, x in self._places.kept]
        self._hooks = [hooks_of(x) for x in self._places.tensors]
        self._settings = current()
        self._read: list[tuple[Any, Any, Tensor, tuple]] = []
        self._alike: list[tuple[Any, Any, tuple]] = []
        self._flags: list[tuple[Any, Any, tuple]] = []
        """Places of tensors whose elements are not read, and what else code may ask of them."""
        self._tracks = self.words.every or not TRACKING.isdisjoint(x for _, x in self.words.pairs)
        """Whether code asks a tensor what it wants of gradients."""
        self._others: set[int] = set()
        """Tensors that must not stand in another's place, since code may ask which one it is."""
        self.lost = ""
        """Why no replay would do what the function does."""

    def _walked(self) -> tuple[Hashable, closure_state.Places]:
        """A new walk from the function, with its comparable form and places."""
        return closure_state.of_function(self.function, self.objects, self.any_number)

    def pass_over(self, change: int) -> None:
        """Accept a change of modules that a replay made, if there was no other."""
        if change == self._looked + 1:
            self._looked = change

    def met(self, arguments: Sequence[Tensor]) -> list[tuple[int, int]]:
        """The places that hold an argument's object, and the argument's number.

        Objects of the call that the function reaches by itself are included first.
        """
        objects = enumerate(call_objects.objects_of(arguments))
        known = [(k, -1) for k, x in objects if id(x) in self.walked]
        numbers = dict(zip(map(id, arguments), count(), strict=False))
        found = [id(names.get(key)) for names, key, _ in self._places.kept]
        if numbers.keys().isdisjoint(found):
            return known
        return known + [(n, numbers[x]) for n, x in enumerate(found) if x in numbers]

    @property
    def words(self) -> CodeNames:
        """The names in all code that the function reaches."""
        return self._places.words

    @property
    def walked(self) -> frozenset[int]:
        """The ids of the objects that the function reaches."""
        return self._places.walked

    @property
    def has_kept(self) -> bool:
        """Whether the guard covers places of tensors, which may be replaced."""
        return bool(self._places.kept)

    @property
    def lasting(self) -> Iterator[Tensor]:
        """The tensors of modules and closures that the function reaches, which outlive calls."""
        yield from self._places.tensors
        for module in self._places.modules:
            yield from pairs_of(module.parameters())
            yield from (x for y in module.buffers() for x in dense_parts(y)[0])

    @property
    def modules(self) -> list[Any]:
        """The modules among the guarded values."""
        return self._places.modules

    def tensors(self) -> list[Tensor]:
        """The tensors among the guarded values."""
        return [*(x for *_, x in self._places.kept), *self.lasting]

    def settle(self, capture: Any, seen: Any, name: str, shown: Iterable[Tensor] = ()) -> None:
        """Make replays store the tensors that the function put into attributes and lists.

        Tensors that it read there are read anew by every replay; other values there must stay.
        `seen` are effects that no replay repeats; None without replays. `shown` are returned
        tensors.
        """
        places, written = self._places, capture.written()
        kept = places.kept
        given = {x._storage for x in capture.arguments}
        arguments = set(map(id, capture.arguments))
        same = self._same(are_placed=True)
        self.lost = UNSEEN if seen and seen.is_blind else "" if same else CHANGES
        for effect, site in unseen(self._places, seen) if seen else ():
            self.lost = f"{effect} while it was captured"
            warnings.warn(f"compile: {name}: {self.lost}, {REMEDY}.   [{site}]", stacklevel=5)
        if any(id(groups) in self.walked for groups, _ in capture.afterwards):
            raise refusal(f"compile: {name}: {SCHEDULED}   [{line_of(seen, self.function)}]")
        later = self._walked()[1]
        if not (self.lost or all(is_made(capture, x) for x in later.new_since(places))):
            self.lost = CHANGES
        found = [x for x in later.kept if can_change(x[0])]
        standing = {entry_of(names, key): names for names, key, _ in found}
        shared = Counter(before._storage for _, _, before in kept)
        asked = {*capture.looked_grads, *capture.grads}
        new = new_among(found, kept)
        put_there = [*tensors_now(kept), *(x for *_, x in new)]
        moved = {now._storage for now in put_there if not capture.has_made(now)}
        moved |= {x._storage for x in shown}
        lasting = {x._storage for x in self.lasting}
        for (names, key, before), stood in zip(kept, self._stood, strict=True):
            now, storage = names.get(key), before._storage
            put = now is not before and isinstance(now, Tensor)
            if put:
                capture.placed.append((standing.get(entry_of(names, key), names), key, now))
            made = storage in moved or (put and capture.has_made(now))
            unread = storage not in capture.first and storage not in moved
            if unread and id(before) not in arguments:
                if id(before) in asked or (self.words.compares and not put):
                    self._read.append((names, key, before, stood))
                else:
                    self._flags.append((names, key, flags_of(before, self._tracks)))
                continue
            own = shared[storage] == 1 and storage not in written and storage not in given
            own = own and not full_chain(before) and id(before) not in asked
            if storage in moved:
                own = own and before._view is None and storage not in lasting
            after = now if put and capture.has_made(now) else before
            if made and own and signature_of(before) == signature_of(after):
                capture.read_at(before, names, key)
                self._alike.append((names, key, signature_of(after)))
            else:
                self._read.append((names, key, before, stood))

        capture.placed += new
        if self.words.compares and self._alike:
            self._others = set(map(id, self.lasting))

    def hand_back(self, stand_ins: Sequence[Tensor], arguments: Sequence[Tensor]) -> None:
        """Replace placeholders by the arguments wherever the function stored them."""
        given = {id(x): t for x, t in zip(stand_ins, arguments, strict=True) if x is not t}
        for cell, _ in self._places._cells if given else ():
            if (found := given.get(id(held_by(cell)))) is not None:
                cell.cell_contents = found

    def stood(self) -> tuple[Any, list[tuple[dict, dict]]]:
        """The tensors at all places that the function may change, for `undo`."""
        inner = [x for module in self.modules for x in module.modules()]
        tables = [table for x in inner for table in (x._parameters, x._buffers)]
        return self._places, [(table, dict(table)) for table in tables]

    def undo(self, capture: Any, stood: tuple[Any, list[tuple[dict, dict]]]) -> None:
        """Restore the tensors at places that the function changed; new entries are removed."""
        places, tables = stood
        found = self._walked()[1].kept
        found = [x for x in found if can_change(x[0]) and capture.is_made(x[2])]
        new = new_among(found, places.kept)
        places.put_back(lambda value: is_made(capture, value))
        for table, before in tables:
            table.update({x: before[x] for x in table if x in before and table[x] is not before[x]})
        for names, key, before in places.kept:
            if names.get(key) is not before:
                names[key] = before
        for names, key, made in reversed(new):
            if names.get(key) is made:
                del names[key]

    def holds(self) -> bool:
        """Whether all guarded values are unchanged."""
        if self.lost:
            return False
        settings = current()
        if settings is not self._settings:
            if settings.of_programs() != self._settings.of_programs():
                return False
            self._settings = settings
        for names, name, tensor, known in self._read:
            if names.get(name) is not tensor or known != comparable_tensor(tensor):
                return False
        for names, name, known in self._alike:
            tensor = names.get(name)
            if not isinstance(tensor, Tensor) or signature_of(tensor) != known:
                return False
            if self._others and id(tensor) in self._others:
                return False
        for names, name, known in self._flags:
            tensor = names.get(name)
            if not isinstance(tensor, Tensor) or flags_of(tensor, self._tracks) != known:
                return False
        return self._same()

    def _same(self, are_placed: bool = False) -> bool:
        """Check the guards other than tensors; modules are inspected only if any has changed.

        Tensors may be at places that had none if the function itself `are_placed` them there.
        """
        if self.numbers and not all(map(NumberPlace.holds, self.numbers, self._kinds)):
            return False
        now, places = module_versions.latest(), self._places
        held = places.hold()
        if held is False:
            return False
        if held is None:
            found, places = self._walked()
            if found != self._outside:
                return False
            if entries(places.kept) == entries(self._places.kept):
                self._places = places
            elif not are_placed:
                return False
        if now != self._looked:
            if [module_snapshot(x, self.any_number) for x in places.modules] != self._inside:
                return False
            if [hooks_of(x) for x in places.tensors] != self._hooks:
                return False
            self._looked = now
        return True


def tensors_now(kept: Iterable[Kept]) -> Iterator[Tensor]:
    """The tensors that replaced others at these places."""
    for names, key, before in kept:
        now = names.get(key)
        if now is not before and isinstance(now, Tensor):
            yield now


def entries(kept: Iterable[Kept]) -> set[tuple]:
    """The places of tensors in a comparable form."""
    return {entry_of(names, key) for names, key, _ in kept}


def new_among(found: list[Kept], before: list[Kept]) -> list[Kept]:
    """The entries of `found` at places where `before` has none."""
    known = entries(before)
    return [x for x in found if entry_of(*x[:2]) not in known]


def is_made(capture: Any, value: Any, depth: int = 3) -> bool:
    """Whether a value is a tensor computed in a capture, or contains one."""
    if isinstance(value, Tensor):
        return capture.is_made(value)
    inside = contents(value) if depth and type(value) in (tuple, list, dict) else ()
    return any(is_made(capture, x, depth - 1) for x in inside)


def can_change(names: Any) -> bool:
    """Whether another tensor can be stored at this place; a tuple's items cannot change."""
    return not (isinstance(names, NumberedParts) and isinstance(names.value, tuple))


def line_of(seen: Any, function: Callable | None = None) -> Any:
    """The line of an event in a function, or else the function's first line."""
    code = getattr(function, "__code__", None)
    first = code and Site(code.co_filename, code.co_firstlineno, code.co_name)
    return (seen and next(iter(seen.codes.values()), None)) or first or user_site()


def unseen(places: Any, seen: Any) -> Iterator[tuple[str, Any]]:
    """Effects and calls that the walk of the code did not predict, with their lines."""
    for (effect, asked), site in seen.effects.items():
        if asked not in places.walked:
            yield effect, site
    here = line_of(seen)
    yield from ((f"{what}, cannot be looked into,", here) for what in places.opaque[:1])
    for code, site in seen.codes.items():
        if code not in places.codes:
            yield f"`{code.co_qualname}` was called from where no name leads to it", site
            return


def comparable_tensor(tensor: Tensor) -> tuple[object, bool]:
    """A comparable form of a tensor: its storage, and whether it requires a gradient."""
    return tensor._storage, tensor.requires_grad


def flags_of(tensor: Tensor, tracks: bool) -> tuple:
    """A comparable form of an unread tensor: its dtype and gradient flags."""
    return tensor.dtype, tracks and (tensor.requires_grad, tensor.is_leaf)


def guard_of(function: Callable, call: Any = None, numbers: Sequence[NumberPlace] = ()) -> Guard:
    """The guard of a function for arguments of this structure."""
    if not callable(function):
        raise ArgumentError(f"compile: expected a function or a module: got {function!r}.")
    return Guard(function, tuple(objects_in(call)), numbers)


def objects_in(tree: Any) -> Iterator[Any]:
    """The Python objects among nested arguments."""
    if isinstance(tree, Constant) and not isinstance(tree.value, PLAIN):
        yield tree.value
    if isinstance(tree, TreeSpec) and isinstance(tree.kind, Attributed):
        yield tree.kind.kind
    for part in tree.parts if isinstance(tree, TreeSpec) else ():
        yield from objects_in(part)


def module_snapshot(
    module: Any, any_number: frozenset[tuple[int, Any]] = frozenset()
) -> tuple[Hashable, ...]:
    """A comparable form of a module: plain attributes, its mode among them, parameters, buffers."""
    parts: list[Hashable] = []
    for inner in module.modules():
        kind = type(inner)
        parts += [id(inner), id(kind)]
        own = own_of(inner)
        for name, value in own.items():
            if any_number and (id(own), name) in any_number:
                parts.append((name, kind_of_number(value)))
            elif isinstance(value, PLAIN) or (isinstance(value, tuple) and is_plain(value)):
                parts.append((name, typed(value)))
            elif name not in TABLES and not isinstance(value, Tensor):
                # what hides an attribute of the class is code, or stands for it
                parts.append((name, id(value) if hasattr(kind, name) else None))
        parts += [
            (name, None if x is None else (ref(x._storage), x.requires_grad, hooks_of(x)))
            for name, y in (*inner._parameters.items(), *inner._buffers.items())
            for x in dense_parts(y)[0]
        ]
        parts += [
            len(inner._modules),
            *(
                ("hooks", *each, *map(id, each.values()))
                for each in module_versions.tables_of(inner)
            ),
        ]
    return tuple(parts)


def is_plain(values: tuple) -> bool:
    """Whether a tuple holds plain values only."""
    return all(isinstance(value, PLAIN) for value in values)
