"""Folds over the ranks of a process group, by PyTorch's names.

Sums and products of narrow floats are computed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from gnomon.dtypes import DType, bool_
from gnomon.ir.node import Node
from gnomon.ir.operators import constant, elementwise
from gnomon.ops.primitives import expand

__all__ = ["FOLDS", "ReduceOp", "Reduction", "refusal_of", "scale_factor"]


Made = TypeVar("Made")


class Reduction(NamedTuple):
    """A fold over ranks: its name, the monoid, and the factor of each rank's part."""

    name: str
    monoid: str
    factor: float | None = None

    def __repr__(self) -> str:
        return f"ReduceOp.{self.name}"


class ReduceOp:
    """The folds over ranks; PREMUL_SUM(factor) multiplies each rank's part before the sum."""

    SUM = Reduction("SUM", "add")
    AVG = Reduction("AVG", "average")
    PRODUCT = Reduction("PRODUCT", "mul")
    MIN = Reduction("MIN", "min")
    MAX = Reduction("MAX", "max")
    BAND = Reduction("BAND", "bits_and")
    BOR = Reduction("BOR", "bits_or")
    BXOR = Reduction("BXOR", "bits_xor")
    RedOpType = Reduction

    @staticmethod
    def PREMUL_SUM(factor: float) -> Reduction:
        """A sum of the ranks' parts, each multiplied by this rank's factor."""
        return Reduction("PREMUL_SUM", "add", float(factor))


FOLDS = {
    op.name: op
    for op in (
        *(ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX),
        *(ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR, ReduceOp.PREMUL_SUM(2.0)),
    )
}
"""Name -> fold; of PREMUL_SUM one instance."""


def refusal_of(op: Reduction, dtype: DType) -> str:
    """The reason why a fold does not support a dtype; empty if it does."""
    if dtype.bits == 8 and dtype.is_floating_point:
        return "eight bits are only moved. Cast to bfloat16"
    if op.monoid.startswith("bits") and dtype.is_floating_point:
        return "bits are of integers and bools. Use SUM, MIN or MAX"
    if (op.monoid == "average" or op.factor is not None) and not dtype.is_floating_point:
        return "averages and factors are of floats. Use SUM"
    if op.monoid == "add" and dtype is bool_:
        return "bools have no sum. Use MAX, or integers"
    return ""


OF_BOOLS = {"min": "and", "mul": "and", "bits_and": "and", "max": "or", "bits_or": "or"}
"""Monoid -> the equivalent one of booleans."""


def scale_factor(x: Node, op: Reduction, fold: Callable[[Node, str], Made]) -> Made:
    """Apply fold(x, monoid) to x times the reduction's factor, if it has one."""
    if op.factor is not None:
        x = elementwise("mul", x, expand(constant(x.arena, op.factor, x.dtype), x.shape))
    return fold(x, OF_BOOLS.get(op.monoid, op.monoid) if x.dtype is bool_ else op.monoid)
