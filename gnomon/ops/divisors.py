"""Divisors and multiples of integers, computed outside of programs by numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ops.arguments import broadcast
from gnomon.ops.documentation import illustrated
from gnomon.ops.elementwise import Operand
from gnomon.ops.external import EXTERNALS, ExternalOp, external
from gnomon.ops.primitives import expand
from gnomon.ops.registry import Op, op
from gnomon.ops.scans import LETTERS


def integral(name: str, sentence: str, reference: Callable[..., np.ndarray], shows: str) -> Op:
    """Create an operation on two integers that numpy computes outside of programs."""
    key = f"integers.{name}"

    def run(said: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(reference(*arrays))]

    def with_samples(node: Node, inputs: Sequence[Node], flags: Sequence[bool], size: int) -> Node:
        pairs = zip(inputs, flags, strict=True)
        return computed(*(x if has else expand(x, (size, *x.shape)) for x, has in pairs))

    def computed(x: Node, y: Node) -> Node:
        own = (tuple(LETTERS[: x.rank]),)
        return external(x.arena, (x, y), key, "", ((x.shape, x.dtype),), (own * 2, own))[0]

    def function(x: Operand, y: Operand) -> Node:
        x, y = broadcast(name, x, y)
        if not x.dtype.is_integer:
            raise DtypeError(f"{name}: needs integers: got {x.dtype.name}. Cast them to int64.")
        return computed(x, y)

    EXTERNALS[key] = ExternalOp(key, run, with_samples)
    function.__name__ = name
    function.__doc__ = illustrated(sentence, shows)
    return op(function, reference=reference)


WRONG = """
>>> {0}(tensor([1.5]), 2)
Traceback (most recent call last):
gnomon.errors.DtypeError: {0}: needs integers: got float32. Cast them to int64."""
gcd = integral(
    "gcd",
    "The greatest common divisor.",
    np.gcd,
    shows="gcd(tensor([12, -8]), tensor([18, 6])) -> Tensor([6, 2])" + WRONG.format("gcd"),
)
lcm = integral(
    "lcm",
    "The least common multiple.",
    np.lcm,
    shows="lcm(tensor([4, -6]), tensor([6, 4])) -> Tensor([12, 12])" + WRONG.format("lcm"),
)
