"""Distances and angles between rows."""

from __future__ import annotations

from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise
from gnomon.ops.arguments import broadcast, floating, one_axis
from gnomon.ops.histories import unmoved
from gnomon.ops.primitives import reshape
from gnomon.ops.reductions import fold
from gnomon.ops.registry import op
from gnomon.ops.statistics import vector_norm


@op(
    autocast="wide",
    functional=True,
    spelled="x1=x x2=y",
)
def cosine_similarity(x: Node, y: Node, axis: int = 1, eps: float = 1e-8) -> Node:
    """The cosine of the angle between x and y along an axis; norms are at least eps.

    Shapes: x (..., d), y (..., d) -> (...)

    >>> cosine_similarity(tensor([[1.0, 0.0]]), tensor([[1.0, 1.0]]))
    Tensor([0.7071])
    """
    x, y = (floating(v) for v in broadcast("cosine_similarity", x, y))
    axis = one_axis("cosine_similarity", axis, x.rank)
    x, y = (reshape(v, v.shape or (1,)) for v in (x, y))
    lengths = [elementwise("maximum", vector_norm(v, 2, axis, True), eps) for v in (x, y)]
    return fold("add", (x / lengths[0]) * (y / lengths[1]), (axis,), False)


@op(
    functional=True,
    spelled="x1=x x2=y",
)
def pairwise_distance(
    x: Node, y: Node, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False
) -> Node:
    """The p-norm of x − y + eps along the last axis.

    Shapes: x (..., d), y (..., d) -> (..., 1) if keepdims else (...)

    >>> pairwise_distance(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0]]), eps=0.0)
    Tensor([5.])
    """
    return vector_norm(x - y + eps, p, -1, keepdims)


@op(spelled="x1=x x2=y")
def cdist(x: Node, y: Node, p: float = 2.0, compute_mode: str | None = None) -> Node:
    """The p-norm of the difference between every row of x and every row of y.

    Shapes: x (..., n, d), y (..., m, d) -> (..., n, m)

    compute_mode is accepted as in PyTorch and ignored: differences are always taken directly.

    >>> cdist(tensor([[0.0], [1.0]]), tensor([[3.0], [5.0]]))
    Tensor([[3., 5.],
            [2., 4.]])
    """
    rows = reshape(x, (*x.shape[:-1], 1, x.shape[-1]))
    columns = reshape(y, (*y.shape[:-2], 1, *y.shape[-2:]))
    return unmoved(vector_norm(rows - columns, p, -1), *(() if p else (x, y)))
