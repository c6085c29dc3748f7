"""Calls that the registry does not list, for tests/fuzz_hostile.py: creation, selection, layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import gnomon as gn

Call = tuple[Callable[..., Any], tuple, dict[str, Any]]

X = np.arange(12.0).reshape(3, 4) / 5 - 1
IMAGE = np.arange(2 * 4 * 6 * 6.0).reshape(2, 4, 6, 6) / 99 - 1
ROWS = np.array([0, 2, 1, 2])
POSITIVE = np.abs(X) + 0.1

CALLS: dict[str, Call] = {}


def add(function: Callable[..., Any], *args: Any, **named: Any) -> None:
    """A call under its function's name; several of one function are numbered."""
    name = getattr(function, "__qualname__", function.__name__)
    while name in CALLS:
        name += "'"
    CALLS[name] = (function, args, named)


def layer(kind: type, inputs: tuple, *args: Any, **named: Any) -> None:
    """The construction of a layer, and its call."""

    def built(*args: Any, **named: Any) -> Any:
        return kind(*args, **named)(*map(gn.tensor, (x.astype(np.float32) for x in inputs)))

    CALLS[f"nn.{kind.__name__}"] = (built, args, named)


# creation

for function in (gn.zeros, gn.ones, gn.empty, gn.rand, gn.randn):
    add(function, (2, 3))
    add(function, 2, 3)
add(gn.full, (2, 3), 1.5)
add(gn.full, (2, 3), 3, dtype=gn.uint8)
add(gn.arange, 0, 9, 2)
add(gn.arange, 0.5, 3.0, 0.25)
add(gn.arange, 7, dtype=gn.uint8)
add(gn.linspace, 0.0, 1.0, 5)
add(gn.eye, 3, 4, k=1)
add(gn.tensor, [[1, 2], [3, 4]], dtype=gn.int32)
add(gn.asarray, [1.5, 2.5])
add(gn.full_like, X, 2.0)
add(gn.zeros_like, X)
add(gn.tril_indices, 3, 4, 0)
add(gn.triu_indices, 3, 4, 0)

# random

add(gn.randint, 0, 9, (2, 3))
add(gn.randperm, 7)
add(gn.normal, 0.0, 1.0, (2, 3))
add(gn.bernoulli, np.array([0.0, 0.5, 1.0]))
add(gn.multinomial, np.array([0.5, 0.25, 0.25]), 2)
add(gn.multinomial, np.array([[0.5, 0.25], [1.0, 0.0]]), 3, replacement=True)

# what looks at values

add(gn.bincount, ROWS, None, 5)
add(gn.bincount, ROWS, np.ones(4), 0)
add(gn.unique, ROWS, return_counts=True, dim=0)
add(gn.unique_consecutive, ROWS, return_counts=True)
add(gn.unique_all, ROWS)
add(gn.nonzero, X)
add(gn.masked_select, X, X > 0)
add(gn.histc, X, 5, -1.0, 1.0)
add(gn.combinations, ROWS, 2)
add(gn.quantile, X, [0.25, 0.5], 1)
add(gn.allclose, X, X)
add(gn.Tensor.__getitem__, X, (1, slice(0, 2)))
add(gn.Tensor.__getitem__, X, ROWS[:2])
add(gn.Tensor.to, X, "float64")
add(gn.Tensor.view, X, 4, 3)
add(gn.Tensor.fill_, X, 2.0)
add(gn.Tensor.uniform_, X, 0.0, 1.0)
add(gn.Tensor.normal_, X, 0.0, 1.0)
add(gn.Tensor.exponential_, X, 1.0)
add(gn.Tensor.random_, ROWS, 0, 9)
add(gn.Tensor.bernoulli_, X, 0.5)
add(gn.Tensor.copy_, X, X)

# layers

layer(gn.nn.Linear, (X,), 4, 3)
layer(gn.nn.Conv1d, (IMAGE[0],), 6, 4, 3, stride=1, padding=1, dilation=1, groups=2)
layer(gn.nn.Conv2d, (IMAGE,), 4, 4, 3, stride=1, padding=1, dilation=1, groups=2)
layer(gn.nn.ConvTranspose2d, (IMAGE,), 4, 4, 3, stride=2, padding=1, output_padding=1)
layer(gn.nn.MaxPool2d, (IMAGE,), 2, stride=2, padding=0)
layer(gn.nn.AvgPool2d, (IMAGE,), 2, stride=2, padding=0)
layer(gn.nn.AdaptiveAvgPool2d, (IMAGE,), (2, 3))
layer(gn.nn.BatchNorm2d, (IMAGE,), 4, eps=1e-5, momentum=0.1)
layer(gn.nn.LayerNorm, (X,), 4, eps=1e-5)
layer(gn.nn.RMSNorm, (X,), 4, eps=1e-5)
layer(gn.nn.GroupNorm, (IMAGE,), 2, 4, eps=1e-5)
layer(gn.nn.Dropout, (X,), 0.5)
layer(gn.nn.Softmax, (X,), dim=1)
layer(gn.nn.GELU, (X,), approximate="none")
layer(gn.nn.LeakyReLU, (X,), 0.1)
layer(gn.nn.GRU, (IMAGE[0],), 6, 5, num_layers=2)
layer(gn.nn.LSTM, (IMAGE[0],), 6, 5, num_layers=1)
layer(gn.nn.MultiheadAttention, (IMAGE[0], IMAGE[0], IMAGE[0]), 6, 2)
layer(gn.nn.Upsample, (IMAGE,), scale_factor=2, mode="nearest")
layer(gn.nn.PixelShuffle, (IMAGE,), 2)
layer(gn.nn.Flatten, (IMAGE,), 1, 2)


def embedded(*args: Any, **named: Any) -> Any:
    """An embedding and a lookup in it."""
    return gn.nn.Embedding(*args, **named)(gn.tensor(ROWS))


add(embedded, 5, 3, padding_idx=1)
