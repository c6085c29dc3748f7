"""A layer's gradients on one rank, and on two that split its rows or its weight: the same bits."""

import numpy as np

import gnomon.distributed as dist
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.linalg import linear
from gnomon.passes.grad import gradients

arena = Arena()
x = arena.input((8, 256), float32, "x")
weight = arena.input((512, 256), float32, "weight")
y = linear(x, weight)
step = Graph([x, weight], [*gradients(y, y, [x, weight])])

rng = np.random.default_rng(0)
given = [rng.standard_normal(leaf.shape).astype(np.float32) for leaf in step.inputs]


def run(mesh, x_lies, weight_lies):
    """The gradients of x and weight, which lie as x and weight do."""
    layouts = (x_lies, weight_lies)
    program = dist.RankProgram(step, dist.Division(mesh, layouts, layouts))
    print(dist.explain(program), "\n")

    def one(rank):
        pairs = zip(layouts, given, strict=True)
        return program.run([dist.local_part(mesh, rank, lies, a) for lies, a in pairs])

    made = zip(*dist.run_ranks(mesh, one), strict=True)
    pairs = zip(layouts, made, strict=True)
    return [dist.whole_of(mesh, lies, parts).tobytes() for lies, parts in pairs]


alone = run(dist.Mesh(()), {}, {})
rows = run(dist.Mesh((("data", 2),)), {"data": dist.Split(0)}, {})
columns = run(dist.Mesh((("tensor", 2),)), {}, {"tensor": dist.Split(0)})
print("rows split:", rows == alone, " weight split:", columns == alone)
