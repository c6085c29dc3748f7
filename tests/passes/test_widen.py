"""Narrow sums leave wide and are rounded by a cast."""

from __future__ import annotations

import pytest

from gnomon.dtypes import bfloat16, float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.primitives import contract, reduce
from gnomon.passes.widen import widen

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "sums", [lambda x: contract("ab,cb->ac", x, x), lambda x: reduce("add", x, (0,))]
)
def test_a_narrow_sum_is_rounded_apart(sums):
    x = Arena().input((2, 3), bfloat16, "x")

    (out,) = widen(Graph([x], [sums(x)])).outputs

    assert (out.params["f"], out.dtype) == ("cast", bfloat16)
    assert out.inputs[0].dtype is float32


def test_wide_sums_and_other_folds_stay():
    x, y = (Arena().input((2, 3), kind, "x") for kind in (float32, bfloat16))
    for graph in (Graph([x], [reduce("add", x, (0,))]), Graph([y], [reduce("max", y, (0,))])):
        assert widen(graph) is graph
