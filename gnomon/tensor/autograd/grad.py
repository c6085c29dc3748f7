"""autograd.grad: gradients with respect to tensors, given back and gathered nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from gnomon.errors import GradientError
from gnomon.ir.node import Node, topological
from gnomon.lazy import layouts, release
from gnomon.passes.gradient_paths import depends_on
from gnomon.settings import holding
from gnomon.tensor.autograd import versions
from gnomon.tensor.autograd.backward import awaited_nodes, derived, leaf_values, sum_of
from gnomon.tensor.autograd.engine import ends_of, seeds_of
from gnomon.tensor.autograd.hooks import (
    BackwardPass,
    hooks_of_leaf,
    observe,
    recorded,
    through,
    under_way,
)
from gnomon.tensor.borrowing import history_of
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Paired, Tensor, detached, pairs_of, wrap

__all__ = ["grad"]

Found = tuple[tuple[Tensor | None, ...], Sequence[Node]]
"""Gradients, and the nodes that they are of."""


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | Mapping[str, Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...] | dict[str, Tensor | None]:
    """The gradients of outputs with respect to inputs, not added to .grad; of a dict, by its keys.

    is_grads_batched: grad_outputs have one more axis, the first, and so have the results.
    materialize_grads: zeros take the place of None where no output depends on an input.
    """
    if materialize_grads and allow_unused is False:
        raise GradientError(
            "grad: materialize_grads needs allow_unused: got allow_unused=False. Leave it out."
        )
    named = inputs if isinstance(inputs, Mapping) else None
    roots = pairs_of(ends_of(outputs))
    asked = ends_of(inputs if named is None else list(named.values()))
    given = [grad_outputs] if isinstance(grad_outputs, Tensor) else grad_outputs
    lenient = bool(allow_unused) or materialize_grads
    pull = batched if is_grads_batched else found_by
    found, wanted = pull(roots, asked, pairs_of(given), create_graph, lenient)
    if not (create_graph if retain_graph is None else retain_graph):
        seeds = [*map(recorded, roots)]
        release.release(roots, seeds, depends_on(topological(seeds), wanted))
    if materialize_grads:
        zeros = FUNCTIONS["zeros_like"]
        found = tuple(zeros(x) if g is None else g for x, g in zip(asked, found, strict=True))
    return found if named is None else dict(zip(named, found, strict=True))


def batched(
    roots: Sequence[Tensor],
    asked: Sequence[Any],
    given: Sequence[Tensor | None] | None,
    create_graph: bool,
    lenient: bool,
) -> Found:
    """The gradients for each element of the first axis of the gradients that a pass starts from."""
    counts = {len(g) for g in given or () if g is not None}
    if len(counts) != 1:
        raise GradientError(
            f"grad: is_grads_batched takes grad_outputs with one first axis: got {sorted(counts)}."
        )
    if counts == {0}:
        return tuple(x.detach()[None][:0] for x in asked), []
    rows = [
        found_by(
            roots, asked, [None if g is None else g[k] for g in given or ()], create_graph, lenient
        )
        for k in range(counts.pop())
    ]
    stacked = tuple(
        None if parts[0] is None else FUNCTIONS["stack"](parts)
        for parts in zip(*(row for row, _ in rows), strict=True)
    )
    return stacked, rows[0][1]


def found_by(
    roots: Sequence[Tensor],
    asked: Sequence[Any],
    given: Sequence[Tensor | None] | None,
    create_graph: bool,
    lenient: bool,
) -> Found:
    """The gradients of roots with respect to tensors; lenient: None for independent tensors."""
    seeds = seeds_of(roots, given or [None] * len(roots), create_graph)
    order = history_of(seeds)
    waiting = awaited_nodes(order)
    reads = [reads_of(x, waiting) for x in pairs_of(asked)]
    wanted = [node for nodes in reads for node in nodes]
    if state.overwritten:
        versions.check(seeds, order, wanted)
    seen = partial(observe, tracked=create_graph)
    with layouts.meeting(), holding(under_way, BackwardPass(seeds, wanted)):
        found = iter(derived(seeds, wanted, leaf_values(waiting), seen))
        parts = [sum_of([next(found) for _ in nodes]) for nodes in reads]
        parts = [
            None if x is None else through(hooks_of_leaf(t), x, create_graph, t)
            for t, x in zip(pairs_of(asked), parts, strict=True)
        ]
        if None in parts:
            state.recorder.keep_inside(seeds)
        if None in parts and not lenient:
            raise GradientError(
                f"grad: input {parts.index(None)} is not used by the outputs. "
                "Give allow_unused=True to get None for it."
            )
        made = (gradient_for(x, g, create_graph) for x, g in zip(asked, parts, strict=True))
        return tuple(made), wanted


def reads_of(tensor: Tensor, waiting: dict[Node, list[Tensor]]) -> list[Node]:
    """The nodes by which outputs read a tensor; a leaf over foreign memory has several."""
    found = [node for node, tensors in waiting.items() if any(t is tensor for t in tensors)]
    return found if found and tensor._requires else [recorded(tensor)]


def gradient_for(tensor: Tensor, gradient: Node | None, tracked: bool) -> Tensor | None:
    """A gradient as a tensor, complex if its tensor is."""
    if gradient is None:
        return None
    made = wrap(gradient if tracked else detached(gradient), tracked)
    return tensor.plain((made,)) if isinstance(tensor, Paired) else made
