"""What users compile most is captured once and warns of nothing: each way here leads to their code.

Warnings are errors in this suite. What a change does is in tests/fuzz_capture.py.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import logging
import math
import typing
import warnings

import pytest

import gnomon as gn
from gnomon import nn, optim
from gnomon.nn import functional as F

X = gn.arange(16.0).reshape(4, 4) / 8
WAYS: dict[str, typing.Callable] = {}


def way(make):
    """Something that makes a function to compile."""
    WAYS[make.__name__] = make
    return make


def trained(loss_of, optimizer, after=lambda: None):
    """A training step."""

    def step(x):
        optimizer.zero_grad()
        loss = loss_of(x)
        loss.backward()
        optimizer.step()
        after()
        return loss.detach()

    return step


class Plain(optim.Optimizer):
    """An optimizer of a user's."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @gn.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(p.grad * group["lr"])


class Tanh(nn.Module):
    """A layer of a user's."""

    def forward(self, x):
        return x.tanh()


class Taller(Tanh):
    """One above another."""

    def forward(self, x):
        return super().forward(x) + 1


class Double(gn.autograd.Function):
    """An operation of a user's."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2 + ctx.saved_tensors[0] * 0


class Chosen(typing.NamedTuple):
    """What a function gives."""

    first: gn.Tensor
    scale: float = 2.0


@dataclasses.dataclass
class Options:
    """What a model is made of."""

    scale: float = 2.0
    activation: typing.Callable = F.relu


@contextlib.contextmanager
def scope(k):
    """A scope of a user's."""
    yield k


def layer():
    """A small layer."""
    gn.manual_seed(0)
    return nn.Linear(4, 4)


@way
def schedule_of_a_users():
    m = layer()
    sgd = optim.SGD(m.parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.LambdaLR(sgd, lambda k: 0.9**k)
    return trained(lambda x: m(x).sum(), sgd, scheduler.step)


@way
def optimizer_of_a_users():
    m = layer()
    return trained(lambda x: m(x).sum(), Plain(m.parameters()))


@way
def averages_of_a_users():
    m = layer()
    averages = optim.swa_utils.AveragedModel(m, avg_fn=lambda a, b, n: a * 0.9 + b * 0.1)
    return lambda x: averages.update_parameters(m) or averages(x)


@way
def closure_of_an_optimizer():
    m = layer()
    sgd = optim.SGD(m.parameters(), lr=0.1)

    def loss_of(x):
        sgd.zero_grad()
        loss = m(x).sum()
        loss.backward()
        return loss

    return lambda x: sgd.step(lambda: loss_of(x)).detach()


@way
def turns_of_rows():
    m = layer()

    def step(x):
        m.zero_grad()
        return gn.accumulate(lambda rows: m(rows).mean(), x, microbatches=2)

    return step


@way
def samples_at_once():
    return gn.vmap(lambda row: row * 2)


@way
def a_choice_and_a_loop():
    def double(x):
        return x * 2

    def step(x):
        y = gn.cond(x.sum() > 0, double, lambda x: x, [x])
        return gn.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, double(y)), (gn.tensor(0), y))

    return step


@way
def hooks():
    m = layer()
    m.register_forward_hook(lambda m, given, made: made * 2)
    m.register_forward_pre_hook(lambda m, given: (given[0] + 1,))
    m.weight.register_hook(lambda g: g * 2)

    def step(x):
        m.zero_grad()
        m(x).sum().backward()
        return m.weight.grad.clone()

    return step


@way
def layers_of_a_users():
    return nn.Sequential(nn.Linear(4, 4), Tanh(), nn.ReLU(), Taller())


@way
def a_layer_of_ours_that_calls_a_users():
    encoder = nn.TransformerEncoderLayer(4, 2, 8, 0.0, lambda x: x.tanh(), batch_first=True)
    return lambda x: encoder(x[None])


@way
def operation_of_a_users():
    return lambda x: Double.apply(x * 1).sum()


@way
def compiled_inside():
    inner = gn.compile(lambda x: x * 2)
    model = gn.compile(Tanh())
    return lambda x: model(inner(x))


@way
def records():
    options, pair = Options(), collections.namedtuple("pair", "a b", defaults=(1,))
    return lambda x: Chosen(options.activation(x) * options.scale).first * pair(2).b


@way
def results_of_a_users():
    return lambda x: Chosen(x * 2)


@way
def functions_given_on():
    def step(x):
        return functools.reduce(lambda a, b: a + b, sorted([x, x * 2], key=lambda y: len(y.shape)))

    return step


@way
def scopes():
    def step(x):
        with scope(2) as k, gn.autocast("cpu", dtype=gn.bfloat16):
            return x @ x * k

    return step


@way
def what_is_said_in_rare_cases():
    log = logging.getLogger("a test")

    def step(x):
        log.debug("sizes %s", x.shape)
        assert len(x.shape) == 2, f"{x.shape}"
        if x.shape[0] > 99:
            warnings.warn("a large one", stacklevel=2)
        return x / math.sqrt(x.shape[-1])

    return step


@pytest.mark.parametrize("name", WAYS)
def test_a_public_path_is_captured_once(name):
    compiled = gn.compile(WAYS[name]())

    for _ in range(3):
        compiled(X)

    assert compiled.captures == 1, compiled.why_recompiled()
