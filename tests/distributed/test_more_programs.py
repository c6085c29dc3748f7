"""What mixes samples, draws random numbers or rounds early has the same bits on ranks, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gnomon.dtypes import bfloat16, float32, uint32
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops.activations import relu
from gnomon.ops.convolution import convolution
from gnomon.ops.linalg import linear
from gnomon.ops.normalization import batch_norm_training, layer_norm
from gnomon.ops.primitives import reduce
from gnomon.ops.random import dropout
from tests.distributed.programs import Step, step
from tests.distributed.ranks import OnMesh, alone

AROUND = (((1, 1), (1, 1)), ((1, 1), (1, 1), 1))
Leaves = dict[str, Node]


def with_dropout(leaf: Leaves) -> Node:
    inside = dropout(relu(linear(leaf["x"], leaf["in"])), leaf["key"], 0.3)
    return linear(inside, leaf["out"])


def in_bfloat16(leaf: Leaves) -> Node:
    x, first, second = (cast(leaf[name], bfloat16) for name in ("x", "in", "out"))
    return cast(linear(relu(linear(x, first)), second), float32)


def with_layer_norm(leaf: Leaves) -> Node:
    inside = relu(linear(leaf["x"], leaf["in"]))
    return linear(layer_norm(inside, (512,), leaf["norm"]), leaf["out"])


def with_batch_norm(leaf: Leaves) -> Node:
    inside = convolution(leaf["x"], leaf["in"], None, *AROUND)
    inside, _, _ = batch_norm_training(inside, leaf["norm"])
    return convolution(relu(inside), leaf["out"], None, *AROUND)


MATRICES = {"in": (512, 256), "out": (256, 512), "norm": (512,)}
KERNELS = {"in": (16, 4, 3, 3), "out": (8, 16, 3, 3), "norm": (16,)}
PROGRAMS: dict[str, tuple[Callable[[Leaves], Node], tuple, tuple, dict]] = {
    "dropout": (with_dropout, (8, 6, 256), (8, 6, 256), MATRICES),
    "bfloat16": (in_bfloat16, (8, 6, 256), (8, 6, 256), MATRICES),
    "layer norm": (with_layer_norm, (8, 6, 256), (8, 6, 256), MATRICES),
    "batch norm": (with_batch_norm, (8, 4, 6, 6), (8, 8, 6, 6), KERNELS),
}


def program(name: str) -> Step:
    """A training step of mean squares, with a key for those that draw numbers."""
    f, given, wanted, shapes = PROGRAMS[name]

    def loss_of(leaf: Leaves) -> Node:
        away = f(leaf) - leaf["y"]
        return reduce("add", away * away, tuple(range(away.rank))) / float(away.size)

    used = {k: v for k, v in shapes.items() if k != "norm" or "norm" in name}
    batch = {"x": (given, float32), "y": (wanted, float32), "key": ((2,), uint32)}
    tensor = {"in": (0,), "norm": (0,), "out": (1,)}
    return replace(step(loss_of, batch, used, tensor, "sgd"), batch=frozenset("xy"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_ranks_and_microbatches_give_the_bits_of_one_process(name):
    whole = program(name)
    arrays = whole.arrays(seed=5, vocabulary=9)
    expected = alone(whole, arrays)

    for axes in ((("data", 2),), (("data", 2), ("tensor", 2))):
        assert OnMesh(whole, *axes, microbatches=2).run(arrays) == expected
