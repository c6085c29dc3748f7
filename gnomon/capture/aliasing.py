"""Arguments that share memory, with each other or with what a captured function reads from outside.

A view is passed by value, so that one program serves every part of a tensor. That is right until
the function writes to memory that it has under two names: then all are passed as parts of one
storage, and which parts belongs to the signature.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import Any
from weakref import ref

from gnomon.capture.inputs import Apart, GivenInput, Ids, storage_tensor
from gnomon.capture.tracing import Capture
from gnomon.errors import TraceError
from gnomon.ir.provenance import user_site
from gnomon.ops.strides import form_of
from gnomon.tensor.memory import overlapping
from gnomon.tensor.state import Storage, storage_of
from gnomon.tensor.strides import strided_view_of
from gnomon.tensor.tensor import Tensor, View, raw
from gnomon.tensor.views import full_chain, is_shown_by_storage

__all__ = ["Apart", "by_id", "check", "groups", "outside", "parts", "refuse_overlaps", "stand_ins"]


def groups(arguments: Sequence[Tensor]) -> tuple[int, ...]:
    """For each argument, the first argument with the same storage; () if none share one.

    >>> x, y = Tensor([1.0, 2.0]), Tensor([3.0])
    >>> groups((x, y)), groups((x, y, x[1:]))
    ((), (0, 1, 0))
    """
    if len(arguments) < 2:
        return ()
    storages = [id(t._storage) for t in arguments]
    if len(set(storages)) == len(storages):
        return ()
    return tuple(map(storages.index, storages))


def parts(arguments: Sequence[Tensor], places: Collection[int]) -> tuple[Hashable, ...]:
    """For the arguments at these places, in order: the storage's shape and flags, and the views."""
    return tuple(
        (
            t._storage.node.shape,
            t._storage.tracked,
            t._view and t._view.detached,
            tuple((op, *sorted(params.items())) for op, params in full_chain(t)),
        )
        for t in [arguments[k] for k in sorted(places)]
    )


def by_id(things: Iterable[Any]) -> Ids:
    """A mapping from ids to weak references of these objects."""
    return {id(x): ref(x) for x in things}


def outside(
    arguments: Sequence[Tensor], known: Ids, objects: Ids
) -> tuple[tuple[int, int, int], ...]:
    """The arguments that view a storage in `known`: number, storage's id, and object's id or 0."""
    return tuple(
        [
            (k, id(t._storage), id(t) if id(t) in objects and objects[id(t)]() is t else 0)
            for k, t in enumerate(arguments)
            if id(t._storage) in known and known[id(t._storage)]() is t._storage
        ]
    )


def stand_ins(
    capture: Capture, arguments: Sequence[Tensor], wholes: Collection[int]
) -> list[Tensor]:
    """The placeholders of arguments during a capture, some as views of one placeholder's memory.

    A tensor that the function can also reach from outside is read from there. Of a sharded one, or
    one in blocks, the memory is passed in: each rank has its part.
    """
    return [
        t
        if id(t) in capture.objects or (t._view is None and t._storage in capture.known)
        else (view_stand_in if k in wholes or is_shown_by_storage(t._view) else stand_in)(
            capture, k, t
        )
        for k, t in enumerate(arguments)
    ]


def stand_in(capture: Capture, number: int, tensor: Tensor) -> Tensor:
    """The placeholder of an argument; a view gets a storage of its own, and is passed by value."""
    read = GivenInput(number)
    if tensor._view is None:
        capture.reads.setdefault(tensor._storage, read)
        return tensor
    made = tensor.__class__.__new__(tensor.__class__)
    storage = storage_of(raw(tensor), tensor.requires_grad and not tensor._requires)
    storage.form, capture.parts[storage] = form_of(strided_view_of(tensor)), number
    made._storage, made._requires = storage, tensor._requires
    made._rare = tensor._rare if tensor._requires else None
    made._view = None
    if not tensor.requires_grad:
        made._view = View((), None, tensor._view.detached)
        capture.by_value.add(storage)
    capture.reads[storage] = read
    # what gathers there belongs to the argument
    capture.arguments[number] = made
    return made


def view_stand_in(capture: Capture, number: int, tensor: Tensor) -> Tensor:
    """The placeholder of an argument that stays a view: its whole storage is the input."""

    def read(arguments: Sequence[Tensor]) -> Tensor:
        return storage_tensor(arguments[number]._storage)

    if tensor._view is None:
        return stand_in(capture, number, tensor)
    if tensor._storage not in capture.known:
        capture.reads.setdefault(tensor._storage, read)
    return tensor


def check(capture: Capture, arguments: Sequence[Tensor], once: bool) -> None:
    """Raise Apart if memory with several names in the function was written.

    The function is captured again with that memory passed as a whole; it is refused if gradients
    pass the memory, or if the function can run only `once`, since it has changed something.
    """
    if capture.needs_whole:
        raise Apart(frozenset(capture.needs_whole))
    found = list(written_apart(capture, arguments))
    for storage in found:
        if once or any(of_leaf(t) for t in arguments if t._storage is storage):
            sites = [
                capture.nodes[s].sites for s in (storage, *capture.written()) if s in capture.nodes
            ]
            line = next((found[0] for found in sites if found), "")
            raise TraceError(
                "compile: an argument is written that shares memory with another argument, or with "
                "a tensor that the function reads from outside, and gradients pass it or the "
                f"function changes Python values. Pass a clone().   [{line}]"
            )
    if found:
        raise Apart(frozenset(k for k, t in enumerate(arguments) if t._storage in found))


def written_apart(capture: Capture, arguments: Iterable[Tensor]) -> Iterator[Storage]:
    """Storages that have several names in a capture and were written under one of them."""
    names: dict[Storage, set[Storage]] = {}
    for tensor, shown in zip(arguments, capture.arguments, strict=True):
        names.setdefault(tensor._storage, set()).add(shown._storage)
        tracked = tensor._storage.tracked or shown._storage in capture.passed
        if tensor._view is not None and (tracked or of_leaf(tensor)):
            # a write to a part leaves the rest its history, and gives it one
            names[tensor._storage].add(tensor._storage)
    written = set(capture.written())
    for storage, shown in names.items():
        if storage in capture.first:
            shown.add(storage)
        if len(shown) > 1 and not shown.isdisjoint(written):
            yield storage


value_there, stored_there = map(attrgetter, ("_storage.node.value", "node.value"))


def refuse_overlaps(
    inputs: Sequence[Tensor], written: Iterable[tuple[int, int]], unread: Iterable[Storage]
) -> None:
    """Refuse to write to numpy's memory that several tensors of a program view.

    A program reads all of its inputs before it writes, so it can't tell what is read after a write.
    """
    others = list(map(stored_there, unread))
    goals = [*map(value_there, map(inputs.__getitem__, map(itemgetter(1), written))), *others]
    lent = {x.address for x in goals if x is not None and x.lent and not x.readonly}
    if not lent:
        return
    met = [x for x in (*map(value_there, inputs), *others) if x is not None]
    if lent.isdisjoint(overlapping(met)):
        return
    raise TraceError(
        "compile: a tensor is written whose memory, which numpy or another library lent, is read "
        "or written under another name too. Make one tensor of the memory and slice it, or pass a "
        f"clone().   [{user_site()}]"
    )


def of_leaf(tensor: Tensor) -> bool:
    """Whether a tensor is a leaf that requires a gradient, or a view of one."""
    view = tensor._view
    return tensor._requires or (view is not None and view.base is not None)
