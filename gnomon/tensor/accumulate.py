"""gn.accumulate: a step's gradients from its rows in several microbatches, with the bits of one.

The loss is written once, over all rows; what divides it is gnomon/passes/accumulate.py. Plain
repeated backward() adds gradients as PyTorch does, and has other bits for other numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.ir.between import nodes_between
from gnomon.ir.node import Node
from gnomon.ir.provenance import inherit
from gnomon.lazy import release
from gnomon.ops.layouts import place
from gnomon.passes.accumulate import check_count, rows_over
from gnomon.tensor.autograd.backward import awaited_nodes, derived, leaf_values
from gnomon.tensor.autograd.engine import enable_grad, seeds_of
from gnomon.tensor.autograd.hooks import gather_all, observe
from gnomon.tensor.borrowing import history_of
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.pytree import tensors_in
from gnomon.tensor.state import is_capturing, state
from gnomon.tensor.tensor import Tensor, raw, wrap

__all__ = ["accumulate"]


def accumulate(
    loss_fn: Callable[[Any], Tensor | tuple[Tensor, ...]], batch: Any, *, microbatches: int
) -> Any:
    """Gather the gradients of loss_fn(batch), computed from equal blocks of rows in microbatches.

    Returns the loss. If loss_fn returns a tuple, its first tensor is the loss, and all of them are
    returned, as they are for all rows. The batch is a tensor, or a tuple, list or dict of tensors
    whose axis 0 is rows. Memory for activations is that of one microbatch; gradients and loss have
    the same bits for every number of microbatches, a power of two. A mean in the loss divides by
    all rows.
    """
    rows = [raw(t) for t in tensors_in(batch)]
    refuse_uneven_rows(rows, microbatches)
    if not is_capturing():
        evaluate(rows)
    with enable_grad():
        result = loss_fn(batch)
    loss, *others = result if isinstance(result, tuple) else (result,)
    seeds = seeds_of([loss], [None], False)
    order = history_of(seeds)
    waiting = awaited_nodes(order)
    seen = partial(observe, tracked=False)
    found = derived(seeds, list(waiting), leaf_values(waiting), seen)
    gradients = {node: g for node, g in zip(waiting, found, strict=True) if g is not None}
    roots = [*(raw(x) for x in (loss, *others)), *gradients.values()]
    made = roots if microbatches == 1 else over_microbatches(roots, rows, microbatches)
    release.release([loss], seeds, order)
    summed = dict(zip(gradients, made[1 + len(others) :], strict=True))
    gather_all(waiting, [summed.get(node) for node in waiting], None, False)
    given = tuple(wrap(x) for x in made[: 1 + len(others)])
    return given if isinstance(result, tuple) else given[0]


def refuse_uneven_rows(rows: Sequence[Node], microbatches: int) -> None:
    """Refuse tensors without rows, or with numbers of rows that differ or are not divisible."""
    counts = sorted({x.shape[0] if x.shape else 0 for x in rows})
    if len(counts) != 1 or not counts[0]:
        raise ArgumentError(
            f"accumulate: the batch's tensors must have equally many rows: got {counts}. "
            "Pass what has none through the loss function's closure."
        )
    if microbatches < 1 or counts[0] % microbatches:
        raise ArgumentError(
            f"accumulate: {microbatches} microbatches do not divide {counts[0]} rows."
        )
    check_count(microbatches)


def over_microbatches(roots: Sequence[Node], rows: Sequence[Node], microbatches: int) -> list[Node]:
    """The roots, computed over microbatches of the rows; outside a capture at once."""
    known = {x: x for x in leaves_of(roots, rows)}
    for x in rows:
        with inherit(x.sites):
            known[x] = place(x, rows_over(microbatches), stays=True)
    made = rebuild_nodes(roots, known)
    if not is_capturing():
        evaluate(made)
    return made


def leaves_of(roots: Sequence[Node], rows: Sequence[Node]) -> Iterator[Node]:
    """The leaves of the roots: the rows, known values, and inputs of a capture."""
    seen: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in rows or node.value is not None or node.op == "input":
            yield node
        else:
            stack.extend(reversed(node.inputs))


def rebuild_nodes(nodes: Sequence[Node], known: dict[Node, Node]) -> list[Node]:
    """Nodes of a graph, rebuilt in this thread's arena with their source locations."""
    for node in nodes_between(nodes, known):
        with inherit(node.sites):
            inputs = tuple(known[x] for x in node.inputs)
            known[node] = state.arena.node(node.op, inputs, **node.params)
    return [known[node] for node in nodes]
