"""Side effects of a captured function that a replay would not have: prints, clocks, files.

Python's own profiling hook tells of every Python frame and of every call of a function in C. What
such a function does is known for those that only compute; all others are taken for effects.
Which values a function reads is found in closure_state.py.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

from gnomon.capture.identities import tells_apart
from gnomon.ir import collector
from gnomon.ir.provenance import PACKAGE, USERS, Site, frame_at, is_machinery, site_of
from gnomon.runtime import events
from gnomon.settings import Block

__all__ = ["Witness", "watching"]

COMPUTING = frozenset(
    {"builtins", "math", "cmath", "operator", "_operator", "itertools", "functools", "_functools"}
    | {"_collections", "collections", "re", "_sre", "_struct", "struct", "binascii", "zlib", "_abc"}
    | {"_bisect", "_heapq", "unicodedata", "_json", "_weakref", "weakref", "_statistics", "_string"}
    | {"numpy", "array", "decimal", "fractions", "_codecs", "_typing", "types", "_thread", "typing"}
    | {"_random", "random", "_datetime", "datetime", "_contextvars", "contextvars", "_hashlib"}
    | {"enum", "copy", "_blake2", "_md5", "_sha1", "_sha2", "_opcode", "_tokenize", "_stat", "stat"}
)
"""Files and classes of Python's whose functions only compute, or change what a walk sees."""
ACTING = frozenset(
    {"print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "start_new_thread"}
    | {"now", "utcnow", "today", "tofile", "dump", "start_new", "interrupt_main", "exit"}
    | {"cache_info", "locked"}
)
"""Functions there that do more."""
ASKING = frozenset(
    {"exc_info", "exception", "intern", "_getframe", "is_finalizing", "audit", "fspath", "getpid"}
    | {"displayhook", "_getframemodulename", "_clear_type_descriptors"}
)
"""Functions of other files that only tell something that stays."""
STATES = frozenset(
    {"os", "threading", "locale", "warnings", "gettext", "sysconfig", "platform", "site"}
    | {"argparse"}
)
"""Files of Python's own that read what can change, and that are not walked."""


class FileOwners(dict):
    """The owner of each file, looked up once."""

    def __missing__(self, file: str) -> int:
        self[file] = kind_of(file)
        return self[file]


class Witness:
    """Recorder of the effects of one run of a function, by a profiling hook."""

    def __init__(self, begun: types.FrameType | None = None) -> None:
        self._begun = begun
        """Who asked for the run."""
        self.codes: dict[types.CodeType, Site] = {}
        """Code of a user's that ran, and from where."""
        self.effects: dict[tuple[str, int], Site] = {}
        """What was done that a replay would not do, to an object that a walk may see, and where."""
        self.is_blind = False
        """Whether nothing was seen, since another tool took what there is to see with."""
        self._between = {getattr(x, "__code__", None) for x in (*gc.callbacks, events.announce)}
        """Code that Python and Gnomon run by themselves at any time: events call subscribers."""

    def hook(self, before: Callable[..., None] | None) -> Callable[..., None]:
        """The profiling hook, which also calls the hook `before` of another tool."""
        kinds = FileOwners()

        def see(frame: types.FrameType, event: str, called: Any) -> None:
            if kinds[frame.f_code.co_filename]:
                self._see(frame, event, called)

        def see_both(frame: types.FrameType, event: str, called: Any) -> None:
            see(frame, event, called)
            before(frame, event, called)  # pyright: ignore[reportOptionalCall]

        return see if before is None else see_both

    def _see(self, frame: types.FrameType, event: str, called: Any) -> None:
        """Record an event in a frame outside of Gnomon."""
        code = frame.f_code
        if event == "c_call" and (acts(called) or (called is id and not tells_apart_in(frame))):
            name = name_of(called)
            self._act(name, frame, SUPPRESSING if name.startswith(FILTERED) else None)
        elif event == "call" and is_pythons(frame):
            name = str(frame.f_globals.get("__name__"))
            if name in STATES and code.co_name in READING:
                self._act(f"{name}.{code.co_name}", frame, frame.f_locals.get("self"))
        elif event == "call" and code not in self.codes and not self._aside(frame):
            self.codes[code] = site_of(frame)

    def _act(self, name: str, frame: types.FrameType | None, asked: Any = None) -> None:
        """Record a call of a C function that may have an effect, unless Gnomon made it."""
        if self._aside(frame):
            return
        while frame is not None and is_pythons(frame):
            frame = frame.f_back
        if frame is not None and kind_of(frame.f_code.co_filename) == USERS_OWN:
            number = id(asked) if type(asked) in COMPARED or asked is SUPPRESSING else 0
            self.effects.setdefault((f"`{name}` was called", number), site_of(frame))

    def _aside(self, frame: types.FrameType | None) -> bool:
        """Whether a frame is no part of the run: an import, or another tool's code."""
        while frame is not None and frame is not self._begun:
            code = frame.f_code
            if code in self._between or code.co_filename.startswith("<frozen importlib"):
                return True
            frame = frame.f_back
        return False


def tells_apart_in(frame: types.FrameType) -> bool:
    """Whether a call in a frame uses an identity only to distinguish objects, in user code."""
    code = frame.f_code
    return is_pythons(frame) or tells_apart(code, frame.f_lasti)


OURS, PYTHONS, USERS_OWN = range(3)
READING = frozenset(
    {"__getitem__", "get", "setlocale", "getlocale", "localeconv"}
    | {"is_set", "is_alive", "name", "active_count", "__eq__"}
)
"""Functions there that read it."""
COMPARED = type(os.environ), threading.Event
"""Classes of what they read whose objects a walk compares, where it meets them."""
SUPPRESSING = warnings.catch_warnings
"""A class with which a walk compares what warnings are shown: a function must put that back."""
FILTERED = "_warnings._filters_mutated"


def kind_of(file: str) -> int:
    """The owner of a file: Gnomon, Python, or the user."""
    if file.startswith("<frozen importlib") or (
        file.startswith(PACKAGE) and not file.startswith(USERS)
    ):
        return OURS
    if f"{os.sep}llvmlite{os.sep}" in file:
        return OURS
    return PYTHONS if is_machinery(file) or f"{os.sep}numpy{os.sep}" in file else USERS_OWN


def is_pythons(frame: types.FrameType) -> bool:
    """Whether a frame runs Python's library, or code that Python generates for a user's classes."""
    code = frame.f_code
    if code.co_filename != "<string>":
        return kind_of(code.co_filename) == PYTHONS
    name = str(frame.f_globals.get("__name__"))
    return code.co_qualname.startswith("__create_fn__.") or name.startswith("namedtuple_")


def acts(called: Any) -> bool:
    """Whether a C function may have effects besides its result."""
    owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if isinstance(owner, types.ModuleType):
        file = owner.__name__
    elif owner is None:
        file = str(getattr(called, "__module__", None) or "builtins")
    else:
        kind = owner if isinstance(owner, type) else type(owner)
        # what a user's class has from a class in C is that class's
        file = next(x.__module__ for x in kind.__mro__ if not x.__flags__ & HEAP)
        file = kind.__module__ if file == "builtins" and kind.__module__ in FILES else file
    if name in ASKING or (file == "sys" and name.startswith("get")):
        return False
    return file.split(".")[0] not in COMPUTING or name in ACTING


HEAP = 1 << 9
"""The flag of classes that are made while Python runs."""
FILES = frozenset({"_io", "io", "socket", "_socket", "mmap", "select", "_queue", "sqlite3"})


def name_of(called: Any) -> str:
    """The name of a function in C."""
    owner, name = getattr(called, "__self__", None), getattr(called, "__qualname__", repr(called))
    if isinstance(owner, types.ModuleType) and owner.__name__ != "builtins":
        return f"{owner.__name__}.{name}"
    return name


class watching(Block):
    """A context in which a profiling hook records this thread's effects.

    A profiler in C cannot be combined with it: then the first run is left to that tool, and is not
    recorded. Garbage collection is off meanwhile: other objects' finalizers are no part of the run.
    """

    def __init__(self, is_first: bool = False) -> None:
        self.is_first, self.pause = is_first, collector.paused()

    def __enter__(self) -> Witness:
        before = self.before = sys.getprofile()
        seen = self.seen = Witness(frame_at(1))
        seen.is_blind = self.is_first and not (before is None or callable(before))
        try:
            self.pause.__enter__()
            if not seen.is_blind:
                sys.setprofile(seen.hook(before if callable(before) else None))
        except BaseException:
            self.leave()
            raise
        return seen

    def leave(self) -> None:
        """Restore the other tool's hook."""
        if not self.seen.is_blind:
            sys.setprofile(None)
            restore(self.before)
        self.seen._begun = None
        self.pause.__exit__()


def restore(hook: Any) -> None:
    """Reinstall another tool's hook; a profiler in C restarts by a call of its own."""
    if callable(hook):
        sys.setprofile(hook)
    elif hook is not None:
        hook.enable()
