"""Ctrl-C at every moment at which Python raises it: the modes are what they were before."""

import gc
import sys

import pytest

import gnomon as gn
from gnomon import settings
from gnomon.ir.provenance import scope
from gnomon.runtime import interrupts
from gnomon.settings import holding, override
from gnomon.tensor.state import grads, inference, narrow, state

MOMENTS = ("call", "c_return")
"""Events of Python's profiler; signals are looked for there (and at jumps back)."""
PYTHONS_OWN = "__exit__"
"""As a block is left by `with`, none of its code has run yet: Python gives nobody a chance."""


class Interrupt:
    """A KeyboardInterrupt at one event, counted from 0."""

    def __init__(self, at):
        self.at, self.seen, self.inside = at, 0, ""

    def __call__(self, frame, event, _):
        if event in MOMENTS:
            if self.seen == self.at:
                sys.setprofile(None)
                self.inside = frame.f_code.co_name if event == "call" else ""
                raise KeyboardInterrupt
            self.seen += 1


def stopped(work, at):
    """How many events there were, and which function had just begun where it was cut."""
    moment = Interrupt(at)
    sys.setprofile(moment)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    return moment


def modes():
    """All that a block may leave behind."""
    others = scope.sites, scope.phase, state.arena, state.unknown, state.capture
    return (grads.get(), inference.get(), narrow.get(), settings.current(), *others)


def restore(before):
    """Set all of it again."""
    for mode, value in zip((grads, inference, narrow, settings._active), before, strict=False):
        mode.set(value)
    scope.sites, scope.phase, state.arena, state.unknown, state.capture = before[4:]


def block(mode):
    """A function that does nothing inside a block."""

    def work():
        with mode():
            len("")

    return work


def decorated(mode):
    """A decorated function that does nothing."""
    return mode()(lambda: len(""))


class Double(gn.autograd.Function):
    """Two times a tensor."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Trained:
    """A parameter, its optimizer, and a step."""

    def __init__(self):
        self.x = gn.ones(2).requires_grad_()
        self.optimizer = gn.optim.SGD([self.x], lr=0.5)

    def step(self):
        self.x.grad = gn.ones(2)
        self.optimizer.step()

    def backward(self):
        Double.apply(self.x).sum().backward()


MODES = {"no_grad": gn.no_grad, "inference_mode": gn.inference_mode, "autocast": gn.autocast}
WORKS = {
    **{f"with {name}": block(mode) for name, mode in MODES.items()},
    **{f"@{name}": decorated(mode) for name, mode in MODES.items()},
    "enable_grad in no_grad": decorated(lambda: lambda f: gn.no_grad()(gn.enable_grad()(f))),
    "override": block(lambda: override(debug=1)),
    "holding": block(lambda: holding(grads, False)),
}


def check(work, stride=1):
    """Interrupt some work everywhere."""
    for _ in range(3):
        work()
    before, count = modes(), stopped(work, -1).seen
    for at in range(0, count, stride):
        moment = stopped(work, at)
        if moment.inside != PYTHONS_OWN:
            assert modes() == before, f"event {at}, {moment.inside}"
        restore(before)
        gn.tensor([1.0]).item()


@pytest.fixture(autouse=True)
def lost(monkeypatch):
    """An interrupt inside a destructor is sent again, but not here."""
    monkeypatch.setattr(interrupts, "resend", lambda: None)
    yield
    gc.collect()  # tracebacks hold tensors that wait
    gn.evaluate()


@pytest.mark.parametrize("name", WORKS)
def test_a_block_leaves_no_mode_behind(name):
    check(WORKS[name])


@pytest.mark.parametrize("name", ["step", "backward"])
def test_a_pass_and_a_step_leave_no_mode_behind(name):
    check(getattr(Trained(), name), stride=7)


def test_what_is_interrupted_can_be_done_again():
    for at in range(0, 400, 9):
        trained, before = Trained(), modes()
        moment = stopped(trained.backward, at)
        if moment.inside != PYTHONS_OWN:
            assert modes() == before, f"event {at}, {moment.inside}"
        restore(before)
        trained.x.grad = None
        trained.backward()
        assert trained.x.grad.tolist() == [2.0, 2.0]
