"""Gradients that are added up over several passes: each pass is a program of its own.

What a backward pass leaves waits until it is read, so that one program has a step with its update.
Passes that add up gradients, as those of microbatches do, would wait together, and their program
would hold the activations of each. So the first of them is computed when the second one begins, and
every further one at its end. Passes that retain their graph share it: they wait for the last.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from gnomon.ir.node import Node
from gnomon.ops.layouts import LAYOUTS, names_layouts
from gnomon.tensor.autograd.backward import is_open, left_by_passes
from gnomon.tensor.evaluate import evaluate_all, is_filled
from gnomon.tensor.state import is_eager, mesh_results, state, waiting
from gnomon.tensor.tensor import Tensor, raw

__all__ = ["adds_up", "compute_last_pass", "compute_pass", "end_pass"]


def adds_up(order: Iterable[Node], waiting: Iterable[Iterable[Tensor]]) -> bool:
    """Whether leaves have gradients of an earlier pass, to which this one adds.

    order: the nodes of the graph; waiting: the tensors of each node that has some. Passes over
    ranks leave nothing pending.
    """
    leaves = [x for tensors in waiting for x in tensors if x._requires] if is_eager() else []
    gathered = [gradient for x in leaves if (gradient := x.grad) is not None]
    if all(map(is_filled, map(raw, gathered))):
        return False
    return not (mesh_results and any(x.op in LAYOUTS or names_layouts(x) for x in order))


def compute_last_pass(order: Container[Node]) -> None:
    """Compute what is pending since the last pass; `order` has nodes that the next one reads."""
    left = {x for x in left_by_passes(waiting()) if x not in order}
    evaluate_all(plain=False, chosen=lambda node, _: node in left)


def compute_pass(order: Container[Node]) -> None:
    """Compute the gradients and results of a pass; what other passes read stays pending."""
    evaluate_all(plain=False, chosen=lambda node, found: node in order or not is_open(found))


def end_pass() -> None:
    """Record the end of a pass: pending values are computed before another pass adds to them."""
    state.passed = next(state.arena._serial)
