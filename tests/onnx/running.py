"""Models run by onnxruntime beside the functions that they are exported of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gnomon as gn


def flat(value: Any) -> list[np.ndarray]:
    """The tensors of a nested value, as arrays."""
    if isinstance(value, gn.Tensor):
        return [value.detach().numpy()]
    parts = value.values() if isinstance(value, dict) else value
    return [x for part in parts for x in flat(part)]


def agree(got: Any, want: Any, tolerance: float = 1e-5) -> None:
    """Compare results: kinds, shapes, values."""
    found, wanted = flat(got), flat(want)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        wide = [x.astype(np.float64) for x in (a, b)]
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)


def exported(
    function: Callable[..., Any], *args: Any, others: Sequence[Any] = (), **options: Any
) -> gn.onnx.ONNXProgram:
    """The model of a function, which gives what the function gives, for other arguments too."""
    made = gn.onnx.export(function, args, **options)
    for given in (args, *others):
        agree(made(*given), function(*given))
    return made


def operators(made: gn.onnx.ONNXProgram) -> list[str]:
    """The names of a model's operators, in order."""
    return [x.op_type for x in made.model_proto.graph.node]
