"""What a user who makes a mistake reads: the operation, what came, what fits."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import ArgumentError, DtypeError, GnomonError, ShapeError
from gnomon.ops import every  # noqa: F401 - fills the registry
from gnomon.ops.registry import OPS
from tests.graphs import built

pytestmark = pytest.mark.unit

X = np.ones((2, 3))
ROWS = np.array([0, 1])

CASES = (
    ("sum", (X, 2), ArgumentError, "sum: no axis 2 in a tensor of 2 axes"),
    ("sum", (X, (0, 0)), ArgumentError, "sum: an axis is named twice"),
    ("mean", (ROWS,), DtypeError, "mean: needs floats: got int64. Use x.astype"),
    ("max", (np.ones((0, 2)), 0), ShapeError, "max: nothing to choose from"),
    ("reshape", (X, (4, -1)), ShapeError, r"reshape: 6 elements do not fill \(4, -1\)"),
    ("reshape", (X, (-1, -1)), ShapeError, "reshape: .*at most one is -1"),
    ("permute", (X, (0, 0)), ShapeError, "permute: needs each of the 2 axes once"),
    ("expand", (X, (2, 4)), ShapeError, r"expand: only axes of size 1 can grow: \(2, 3\)"),
    ("narrow", (X, 1, 2, 2), ShapeError, "narrow: 2 elements from 2 do not lie in axis 1"),
    ("split", (X, (1, 1), 1), ShapeError, r"split: parts \(1, 1\) do not add up to axis 1"),
    ("cat", ([X, np.ones((3, 3))], 1), ShapeError, "cat: sizes differ elsewhere than along axis 1"),
    ("stack", ([X, ROWS],), ShapeError, "stack: shapes differ"),
    ("pad", (X, (1,)), ArgumentError, "pad: needs two numbers per axis"),
    ("pad", (X, (3, 0), "reflect"), ShapeError, "pad: reflect pads of 3 and 0 do not fit"),
    ("pad", (X, (1, 1), "mirror"), ArgumentError, "pad: mode must be one of constant, reflect"),
    ("matmul", (X, X), ShapeError, r"matmul: inner sizes differ: left \(2, 3\) ends in 3, right"),
    ("matmul", (X, np.ones(())), ShapeError, "matmul: needs at least one axis each"),
    ("mm", (np.ones((2, 2, 3)), X.T), ShapeError, "mm: needs 2 and 2 axes: .*Use matmul"),
    ("int_mm", (X, X.T), DtypeError, "int_mm: needs two of int8 or of uint8: got float64 and"),
    ("int_mm", (ROWS, ROWS), ShapeError, "int_mm: needs 2 and 2 axes"),
    ("grouped_mm", (X, X.T), ArgumentError, "grouped_mm: offs go with a matrix, not with two"),
    ("grouped_mm", (X, X, ROWS), ShapeError, "grouped_mm: inner sizes differ"),
    ("grouped_mm", (X[0], X, ROWS), ShapeError, "grouped_mm: needs matrices or stacks"),
    ("grouped_mm", (X, X.T, X), DtypeError, "grouped_mm: offs are positions, integers"),
    ("grouped_mm", (X, X.T, np.ones((2, 3), int)), ShapeError, "grouped_mm: offs must be .*power"),
    ("grouped_mm", (X, np.ones((3, 3, 4)), ROWS), ShapeError, "grouped_mm: 2 groups, but a stack"),
    ("linear", (X, np.ones((4, 2))), ShapeError, r"linear: weight must be \(out, 3\)"),
    ("linear", (X, np.ones((4, 3)), np.ones(3)), ShapeError, r"linear: bias must be \(4,\)"),
    ("einsum", ("ij,jk->ik", X), ArgumentError, "einsum: .*names 2 operands: got 1"),
    ("einsum", ("ij->k", X), ArgumentError, "einsum: .*asks for a result"),
    ("einsum", ("ij,jk->ik", X, X), ShapeError, "einsum: axis j differs: 3 and 2"),
    ("meshgrid", (X, ROWS), ShapeError, r"meshgrid: each of xs has one axis at most: got \(2, 3"),
    ("vsplit", (ROWS, 1), ShapeError, r"vsplit: x needs at least 2 axes: got \(2,\)"),
    ("embedding", (X, X), DtypeError, "embedding: positions must be integers: got float64"),
    ("embedding", (ROWS, ROWS), ShapeError, r"embedding: weight must be \(rows, width\)"),
    ("gather", (X, 1, ROWS), ShapeError, r"gather: positions \(2,\) must have the axes of x"),
    ("index_add", (X, 0, ROWS, ROWS), ShapeError, "index_add: values must be"),
    ("where", (X, X, X), DtypeError, "where: the condition must be bool: got float64"),
    ("bitwise_and", (X, X), DtypeError, "bitwise_and: needs integers or truth values"),
    ("topk", (X, 4), ArgumentError, "topk: axis 1 of x .* has no 4 elements"),
    ("quantile", (X, 1.5), ArgumentError, "quantile: q is a share between 0 and 1: got 1.5"),
    ("softmax", (X, None), ArgumentError, "softmax: needs one axis: got None. Use axis=-1"),
    ("layer_norm", (X, (4,)), ShapeError, r"layer_norm: x must end in \(4,\): got \(2, 3\)"),
    ("layer_norm", (X, (3,), ROWS), ShapeError, "layer_norm: weight and bias must be"),
    ("group_norm", (X, 2), ShapeError, "group_norm: axis 1 of x .* into 2 equal groups"),
    ("batch_norm_training", (X[:1],), ShapeError, "batch_norm: training needs two values"),
    ("cross_entropy", (X, ROWS[:1]), ShapeError, r"cross_entropy: target must be \(2,\)"),
    ("mse_loss", (X, X[:, :2]), ShapeError, "mse_loss: shapes do not broadcast"),
    (
        "conv2d",
        (np.ones((1, 3, 4, 4)), np.ones((2, 2, 3, 3))),
        ShapeError,
        "conv2d: 3 channels of x",
    ),
    ("conv2d", (X, np.ones((2, 2, 3, 3))), ShapeError, "conv2d: x must have 2 axes after"),
    (
        "conv2d",
        (np.ones((1, 3, 2, 4)), np.ones((2, 3, 3, 3))),
        ShapeError,
        r"conv2d: a kernel of \(3, 3\) .* does not fit",
    ),
    ("max_pool2d", (X, 2), ShapeError, r"max_pool2d: x must be \(n, c, ...\)"),
    ("max_pool1d", (X, 2, 1, 2), ArgumentError, "max_pool1d: padding is at most half the kernel"),
    ("interpolate", (X[None],), ArgumentError, "interpolate: needs x .* either size or scale"),
    ("attention", (X, X, X[:1]), ShapeError, "attention: q and k share batch and width"),
    ("one_hot", (ROWS, 0), ArgumentError, "one_hot: needs the number of classes: got 0"),
    ("dropout", (X, np.zeros(2, np.uint32), 1.5), ArgumentError, "dropout: a probability is"),
    ("fold_in", (np.zeros(3), 1), DtypeError, "random: a key is two uint32 words: got float64"),
)


@pytest.mark.parametrize(
    ("name", "args", "kind", "text"), CASES, ids=[f"{case[0]}-{k}" for k, case in enumerate(CASES)]
)
def test_a_mistake_is_told_in_a_sentence(name, args, kind, text):
    arrays = [v for v in flat(args) if isinstance(v, np.ndarray)]

    with pytest.raises(kind, match=text) as caught:
        built(lambda *nodes: OPS[name](*filled(args, iter(nodes))), *arrays)

    assert isinstance(caught.value, GnomonError)
    assert str(caught.value).endswith((".", ")"))


def flat(values):
    """The arguments, lists opened."""
    return [w for v in values for w in (flat(v) if isinstance(v, list) else [v])]


def filled(values, nodes):
    """The arguments with nodes for arrays."""
    return [
        filled(v, nodes) if isinstance(v, list) else next(nodes) if isinstance(v, np.ndarray) else v
        for v in values
    ]
