"""Ctrl-C at every moment at which Python raises it: the modes are what they were before."""

import gc
import sys
from contextvars import copy_context
from types import SimpleNamespace

import pytest

import gnomon as gn
from gnomon import interrupts
from gnomon.capture import effects, paths
from gnomon.capture.tracing import Capture
from gnomon.errors import TraceError
from gnomon.ir import collector
from gnomon.ir.node import Arena
from gnomon.ir.provenance import inherit, phase, scope
from gnomon.library.custom_op import aside
from gnomon.nn.utils import parametrize
from gnomon.runtime.comm import environment, groups, here
from gnomon.runtime.comm.fake import FakeBackend
from gnomon.settings import holding, override, replacing
from gnomon.tensor import func, random
from gnomon.tensor.autograd import forward_ad, graph, saved
from gnomon.tensor.autograd.function import building
from gnomon.tensor.overrides import DisableTorchFunctionSubclass
from gnomon.tensor.state import grads, state, strict

MOMENTS = ("call", "c_return")
"""Events of Python's profiler; signals are looked for there (and at jumps back)."""
PYTHONS_OWN = "__exit__"
"""As a block is left by `with`, none of its code has run yet: Python gives nobody a chance."""


class Interrupt:
    """A KeyboardInterrupt at one event, counted from 0."""

    def __init__(self, at):
        self.at, self.seen, self.inside = at, 0, ""
        self.error = None
        """Python keeps it too, with its traceback, where somebody types."""

    def __call__(self, frame, event, _):
        if event in MOMENTS:
            self.seen += 1
            if self.seen == self.at + 1:
                sys.setprofile(None)
                self.inside = frame.f_code.co_name if event == "call" else ""
                if frame.f_back.f_code.co_name in ("leave", PYTHONS_OWN):
                    self.inside += ", as another block is left"
                raise KeyboardInterrupt


def stopped(work, at):
    """Do some work up to an event."""
    moment = Interrupt(at)
    sys.setprofile(moment)
    try:
        work()
    except KeyboardInterrupt as error:
        moment.error = error
    finally:
        sys.setprofile(None)
    return moment


COMPUTING = (
    "detached",
    "histories",
    "histories_at",
    "pending",
    "sweep_at",
    "look_at",
    "evaluated_at",
    "kept_waits",
    "passed",
)
"""The parts of a thread's state that change as tensors are computed."""


class Modes:
    """All that a block may leave behind: context variables, and the attributes of objects."""

    def __init__(self):
        own = [x for x in copy_context() if not x.name.startswith("numpy.")]
        self.variables = {x: x.get() for x in own}
        self.attributes = [(vars(x), dict(vars(x))) for x in (state, scope, OPTIONS)]
        self.drawn, self.collects = stood(), gc.isenabled()

    def changed(self, allowed=()):
        """The names of what is something else now."""
        now = copy_context()
        found = [x.name for x, value in self.variables.items() if now[x] is not value]
        for owner, before in self.attributes:
            found += [x for x, value in before.items() if owner[x] is not value]
        found += ["draws"] if stood() != self.drawn else []
        found += ["collector"] if gc.isenabled() != self.collects else []
        return sorted({*found} - {*allowed})

    def restore(self):
        """Set all of it again."""
        for mode, value in self.variables.items():
            mode.set(value)
        for owner, before in self.attributes:
            owner.update(before)
        gc.enable() if self.collects else gc.disable()
        stream = random.default_generator.shared
        stream.manual_seed(self.drawn[0]).count = self.drawn[1]


def stood():
    """Where the stream of draws is."""
    stream = random.default_generator.shared
    return stream.seeded, stream.count, stream.words.tolist()


def block(mode, inside=lambda: len("")):
    """A function that does nothing, or something, inside a block."""

    def work():
        with mode():
            inside()

    return work


def decorated(mode, inside=lambda: len("")):
    """A decorated function that does nothing, or something."""
    return mode()(lambda: inside())


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


def outside(mode):
    """A function that leaves a capture for a moment."""

    def work():
        capture = Capture([])
        with strict(), capture.running(), capture.checking(), mode(capture):
            len("")

    return work


OPTIONS = SimpleNamespace(color="red", size=3)
MODES = {
    "no_grad": gn.no_grad,
    "inference_mode": gn.inference_mode,
    "autocast": gn.autocast,
    "override": lambda: override(debug=1),
    "holding": lambda: holding(grads, False),
    "replacing": lambda: replacing(OPTIONS, color="blue", size=5),
    "phase": lambda: phase("optimizer"),
    "strict": strict,
    "plainly": saved.plainly,
    "saved_tensors_hooks": lambda: graph.saved_tensors_hooks(len, len),
    "disable_saved_tensors_hooks": lambda: graph.disable_saved_tensors_hooks("no"),
    "allow_mutation_on_saved_tensors": graph.allow_mutation_on_saved_tensors,
    "dual_level": forward_ad.dual_level,
    "followed": func.followed,
    "device": lambda: gn.device("meta"),
    "own_stream": random.own_stream,
    "cached": parametrize.cached,
    "without torch_function": DisableTorchFunctionSubclass,
    "along": lambda: here.along({}),
    "of_rank": lambda: groups.of_rank(FakeBackend(0, 2)),
    "standing": lambda: environment.thread_place(environment.ALONE),
    "aside": aside,
}
WORKS = {
    **{f"with {name}": block(mode) for name, mode in MODES.items()},
    **{f"@{name}": decorated(mode) for name, mode in MODES.items()},
    "enable_grad in no_grad": decorated(lambda: lambda f: gn.no_grad()(gn.enable_grad()(f))),
    "inherit": block(lambda: inherit(())),
    "paused": block(collector.paused),
    "watching": block(effects.watching),
    "running": block(lambda: Capture([]).running()),
    "checking": block(lambda: Capture([]).checking()),
    "outside": outside(lambda capture: capture.outside()),
    "aside of a path": outside(paths.aside),
    "building": block(lambda: building(Arena(), ())),
    "fork_rng": block(random.fork_rng, lambda: gn.manual_seed(3)),
}


def check(work, stride=1, allowed=()):
    """Interrupt some work everywhere."""
    for _ in range(3):
        work()
    for at in range(0, stopped(work, -1).seen, stride):
        before = Modes()
        moment = stopped(work, at)
        if moment.inside != PYTHONS_OWN:
            assert not before.changed(allowed), f"event {at}, {moment.inside}"
        moment.error = None
        before.restore()
        gn.tensor([1.0]).item()


@pytest.fixture(autouse=True)
def lost(monkeypatch):
    """An interrupt inside a destructor is sent again, but not here."""
    monkeypatch.setattr(interrupts, "resend", lambda: None)
    told = sys.unraisablehook
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: interrupts.heed(lost, told))
    yield
    gc.collect()  # tracebacks hold tensors that wait
    gn.evaluate()


@pytest.mark.parametrize("name", WORKS)
def test_a_block_leaves_no_mode_behind(name, monkeypatch):
    monkeypatch.setattr(state, "refused", TraceError("before"))
    check(WORKS[name])


@pytest.mark.parametrize("name", ["step", "backward"])
def test_a_pass_and_a_step_leave_no_mode_behind(name):
    check(getattr(Trained(), name), stride=7, allowed=COMPUTING)


def test_what_is_interrupted_can_be_done_again():
    for at in range(0, 400, 9):
        trained, before = Trained(), Modes()
        moment = stopped(trained.backward, at)
        if moment.inside != PYTHONS_OWN:
            assert not before.changed(COMPUTING), f"event {at}, {moment.inside}"
        moment.error = None
        before.restore()
        trained.x.grad = None
        trained.backward()
        assert trained.x.grad.tolist() == [2.0, 2.0]


class Scaled:
    """A compiled function that reads a number, and puts its result in a list."""

    def __init__(self):
        self.x, self.parts, self.factor = gn.ones(2), [None, 5], {"by": 2.0}
        self.call = gn.compile(self.scale)

    def scale(self, x, parts):
        made = x * self.factor["by"]
        parts[0] = made + parts[1]
        return made

    def twice(self):
        self.call(self.x, self.parts)
        self.factor["by"] = 3.0  # captured again, with a stand-in for it
        self.call(self.x, self.parts)


def test_a_capture_leaves_nothing_behind():
    for _ in range(3):
        Scaled().twice()
    for at in range(0, stopped(Scaled().twice, -1).seen, 97):
        scaled, before = Scaled(), Modes()
        moment = stopped(scaled.twice, at)
        if moment.inside != PYTHONS_OWN:
            assert not before.changed(COMPUTING), f"event {at}, {moment.inside}"
            assert type(scaled.factor["by"]) is float
        moment.error = None
        before.restore()
        scaled.factor["by"], scaled.parts[0] = 4.0, None
        assert scaled.call(scaled.x, scaled.parts).tolist() == [4.0, 4.0]
        assert scaled.parts[0].tolist() == [9.0, 9.0]
        assert scaled.parts[1] == 5
