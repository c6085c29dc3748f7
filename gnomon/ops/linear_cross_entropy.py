"""The cross entropy of x · weightᵀ, without storing all logits.

The reductions of logits, and their gradients, are in logit_rows.py; the choice of chunks is in
pieces.py. Every strategy gives the same bits of the loss and its gradients: only memory and time
differ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import accumulator, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import choice, floats_only, positions_only, wide
from gnomon.ops.cross_entropy import averaged, np_cross_entropy, share_of
from gnomon.ops.linalg import alike
from gnomon.ops.logit_rows import blocks_first, joined_blocks, logit_rows, row_of, rows_of
from gnomon.ops.logits import LogitTensors, in_blocks, statistics, sums_of
from gnomon.ops.lookup_primitives import within
from gnomon.ops.losses import REDUCTIONS
from gnomon.ops.pieces import STRATEGIES, LossSizes, choose_cut
from gnomon.ops.primitives import contract, reshape
from gnomon.ops.reductions import fold
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_parts import part
from gnomon.ops.view_primitives import pad, permute

NAME = "linear_cross_entropy"


class LossSettings(NamedTuple):
    """The settings of a row's loss."""

    ignore_index: int
    smoothing: float
    z_loss: float
    softcap: float | None
    shift: int


def np_linear_cross_entropy(
    x: np.ndarray,
    linear_weight: np.ndarray,
    target: np.ndarray,
    linear_bias: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    **settings: Any,
):
    """Compute linear_cross_entropy with numpy, for class numbers."""
    logits = x @ linear_weight.T + (0 if linear_bias is None else linear_bias)
    known = ("ignore_index", "reduction", "label_smoothing")
    kept = {name: settings[name] for name in known if name in settings}
    return np_cross_entropy(logits, target, weight, **kept)


@op(inline=True, reference=np_linear_cross_entropy)
def linear_cross_entropy(
    x: Node,
    linear_weight: Node,
    target: Node,
    *,
    linear_bias: Node | None = None,
    weight: Node | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    shift: int = 0,
    return_lse: bool = False,
    strategy: str = "auto",
    max_memory: int | None = None,
    most_rows: int | None = None,
) -> Node | tuple[Node, Node]:
    """cross_entropy(linear(x, linear_weight), target), chunk by chunk to save memory.

    Shapes: x (*s, d), linear_weight (c, d), target (*s) -> (*s) if reduction == "none" else ()

    x is (..., d), linear_weight (classes, d), target (...) of class indices or (..., classes) of
    shares. Logits are softcap · tanh(logits / softcap) if softcap is given. z_loss times the square
    of log(sum(exp(logits))) is added to each row's loss; return_lse returns that logarithm too.
    With shift, a row predicts the class that many rows later along the last axis. strategy is
    "full" (all logits at once: most memory, least time), "batch" (chunks of rows), "vocab" (chunks
    of classes, and rows in halves) or "auto"; 16-bit tensors are cut along both, one after the
    other. max_memory bounds the bytes beside the given tensors and their gradients, most_rows the
    rows of a chunk. The result has the same bits in every case.

    >>> linear_cross_entropy(tensor([[1.0, 0.0]]), zeros(4, 2), tensor([3]))
    Tensor(1.3863)
    >>> linear_cross_entropy(ones(1, 2), zeros(4, 2), tensor([3]), softcap=0.0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: linear_cross_entropy: softcap must be above 0: got 0.0. Use None
    for no cap.
    """
    floats_only(NAME, x, linear_weight, linear_bias, weight)
    choice(NAME, "reduction", reduction, REDUCTIONS)
    choice(NAME, "strategy", strategy, STRATEGIES)
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(f"{NAME}: label_smoothing is in [0, 1]: got {label_smoothing}.")
    if softcap is not None and not softcap > 0:
        raise ArgumentError(f"{NAME}: softcap must be above 0: got {softcap}. Use None for no cap.")
    ignored = -100 if ignore_index is None else ignore_index
    about = LossSettings(ignored, label_smoothing, z_loss, softcap, shift)
    single, kind = x.rank == 1, x.dtype
    if single:
        x, target = (reshape(v, (1, *v.shape)) for v in (x, target))
    validate(x, linear_weight, target, linear_bias, weight)
    x, linear_weight = alike(NAME, x, linear_weight)
    loss = Loss(x, linear_weight, target, about)
    loss.tell(linear_bias, weight)
    packed = loss.numbers(strategy, max_memory, most_rows)
    terms, share = loss.terms(packed)
    value = cast(finished(terms, share, reduction), kind)
    lse = loss.kept(row_of(packed, 0))
    value, lse = (reshape(v, v.shape[1:]) if single and v.rank else v for v in (value, lse))
    return (value, lse) if return_lse else value


def validate(x: Node, weight: Node, target: Node, bias: Node | None, classes: Node | None) -> None:
    """Refuse shapes of operands that do not fit."""
    if weight.rank < 2 or x.shape[-1] != weight.shape[-1]:
        raise ShapeError(
            f"{NAME}: linear_weight must be (classes, {x.shape[-1]}) for x {x.shape}: "
            f"got {weight.shape}."
        )
    if weight.rank > 2 and x.rank != 2:
        raise ShapeError(
            f"{NAME}: a linear_weight of several axes {weight.shape} needs x (rows, width): "
            f"got {x.shape}."
        )
    rows, inner = x.shape[:-1], weight.shape[1:-1]
    if target.dtype.is_floating_point:
        wanted = (*rows, weight.shape[0], *inner)
    else:
        wanted = (*rows, *inner)
        positions_only(NAME, target)
    if target.shape != wanted:
        raise ShapeError(f"{NAME}: target must be {wanted}: got {target.shape}.")
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise ShapeError(f"{NAME}: linear_bias must be {weight.shape[:-1]}: got {bias.shape}.")
    if classes is not None and classes.shape != weight.shape[:1]:
        raise ShapeError(f"{NAME}: weight must be {weight.shape[:1]}: got {classes.shape}.")


def finished(terms: Node, share: Node | None, reduction: str) -> Node:
    """Reduce the losses of rows; a mean divides by the sum of shares, or by the number of rows."""
    if reduction == "none":
        return terms
    if reduction == "mean" and share is not None:
        return averaged(terms, share, reduction)
    total = fold("add", terms, tuple(range(terms.rank)), False)
    return total if reduction == "sum" else total / terms.size


class Loss:
    """One loss under construction: its tensors, and its settings."""

    def __init__(self, x: Node, weight: Node, target: Node, about: LossSettings) -> None:
        self.x, self.weight, self.about = x, weight, about
        self.arena, self.classes = x.arena, weight.shape[0]
        self.kind = accumulator(x.dtype)
        self.by_shares = target.dtype.is_floating_point
        self.rows: Shape = (*x.shape[:-1], *weight.shape[1:-1])
        self.length = self.rows[-1] - about.shift
        if about.shift and not (weight.rank == 2 and 0 < about.shift < self.rows[-1]):
            raise ArgumentError(f"{NAME}: shift {about.shift} does not fit rows {self.rows}.")
        if self.by_shares:
            last = (0, *range(2, target.rank), 1) if weight.rank > 2 else range(target.rank)
            target = cast(permute(target, tuple(last)), self.kind)
        self.target = self.later(target)

    def later(self, target: Node) -> Node:
        """The target of each row, shifted by the setting `shift`; the last rows have none."""
        shift, axis = self.about.shift, len(self.rows) - 1
        if not shift:
            return target
        moved = part(target, axis, shift, self.rows[-1])
        after = tuple(shift if k == axis else 0 for k in range(target.rank))
        fill = 0.0 if self.by_shares else self.about.ignore_index
        # unsigned numbers hold no -100
        moved = cast(moved, int64) if moved.dtype.kind == "uint" else moved
        return pad(moved, (0,) * target.rank, after, fill)

    def kept(self, value: Node) -> Node:
        """The values per row, without the last rows, which have no target."""
        return part(value, value.rank - 1, 0, self.length) if self.about.shift else value

    def tell(self, bias: Node | None, classes: Node | None) -> None:
        """Prepare the bias, the class weights and the classes of rows."""
        self.bias = None if bias is None else cast(bias, self.kind)
        self.class_weight = None
        if classes is not None:
            self.class_weight = cast(self.arena.node("detach", (classes,)), self.kind)
        self.spread = self.about.smoothing > 0
        if not self.by_shares:
            self.valid = elementwise("ne", self.target, self.about.ignore_index)
            # of no classes every class is outside
            named = self.target if self.classes else elementwise("maximum", self.target, 1)
            safe = cast(where(self.valid, named, 0), int64)
            self.safe = within(safe, max(self.classes, 1))

    def numbers(self, strategy: str, limit: int | None, most_rows: int | None) -> Node:
        """The packed numbers of each row, by the operation `logit_rows`."""
        given = LogitTensors(
            self.x,
            self.weight,
            self.arena.node("iota", (), size=self.classes, dtype=int64),
            None if self.by_shares else self.safe,
            self.bias,
            self.class_weight,
            self.target if self.by_shares else None,
        )
        if self.weight.rank > 2:
            return self.numbers_of_several(given, strategy, limit)
        sizes = (self.rows, self.x.shape[-1], self.classes, self.kind.itemsize)
        problem = LossSizes(*sizes, self.x.dtype.itemsize)
        cut = choose_cut(problem, strategy, limit, most_rows)
        softcap = None if self.about.softcap is None else float(self.about.softcap)
        return logit_rows(tuple(given), softcap=softcap, spread=self.spread, cut=cut)

    def numbers_of_several(self, given: LogitTensors, strategy: str, limit: int | None) -> Node:
        """The packed numbers of each row, if rows have several losses."""
        if strategy not in ("auto", "full") or limit is not None:
            raise ArgumentError(
                f"{NAME}: strategy and max_memory are for a linear_weight of two axes: got "
                f"{self.weight.shape}. Leave them out."
            )
        inner = LETTERS[1 : self.weight.rank - 1]
        x, weight = wide(self.x), wide(self.weight)
        y = contract(f"{LETTERS[0]}z,y{inner}z->{LETTERS[0]}{inner}y", x, weight)
        if self.bias is not None:
            y = y + permute(self.bias, (*range(1, self.bias.rank), 0))
        if self.about.softcap is not None:
            y = elementwise("tanh", y / self.about.softcap) * self.about.softcap
        blocks = sums_of(self.rows, self.classes).columns
        found = statistics(in_blocks(y, blocks), given.beside, self.spread)
        return joined_blocks([blocks_first(v) for v in found], not self.by_shares)

    def terms(self, packed: Node) -> tuple[Node, Node | None]:
        """The loss of each row, and its weight in a mean; None if each row counts as 1."""
        lse, *others = rows_of(packed)
        terms, share = (self.of_shares if self.by_shares else self.of_classes)(lse, others)
        if self.about.z_loss:
            extra = lse * lse * self.about.z_loss
            terms = terms + (extra if self.by_shares else where(self.valid, extra, 0.0))
        return self.kept(terms), None if share is None else self.kept(share)

    def of_classes(self, lse: Node, others: list[Node]) -> tuple[Node, Node]:
        """−log of the probability of each row's class, and the weight of each row."""
        if not self.classes:  # nothing but a check of positions
            return cast(self.safe, self.kind), cast(self.valid, self.kind)
        share = share_of(self.valid, self.safe, self.class_weight, self.x)
        terms = lse - others[0]
        terms = terms if self.class_weight is None else terms * share
        if self.spread:
            smoothing = self.about.smoothing
            even = (lse * self.total_weight() - others[1]) * (smoothing / max(self.classes, 1))
            terms = terms * (1 - smoothing) + even
        return where(self.valid, terms, 0.0), share

    def of_shares(self, lse: Node, others: list[Node]) -> tuple[Node, None]:
        """The sum over classes of −log of their probabilities times their shares."""
        shares, smoothing = self.target, self.about.smoothing
        shares = shares if self.class_weight is None else shares * self.class_weight
        mass = fold("add", shares, (shares.rank - 1,), False)
        terms = lse * mass - others[-1]
        if self.spread:
            even = (lse * self.total_weight() - others[0]) * (smoothing / max(self.classes, 1))
            terms = terms * (1 - smoothing) + even
        return terms, None

    def total_weight(self) -> Node | float:
        """The sum of the weights of all classes."""
        if self.class_weight is None:
            return float(self.classes)
        return fold("add", self.class_weight, (0,), False)
