"""What tests of the schedule look at: the partition and the loop kernels of a graph; its bits.

Not a test.
"""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import DType, float32
from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.schedule.kernel import LoopKernel
from gnomon.schedule.nest import LoopNest
from gnomon.schedule.partition import partition_of
from gnomon.schedule.placed import Placed
from gnomon.settings import Settings
from tests.compiled import execute, program, threads
from tests.oracle.graphs import exact
from tests.strategies import same_bits


def leaf(*shape: int, dtype: DType = float32) -> Node:
    """An input in an arena of its own."""
    return Arena().input(shape, dtype)


def softmax(x: Node) -> Node:
    """exp(x - max) / sum along the last axis."""
    axis = x.rank - 1
    e = exp(x - unsqueeze(reduce("max", x, (axis,)), axis))
    return e / unsqueeze(reduce("add", e, (axis,)), axis)


def graph(*roots: Node) -> Graph:
    """A graph with these results; inputs in order of creation."""
    leaves = sorted((x for x in topological(roots) if x.op == "input"), key=lambda x: x.serial)
    return Graph(leaves, roots)


def partition(*roots: Node, without: str = "") -> Placed:
    """The partition of such a graph."""
    return partition_of(graph(*roots), Settings(without=without).allows)


def kernels(*roots: Node, without: str = "") -> list[LoopKernel]:
    """Its loop kernels, in order."""
    made = partition(*roots, without=without)
    stored = made.stored
    return [
        part.kernel
        for cluster in made.ordered()
        if not cluster.opaque and any(x in stored for x in cluster.members)
        for part in LoopNest(cluster, stored).parts
    ]


def check(root: Node, rng: np.random.Generator) -> None:
    """One and two threads give the oracle's bits."""
    found = graph(root)
    arrays = [rng.integers(-9, 9, x.shape).astype(x.dtype.numpy) for x in found.inputs]
    executable, expected = program(found), exact(found, arrays)
    for count in (1, 2):
        with threads(count):
            assert same_bits(execute(executable, found, arrays)[0], expected[0])
