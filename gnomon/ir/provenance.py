"""Provenance: the line of user code that asked for a node.

A site is the innermost frame outside of this package, or in one of its folders that only use the
rest, such as models. Nodes inherit the sites of the nodes that they replace: rewriting runs inside
`inherit(sites)`, so no rule mentions sites (docs/decisions/0003).
"""

from __future__ import annotations

import os.path
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache

# documented by CPython, whatever its name looks like
from sys import _getframe as frame_at  # pyright: ignore[reportPrivateUsage]
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

from gnomon.ir.memo import memo
from gnomon.lazy import Lazy
from gnomon.settings import current, replacing

tracebacks = Lazy("traceback")

KEPT_LINES = 1 << 14
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
USERS = tuple(PACKAGE + folder + os.sep for folder in ("bench", "models", "train"))
"""Folders of this package whose code counts as the user's, since users may change it."""
NAME = __name__.partition(".")[0]
STANDARD = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
INSTALLED = ("site-packages", "dist-packages")


class Site(NamedTuple):
    """A line of user code, the operation that it called, and the part of model and step.

    name: the input's name, if the line created an input of a captured function.
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
    """The sites, modules and phase that nodes built by this thread get."""

    def __init__(self) -> None:
        self.sites: tuple[Site, ...] | None = None
        self.modules: tuple[str, ...] = ()
        self.phase = "forward"


scope = Scope()
waited: dict[Site, tuple[int, float]] = {}
"""Line of user code -> the number of programs compiled there, and the seconds."""
_ours: dict[str, bool] = memo({})
Line = tuple[str, int, str, str]
"""File, line, function, and the part of the model."""
_written: dict[str, dict[int, Line]] = {}
"""Generated file -> its lines, and the lines of user code that they correspond to."""


def stand_for(file: str, lines: dict[int, Line]) -> None:
    """Map lines of a generated file to lines of a user's file, until `forget(file)`."""
    _written[file] = lines


def forget(file: str) -> None:
    """Drop the entries of a generated file, whose code is gone."""
    _written.pop(file, None)
    _ours.pop(file, None)


def current_sites() -> tuple[Site, ...]:
    """The sites that a node built now gets."""
    sites = scope.sites
    return sites if sites is not None else sites_here()


_known: dict[tuple[Any, ...], tuple[Site, ...]] = memo({})
_by_instruction: dict[tuple[Any, ...], tuple[tuple[Site, ...], CodeType]] = memo({})
"""The sites of calls by code object and instruction, with the code object, so that its id stays
taken. `_known` is keyed by line number, for which a frame searches its function's table of lines.
"""


def sites_here() -> tuple[Site, ...]:
    """The innermost frame outside this package as a node's sites; cached by instruction."""
    frame: FrameType | None = frame_at(2)
    while frame is not None:
        code = frame.f_code
        ours = _ours.get(code.co_filename)
        if ours is False or (ours is None and not is_ours(code)):
            break
        frame = frame.f_back
    else:
        return (user_site(),)
    # equal functions of two files are equal code, and the same lines may serve several parts
    key = (id(code), frame.f_lasti, scope.modules, scope.phase)
    found = _by_instruction.get(key)
    if found is None:
        if len(_by_instruction) > KEPT_LINES:
            _by_instruction.clear()
        found = _by_instruction[key] = sites_of(frame), code  # which is kept, and its id with it
    return found[0]


def sites_of(frame: FrameType) -> tuple[Site, ...]:
    """The source location of a frame as the sites of one node."""
    code = frame.f_code
    key = (code.co_filename, code.co_name, frame.f_lineno, scope.modules, scope.phase)
    found = _known.get(key)
    if found is None:
        if len(_known) > KEPT_LINES:
            _known.clear()
        found = _known[key] = (site_of(frame),)
    return found


def user_site() -> Site:
    """The source location of the innermost frame outside this package."""
    frame: FrameType | None = frame_at(1)
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return site_of(frame)


def asked_from() -> tuple[str, Site]:
    """The name of the function of this package that user code called, and the line of the call.

    >>> asked_from()[0]
    ''
    """
    frame, name = frame_at(1), ""
    while frame is not None and is_ours(frame.f_code):
        frame, name = frame.f_back, frame.f_code.co_name
    return name.strip("_"), site_of(frame)


def site_of(frame: FrameType | None) -> Site:
    """The source location of a frame."""
    module = ".".join(scope.modules)
    if frame is None:
        return Site("<gnomon>", 0, "", module, scope.phase)
    code = frame.f_code
    place = (code.co_filename, frame.f_lineno, code.co_name, "")
    file, line, function, part = _written.get(place[0], {}).get(place[1], place)
    return Site(file, line, function, module or part, scope.phase)


def is_ours(code: CodeType) -> bool:
    """Whether a function belongs to this package's own code."""
    file = code.co_filename
    known = _ours.get(file)
    if known is None:
        known = _ours[file] = is_machinery(file)
    return known


def is_machinery(file: str) -> bool:
    """Whether a file belongs to this package, Python or einops, and not to the user's program.

    >>> is_machinery(os.__file__), is_machinery("model.py")
    (True, False)
    """
    if file.startswith(PACKAGE):
        return not file.startswith(USERS)
    if any(folder in file for folder in INSTALLED):
        return f"{os.sep}einops{os.sep}" in file
    return file.startswith(("<frozen ", STANDARD))


@memo
@lru_cache(KEPT_LINES)
def package_of(module: str) -> str:
    """The package that a module belongs to; gnomon's folders for users count as packages.

    >>> (
    ...     package_of("gnomon.nn.linear"),
    ...     package_of("gnomon.models.decoder"),
    ...     package_of("numpy.random"),
    ... )
    ('gnomon', 'gnomon.models', 'numpy')
    """
    first, _, rest = module.partition(".")
    folder = rest.partition(".")[0]
    is_users = first == NAME and f"{PACKAGE}{folder}{os.sep}" in USERS
    return f"{first}.{folder}" if is_users else first


class inherit:
    """A context in which nodes that are built get these sites; None reads the frames again.

    Every pass enters it for every node, so it is a class and not a generator.
    """

    __slots__ = ("_before", "_sites")

    def __init__(self, sites: tuple[Site, ...] | None) -> None:
        self._sites = sites

    def __enter__(self) -> None:
        self._before, scope.sites = scope.sites, self._sites

    def __exit__(self, *_: object) -> None:
        scope.sites = self._before


class from_one_line:
    """A context in which nodes that are built get the line that entered it, looked up once.

    No user code may run inside.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = scope.sites
        if self._before is None:
            scope.sites = sites_here()

    def __exit__(self, *_: object) -> None:
        scope.sites = self._before


@memo
@lru_cache(KEPT_LINES)
def in_backward(sites: tuple[Site, ...]) -> tuple[Site, ...]:
    """Mark source locations as of the backward pass.

    >>> in_backward((Site("model.py", 3, "forward"),))[0].phase
    'backward'
    """
    return tuple(site._replace(phase="backward") for site in sites)


def phase(name: str) -> replacing:
    """A context in which nodes that are built belong to this phase, such as "backward"."""
    return replacing(scope, phase=name)


def union(first: tuple[Site, ...], second: tuple[Site, ...]) -> tuple[Site, ...]:
    """The union of two tuples of source locations, in order."""
    if first == second or not second:
        return first
    return tuple(dict.fromkeys((*first, *second)))


# errors that nobody caught


def show_error(kind: type, error: BaseException, trace: TracebackType | None) -> None:
    """Print an error as Python does, with frames of this package summed up."""
    report = tracebacks.TracebackException(kind, error, trace).format()
    sys.stderr.write("".join(report if current().debug else shortened(report)))


def shortened(report: Iterable[str]) -> Iterator[str]:
    """The entries of a report, with frames of this package that follow each other as one line.

    >>> report = [f'  File "{PACKAGE}a.py"', f'  File "{PACKAGE}b.py"', "NameError"]
    >>> [entry.strip() for entry in shortened(report)]
    ['[2 frames of gnomon: GNOMON_DEBUG=1 shows them]', 'NameError']
    """
    hidden = 0
    for entry in report:
        if entry.startswith(f'  File "{PACKAGE}'):
            hidden += 1
            continue
        if hidden:
            frames = f"{hidden} frames" if hidden > 1 else "a frame"
            yield f"  [{frames} of {NAME}: GNOMON_DEBUG=1 shows them]\n"
            hidden = 0
        yield entry
