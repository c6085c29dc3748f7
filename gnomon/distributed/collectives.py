"""Collectives of tensors by PyTorch's names; results are written into the tensors given for them.

`_single` takes one tensor on each side; without it a list, one for each rank. Ranks that are not in
a group do nothing there. Each begins at its call; with `async_op` its Work is waited for later, and
what comes is written then.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gnomon.distributed.complex_parts import by_parts
from gnomon.distributed.groups import Group, resolve
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ops.group_folds import ReduceOp, Reduction
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.tensor.collectives import (
    Part,
    elements,
    fold,
    gathered,
    move,
    put,
    reduce_to,
    scatter_fold,
)
from gnomon.tensor.creation import zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.works import Done, Work

__all__ = [
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]

Began = Work | None


def handed(work: Work, async_op: bool, tensors: Sequence[Tensor] = ()) -> Began:
    """The Work of a collective for asynchronous callers; others wait for it and get None."""
    if async_op:
        work.tensors = tensors
        return work
    work.wait()
    return None


def root_of(group: ProcessGroup, rank: int | None, place: int | None, name: str) -> int:
    """The index in a group of the root, given by its global rank or its rank in the group."""
    if (rank is None) == (place is None):
        raise ShapeError(f"{name}: name one rank, by its number among all or in the group.")
    return group.place_of(rank) if place is None else place


def first_or(group: ProcessGroup, rank: int | None, place: int | None, name: str) -> int:
    """The root's index in a group; of global rank 0 by default."""
    return root_of(group, 0 if rank is None and place is None else rank, place, name)


def messages(tensors: Sequence[Tensor]) -> list[Part]:
    """The message parts of tensors, each whole, one for each rank in order."""
    return [Part(k, x, 0, x.numel()) for k, x in enumerate(tensors)]


def fits(name: str, target: Tensor, source: Tensor, times: int = 1, over: int = 1) -> None:
    """Refuse an output of another dtype, or without times / over as many elements as the input."""
    if target.dtype is not source.dtype or target.numel() * over != source.numel() * times:
        relation = f"{times} times" if times > 1 else f"a {over}th of" if over > 1 else "as many as"
        raise ShapeError(
            f"{name}: the output holds {relation} the input, in its dtype: got "
            f"{target.dtype.name}{list(target.shape)} for {source.dtype.name}{list(source.shape)}."
        )


def ignored(made: Node) -> None:
    """Ignore a result."""


def barrier(group: Group = None, async_op: bool = False, device_ids: object = None) -> Began:
    """Return when all ranks have called it."""
    known = resolve(group)
    if known is not None:
        return handed(gathered(known, "barrier", zeros(1), ignored), async_op)
    return handed(Done(), async_op)


@by_parts
def all_reduce(
    tensor: Tensor, op: Reduction = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Began:
    """Write the fold of every rank's tensor into it."""
    known = resolve(group)
    if known is not None:
        return handed(fold(known, tensor, op, partial(put, tensor)), async_op, [tensor])
    return handed(Done(), async_op)


@by_parts
def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Reduction = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Began:
    """Write the fold of every rank's tensor into that of one rank."""
    known = resolve(group)
    if known is not None:
        root = root_of(known, dst, group_dst, "reduce")
        return handed(reduce_to(known, tensor, op, root, partial(put, tensor)), async_op)
    return handed(Done(), async_op)


@by_parts
def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Began:
    """Write one rank's tensor into every rank's."""
    known = resolve(group)
    if known is None:
        return handed(Done(), async_op)
    root, own = root_of(known, src, group_src, "broadcast"), known.rank()
    others = [k for k in range(known.size()) if k != root]
    size = tensor.numel()
    sends = [Part(k, tensor, 0, size) for k in others if own == root]
    receives = [Part(root, tensor, 0, size)] if own != root else []
    return handed(move(known, sends, receives), async_op, [tensor])


@by_parts
def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Began:
    """Write every rank's tensor into one, in rank order, side by side or along a new first axis."""
    known = resolve(group)
    if known is not None:
        fits("all_gather_single", output_tensor, input_tensor, known.size())
        then = partial(put, output_tensor)
        return handed(gathered(known, "all_gather", input_tensor, then), async_op, [output_tensor])
    return handed(Done(), async_op)


@by_parts
def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Began:
    """Write every rank's tensor into a list of them, in rank order."""
    known = resolve(group)
    if known is not None:
        counted("all_gather", tensor_list, known)
        for target in tensor_list:
            fits("all_gather", target, tensor)
        size = tensor.numel()

        def then(made: Node) -> None:
            for k, target in enumerate(tensor_list):
                put(target, elements(made, k * size, size))

        return handed(gathered(known, "all_gather", tensor, then), async_op, tensor_list)
    return handed(Done(), async_op)


def counted(name: str, tensors: Sequence[Tensor], group: ProcessGroup) -> None:
    """Refuse a list that has not one tensor for each rank."""
    if len(tensors) != group.size():
        raise ShapeError(
            f"{name}: expected a tensor for each of {group.size()} ranks: got {len(tensors)}."
        )


def at_root(name: str, tensors: Sequence[Tensor], root: int, group: ProcessGroup) -> list[Part]:
    """The message parts of the root's tensors, one for each rank; empty on other ranks."""
    if group.rank() != root:
        return []
    counted(name, tensors, group)
    return messages(tensors)


@by_parts
def reduce_scatter_single(
    output: Tensor,
    input: Tensor,
    op: Reduction = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Began:
    """Write this rank's part of the fold of every rank's input."""
    known = resolve(group)
    if known is not None:
        fits("reduce_scatter_single", output, input, over=known.size())
        return handed(scatter_fold(known, input, op, partial(put, output)), async_op, [output])
    return handed(Done(), async_op)


@by_parts
def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Reduction = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Began:
    """Write the fold of what every rank's list has for this rank."""
    known = resolve(group)
    if known is not None:
        counted("reduce_scatter", input_list, known)
        for each in input_list:
            fits("reduce_scatter", output, each)
        row = FUNCTIONS["cat"]([x.ravel() for x in input_list])
        return handed(scatter_fold(known, row, op, partial(put, output)), async_op, [output])
    return handed(Done(), async_op)


@by_parts
def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
    async_op: bool = False,
) -> Began:
    """Send each rank its rows of the input; rows that come are written in rank order."""
    known = resolve(group)
    if known is None:
        return handed(Done(), async_op)
    sends = stretches(known, input, input_split_sizes, "input")
    receives = stretches(known, output, output_split_sizes, "output")
    return handed(move(known, sends, receives), async_op)


def stretches(
    group: ProcessGroup, tensor: Tensor, sizes: Sequence[int] | None, name: str
) -> list[Part]:
    """The message parts of a tensor's rows, split by rank.

    Without sizes each rank has the same number of rows.
    """
    rows, ranks = tensor.shape[0], group.size()
    sizes = list(sizes) if sizes else [rows // ranks] * ranks
    if len(sizes) != ranks or sum(sizes) != rows:
        raise ShapeError(
            f"all_to_all_single: the {name}'s {rows} rows are for {ranks} ranks: got {sizes}. "
            f"Give {name}_split_sizes that add up to {rows}."
        )
    width, start, found = tensor.numel() // max(rows, 1), 0, []
    for k, size in enumerate(sizes):
        found.append(Part(k, tensor, start * width, size * width))
        start += size
    return found


@by_parts
def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Began:
    """Send each rank its tensor of one list; write what comes into another's, in rank order."""
    known = resolve(group)
    if known is None:
        return handed(Done(), async_op)
    for tensors in (output_tensor_list, input_tensor_list):
        counted("all_to_all", tensors, known)
    return handed(move(known, messages(input_tensor_list), messages(output_tensor_list)), async_op)


@by_parts
def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Began:
    """Write every rank's tensor into one rank's list of them."""
    known = resolve(group)
    if known is None:
        return handed(Done(), async_op)
    root = first_or(known, dst, group_dst, "gather")
    receives = at_root("gather", gather_list or (), root, known)
    return handed(move(known, [Part(root, tensor, 0, tensor.numel())], receives), async_op)


@by_parts
def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: Group = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Began:
    """Write each rank's tensor of one rank's list of them into its own."""
    known = resolve(group)
    if known is None:
        return handed(Done(), async_op)
    root = first_or(known, src, group_src, "scatter")
    sends = at_root("scatter", scatter_list or (), root, known)
    return handed(move(known, sends, [Part(root, tensor, 0, tensor.numel())]), async_op)


def together(works: Sequence[Began], async_op: bool) -> Began:
    """Several collectives as one Work, which waits for all."""
    begun = [work for work in works if work is not None]

    def finish() -> None:
        for work in begun:
            work.wait()

    made = Work(finish, lambda: all([work.is_completed() for work in begun]))
    return handed(made, async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor] | Tensor,
    op: Reduction = ReduceOp.SUM,
    group: Group = None,
    async_op: bool = False,
) -> Began:
    """Write the fold of every rank's tensor into it, of each of several tensors."""
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    return together([all_reduce(x, op, group, async_op=True) for x in given], async_op)


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: Group = None,
    async_op: bool = False,
) -> Began:
    """Write every rank's tensors into a list of them for each rank, in rank order."""
    works = []
    for k, x in enumerate(input_tensor_list):
        works.append(all_gather([row[k] for row in output_tensor_lists], x, group, async_op=True))
    return together(works, async_op)


all_gather_into_tensor, reduce_scatter_tensor = all_gather_single, reduce_scatter_single
