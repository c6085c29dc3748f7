"""The objects that are compiled: which cannot be, what stands for one that is, and its reports.

What runs in steps is no program: generators, coroutines, what gives them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from gnomon.errors import TraceError
from gnomon.ir.provenance import user_site
from gnomon.lazy import autotuning, guards, listing, precompiled, records, trees

if TYPE_CHECKING:
    from os import PathLike

    from gnomon.capture.precompiled import Precompiled
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.segments import Segment
    from gnomon.capture.trees import Tree
    from gnomon.program.records import Record

__all__ = ["CompiledObject", "CompiledReports", "IN_STEPS", "check_result", "suspends"]

SUSPENDS = 0x20 | 0x80 | 0x200
"""Flags of the code of generators, coroutines, and what is both."""

IN_STEPS = (
    "which runs in steps, and a program runs at once. Compile the function that is called in each "
    "step, or give a list."
)


def suspends(function: Any) -> bool:
    """Whether a call returns before its body runs, as of a generator function or a coroutine."""
    while isinstance(function, functools.partial):
        function = function.func
    calls = (function, type(function).__call__, getattr(function, "forward", None))
    flags = [getattr(getattr(call, "__code__", None), "co_flags", 0) for call in calls]
    return any(flag & SUSPENDS for flag in flags)


def check_result(name: str, tree: Any, site: Any = "") -> None:
    """Refuse a result whose code would run after the capture: such as a generator's."""
    for value in guards.objects_in(tree):
        if any(hasattr(type(value), step) for step in ("__next__", "__await__", "__anext__")):
            message = f"compile: {name} gives a {type(value).__name__}, {IN_STEPS}"
            raise TraceError(f"{message}   [{site or user_site()}]")


class CompiledObject:
    """Proxy of a function or a module, with all of its attributes."""

    function: Any
    name: str
    options: Any
    breaks: bool
    programs: Any

    @property
    def __class__(self) -> type:
        """The class for isinstance(): a compiled module is a module."""
        kind = type(self.function)
        return kind if hasattr(kind, "register_forward_hook") else type(self)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        settings = self.name, self.options, self.breaks
        return type(self), (self.function, *settings)

    def __repr__(self) -> str:
        return f"compile({self.function!r})"

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        is_own = name in own or "recompiled" not in own or self.__class__ is type(self)
        object.__setattr__(self, name, value) if is_own else setattr(self.function, name, value)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else functools.partial(self, owner)

    def __getattr__(self, name: str) -> Any:
        if name in ("function", "programs"):
            raise AttributeError(name)
        return getattr(self.function, name)


class CompiledReports:
    """Mixin of compiled functions with reports about their programs."""

    name: str
    programs: dict[tuple, list[tuple[Any, CapturedProgram | Tree]]]
    recompiled: list[str]
    uncompiled: dict[tuple, str]

    def why_recompiled(self) -> list[str]:
        """The reason and the source line of each capture but the first.

        >>> import gnomon as gn
        >>> double = gn.compile(lambda x: x * 2)
        >>> results = [double(gn.ones(n)).shape for n in (3, 4)]
        >>> double.why_recompiled()[0].partition("   [")[0]
        '<lambda>, capture 2: tensor 0: shape is (4,), was (3,)'
        """
        return list(self.recompiled)

    @property
    def compiles(self) -> int:
        """The number of its programs that needed machine code that was not there yet.

        Programs of further shapes share code, so that these are fewer than captures.

        >>> import gnomon as gn
        >>> double = gn.compile(lambda x: x.exp() * 2)
        >>> results = [double(gn.ones(n)).shape for n in (3, 4, 5, 6)]
        >>> double.captures, double.compiles <= 2
        (3, True)
        """
        return sum(program.executable.fresh > 0 for program in self.captured())

    def kernels(self) -> list[Record]:
        """The records of every program so far, a kernel's call each: lines, operations, buffers.

        >>> import gnomon as gn
        >>> double = gn.compile(lambda x: x * 2)
        >>> double(gn.tensor([1.0, 2.0])).tolist()
        [2.0, 4.0]
        >>> [op.name for op in double.kernels()[0].ops]
        ['mul']
        """
        return [record for p in self.captured() for record in p.executable.records]

    def save_records(self, path: str | PathLike) -> None:
        """Write what kernels() gives as JSON; docs/records.schema.json describes it."""
        records.save(path, self.kernels())

    def explain(self) -> str:
        """The captured programs: by signature the kernels, their lines, work, shapes and memory."""
        programs = [listing.captured(p) for p in self.captured()]
        ways = [p.explain(self.name) for p in self._kept() if isinstance(p, trees.Tree)]
        return "\n".join([*ways, *programs, *self.uncompiled.values()])

    def precompile(self, *args: Any, **kwargs: Any) -> Precompiled:
        """Compile the program for arguments like these, to save it in a file; see gn.load_compiled.

        >>> import gnomon as gn
        >>> len(gn.compile(lambda x: x * 2).precompile(gn.tensor([1.0, 2.0])))
        1
        """
        return precompiled.Precompiled(self).precompile(*args, **kwargs)

    def explain_gemm(self) -> str:
        """The blocking of matrix products, its measurements, and the seconds that those took."""
        return "\n".join(autotuning.explain(p.tiers.wait().kernels) for p in self.captured())

    def explain_fusions(self) -> str:
        """The fusions: what matrix products compute themselves, what loops store, and why."""
        return "\n".join(p.tiers.wait().explain_fusions() for p in self.captured())

    def captured(self) -> list[CapturedProgram | Segment]:
        """All programs that compute something, those of trees included."""
        found: list[Any] = []
        for kept in self._kept():
            parts = kept.parts() if isinstance(kept, trees.Tree) else [kept]
            found += [part for part in parts if part.form is not None]
        return [*dict.fromkeys(found)]

    def _kept(self) -> list[CapturedProgram | Tree]:
        """All captured programs and trees."""
        return [p for each in [*self.programs.values()] for _, p in each]
