"""Collectives that give new tensors, and that gradients pass.

The gradient is that of the sum over ranks of what they compute: a gather's is a reduce-scatter and
the other way round, a sum's a sum, an exchange's the exchange back.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

from gnomon.distributed.collectives import stretches
from gnomon.distributed.complex_parts import by_parts
from gnomon.distributed.groups import Group, resolve
from gnomon.errors import ArgumentError, GradientError
from gnomon.ir.node import Node
from gnomon.ops import collectives as nodes
from gnomon.ops.collectives import After
from gnomon.ops.group_folds import ReduceOp, Reduction
from gnomon.ops.transfers import send_ranks
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.tensor.collectives import fold_across, move
from gnomon.tensor.creation import empty
from gnomon.tensor.meetings import Do, met, passing, summed
from gnomon.tensor.state import grads, is_capturing
from gnomon.tensor.tensor import Tensor, wrap

__all__ = [
    "all_gather_into_tensor_coalesced",
    "all_gather_single",
    "all_gather_single_autograd",
    "all_gather_single_coalesced",
    "all_gather_tensor",
    "all_gather_tensor_autograd",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "broadcast",
    "reduce_scatter_single",
    "reduce_scatter_single_autograd",
    "reduce_scatter_single_coalesced",
    "reduce_scatter_tensor",
    "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced",
    "wait_tensor",
]


def member(name: str, group: Group) -> ProcessGroup:
    """A group, refused if this rank is not in it."""
    known = resolve(group)
    if known is None:
        raise ArgumentError(f"{name}: this rank is not in the group. Call it on its ranks only.")
    return known


def reduction(op: Reduction | str) -> Reduction:
    """A fold, or the one of a name.

    >>> reduction("avg")
    ReduceOp.AVG
    """
    known = getattr(ReduceOp, op.upper(), None) if isinstance(op, str) else op
    if not isinstance(known, Reduction):
        raise ArgumentError(f"distributed: {op!r} is no ReduceOp. Use ReduceOp.SUM, AVG, MAX ...")
    return known


def linear(name: str, op: Reduction, x: Tensor, ranks: int) -> tuple[Tensor, float]:
    """The summand of a linear fold, and the divisor of its sum; other folds have no gradient."""
    if op.monoid in ("add", "average"):
        scaled = x if op.factor is None else x * op.factor
        return scaled, float(ranks) if op.monoid == "average" else 1.0
    if x.requires_grad and grads.get():
        raise GradientError(f"{name}: {op!r} has no gradient. Use SUM or AVG, or detach().")
    return x, 1.0


@by_parts
def all_reduce(self: Tensor, reduceOp: Reduction | str = "sum", group: Group = None) -> Tensor:
    """The fold of every rank's tensor."""
    known, op = member("all_reduce", group), reduction(reduceOp)
    if not self.requires_grad or op.monoid not in ("add", "average"):
        linear("all_reduce", op, self, known.size())
        return wrap(fold_across(known, self, op))
    x, share = linear("all_reduce", op, self, known.size())
    made = summed(known, x)
    return made if share == 1.0 else made / share


@by_parts
def all_gather_single(self: Tensor, gather_dim: int = 0, group: Group = None) -> Tensor:
    """Every rank's tensor side by side along an axis."""
    known = member("all_gather_single", group)
    do, back = gathering(known, gather_dim % self.ndim)
    return passing(self, do, back)


def gathering(group: ProcessGroup, axis: int) -> tuple[Do, Do]:
    """A gather along an axis, with the reduce-scatter that is its gradient."""
    ranks = group.size()

    def gather(x: Tensor) -> Tensor:
        return met(group, x, lambda y, name, after: nodes.all_gather(y, axis, name, ranks, after))

    def scatter(x: Tensor) -> Tensor:
        def build(node: Node, name: str, after: After) -> Node:
            return nodes.reduce_scatter(node, axis, name, ranks, after=after)

        return met(group, x, build)

    return gather, scatter


@by_parts
def reduce_scatter_single(
    self: Tensor, reduceOp: Reduction | str = "sum", scatter_dim: int = 0, group: Group = None
) -> Tensor:
    """The part along an axis, for this rank, of the fold of every rank's tensor."""
    known, op = member("reduce_scatter_single", group), reduction(reduceOp)
    axis, ranks = scatter_dim % self.ndim, known.size()
    x, share = linear("reduce_scatter_single", op, self, ranks)
    gather, scatter = gathering(known, axis)
    if op.monoid in ("add", "average"):
        made = passing(x, scatter, gather)
        return made if share == 1.0 else made / share

    def build(node: Node, name: str, after: After) -> Node:
        return nodes.reduce_scatter(node, axis, name, ranks, op.monoid, after=after)

    return met(known, x, build)


@by_parts
def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
) -> Tensor:
    """Rows of every rank's tensor for this rank, in rank order; sizes are even where not given."""
    known = member("all_to_all_single", group)
    ranks, rest = known.size(), tuple(self.shape[1:])
    goes = [index(n) for n in input_split_sizes or [self.shape[0] // ranks] * ranks]
    comes = [index(n) for n in output_split_sizes or goes]

    def trade(goes: list[int], comes: list[int]) -> Do:
        def do(x: Tensor) -> Tensor:
            target = empty(sum(comes), *rest, dtype=x.dtype)
            sends = stretches(known, x, goes, "input")
            receives = stretches(known, target, comes, "output")
            if not is_capturing():
                move(known, sends, receives).wait()
                return target
            rows = [
                (p.peer, sent, p.start, p.size, 1)
                for sent, parts in ((1, sends), (0, receives))
                for p in parts
            ]

            def build(node: Node, name: str, after: After) -> Node:
                return send_ranks(node, tuple(rows), name, ranks, after)

            # a program has something to send, if only to nobody, through which gradients pass
            row = x.reshape(-1) if x.numel() else x.sum(dtype=x.dtype).reshape(1)
            return met(known, row, build)[: target.numel()].reshape(target.shape)

        return do

    return passing(self, trade(goes, comes), trade(comes, goes))


@by_parts
def broadcast(self: Tensor, src: int, group: Group = None) -> Tensor:
    """One rank's tensor, on every rank."""
    known = member("broadcast", group)
    own = self if known.rank() == known.place_of(src) else self * 0
    return all_reduce(own, ReduceOp.SUM, group)


def all_gather_single_coalesced(self: Sequence[Tensor], group: Group = None) -> list[Tensor]:
    """Concatenate every rank's tensors along the first axis, one result for each tensor."""
    return [all_gather_single(x, 0, group) for x in self]


def reduce_scatter_single_coalesced(
    inputs: Sequence[Tensor],
    reduceOp: Reduction | str,
    scatter_dim: Sequence[int],
    group: Group = None,
) -> list[Tensor]:
    """Fold every rank's tensors, and keep this rank's part of each result."""
    pairs = zip(inputs, scatter_dim, strict=True)
    return [reduce_scatter_single(x, reduceOp, axis, group) for x, axis in pairs]


def all_reduce_coalesced(
    self: Sequence[Tensor], reduceOp: Reduction | str = "sum", group: Group = None
) -> list[Tensor]:
    """Fold every rank's tensors, one result for each tensor."""
    return [all_reduce(x, reduceOp, group) for x in self]


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor itself: results of collectives are complete."""
    return tensor


all_gather_tensor = all_gather_tensor_autograd = all_gather_single_autograd = all_gather_single
reduce_scatter_tensor = reduce_scatter_tensor_autograd = reduce_scatter_single
reduce_scatter_single_autograd = reduce_scatter_single
all_to_all_single_autograd = all_to_all_single
all_gather_into_tensor_coalesced = all_gather_single_coalesced
reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
