"""Collectives of tensors: begun at their call, or nodes of a function that is captured.

An eager collective is never put off: ranks that print, drop or branch differently meet in the same
order. What one transfer does goes on by itself (gnomon/tensor/works.py); what gradients pass, and a
large sum of many ranks, is a program over this rank's value as a leaf, which is done at once. In a
capture each collective names the one before it in its group, so that equal ones stay apart, and the
last of a group is a result of the program, so that none is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple
from weakref import WeakKeyDictionary

from gnomon.dtypes import DType, float32
from gnomon.ir.node import Node
from gnomon.ir.operators import constant
from gnomon.ops.collectives import After, all_gather, all_reduce, latest, reduce_scatter
from gnomon.ops.group_folds import Reduction, scale_factor
from gnomon.ops.joining import cat
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.transfers import send_ranks
from gnomon.ops.view_primitives import slice_
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.comm import here
from gnomon.runtime.comm.base import Message
from gnomon.runtime.comm.capabilities import refusal, table_of
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.runtime.comm.posted import start_messages
from gnomon.tensor.device import refuse_elsewhere
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.state import Storage, is_capturing, leaf, state, storage_of, with_grads
from gnomon.tensor.tensor import Tensor, detached, node_of, raw, value_of
from gnomon.tensor.works import Done, Then, Work, begin_fold, begin_gather, begin_reduce
from gnomon.tensor.writing import write

__all__ = [
    "Part",
    "elements",
    "fold",
    "fold_across",
    "gathered",
    "meet",
    "move",
    "put",
    "reduce_to",
    "rounds",
    "scatter_fold",
]

EAGER = "group"
"""The name of every group in eager programs: one program serves all groups of a size."""
TAGS = 32_766
"""The most that a message's tag may be: what every MPI takes, less one for shifts of our own."""
MOST_AT_ONCE = 128
"""Messages between two ranks, one way and of one tag, that are under way together."""


class Part(NamedTuple):
    """A part of a tensor, counted in row-major order, sent to or received from a rank.

    The parts of collectives have a tag that no user's message has.
    """

    peer: int
    tensor: Tensor
    start: int
    size: int
    tag: int = -1


def put(target: Tensor, node: Node) -> None:
    """Write the result of a collective into a tensor of as many elements, without gradients."""
    node = detached(node) if is_capturing() else node
    with_grads(False, lambda: write(target, reshape(node, raw(target).shape), False))


# whole tensors

MOST_GATHERED = 8 << 20
"""Bytes of all ranks' parts up to which a sum of three or more travels whole, in one transfer."""


def fold(group: ProcessGroup, x: Tensor, op: Reduction, then: Then) -> Work:
    """Start the fold of every rank's x; `then` is called with it.

    If done as two smaller transfers, of which the second starts after a fold, it runs at its call.
    """
    ranks, nbytes = group.size(), x.numel() * x.dtype.itemsize
    if is_capturing() or (ranks > 2 and ranks * nbytes > MOST_GATHERED):
        then(fold_across(group, x, op))
        return Done()
    refuse(group, "all_reduce", x.dtype, op)
    return begin_fold(group, "all_reduce", x, op, False, then)


def fold_across(group: ProcessGroup, x: Tensor, op: Reduction) -> Node:
    """The fold of every rank's x, computed by a program."""
    refuse(group, "all_reduce", x.dtype, op)

    def build(node: Node, name: str, after: After) -> Node:
        ranks = group.size()
        return scale_factor(node, op, lambda y, m: all_reduce(y, name, ranks, m, after=after))

    return meet(group, x, build)


def reduce_to(group: ProcessGroup, x: Tensor, op: Reduction, root: int, then: Then) -> Work:
    """Start the fold of every rank's x on one rank, where `then` is called with it."""
    if not is_capturing():
        refuse(group, "reduce", x.dtype, op)
        return begin_reduce(group, x, op, root, then)
    made = fold_across(group, x, op)
    if group.rank() == root:
        then(made)
    return Done()


def gathered(group: ProcessGroup, name: str, x: Tensor, then: Then) -> Work:
    """Start a gather of every rank's x; `then` is called with a row of all elements."""
    if not is_capturing():
        return begin_gather(group, name, x, lambda rows: then(reshape(rows, (rows.size,))))

    def build(node: Node, name: str, after: After) -> Node:
        return all_gather(reshape(node, (node.size,)), 0, name, group.size(), after)

    then(meet(group, x, build))
    return Done()


def scatter_fold(group: ProcessGroup, x: Tensor, op: Reduction, then: Then) -> Work:
    """Start the fold of every rank's x; `then` is called with this rank's part, in a row."""
    refuse(group, "reduce_scatter", x.dtype, op)
    if not is_capturing():
        return begin_fold(group, "reduce_scatter", x, op, True, then)
    ranks = group.size()

    def build(node: Node, name: str, after: After) -> Node:
        row = reshape(node, (node.size,))
        return scale_factor(row, op, lambda y, m: reduce_scatter(y, 0, name, ranks, m, after=after))

    then(meet(group, x, build))
    return Done()


def refuse(group: ProcessGroup, name: str, dtype: DType, op: Reduction | None = None) -> None:
    """Refuse operations that the backend does not support.

    A capture goes on, and refuses all of them together.
    """
    table = table_of(group.backend.native)
    reason = refusal(table, name, dtype, op.name if op else "")
    if not reason:
        return
    what = f"{op!r} of {dtype.name}" if op else dtype.name
    text = f"{name}: {group.backend.name}: {what}: {reason}."
    state.recorder.violates(text)


def meet(group: ProcessGroup, x: Tensor, build: Callable[[Node, str, After], Node]) -> Node:
    """The result of a collective of x, now or in a capture."""
    if is_capturing():
        node = node_of(x)
        return node if not node.size else note_latest(group, build(node, group.name, before(group)))
    value, shown = value_of(x), raw(x)
    own = leaf(shown.shape, shown.dtype, value)
    made = build(own, EAGER, ())
    with here.along({**here.links(), EAGER: group.link}):
        evaluate([made])
    return made


# parts of tensors, as messages


def move(group: ProcessGroup, sends: Sequence[Part], receives: Sequence[Part]) -> Work:
    """Send parts of tensors and receive others, which are written when they are waited for."""
    if is_capturing():
        move_in_program(group, sends, receives)
        return Done()
    values = {id(p.tensor): value_of(p.tensor) for p in sends}
    made = {id(p.tensor): received(p.tensor, receives) for p in receives}
    listed = [message(p, 1, values[id(p.tensor)]) for p in sends]
    listed += [message(p, 0, made[id(p.tensor)]) for p in receives]
    posted = start_messages(group.link, listed, (values, made))
    targets = {id(p.tensor): p.tensor for p in receives}

    def finish() -> None:
        posted.wait()
        for key, target in targets.items():
            put(target, leaf(raw(target).shape, target.dtype, made[key]))

    return Work(finish, posted.is_done)


def received(target: Tensor, receives: Sequence[Part]) -> DeviceBuffer:
    """A receive buffer for a tensor; it holds the tensor's value where parts leave gaps."""
    node = raw(target)
    nbytes = node.size * node.dtype.itemsize
    made = DeviceBuffer(nbytes)
    if sum(p.size for p in receives if p.tensor is target) < node.size:
        made.numpy()[:] = value_of(target).numpy()[:nbytes]
    return made


def message(part: Part, sent: int, value: DeviceBuffer) -> Message:
    """A part as a backend's message, with its address."""
    refuse_elsewhere("distributed", part.tensor._storage.node)
    size = part.tensor.dtype.itemsize
    start = value.address + part.start * size
    return Message(part.peer, sent, start, part.size * size, part.tag + 1)


def move_in_program(group: ProcessGroup, sends: Sequence[Part], receives: Sequence[Part]) -> None:
    """Move parts within a program: by dtype, in rounds of bounded length."""
    rows = [*((1, p) for p in sends), *((0, p) for p in receives)]
    found: dict[int, tuple[Tensor, list[tuple[Part, Node]]]] = {}
    numbered = rounds(rows)
    for _, batch in groupby(sorted(numbered, key=order_of), order_of):
        for part, node in one_round(group, [row for _, row in batch]):
            found.setdefault(id(part.tensor), (part.tensor, []))[1].append((part, node))
    for target, parts in found.values():
        put(target, join_pieces(target, parts))


PartRow = tuple[int, Part]


def order_of(numbered: tuple[int, PartRow]) -> tuple[int, str]:
    """The sort key of a message: its round and dtype."""
    number, (_, part) = numbered
    return number, part.tensor.dtype.name


def rounds(rows: Sequence[PartRow]) -> list[tuple[int, PartRow]]:
    """Messages with their rounds, which both ends of a pair of ranks number alike."""
    counts: dict[tuple[int, int, int], int] = {}
    found = []
    for sent, part in rows:
        key = (sent, part.peer, part.tag)
        counts[key] = counts.get(key, 0) + 1
        found.append(((counts[key] - 1) // MOST_AT_ONCE, (sent, part)))
    return found


def one_round(group: ProcessGroup, rows: Sequence[PartRow]) -> list[tuple[Part, Node]]:
    """The node of one round's messages of a dtype; returns each one's received part."""
    sources, places, at = [], [], {1: 0, 0: 0}
    for sent, part in rows:
        if sent:
            sources.append(elements(node_of(part.tensor), part.start, part.size))
        places.append((part.peer, sent, at[sent], part.size, part.tag + 1))
        at[sent] += part.size
    dtype = rows[0][1].tensor.dtype
    nothing = [expand(constant(state.arena, 0, dtype), (1,))]
    sources = [x for x in sources if x.size] or nothing
    x = sources[0] if len(sources) == 1 else cat(sources, 0)
    made = note_latest(group, send_ranks(x, tuple(places), group.name, group.size(), before(group)))
    brought = [(p, place[2]) for (sent, p), place in zip(rows, places, strict=True) if not sent]
    return [(p, elements(made, start, p.size)) for p, start in brought]


def elements(x: Node, start: int, size: int) -> Node:
    """Elements of x as a row."""
    row = reshape(x, (x.size,))
    return row if size == x.size else slice_(row, ((start, start + size, 1),))


def join_pieces(target: Tensor, parts: Sequence[tuple[Part, Node]]) -> Node:
    """A tensor's elements: received ones, and its own in gaps."""
    own, pieces, place = node_of(target), [], 0
    for part, node in sorted(parts, key=lambda each: each[0].start):
        if part.start > place:
            pieces.append(elements(own, place, part.start - place))
        pieces.append(node)
        place = part.start + part.size
    if place < own.size:
        pieces.append(elements(own, place, own.size - place))
    pieces = [x for x in pieces if x.size]
    if not pieces:
        return own
    return pieces[0] if len(pieces) == 1 else cat(pieces, 0)


# order in a capture

_ends: WeakKeyDictionary[ProcessGroup, Storage] = WeakKeyDictionary()
"""Group -> a number that every program writes which has collectives of it."""


def before(group: ProcessGroup) -> After:
    """The group's latest collective in this capture."""
    return latest(state.arena, group.name)


def note_latest(group: ProcessGroup, made: Node) -> Node:
    """Record a collective as the group's latest, which the program has to include."""
    state.arena.latest[group.name] = made
    end = _ends.get(group)
    if end is None:
        blank = DeviceBuffer(float32.itemsize, zeros=True)
        with state.recorder.outside():
            end = _ends[group] = storage_of(leaf((), float32, blank), False)
    state.recorder.ends[group.name] = end
    return made
