"""out= of many functions: values, dtypes, and what is refused, as PyTorch's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

UNARY = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor", "log"),
    *("log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh"),
    *("sqrt", "square", "tan", "tanh", "trunc", "cumsum:0", "sum:0", "mean:0", "prod:0", "tril"),
    *("triu", "sort:0", "topk:1", "max:0", "min:0", "argmax:0", "linalg.inv", "linalg.svd", "diag"),
    *("any", "all", "isfinite", "logical_not", "var:0", "std:0", "amax:0", "logsumexp:0"),
)
BINARY = (
    *("add", "sub", "mul", "div", "pow", "maximum", "minimum", "atan2", "fmod", "eq", "lt", "mm"),
    *("matmul", "logical_and", "remainder", "ne", "ge", "floor_divide", "outer:flat", "dot:flat"),
)
DTYPES = ("bool", "int64", "float32", "float64")


def outcome(library, name: str, arrays, kinds: tuple[str, ...]):
    """What stands in the tensors after a call, or that it was refused."""
    path, _, more = name.partition(":")
    function = library
    for part in path.split("."):
        function = getattr(function, part)
    given = [library.tensor(x.ravel() if more == "flat" else x) for x in arrays]
    rest = [int(more)] if more.isdigit() else []
    places = tuple(library.empty(0, dtype=getattr(library, kind)) for kind in kinds)
    try:
        function(*given, *rest, out=places[0] if len(places) == 1 else places)
    except (RuntimeError, TypeError, ValueError):
        return "refused"
    return [x.numpy() for x in places]


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
@pytest.mark.parametrize("kind", DTYPES)
def test_a_function(rng, name: str, kind: str):
    arrays = [rng.random((3, 3)) + 0.5 for _ in range(2 if name in BINARY else 1)]
    kinds: tuple[str, ...] = (kind,)
    if name in ("sort:0", "topk:1", "max:0", "min:0"):
        kinds = (kind, "int64")
    if name == "linalg.svd":
        kinds = (kind,) * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine, its = (outcome(library, name, arrays, kinds) for library in (gn, torch))

    # what is stored in another dtype is PyTorch's choice by function, and here one rule
    refused = [isinstance(x, str) for x in (mine, its)]
    assert refused != [True, False] or kind != "float64"
    if not any(refused):
        for x, y in zip(mine, its, strict=True):
            assert x.dtype == y.dtype
            if name != "linalg.svd":
                np.testing.assert_allclose(x, y, rtol=1e-5)


@pytest.mark.parametrize("kind", ["int64", "float32", "float64"])
def test_new_tensors(kind: str):
    for name, args in (("zeros", (2,)), ("ones", (2,)), ("full", ((2,), 3)), ("arange", (3,))):
        mine, its = (
            getattr(library, name)(*args, out=library.empty(0, dtype=getattr(library, kind)))
            for library in (gn, torch)
        )
        np.testing.assert_array_equal(mine.numpy(), its.numpy(), strict=True)
