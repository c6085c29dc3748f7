"""requires_grad switched inside a compiled function, as adversarial training does."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import TraceError
from gnomon.nn import functional as F


class Pair:
    """Two models and a step that trains each, with the other's parameters held still or not."""

    def __init__(self, way):
        gn.manual_seed(3)
        self.maker, self.judge = gn.nn.Linear(3, 4), gn.nn.Linear(4, 1)
        self.step = way(self.both)

    def both(self, noise, real):
        """The gradients of a turn of each, the judge's first or last."""
        made = self.maker(noise)
        told = self.judge(made.detach()).mean() - self.judge(real).mean()
        told.backward()
        self.judge.requires_grad_(False)
        fooled = F.softplus(-self.judge(made)).mean()
        fooled.backward()
        self.judge.requires_grad_(True)
        return told, fooled

    def fooled_first(self, noise, real):
        """The same in the other order."""
        self.judge.requires_grad_(False)
        fooled = F.softplus(-self.judge(self.maker(noise))).mean()
        fooled.backward()
        self.judge.requires_grad_(True)
        (self.judge(real) * self.judge(real)).sum().backward()
        return fooled

    def held_still(self, noise, real):
        """A loss that the caller goes backward from, through a judge that was held still."""
        first = self.judge(real).sum()
        self.judge.requires_grad_(False)
        fooled = self.judge(self.maker(noise)).sum()
        self.judge.requires_grad_(True)
        return first * 2 + fooled * fooled

    def gradients(self):
        """Of all parameters."""
        parameters = (*self.maker.parameters(), *self.judge.parameters())
        assert all(p.requires_grad for p in parameters)
        return [None if p.grad is None else p.grad.tolist() for p in parameters]


@pytest.mark.parametrize("name", ["both", "fooled_first", "held_still"])
def test_a_judge_is_held_still_inside_a_compiled_step(name):
    found = []
    for way in (lambda f: f, gn.compile):
        pair = Pair(way)
        pair.step = way(getattr(pair, name))
        for k in range(3):
            result = pair.step(gn.ones(2, 3) * k, gn.ones(2, 4) - k)
            if name == "held_still":
                result.backward()
        found.append(pair.gradients())

    assert found[0] == found[1]
    assert pair.step.captures <= 2, "the first call finds no gradients"


def test_a_leaf_wants_gradients_for_a_while():
    w = gn.ones(2)

    def slope(x):
        before = w * x
        w.requires_grad_()
        (w * w * x + before).sum().backward()
        found, w.grad = w.grad, None
        w.requires_grad_(False)
        return found

    fast = gn.compile(slope)
    for k in range(3):
        assert fast(gn.ones(2) * k).tolist() == [2.0 * k] * 2
    assert not w.requires_grad
    assert w.grad is None


def test_an_argument_wants_gradients_for_a_while():
    def slope(x):
        x.requires_grad_()
        found = gn.autograd.grad((x * x * x).sum(), [x])[0]
        x.requires_grad_(False)
        return found

    fast = gn.compile(slope)
    for x in (gn.ones(2) * 2, gn.ones(2) * 3, gn.ones(3)[1:]):
        assert fast(x).tolist() == slope(x).tolist()
        assert not x.requires_grad


def test_what_stays_switched_is_refused_and_stays_as_it_was():
    w = gn.ones(2)

    def switched(x):
        w.requires_grad_()
        return w * x

    with pytest.raises(TraceError, match=r"requires_grad: a function that is captured switches it"):
        gn.compile(switched)(gn.ones(2))
    assert not w.requires_grad


def test_a_switch_is_taken_back_where_a_function_fails():
    w = gn.ones(2, requires_grad=True)

    def fails(x):
        w.requires_grad_(False)
        raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        gn.compile(fails)(gn.ones(2))
    assert w.requires_grad
