"""The debug dial and the few knobs, each read once from the environment and scoped with `with`.

Not a place for user configuration of a run: that is a recipe (gnomon/train/config.py).
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from copy import copy
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from gnomon.errors import ConfigError
from gnomon.lazy import Lazy

if TYPE_CHECKING:
    from pathlib import Path

pathlib = Lazy("pathlib")

R = TypeVar("R")
T = TypeVar("T")

__all__ = ["Block", "OPTIMISATIONS", "Settings", "current", "holding", "override", "replacing"]


class Settings(NamedTuple):
    """Every knob with its default; the environment variable is GNOMON_ and the name in capitals."""

    debug: int = 0
    """0 is silent; each level of the dial prints one layer more (docs/debugging.md)."""
    debug_only: str = ""
    """Print only what belongs to regions or passes whose name holds this text."""
    numerics: str = "invariant"
    """"invariant" keeps canonical order; "portable" has the CPU's bits on every device, too; "fast"
    drops the order."""
    cache: bool = True
    """Keep compiled objects on disk."""
    keep_programs: bool = True
    """Keep on disk, beside compiled objects, how they make up whole programs."""
    cache_dir: str = ""
    """Where compiled objects are kept; empty means the user's cache folder."""
    cpu_features: str = "auto"
    """"auto", "avx2", "avx512" or "neon": an upper bound on the instructions used."""
    num_threads: int = 0
    """Threads of one process; 0 means one per usable core."""
    compile_workers: int = 0
    """Processes that compile kernels; 0 means one per usable core."""
    verify: bool = False
    """Check every graph after every pass, and over ranks what counts as alike on all of them."""
    without: str = ""
    """Optimisations to leave out: their names in OPTIMISATIONS, separated by commas.

    "fuse@37+" leaves one out from its 37th application in this process on.
    """
    dynamic_sizes: bool = True
    """Compile a program that comes at a third size once for all sizes."""
    perf_map: bool = False
    """List kernels by name for Linux's perf, in /tmp/perf-PID.map."""
    pending_limit: int = 20_000
    """Operations that may wait before they are evaluated."""
    patience: float = 600.0
    """Seconds that a rank waits for the others before it gives up."""

    def allows(self, optimisation: str) -> bool:
        """Whether an optimisation may be done, which counts as an application of it."""
        number = applications.next(optimisation)
        for name, _, since in (each.partition("@") for each in self.without.split(",")):
            if name == optimisation and number >= int(since.rstrip("+") or 0):
                return False
        return True

    def of_programs(self) -> Settings:
        """A copy with defaults for the settings that no compiled program depends on."""
        return self._replace(**{name: self._field_defaults[name] for name in UNREAD})

    def path_of_cache(self) -> Path:
        """The folder of compiled objects."""
        if self.cache_dir:
            return pathlib.Path(self.cache_dir)
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        return pathlib.Path(base) / "gnomon"


class Applications:
    """Counts, by optimisation, of how often it was applied or left out in this process."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.watcher: Callable[[str, int], None] | None = None
        """Called with the name and the number of each application."""
        self._change = Lock()

    def next(self, optimisation: str) -> int:
        """The number of an application that is about to be made."""
        with self._change:
            self.counts[optimisation] += 1
            number = self.counts[optimisation]
        if self.watcher is not None:
            self.watcher(optimisation, number)
        return number


applications = Applications()

OPTIMISATIONS = {
    "claim": "hand-written kernels take named regions; off, their bodies are compiled",
    "hoist": "what all iterations of a loop compute alike is computed once, before it",
    "residuals": "what a gradient would recompute of a loop or a choice is kept there",
    "trim": "loops and choices compute nothing that nobody reads",
    "simplify": "rewrites that keep every bit",
    "fuse": "operations share kernels; off, each has its own, and the next four are off too",
    "join": "kernels that read the same tensor become one",
    "rematerialize": "values are rematerialized where that takes no further reads",
    "epilogues": "products compute what is pointwise on their sums",
    "prologues": "products compute what is pointwise on their left factors",
    "batch": "equal kernels that wait for nothing of each other are one call",
    "arrange": "kernels run in an order that keeps little memory alive; off, as they were written",
    "overlay": "a result overwrites an operand that nobody reads any more",
    "reuse": "values that are never alive together share memory",
    "share": "kernels that differ in sizes alone are one code, where these are eight or vary",
    "stream": "results that leave the caches are written past them",
    "pieces": "further structures of a line that brought forth four run operation by operation",
    "prepack": "weights that stay are kept in the layout that products of few rows read",
}
"""Name -> what is done. None of them changes a bit, but for attention's definition (0010)."""

UNREAD = (
    *("debug", "debug_only", "cache", "keep_programs", "cache_dir", "num_threads"),
    *("compile_workers", "perf_map", "pending_limit", "patience"),
)
"""Knobs that the compiler does not read, or that change nothing of what it makes."""


def from_environment() -> Settings:
    """Settings as the environment asks for them."""
    found = {}
    for name, default in Settings._field_defaults.items():
        text = os.environ.get(f"GNOMON_{name.upper()}")
        if text is not None:
            found[name] = parse(name, type(default).__name__, text)
    return Settings(**found)


def parse(name: str, kind: str, text: str) -> object:
    """One setting's value from its text."""
    if name == "without":
        return listed(text)
    words = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}
    try:
        kinds = {"bool": lambda x: words[x.lower()], "int": int, "float": float, "str": str}
        return kinds[kind](text)
    except (KeyError, ValueError):
        raise ConfigError(f"GNOMON_{name.upper()}: expected {kind}: got {text!r}.") from None


def listed(text: str) -> str:
    """Names of optimisations, each once and in order."""
    names = sorted({name.strip() for name in text.split(",") if name.strip()})
    for each in names:
        name, at, since = each.partition("@")
        if name not in OPTIMISATIONS:
            known = ", ".join(OPTIMISATIONS)
            raise ConfigError(f"settings: without: no optimisation {name!r}. There are {known}.")
        if at and not (since.endswith("+") and since[:-1].isdecimal()):
            raise ConfigError(f'settings: without: expected like "{name}@37+": got {each!r}.')
    return ",".join(names)


_active: ContextVar[Settings] = ContextVar("gnomon_settings", default=from_environment())


def current() -> Settings:
    """The settings in force here."""
    return _active.get()


class Block:
    """A block that a `with` enters; a function that it decorates runs in one of its own.

    No generator, since one that Ctrl-C interrupts ends when its traceback does: it would restore
    what others have restored, and set something else, long before.
    """

    __slots__ = ()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *_: Any) -> None:
        try:
            self.leave()
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Restore what was before; where Ctrl-C cuts it short it is done once more."""

    def __call__(self, function: Callable[..., R]) -> Callable[..., R]:
        """A function that runs in such a block, one for each call."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> R:
            with copy(self):
                return function(*args, **kwargs)

        return inside


class holding(Block, Generic[T]):
    """Give a context variable a value inside a `with`."""

    __slots__ = ("before", "value", "variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self.variable, self.value = variable, value
        self.before: Any = None
        """The value as it was entered, and this as it was then: it may be entered twice."""

    def __enter__(self) -> T:
        self.before = self.variable.get(), self.before
        try:
            self.variable.set(self.value)
        except BaseException:
            self.variable.set(self.before[0])
            raise
        return self.value

    def __exit__(self, *_: object) -> None:
        self.variable.set(self.before[0])
        self.before = self.before[1]


class replacing(Block):
    """Give attributes of an object other values inside a `with`, all at once.

    >>> from types import SimpleNamespace
    >>> options = SimpleNamespace(color="red", size=3)
    >>> with replacing(options, color="blue"):
    ...     options
    namespace(color='blue', size=3)
    >>> options
    namespace(color='red', size=3)
    """

    __slots__ = ("attributes", "before", "values")

    def __init__(self, owner: object, **values: Any) -> None:
        self.attributes, self.values = vars(owner), values

    def __enter__(self) -> None:
        self.before = {name: self.attributes[name] for name in self.values}
        try:
            self.attributes.update(self.values)
        except BaseException:
            self.attributes.update(self.before)
            raise

    def __exit__(self, *_: object) -> None:
        self.attributes.update(self.before)


def override(**changes: object) -> holding[Settings]:
    """Change settings inside a `with`.

    >>> with override(debug=2) as settings:
    ...     settings.debug
    2
    """
    if "without" in changes:
        changes["without"] = listed(str(changes["without"]))
    return holding(_active, current()._replace(**changes))
