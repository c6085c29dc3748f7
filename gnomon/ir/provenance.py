"""Which user line asked for a node.

A site is the innermost frame outside this package, or in a folder of it that only uses the rest, as
our models do. Nodes inherit the sites of what they replace: rewriting runs inside `inherit(sites)`,
so no rule ever mentions them (docs/decisions/0003).
"""

from __future__ import annotations

import os.path
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache

# documented by CPython, whatever its name looks like
from sys import _getframe as frame_at  # pyright: ignore[reportPrivateUsage]
from types import CodeType, FrameType
from typing import Any, NamedTuple

KEPT_LINES = 1 << 14
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
USERS = tuple(PACKAGE + folder + os.sep for folder in ("models", "train"))
"""Folders that are written as a user would write them: their lines are what a user may change."""
STANDARD = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
INSTALLED = ("site-packages", "dist-packages")


class Site(NamedTuple):
    """A line of user code, the operation it called, and the part of model and step it served.

    name: what it is called, if the line made an input of a captured function.
    """

    file: str
    line: int
    function: str
    module: str = ""
    phase: str = "forward"
    op: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" in {self.module}" if self.module else "")


class Scope(threading.local):
    """What holds for nodes that this thread builds now."""

    def __init__(self) -> None:
        self.sites: tuple[Site, ...] | None = None
        self.modules: tuple[str, ...] = ()
        self.phase = "forward"


scope = Scope()
_ours: dict[str, bool] = {}


def current_sites() -> tuple[Site, ...]:
    """The sites that a node built now gets."""
    sites = scope.sites
    return sites if sites is not None else sites_here()


_known: dict[tuple[Any, ...], tuple[Site, ...]] = {}


def sites_here() -> tuple[Site, ...]:
    """The innermost frame outside this package, as the sites of one node; made once per line."""
    frame: FrameType | None = frame_at(2)
    while frame is not None:
        ours = _ours.get(frame.f_code.co_filename)
        if ours is False or (ours is None and not is_ours(frame.f_code)):
            break
        frame = frame.f_back
    if frame is None:
        return (user_site(),)
    # equal functions of two files are equal code, so code alone would name either file
    code = frame.f_code
    key = (code.co_filename, code.co_name, frame.f_lineno, scope.modules, scope.phase)
    found = _known.get(key)
    if found is None:
        if len(_known) > KEPT_LINES:
            _known.clear()
        found = _known[key] = (site_of(frame),)
    return found


def user_site() -> Site:
    """The innermost frame outside this package."""
    frame: FrameType | None = frame_at(1)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return site_of(frame)


def asked_from() -> tuple[str, Site]:
    """The name of what a user's program called, and the line where it did.

    >>> asked_from()[0]
    ''
    """
    frame, name = frame_at(1), ""
    while frame is not None and is_ours(frame.f_code):
        frame, name = frame.f_back, frame.f_code.co_name
    return name.strip("_"), site_of(frame)


def site_of(frame: FrameType | None) -> Site:
    """The line at which a frame stands."""
    module = ".".join(scope.modules)
    if frame is None:
        return Site("<gnomon>", 0, "", module, scope.phase)
    code = frame.f_code
    return Site(code.co_filename, frame.f_lineno, code.co_name, module, scope.phase)


def is_ours(code: CodeType) -> bool:
    """Whether a function belongs to this package, and to none of its users."""
    file = code.co_filename
    known = _ours.get(file)
    if known is None:
        known = _ours[file] = is_machinery(file)
    return known


def is_machinery(file: str) -> bool:
    """Whether a file runs a user's program and is none: of this package, Python's own, einops.

    >>> is_machinery(os.__file__), is_machinery("model.py")
    (True, False)
    """
    if file.startswith(PACKAGE):
        return not file.startswith(USERS)
    if any(folder in file for folder in INSTALLED):
        return f"{os.sep}einops{os.sep}" in file
    return file.startswith(("<frozen ", STANDARD))


class inherit:
    """Nodes built inside a `with` carry these sites; None looks at the frames again.

    Every pass enters it for every node, so it is no generator.
    """

    __slots__ = ("_before", "_sites")

    def __init__(self, sites: tuple[Site, ...] | None) -> None:
        self._sites = sites

    def __enter__(self) -> None:
        self._before, scope.sites = scope.sites, self._sites

    def __exit__(self, *_: object) -> None:
        scope.sites = self._before


@lru_cache(KEPT_LINES)
def in_backward(sites: tuple[Site, ...]) -> tuple[Site, ...]:
    """The same lines in the backward pass.

    >>> in_backward((Site("model.py", 3, "forward"),))[0].phase
    'backward'
    """
    return tuple(site._replace(phase="backward") for site in sites)


@contextmanager
def module_path(name: str) -> Generator[None]:
    """Nodes built inside belong to the named part of the model."""
    before, scope.modules = scope.modules, (*scope.modules, name)
    try:
        yield
    finally:
        scope.modules = before


@contextmanager
def phase(name: str) -> Generator[None]:
    """Nodes built inside belong to this part of a step: forward, backward, optimizer, ..."""
    before, scope.phase = scope.phase, name
    try:
        yield
    finally:
        scope.phase = before


def union(first: tuple[Site, ...], second: tuple[Site, ...]) -> tuple[Site, ...]:
    """Both, without repetition, the first ones first."""
    if first == second or not second:
        return first
    return tuple(dict.fromkeys((*first, *second)))
