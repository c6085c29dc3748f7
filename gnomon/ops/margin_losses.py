"""Losses of pairs and margins.

Losses that measure a distance between prediction and target are in losses.py.
"""

from __future__ import annotations

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.activations import logsigmoid, relu
from gnomon.ops.arguments import broadcast, floating, floats_only, positions_only
from gnomon.ops.distances import pairwise_distance
from gnomon.ops.indexing import rows
from gnomon.ops.lookup_primitives import within
from gnomon.ops.loss_checks import above, one_shape, same_rank, weights_of_classes
from gnomon.ops.losses import pair, reduced
from gnomon.ops.primitives import reshape, unsqueeze
from gnomon.ops.reductions import along, fold, mean_of, pick
from gnomon.ops.registry import op
from gnomon.ops.scalars import where


@op(functional=True, order="margin size_average reduce reduction")
def hinge_embedding_loss(
    x: Node, target: Node, *, margin: float = 1.0, reduction: str = "mean"
) -> Node:
    """x where the target is 1, max(0, margin − x) where it is −1, their sum elsewhere.

    >>> hinge_embedding_loss(tensor([0.2, 0.2]), tensor([1.0, -1.0]), reduction="none")
    Tensor([0.2, 0.8])
    """
    x, target = pair("hinge_embedding_loss", x, target)
    near = where(elementwise("eq", target, -1), 0.0, x)
    far = where(elementwise("eq", target, 1), 0.0, relu(margin - x))
    return reduced("hinge_embedding_loss", near + far, reduction)


@op(functional=True, order="size_average reduce reduction")
def soft_margin_loss(x: Node, target: Node, *, reduction: str = "mean") -> Node:
    """log(1 + exp(−target · x)), targets 1 or −1.

    >>> soft_margin_loss(tensor([0.0]), tensor([1.0]))
    Tensor(0.6931)
    """
    if target.rank > x.rank or any(
        m not in (1, n) for n, m in zip(x.shape[::-1], target.shape[::-1], strict=False)
    ):
        one_shape("soft_margin_loss", x, target)
    x, target = pair("soft_margin_loss", x, target)
    return reduced("soft_margin_loss", -logsigmoid(target * x), reduction)


@op(functional=True, order="size_average reduce reduction")
def multilabel_soft_margin_loss(
    x: Node, target: Node, weight: Node | None = None, *, reduction: str = "mean"
) -> Node:
    """binary_cross_entropy_with_logits, averaged over the classes of each row.

    Shapes: x (*s, c), target (*s, c) -> (*s) if reduction == "none" else ()

    >>> multilabel_soft_margin_loss(zeros(1, 3), tensor([[1.0, 0.0, 1.0]]))
    Tensor(0.6931)
    """
    name = "multilabel_soft_margin_loss"
    x, target = pair(name, x, target)
    terms = -(target * logsigmoid(x) + (1.0 - target) * logsigmoid(-x))
    terms = terms if weight is None else terms * weight
    return reduced(name, cast(mean_of(terms, (x.rank - 1,), False), x.dtype), reduction)


@op(functional=True, order="p margin weight size_average reduce reduction")
def multi_margin_loss(
    x: Node,
    target: Node,
    *,
    p: int = 1,
    margin: float = 1.0,
    weight: Node | None = None,
    reduction: str = "mean",
) -> Node:
    """max(0, margin − x of the target + x of each other class)^p, averaged over the classes.

    Shapes: x (*s, c), target (*s) -> (*s) if reduction == "none" else ()

    >>> multi_margin_loss(tensor([[0.0, 0.5, 3.0]]), tensor([2]))
    Tensor(0.)
    >>> multi_margin_loss(tensor([[0.0, 0.5, 3.0]]), tensor([2]), p=3)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: multi_margin_loss: p is 1 or 2: got 3.
    """
    floats_only("multi_margin_loss", x)
    x = reshape(x, x.shape or (1,))
    positions_only("multi_margin_loss", target)
    if p not in (1, 2):
        raise ArgumentError(f"multi_margin_loss: p is 1 or 2: got {p}.")
    weights_of_classes("multi_margin_loss", weight, x, x.rank - 1)
    target = within(reshape(target, x.shape[:-1]), x.shape[-1])
    here = elementwise("eq", along(x, x.rank - 1), unsqueeze(target, target.rank))
    own = unsqueeze(pick(x, target, x.rank - 1), target.rank)
    terms = relu(x - own + margin)
    terms = terms * terms if p == 2 else terms
    terms = terms if weight is None else terms * unsqueeze(rows(weight, 0, target), target.rank)
    total = fold("add", where(here, 0.0, terms), (x.rank - 1,), False)
    return reduced("multi_margin_loss", total / float(max(x.shape[-1], 1)), reduction)


@op(functional=True, order="size_average reduce reduction")
def multilabel_margin_loss(x: Node, target: Node, *, reduction: str = "mean") -> Node:
    """max(0, 1 − x of each target + x of each other class) / classes; −1 ends the targets.

    Shapes: x (*s, c), target (*s, c) -> (*s) if reduction == "none" else ()

    >>> multilabel_margin_loss(tensor([[0.1, 0.2, 0.4, 0.8]]), tensor([[3, 0, -1, 1]]))
    Tensor(0.85)
    """
    positions_only("multilabel_margin_loss", target)
    x, target = (reshape(v, v.shape or (1,)) for v in (x, target))
    last, count = x.rank - 1, x.shape[-1]
    here = along(target, last)
    end = fold("min", where(elementwise("lt", target, 0), here, count), (last,), True)
    meant = unsqueeze(elementwise("lt", here, end), x.rank)
    hits = elementwise("and", meant, elementwise("eq", unsqueeze(target, x.rank), here))
    own = fold("add", where(hits, unsqueeze(x, last), 0.0), (x.rank,), True)
    here = elementwise("and", meant, elementwise("not", fold("or", hits, (last,), True)))
    terms = where(here, relu(1.0 - own + unsqueeze(x, last)), 0.0) / float(max(count, 1))
    return reduced("multilabel_margin_loss", fold("add", terms, (last, x.rank), False), reduction)


@op(
    functional=True,
    order="margin size_average reduce reduction",
    spelled="input1=x input2=y",
)
def margin_ranking_loss(
    x: Node, y: Node, target: Node, *, margin: float = 0.0, reduction: str = "mean"
) -> Node:
    """max(0, margin − target · (x − y)); target 1 means that x should exceed y, −1 that y should.

    >>> margin_ranking_loss(tensor([1.0]), tensor([3.0]), tensor([1.0]))
    Tensor(2.)
    """
    same_rank("margin_ranking_loss", x, y, target)
    x, y, target = broadcast("margin_ranking_loss", x, y, target)
    return reduced("margin_ranking_loss", relu(margin - target * (x - y)), reduction)


@op(
    functional=True,
    order="margin size_average reduce reduction",
    spelled="input1=x input2=y",
)
def cosine_embedding_loss(
    x: Node, y: Node, target: Node, *, margin: float = 0.0, reduction: str = "mean"
) -> Node:
    """1 − cosine where the target is 1, max(0, cosine − margin) where it is −1.

    Shapes: x (*s, d), y (*s, d), target (*s) -> (*s) if reduction == "none" else ()

    >>> cosine_embedding_loss(tensor([[1.0, 0.0]]), tensor([[0.0, 1.0]]), tensor([1]))
    Tensor(1.)
    >>> cosine_embedding_loss(ones(2, 3), ones(2, 3), ones(2, 1))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: cosine_embedding_loss: needs vectors and a target (), or rows and a
    target (n): got x (2, 3) and target (2, 1).
    """
    x, y = (floating(v) for v in broadcast("cosine_embedding_loss", x, y))
    dots = [fold("add", a * b, (x.rank - 1,), False) for a, b in ((x, y), (x, x), (y, y))]
    if target.rank > 1 or x.rank != target.rank + 1:
        raise ShapeError(
            f"cosine_embedding_loss: needs vectors and a target (), or rows and a target (n): got "
            f"x {x.shape} and target {target.shape}."
        )
    eps = 1e-12
    cosine = dots[0] / elementwise("sqrt", (dots[1] + eps) * (dots[2] + eps))
    near = where(elementwise("eq", target, 1), 1.0 - cosine, 0.0)
    far = where(elementwise("eq", target, -1), relu(cosine - margin), 0.0)
    return reduced("cosine_embedding_loss", near + far, reduction)


@op(functional=True, order="margin p eps swap size_average reduce reduction")
def triplet_margin_loss(
    anchor: Node,
    positive: Node,
    negative: Node,
    *,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Node:
    """max(0, distance to the positive − distance to the negative + margin).

    Shapes: anchor (*s, d), positive (*s, d), negative (*s, d) -> (*s) if reduction == "none" else
    ()

    With `swap` the distance from negative to positive is used where it is smaller.

    >>> triplet_margin_loss(tensor([[0.0]]), tensor([[3.0]]), tensor([[1.0]]))
    Tensor(3.)
    """
    same_rank("triplet_margin_loss", anchor, positive, negative)
    above("triplet_margin_loss", "margin", margin, 0, True)
    near, far = (pairwise_distance(anchor, x, p, eps) for x in (positive, negative))
    if swap:
        far = elementwise("minimum", far, pairwise_distance(positive, negative, p, eps))
    return reduced("triplet_margin_loss", relu(near - far + margin), reduction)
