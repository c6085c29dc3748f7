"""A replay is one foreign call: no Python runs inside it, none of numpy runs around it.

Watched with Python's own profiling hook, which sees every Python frame and every call of a built-in
function of this thread; calls through ctypes it does not see, so these are counted where they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from unittest.mock import patch

import numpy as np
import pytest

from gnomon.program.executable import Executable
from gnomon.runtime import threads as runtime_threads
from gnomon.runtime.buffer import DeviceBuffer
from tests.blocks import block, block_shapes, inputs_of, mlp, mlp_shapes, step
from tests.compiled import program, threads


@dataclass
class Watch:
    """What happened in a run."""

    foreign: list[str] = field(default_factory=list)
    """Names of the native entries that were called."""
    inside: bool = False
    intruders: list[str] = field(default_factory=list)
    """Python frames and built-in functions while native code had control."""
    frames: set[str] = field(default_factory=set)
    """Files whose functions ran around it."""
    numpy: list[str] = field(default_factory=list)
    """Whatever of numpy was called, named or held."""

    def see(self, frame: FrameType, event: str, function: object) -> None:
        """The profiling hook."""
        code = frame.f_code
        if self.inside and event in ("call", "c_call"):
            self.intruders.append(f"{event} {code.co_qualname}")
        if event == "call" and code.co_filename != __file__:
            self.frames.add(code.co_filename)
            self.numpy.extend(f"{code.co_qualname} names np" for _ in {"np"} & {*code.co_names})
        if event == "c_call" and str(getattr(function, "__module__", "")).startswith("numpy"):
            self.numpy.append(repr(function))
        if event == "return" and any(isinstance(x, np.ndarray) for x in frame.f_locals.values()):
            self.numpy.append(f"{code.co_qualname} holds an array")


class Counted:
    """A native entry that notes its calls."""

    def __init__(self, name: str, function, watch: Watch) -> None:
        self.name, self.function, self.watch = name, function, watch

    def __call__(self, *addresses: int) -> None:
        """Call it, with the watch told when native code has control."""
        self.watch.foreign.append(self.name)
        self.watch.inside = True
        self.function(*addresses)
        self.watch.inside = False


@contextmanager
def watched() -> Iterator[Watch]:
    """Watch this thread and the native entries."""
    watch, real = Watch(), runtime_threads.entries()
    run, post = Counted("run", real.run, watch), Counted("post", real.post, watch)
    counted = replace(real, run=run, post=post)
    with patch.object(runtime_threads, "entries", lambda: counted):
        sys.setprofile(watch.see)
        try:
            yield watch
        finally:
            sys.setprofile(None)


def warm(name: str) -> tuple[Executable, list[DeviceBuffer]]:
    """A step that has run before, and its inputs."""
    shapes = mlp_shapes(5, 7, 3) if name == "mlp" else block_shapes(2, 9, 12, 20)
    executable = program(step(mlp if name == "mlp" else block(heads=3), shapes))
    buffers = [DeviceBuffer.of(x) for x in inputs_of(shapes)]
    executable.run(buffers)
    return executable, buffers


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("name", ["mlp", "block"])
def test_a_replay_is_exactly_one_foreign_call(name: str, count: int):
    with threads(count):
        executable, buffers = warm(name)
        assert len(executable.kernels) > 5

        with watched() as watch:
            executable.run(buffers)

    assert watch.foreign == ["run"]


def test_no_python_runs_inside_it():
    with threads(2):
        executable, buffers = warm("block")

        with watched() as watch:
            executable.run(buffers)

    assert watch.intruders == []


def test_a_compiled_run_touches_no_numpy():
    executable, buffers = warm("block")

    with watched() as watch:
        executable.run(buffers)

    assert watch.numpy == []
    assert not [file for file in watch.frames if "site-packages" in file]


def test_the_watch_would_see_them():
    _, buffers = warm("mlp")

    with watched() as watch:
        buffers[0].numpy("float32")

    assert watch.numpy


def test_the_watch_would_see_an_intruder():
    watch = Watch()
    entry = Counted("run", lambda: len([]), watch)

    sys.setprofile(watch.see)
    entry()
    sys.setprofile(None)

    assert watch.intruders
