"""The programs that small_programs.py measures: each takes a library and gives its step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CASES"]

Step = Callable[[], Any]


def add(t: Any) -> Step:
    """One operation that nobody reads."""
    x = t.ones(64)
    return lambda: x + 1


def add_scalar(t: Any) -> Step:
    """The same of a tensor of no axes."""
    s = t.tensor(1.5)
    return lambda: s + 1


def method(t: Any) -> Step:
    """A method that nobody reads."""
    x = t.ones(64)
    return lambda: x.exp()


def built(of: Callable[[Any, Any, Any, Any], Any]) -> Callable[[Any], Step]:
    """An operation of the library, two matrices and a vector, that nobody reads."""

    def make(t: Any) -> Step:
        x, w, b = t.ones(8, 8), t.ones(8, 8), t.ones(8)
        return lambda: of(t, x, w, b)

    return make


def read(t: Any) -> Step:
    """One operation, and its values."""
    x = t.ones(4)
    return lambda: (x + 1).tolist()


def read_sum(t: Any) -> Step:
    """Three operations, and one number."""
    x = t.ones(64)
    return lambda: ((x * 2 + 1).sum()).item()


def element(t: Any) -> Step:
    """One element as a number."""
    a = t.ones(4, 4)
    return lambda: a[0, 0].item()


def row(t: Any) -> Step:
    """A row that nobody reads."""
    a = t.ones(4, 4)
    return lambda: a[1]


def array(t: Any) -> Step:
    """A tensor as numpy's array."""
    a = t.ones(4, 4)
    return lambda: a.numpy()


def policy(t: Any) -> Step:
    """Two layers, one observation, a draw."""
    net = t.nn.Sequential(t.nn.Linear(4, 64), t.nn.Tanh(), t.nn.Linear(64, 2))
    import numpy

    observed = numpy.ones(4, "float32")

    def step() -> int:
        with t.no_grad():
            logits = net(t.from_numpy(observed))
            return t.distributions.Categorical(logits=logits).sample().item()

    return step


def policy_multinomial(t: Any) -> Step:
    """The same by softmax and multinomial."""
    net = t.nn.Sequential(t.nn.Linear(4, 64), t.nn.Tanh(), t.nn.Linear(64, 2))
    observed = t.ones(1, 4)

    def step() -> int:
        with t.no_grad():
            return t.multinomial(net(observed).softmax(-1), 1).item()

    return step


def policy_training(t: Any) -> Step:
    """An episode of ten observations, and a step of policy gradient."""
    net = t.nn.Sequential(t.nn.Linear(4, 64), t.nn.Tanh(), t.nn.Linear(64, 2))
    optimizer = t.optim.Adam(net.parameters(), lr=1e-3)
    first = t.randn(4)

    def step() -> None:
        logs, observed = [], first
        for _ in range(10):
            drawn = t.distributions.Categorical(logits=net(observed))
            action = drawn.sample()
            logs.append(drawn.log_prob(action))
            observed = observed * 0.9 + action.item()
        loss = -t.stack(logs).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def growing(t: Any) -> Step:
    """Sampling without a cache of keys: each call adds one token, from 1 to 64, and so on."""
    table, head = t.nn.Embedding(50, 32), t.nn.Linear(32, 50)
    layer = t.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    tokens = [t.zeros(1, 1, dtype=t.int64)]

    def step() -> None:
        with t.no_grad():
            logits = head(layer(table(tokens[0]))[:, -1])
            drawn = t.multinomial(logits.softmax(-1), 1)
            tokens[0] = t.cat([tokens[0], drawn], 1) if tokens[0].shape[1] < 64 else drawn

    return step


def growing_cat(t: Any) -> Step:
    """A tensor that grows by one row, from 1 to 64, and so on; its sum is read."""
    kept, one = [t.ones(1, 8)], t.ones(1, 8)

    def step() -> float:
        kept[0] = t.cat([kept[0], one]) if kept[0].shape[0] < 64 else one
        return kept[0].sum().item()

    return step


def cells(t: Any) -> Step:
    """An LSTM cell unrolled over forty steps, trained."""
    cell, head = t.nn.LSTMCell(8, 16), t.nn.Linear(16, 1)
    x = t.randn(40, 4, 8)
    optimizer = t.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)

    def step() -> None:
        h, c = t.zeros(4, 16), t.zeros(4, 16)
        for k in range(40):
            h, c = cell(x[k], (h, c))
        loss = (head(h) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def depthwise(t: Any) -> Step:
    """Inverted residuals of MobileNetV2, trained."""

    def block(channels: int, wide: int) -> Any:
        return t.nn.Sequential(
            t.nn.Conv2d(channels, wide, 1, bias=False),
            t.nn.BatchNorm2d(wide),
            t.nn.ReLU6(),
            t.nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False),
            t.nn.BatchNorm2d(wide),
            t.nn.ReLU6(),
            t.nn.Conv2d(wide, channels, 1, bias=False),
            t.nn.BatchNorm2d(channels),
        )

    blocks = [block(16, 96), block(16, 96)]
    optimizer = t.optim.SGD([p for b in blocks for p in b.parameters()], lr=0.01)
    x = t.randn(8, 16, 16, 16)

    def step() -> None:
        y = x
        for each in blocks:
            y = y + each(y)
        loss = (y * y).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


CASES: dict[str, tuple[Callable[[Any], Step], int]] = {
    "x + 1": (add, 2000),
    "s + 1": (add_scalar, 2000),
    "x.exp()": (method, 2000),
    "x + w": (built(lambda t, x, w, b: x + w), 2000),
    "mean": (built(lambda t, x, w, b: x.mean()), 2000),
    "sum": (built(lambda t, x, w, b: x.sum()), 2000),
    "softmax": (built(lambda t, x, w, b: x.softmax(1)), 2000),
    "relu": (built(lambda t, x, w, b: x.relu()), 2000),
    "where": (built(lambda t, x, w, b: t.where(x > w, x, w)), 2000),
    "linear": (built(lambda t, x, w, b: t.nn.functional.linear(x, w, b)), 2000),
    "(x + 1).tolist()": (read, 500),
    "(x*2+1).sum().item()": (read_sum, 500),
    "a[0, 0].item()": (element, 500),
    "a[1]": (row, 500),
    "a.numpy()": (array, 500),
    "policy": (policy, 100),
    "policy, multinomial": (policy_multinomial, 100),
    "episode": (policy_training, 10),
    "growing": (growing, 64),
    "growing cat": (growing_cat, 64),
    "cells": (cells, 5),
    "depthwise": (depthwise, 5),
}
"""What is measured, and how often in a round."""
