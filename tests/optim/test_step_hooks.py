"""Hooks of all optimizers, beside those of one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

import gnomon as gn
from gnomon.optim import register_optimizer_step_post_hook, register_optimizer_step_pre_hook


def sgd(make: Callable = gn.optim.SGD) -> gn.optim.Optimizer:
    p = gn.ones(1, requires_grad=True)
    p.grad = gn.ones(1)
    return make([p], lr=0.5)


@pytest.mark.parametrize(
    "way", [lambda o: o, copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))]
)
def test_hooks_of_all_optimizers_are_around_those_of_one(way: Callable):
    optimizer, seen = way(sgd()), []
    (p,) = optimizer.param_groups[0]["params"]
    p.grad = gn.ones(1)
    optimizer.register_step_pre_hook(lambda o, *_: seen.append(("own", p.item())))
    optimizer.register_step_post_hook(lambda o, *_: seen.append(("own", p.item())))

    with (
        register_optimizer_step_pre_hook(lambda o, *_: seen.append(("before", p.item()))),
        register_optimizer_step_post_hook(lambda o, *_: seen.append(("after", p.item()))),
    ):
        optimizer.step()
    optimizer.step()

    first = [("before", 1.0), ("own", 1.0), ("own", 0.5), ("after", 0.5)]
    assert seen == [*first, ("own", 0.5), ("own", 0.0)]


def test_lbfgs_calls_hooks_of_all_optimizers():
    optimizer, seen = sgd(gn.optim.LBFGS), []
    (p,) = optimizer.param_groups[0]["params"]

    def loss() -> gn.Tensor:
        optimizer.zero_grad()
        made = (p * p).sum()
        made.backward()
        return made

    with register_optimizer_step_post_hook(lambda o, *_: seen.append(o)):
        optimizer.step(loss)

    assert seen == [optimizer]


def test_a_compiled_step_follows_hooks_of_all_optimizers():
    optimizer, factors = sgd(), [2.0]
    (p,) = optimizer.param_groups[0]["params"]

    def step() -> None:
        p.grad = gn.ones(1)
        optimizer.step()

    def scaled(o: gn.optim.Optimizer, *_: object) -> None:
        p.grad = p.grad * factors[0]

    compiled = gn.compile(step)
    compiled()
    with register_optimizer_step_pre_hook(scaled):
        compiled()
        assert p.item() == -0.5
        factors[0] = 4.0
        compiled()
        assert p.item() == -2.5
    compiled()

    assert p.item() == -3.0
