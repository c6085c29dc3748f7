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


class Halving(gn.optim.Optimizer):
    """An optimizer of a user's, with a step of its own."""

    def __init__(self, params, lr: float = 0.5) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, closure=None):
        with gn.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(group["lr"])
        return "half"


class Twice(gn.optim.SGD):
    """An optimizer whose step is its base's, twice."""

    def step(self, closure=None):
        super().step(closure)
        return super().step(closure)


@pytest.mark.parametrize(("kind", "after"), [(Halving, 0.5), (Twice, 0.0)])
def test_a_step_of_ones_own_calls_hooks_once(kind, after):
    optimizer, seen = sgd(kind), []
    (p,) = optimizer.param_groups[0]["params"]
    optimizer.register_step_pre_hook(lambda o, args, named: seen.append((args, named, p.item())))

    with register_optimizer_step_post_hook(lambda o, *_: seen.append(p.item())):
        made = optimizer.step(closure=None)

    assert seen == [((), {"closure": None}, 1.0), after]
    assert made == ("half" if kind is Halving else None)


def test_a_wrapper_around_an_optimizer_prepares_its_hooks():
    class Wrapper(gn.optim.Optimizer):
        def __init__(self, inner: gn.optim.Optimizer) -> None:
            self.inner = inner
            self._patch_step_function()

        def step(self, closure=None):
            return self.inner.step(closure)

    wrapper, seen = Wrapper(sgd()), []
    wrapper.register_step_post_hook(lambda o, *_: seen.append(o))
    wrapper.step()

    assert seen == [wrapper]
