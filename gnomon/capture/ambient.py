"""Ambient state of a capture: modes, defaults and generators that a function asks for or sets.

What it asks for is a guard. What it sets for good, no replay would set: each of its calls is
captured anew, with a warning. Python's own state is seen by a walk (closure_state.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from gnomon.dtypes import float64
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.provenance import user_site
from gnomon.lazy import object_state
from gnomon.settings import Block
from gnomon.tensor.creation import get_default_dtype
from gnomon.tensor.state import grads, inference, narrow, refusal, state
from gnomon.tensor.tensor import Tensor, raw

if TYPE_CHECKING:
    from gnomon.capture.tracing import Capture

__all__ = ["Ambient", "AmbientChecks", "CaptureRun"]

ANEW = "so that each of its calls is captured anew"
DRAWN = (
    f"Python's or numpy's `random` drew a number while a function was captured, {ANEW}. Draw it "
    "outside and pass it in, or draw by gn.rand."
)
MODES = (
    f"a function that is captured leaves another mode or default dtype behind, {ANEW}. Set it "
    "before the call, or for the length of a `with` inside."
)


def modes() -> tuple[Hashable, ...]:
    """The modes that a function may change: grad, inference, autocast, default dtype."""
    return grads.get(), inference.get(), narrow.get(), get_default_dtype()


class Ambient:
    """Mixin of captures that records reads and changes of global state."""

    def __init__(self) -> None:
        self.guards: list[tuple[Callable[[], Hashable], Hashable]] = []
        """Readers of state, and the values that they must give for a replay."""
        self.keys: dict[Any, tuple[Tensor, Tensor]] = {}
        """Gnomon's generators that were drawn from: their key words, and the number of the draw."""
        self.numbers: list[tuple[Callable[[], float], float]] = []
        self.fleeting: set[Node] = set()
        """Inputs that the first run takes as they were when the function read them."""
        self.afterwards: list[tuple[list[dict[str, Any]], Callable[[], Any]]] = []
        """What every replay does at its end, and the optimizer's groups that it changes."""
        self.stood: tuple[Hashable, ...] = ()
        """The states of Python's and numpy's generators when the capture began."""

    def guard(self, read: Callable[[], Hashable]) -> None:
        """Add a guard: the program is replayed only while `read()` returns what it returns now."""
        self.guards.append((read, read()))

    def never_replay(self, effect: str, warning: str) -> None:
        """Add a guard that no call passes, and warn: a replay would not repeat the effect."""
        self.guards.append((object, effect))
        warnings.warn(f"compile: {warning}   [{user_site()}]", stacklevel=6)

    def asked(self, read: Callable[[], Any], generator: Any = None) -> Any:
        """The value of a setting, guarded: the program is replayed only while it is the same."""
        self.check_unused(generator, "get_state")
        self.guard(read)
        return read()

    def acted(self, name: str, generator: Any = None) -> None:
        """Warn that the function called a setter, and forbid replays."""
        self.check_unused(generator, name)
        effect = f"`{name}` was called"
        self.never_replay(
            effect, f"{effect} while a function was captured, {ANEW}. Call it outside."
        )

    def check_unused(self, generator: Any, name: str) -> None:
        """Refuse access to a generator's state after draws, which are counted at the end."""
        if generator in self.keys:
            raise refusal(
                f"{name}: a function that is captured has drawn from the generator before. Call it "
                f"before the first draw, or outside.   [{user_site()}]"
            )

    def number(self, groups: Any, read: Callable[[], float]) -> Tensor:
        """A tensor of a number that every replay reads anew by `read`, with the present value."""
        if any(changed is groups for changed, _ in self.afterwards):
            raise ArgumentError(
                "step: inside gn.compile a schedule is stepped at the end of each run, but "
                "this optimizer steps after its schedule. Call optimizer.step() first.   "
                f"[{user_site()}]"
            )
        self.numbers.append((read, read()))
        now = [self.numbers[-1][1]]
        made = self.number_input(lambda: now.pop() if now else read(), float64)
        self.fleeting.add(raw(made))
        return made

    def at_end(self, groups: Any, step: Callable[[], None]) -> None:
        """Add a call of `step` for these groups at the end of every replay."""
        self.afterwards.append((groups, step))

    def check_modes(self, before: tuple[Hashable, ...]) -> None:
        """Warn and forbid replays if the function left modes or the default dtype changed."""
        if modes() != before:
            self.never_replay("it leaves another mode or default dtype behind", MODES)

    def check_draws(self) -> None:
        """Warn and forbid replays if the function drew from Python's or numpy's generators."""
        if object_state.random_state() != self.stood:
            self.never_replay("a number was drawn by Python's `random` or numpy's", DRAWN)


class CaptureRun(Block):
    """A context in which this thread builds into a capture; inside `strict`."""

    def __init__(self, capture: Capture) -> None:
        self.capture, self.parts = capture, capture.in_place()

    def __enter__(self) -> None:
        self.parts.__enter__()

    def leave(self) -> None:
        """Remove the capture from the thread's state."""
        if state.recorder is self.capture:
            self.capture.pending = state.pending
        self.parts.__exit__()
        self.capture.put_back()


class AmbientChecks(Block):
    """A context that checks at its end that the function left modes and generators unchanged."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    def __enter__(self) -> None:
        self.capture.stood, self.modes = object_state.random_state(), modes()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.capture.check_switches()
                self.capture.check_modes(self.modes)
        finally:
            self.capture.check_draws()
