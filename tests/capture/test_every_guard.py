"""For each kind of guard a change that it alone sees: compiled functions follow as plain ones do.

A case runs twice, on a plain function and on a compiled one, and yields what it sees before and
after a change. Which guard a case is about is in tests/mutants_of_guards.py, where it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.settings import override

Compile = Callable[[Callable], Any]
Seen = Iterator[object]


def ones() -> gn.Tensor:
    """What functions are called with."""
    return gn.ones(2)


# Python values


def cell(compiled: Compile) -> Seen:
    """A variable of the function around."""
    number = 1
    f = compiled(lambda x: x * number)
    yield f(ones()).tolist()
    number = 2
    yield f(ones()).tolist()


def attribute(compiled: Compile) -> Seen:
    """What an object has under a name."""
    options = SimpleNamespace(number=1)
    f = compiled(lambda x: x * options.number)
    yield f(ones()).tolist()
    options.number = 2
    yield f(ones()).tolist()


def missing(compiled: Compile) -> Seen:
    """A name that comes later."""
    options = SimpleNamespace()
    f = compiled(lambda x: x * getattr(options, "number", 1))
    yield f(ones()).tolist()
    options.number = 2
    yield f(ones()).tolist()


def part(compiled: Compile) -> Seen:
    """What a list has inside."""
    numbers = [1]
    f = compiled(lambda x: x * numbers[0])
    yield f(ones()).tolist()
    numbers[0] = 2
    yield f(ones()).tolist()


def function(compiled: Compile) -> Seen:
    """The defaults of a function."""

    def number(n=1):
        return n

    f = compiled(lambda x: x * number())
    yield f(ones()).tolist()
    number.__defaults__ = (2,)
    yield f(ones()).tolist()


class One:
    """Has a number for all."""

    number = 1


class Two:
    """Has another."""

    number = 2


def instance(compiled: Compile) -> Seen:
    """The class of an object."""
    thing = One()
    f = compiled(lambda x: x * thing.number)
    yield f(ones()).tolist()
    thing.__class__ = Two
    yield f(ones()).tolist()


def kind(compiled: Compile) -> Seen:
    """What a class has under a name."""

    class Changed:
        number = 1

    thing = Changed()
    f = compiled(lambda x: x * thing.number)
    yield f(ones()).tolist()
    Changed.number = 2
    yield f(ones()).tolist()


def tensor(compiled: Compile) -> Seen:
    """Whether a tensor from outside wants gradients."""
    weight = gn.ones(2)
    f = compiled(lambda x: x * weight)
    yield f(ones()).requires_grad
    weight.requires_grad_()
    yield f(ones()).requires_grad


def numbers(compiled: Compile) -> Seen:
    """What stands in an array of numpy's."""
    array = np.ones(2, np.float32)
    f = compiled(lambda x: x * float(array[0]))
    yield f(ones()).tolist()
    array[0] = 2
    yield f(ones()).tolist()


def module(compiled: Compile) -> Seen:
    """The mode of a module."""
    layer = nn.Dropout(1.0).eval()
    f = compiled(lambda x: layer(x))
    yield f(ones()).tolist()
    layer.train()
    yield f(ones()).tolist()


def hook(compiled: Compile) -> Seen:
    """Hooks of a tensor."""
    weight = gn.ones(2, requires_grad=True)

    def train(x):
        weight.grad = None
        (weight * x).sum().backward()

    f = compiled(train)
    for _ in range(2):
        f(ones())
        yield weight.grad.tolist()
        weight.register_hook(lambda g: g * 3)


def setting(compiled: Compile) -> Seen:
    """A setting of programs."""
    f = compiled(lambda x: x * 2)
    for without in ("", "fuse"):
        with override(without=without):
            f(ones())
        yield getattr(f, "captures", 1 + (without == "fuse"))


# modes


def gradients(compiled: Compile) -> Seen:
    """Whether gradients are recorded."""
    f = compiled(lambda x: x * (2 if gn.is_grad_enabled() else 1))
    yield f(ones()).tolist()
    with gn.no_grad():
        yield f(ones()).tolist()


def inference(compiled: Compile) -> Seen:
    """Whether nothing will be part of a history."""
    f = compiled(lambda x: x * (2 if gn.is_inference_mode_enabled() else 1))
    with gn.no_grad():
        yield f(ones()).tolist()
    with gn.inference_mode():
        yield f(ones()).tolist()


def narrow(compiled: Compile) -> Seen:
    """Whether products are narrow."""
    f = compiled(lambda x: x @ x.T)
    yield f(gn.ones(2, 2)).dtype
    with gn.autocast("cpu", gn.bfloat16):
        yield f(gn.ones(2, 2)).dtype


def default(compiled: Compile) -> Seen:
    """The dtype of what is made without one."""
    f, x = compiled(lambda x: gn.zeros(2)), ones()
    yield f(x).dtype
    gn.set_default_dtype(gn.float64)
    try:
        yield f(x).dtype
    finally:
        gn.set_default_dtype(gn.float32)


# arguments


def shape(compiled: Compile) -> Seen:
    """How many elements an argument has."""
    f = compiled(lambda x: x * 2)
    yield f(gn.ones(2)).tolist()
    yield f(gn.ones(3)).tolist()


def dtype(compiled: Compile) -> Seen:
    """What an argument's elements are."""
    f = compiled(lambda x: x + x)
    yield f(gn.ones(2)).dtype
    yield f(gn.ones(2, dtype=gn.int32)).dtype


def wanted(compiled: Compile) -> Seen:
    """Whether an argument wants gradients."""
    f = compiled(lambda x: x * 2)
    yield f(ones()).requires_grad
    yield f(ones().requires_grad_() * 1).requires_grad


def leaf(compiled: Compile) -> Seen:
    """Whether gradients gather at an argument."""
    f = compiled(lambda x: x * (2 if x.is_leaf else 1))
    x = gn.ones(2, requires_grad=True)
    yield f(x * 1).tolist()
    yield f(x).tolist()


def gathered(compiled: Compile) -> Seen:
    """Whether an argument has a gradient already."""

    def train(x):
        (x * x).sum().backward()

    f = compiled(train)
    x = gn.ones(2, requires_grad=True)
    for _ in range(3):
        f(x)
        yield x.grad.tolist()


CASES = (
    *(cell, attribute, missing, part, function, instance, kind, tensor, numbers, module, hook),
    *(setting, gradients, inference, narrow, default, shape, dtype, wanted, leaf, gathered),
)


def follows(case: Callable[[Compile], Seen]) -> None:
    """A compiled function sees what a plain one does, before and after the change."""
    plain = list(case(lambda f: f))
    assert plain[0] != plain[1]

    assert list(case(gn.compile)) == plain


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_compiled_function_follows_a_change(case):
    follows(case)
