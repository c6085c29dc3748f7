"""Functions and activations at special values: what they give, and their slopes, are torch's."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.ops.scalars import SCALARS
from tests.ops.test_special_points import grid, kinds

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

DTYPES = {"float32": 1e-4, "float64": 1e-10, "bfloat16": 0.03, "float16": 0.01}
"""How close numbers are to be."""
ACTIVATIONS = {
    name: lambda lib, x, name=name: getattr(lib.nn.functional, name)(x)
    for name in (
        *("gelu", "silu", "mish", "softplus", "elu", "celu", "selu", "logsigmoid", "hardswish"),
        *("hardsigmoid", "softsign", "tanhshrink", "hardshrink", "softshrink", "leaky_relu"),
        *("relu", "relu6", "hardtanh", "sigmoid", "tanh"),
    )
}
ACTIVATIONS["gelu_tanh"] = lambda lib, x: lib.nn.functional.gelu(x, approximate="tanh")
ACTIVATIONS["celu(2)"] = lambda lib, x: lib.nn.functional.celu(x, 2.0)
ACTIVATIONS["elu(2)"] = lambda lib, x: lib.nn.functional.elu(x, 2.0)
PLAIN = {
    name: lambda lib, *xs, name=name: getattr(lib, name)(*xs)
    for name, row in SCALARS.items()
    if hasattr(torch, name) and hasattr(gn, name) and row.result == "same" and row.arity < 3
    if (name not in ACTIVATIONS and row.gradients[0] is not None) or name in ("sign", "nextafter")
    if name != "floor_divide"  # of which torch has no derivative; here it is 0
}
FUNCTIONS = ACTIVATIONS | PLAIN


def seen(lib, name, dtype, given):
    """The value and the slopes, as float64."""
    xs = [lib.tensor(x.tolist(), dtype=getattr(lib, dtype), requires_grad=True) for x in given]
    y = FUNCTIONS[name](lib, *xs)
    if y.requires_grad:
        y.sum().backward()
    found = [y.detach(), *(lib.zeros_like(x) if x.grad is None else x.grad for x in xs)]
    return [np.array(x.double().tolist()) for x in found]


NOT_TORCHS = {
    "sign": "of NaN is NaN, as the array API says; torch's is 0",
    "abs": "has no slope at NaN; torch's is 0",
    "copysign": "has slope 1 at infinity; torch divides infinities",
    "nextafter": "is flat everywhere; torch gives slopes",
    "expm1": "has the slope e^x; torch's is 1 + a rounded value",
    "tanhshrink": "keeps its digits near 0; torch's loses them",
    "digamma": "has an infinite slope at its poles; torch's is what a rounded sine gives",
}
"""Functions that differ at special values, and why."""


def apart(a, b, dtype):
    """Where NaN, infinities and numbers differ; torch loses what is very small or subnormal."""
    odd = kinds(np.abs(a)) * (a != 0) != kinds(np.abs(b)) * (b != 0)
    with np.errstate(all="ignore"):
        far = np.abs(a - b) > DTYPES[dtype] * np.abs(b) + (1e-30 if "16" not in dtype else 1e-3)
    return odd | (far & np.isfinite(a) & np.isfinite(b))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NOT_TORCHS])
def test_values_and_slopes_are_torchs(name):
    """Where torch's float32 and float64 differ, one of them has to agree."""
    arity, found = SCALARS[name].arity if name in PLAIN else 1, {}
    for dtype in DTYPES:
        given = grid(np.dtype(np.float16), arity)
        mine, theirs = (seen(lib, name, dtype, given) for lib in (gn, torch))
        for k, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            for i in np.flatnonzero(apart(a, b, dtype)):
                point = k, *(float(x[i]) for x in given)
                found.setdefault(point, []).append((dtype, float(a[i]), float(b[i])))
    wide = {"float32", "float64"}
    wrong = {point: told for point, told in found.items() if wide <= {name for name, *_ in told}}
    assert not wrong, wrong
