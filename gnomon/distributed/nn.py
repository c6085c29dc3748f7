"""torch.distributed.nn: collectives by the signatures of torch.distributed's, that gradients pass.

Each is one of gnomon/distributed/functional.py, most of them the exchange of rows: a gather sends
all rows to one rank, a scatter and a broadcast send them from one, and the gradient goes back the
same way. Results are new tensors; those that are given for results are written, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from gnomon.distributed import functional as F
from gnomon.distributed.groups import Group, group
from gnomon.errors import ShapeError
from gnomon.ops.group_folds import ReduceOp, Reduction
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "group",
    "reduce",
    "reduce_scatter",
    "scatter",
]
__path__: list[str] = []  # PyTorch has a module below this one: gnomon/lazy.py


def exchange(x: Tensor, goes: Sequence[int], comes: Sequence[int], group: Group) -> Tensor:
    """The rows of every rank's x for this rank."""
    return F.all_to_all_single(x, list(comes), list(goes), group)


def only(place: int, count: int, ranks: int) -> list[int]:
    """The counts of rows for each rank: all for one, none for the others."""
    return [count * (k == place) for k in range(ranks)]


def beside(shown: Tensor, made: Tensor) -> Tensor:
    """`shown`, with `made` in its graph, so that this rank joins the gradient's collective."""
    return shown + made.reshape(-1)[:0].sum() if made.requires_grad else shown


def write_result(target: Tensor, made: Tensor) -> Tensor:
    """A result, written to a given tensor."""
    if tuple(target.shape) != tuple(made.shape):
        raise ShapeError(
            f"distributed: expected an output of {tuple(made.shape)}: got {tuple(target.shape)}."
        )
    with no_grad():
        target.copy_(made.detach())
    return made


def broadcast(tensor: Tensor, src: int, group: Group = None) -> Tensor:
    """One rank's tensor, on every rank; its gradient is the sum of all ranks'."""
    known = F.member("broadcast", group)
    root, ranks, own = known.place_of(src), known.size(), known.rank()
    x = tensor.unsqueeze(0)
    rows = FUNCTIONS["cat"]([x] * ranks) if own == root else x[:0]
    return exchange(rows, [int(own == root)] * ranks, only(root, 1, ranks), group)[0]


def gather(tensor: Tensor, dst: int = 0, group: Group = None) -> tuple[Tensor, ...]:
    """Every rank's tensor, in rank order, on one rank; zeros on others."""
    known = F.member("gather", group)
    root, ranks, own = known.place_of(dst), known.size(), known.rank()
    x = tensor.unsqueeze(0)
    made = exchange(x, only(root, 1, ranks), [int(own == root)] * ranks, group)
    if own == root:
        return tuple(made.unbind(0))
    return tuple(beside(tensor.detach() * 0, made) for _ in range(ranks))


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Group = None) -> Tensor:
    """The tensor for this rank of one rank's list; all ranks give tensors of its shape."""
    known = F.member("scatter", group)
    root, ranks, own = known.place_of(src), known.size(), known.rank()
    rows = FUNCTIONS["stack"](list(tensors))
    if own == root and len(rows) != ranks:
        raise ShapeError(f"scatter: expected a tensor for each of {ranks} ranks: got {len(rows)}.")
    leads = int(own == root)
    return exchange(rows[: ranks * leads], [leads] * ranks, only(root, 1, ranks), group)[0]


def reduce(tensor: Tensor, dst: int, op: Reduction = ReduceOp.SUM, group: Group = None) -> Tensor:
    """The fold of every rank's tensor on one rank; others have their own."""
    known = F.member("reduce", group)
    made = F.all_reduce(tensor, op, group)
    return made if known.rank() == known.place_of(dst) else beside(tensor.detach(), made)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Reduction = ReduceOp.SUM,
    group: Group = None,
) -> Tensor:
    """The fold of what every rank's list has for this rank."""
    return write_result(
        output, F.reduce_scatter_single(FUNCTIONS["stack"](list(input_list)), op, 0, group)[0]
    )


def all_gather(tensor: Tensor, group: Group = None) -> tuple[Tensor, ...]:
    """Every rank's tensor, in rank order; its gradient is the sum of all ranks'."""
    return tuple(F.all_gather_single(tensor.unsqueeze(0), 0, group).unbind(0))


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Group = None
) -> tuple[Tensor, ...]:
    """The tensor for this rank of every rank's list, in rank order and in the outputs' shapes."""
    goes = [x.numel() for x in input_tensor_list]
    shapes = [tuple(x.shape) for x in output_tensor_list]
    comes = [prod(shape) for shape in shapes]
    row = exchange(FUNCTIONS["cat"]([x.reshape(-1) for x in input_tensor_list]), goes, comes, group)
    ends = accumulate(comes)
    made = [
        row[end - size : end].reshape(shape)
        for end, size, shape in zip(ends, comes, shapes, strict=True)
    ]
    return tuple(write_result(*pair) for pair in zip(output_tensor_list, made, strict=True))


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Group = None,
) -> Tensor:
    """Rows of every rank's input for this rank, in rank order; sizes are even where not given."""
    ranks = F.member("all_to_all_single", group).size()
    comes = output_split_sizes or [output.shape[0] // ranks] * ranks
    goes = input_split_sizes or [input.shape[0] // ranks] * ranks
    return write_result(output, exchange(input, goes, comes, group))


def all_reduce(tensor: Tensor, op: Reduction = ReduceOp.SUM, group: Group = None) -> Tensor:
    """The fold of every rank's tensor; its gradient is the sum of all ranks'."""
    return F.all_reduce(tensor, op, group)
