"""Control flow on tensors: cond, while_loop and scan, in plain runs and inside gn.compile alike.

Outside a capture values are at hand, so Python's own branches and loops are taken. Inside, both
branches are computed and selected from, and loops are unrolled: gradients pass as through any
operation. A branch that was not taken gives gradients of 0 wherever its own slope is finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError, ShapeError, TraceError
from gnomon.ir.provenance import user_site
from gnomon.ops.registry import OPS
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.guards import flatten, unflatten
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor, apply

__all__ = ["cond", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Sequence[Any] = ()) -> Any:
    """true_fn(*operands) where pred holds, else false_fn(*operands).

    >>> from gnomon.tensor.creation import tensor
    >>> cond(tensor(True), lambda x: x + 1, lambda x: x - 1, [tensor(5)])
    Tensor(6)
    """
    if not isinstance(pred, Tensor) or state.capture is None:
        return (true_fn if bool(pred) else false_fn)(*operands)
    if pred.numel() != 1:
        raise ShapeError(f"cond: pred must have one element: got {tuple(pred.shape)}. Use where.")
    return selected(pred.reshape(()), true_fn(*operands), false_fn(*operands), "cond")


def selected(pred: Tensor, yes: Any, no: Any, name: str) -> Any:
    """One of two nested results, tensor by tensor."""
    left: list[Tensor] = []
    right: list[Tensor] = []
    trees = flatten(yes, left), flatten(no, right)
    kinds = [[(tuple(t.shape), t.dtype) for t in side] for side in (left, right)]
    if trees[0] != trees[1] or kinds[0] != kinds[1]:
        raise ArgumentError(
            f"{name}: both results must have the same structure, shapes and dtypes: got "
            f"{kinds[0]} and {kinds[1]}."
        )
    pairs = zip(left, right, strict=True)
    return unflatten(trees[0], [apply(OPS["where"], (pred, a, b)) for a, b in pairs])


def while_loop(
    cond_fn: Callable,
    body_fn: Callable,
    carried_inputs: Sequence[Any],
    *,
    max_iterations: int | None = None,
) -> tuple:
    """Replace the carried values by body_fn(*carried) while cond_fn(*carried) holds.

    Inside gn.compile the number of turns must have a bound: max_iterations.

    >>> from gnomon.tensor.creation import tensor
    >>> while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 2), (tensor(3), tensor(1)))
    (Tensor(0), Tensor(8))
    """
    carried = tuple(carried_inputs)
    if state.capture is None:
        turns = 0
        while (max_iterations is None or turns < max_iterations) and bool(cond_fn(*carried)):
            carried, turns = tuple(body_fn(*carried)), turns + 1
        return carried
    if max_iterations is None:
        raise TraceError(
            "while_loop: inside gn.compile the number of turns must have a bound. Give "
            f"max_iterations=n.   [{user_site()}]"
        )
    alive = None
    for _ in range(max_iterations):
        goes_on = cond_fn(*carried)
        alive = goes_on if alive is None else alive & goes_on
        carried = selected(alive.reshape(()), tuple(body_fn(*carried)), carried, "while_loop")
    return carried


def scan(combine_fn: Callable, init: Any, xs: Any, dim: int = 0, reverse: bool = False) -> tuple:
    """Carry a value along an axis: (carry, y) = combine_fn(carry, x) for each part x of xs.

    Gives the last carry and the ys side by side along the axis.

    >>> from gnomon.tensor.creation import tensor
    >>> scan(lambda total, x: (total + x, total + x), tensor(0), tensor([1, 2, 3]))
    (Tensor(6), Tensor([1, 3, 6]))
    """
    parts: list[Tensor] = []
    tree = flatten(xs, parts)
    counts = {t.shape[dim] for t in parts}
    if len(counts) != 1:
        raise ShapeError(f"scan: sizes along axis {dim} differ: {sorted(counts)}.")
    (count,) = counts
    carry, rows, shape = init, [], None
    for k in range(count)[:: -1 if reverse else 1]:
        here = unflatten(tree, [t.select(dim, k) for t in parts])
        carry, y = combine_fn(carry, here)
        found: list[Tensor] = []
        shape = flatten(y, found)
        rows.append(found)
    if not rows:
        return carry, None
    rows = rows[::-1] if reverse else rows
    columns = zip(*rows, strict=True)
    return carry, unflatten(shape, [FUNCTIONS["stack"](list(c), dim=dim) for c in columns])
