"""Ragged tensors and classes that take functions over, beside torch's, from one source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

CALLS = (
    *("x + 1", "2 - x * x", "x.relu()", "x.softmax(-1)", "x.sum(-1)", "x.transpose(1, 2)"),
    *("F.linear(x, w)", "F.layer_norm(x, (4,))", "x.unflatten(-1, (2, 2))", "x.chunk(2, -1)[0]"),
    *("F.silu(x) * x", "x.to(lib.float64)", "x.unsqueeze(-1)", "x * row", "x.clone()", "-x"),
    *("heads(x)", "F.scaled_dot_product_attention(heads(x), heads(x), heads(x))"),
)
DENSE = (
    *("x.sum(1)", "x.sum(dim=1, keepdim=True)", "x.to_padded_tensor(-1.0)", "x.values()"),
    *("x.offsets()", "x.mean(1)", "x.amax(1)", "(x > 0).sum(1)", "(x * 9).to(lib.int8).sum(1)"),
    *("(x * 9).to(lib.int64).amax(1)", "x.argmax(1)", "x.max(1).indices", "x.prod(1)"),
    *("(x > 0).any(1)", "(x > 0).all(1)", "x.sum(1, dtype=lib.float64)"),
)


def ragged(lib: Any) -> Any:
    """The same ragged tensor of either."""
    random = np.random.default_rng(0)
    parts = [random.standard_normal((n, 4), np.float32) for n in (3, 1, 6)]
    values, ends = np.concatenate(parts), np.cumsum([0, *map(len, parts)])
    return lib.nested.nested_tensor_from_jagged(
        lib.from_numpy(values), lib.from_numpy(ends), min_seqlen=1, max_seqlen=6
    )


def result(call: str, lib: Any) -> Any:
    """A call of either."""
    random = np.random.default_rng(1)
    names = {
        "lib": lib,
        "F": lib.nn.functional,
        "x": ragged(lib),
        "w": lib.from_numpy(random.standard_normal((5, 4), np.float32)),
        "row": lib.from_numpy(random.standard_normal(4, np.float32)),
        "heads": lambda x: x.unflatten(-1, (2, 2)).transpose(1, 2),
    }
    return eval(call, names)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("call", CALLS)
def test_items_are_torchs(call: str):
    ours, theirs = result(call, gnomon), result(call, torch)

    assert ours.ndim == theirs.ndim
    for mine, other in zip(ours.unbind(), theirs.unbind(), strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("call", DENSE)
def test_dense_results_are_torchs(call: str):
    ours, theirs = result(call, gnomon), result(call, torch)

    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


PROTOCOL = (
    *("lib.add(x, 1)", "lib.exp(x)", "lib.cat([p, x])", "lib.sum(x, 0)", "F.relu(x)"),
    *("F.softmax(x, 0)", "F.dropout(x, 0.0)", "lib.where(x > 0, x, x)", "lib.zeros_like(x)"),
    *("lib.stack((x, x))", "lib.max(x, 0)", "F.layer_norm(x, (3,))", "F.linear(x, w)"),
)


def asked(call: str, lib: Any) -> tuple[list[str], str]:
    """The functions that a class of either is asked for, and the class of the result."""
    names: list[str] = []

    class Listed(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            names.append(func.__name__.strip("_"))
            return super().__torch_function__(func, types, args, kwargs)

    x = lib.ones(3).as_subclass(Listed)
    scope = {"lib": lib, "F": lib.nn.functional, "x": x, "p": lib.ones(3), "w": lib.ones(2, 3)}
    made = eval(call, scope)
    first = made[0] if isinstance(made, tuple) else made
    return names, type(first).__name__


@pytest.mark.parametrize("call", PROTOCOL)
def test_a_class_is_asked_for_torchs_functions(call: str):
    ours, theirs = asked(call, gnomon), asked(call, torch)

    renamed = [{"greater": "gt"}.get(name, name) for name in ours[0]]
    assert renamed == theirs[0]
    assert ours[1] == theirs[1] == "Listed"
