"""Compile context: what a compilation is asked beside its graph, made once and passed down."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from time import perf_counter

from gnomon.codegen.machine import Machine
from gnomon.runtime.backend import HOST, DeviceBackend
from gnomon.settings import Settings, current

__all__ = ["CompileContext", "Moments"]


class Moments:
    """The moments at which measurements may be made: at once, if nothing else runs."""

    def clock(self) -> float:
        """The time, without the time spent waiting for a moment."""
        return perf_counter()

    def measurement(self) -> AbstractContextManager[None]:
        """A context in which every candidate is measured once."""
        return nullcontext()


@dataclass(frozen=True)
class CompileContext:
    """The backend and settings that a program is compiled for, and its allowed optimisations.

    >>> from gnomon.codegen.machine import AVX2
    >>> context = CompileContext(AVX2, kept=(0, 2))
    >>> context.inside.kept
    ()
    """

    machine: Machine
    settings: Settings = field(default_factory=current)
    seconds: float = 0.0
    """The seconds for which parts of the program may be measured; 0 leaves all to the model."""
    kept: tuple[int, ...] | None = ()
    """Inputs of the program, by number, whose panels products may keep from one run to the next.

    None: nothing is kept in panels, since memory is bounded."""
    sizes_vary: bool = False
    """Whether kernels that are written may serve other sizes too."""
    dynamic: bool | None = None
    """Whether a program may be made for several sizes; None: as the settings say."""
    ranks_differ: bool = False
    """Whether some ranks may know values that others compute in their program: eager ones do,
    where a rank alone has printed a value."""
    moments: Moments = field(default_factory=Moments)
    backend: DeviceBackend = HOST
    """The backend that it is compiled for."""

    @property
    def key(self) -> tuple:
        """The key of a program except for its graph; symbolic sizes only affect code."""
        settings = self.settings.of_programs()
        asked = self.seconds > 0, self.kept, self.ranks_differ
        return settings, self.backend.name, self.machine, *asked

    @property
    def may_vary(self) -> bool:
        """Whether a program may serve several sizes: not if it is measured or interpreted."""
        asked = self.settings.dynamic_sizes if self.dynamic is None else self.dynamic
        return asked and not (self.seconds or self.backend.interprets)

    def allows(self, optimisation: str) -> bool:
        """Whether an optimisation may be done.

        A batch calls functions by their addresses, and writes past the caches are a processor's.
        """
        can = self.backend.on_host or optimisation not in ("batch", "stream")
        return can and self.settings.allows(optimisation)

    @property
    def inside(self) -> CompileContext:
        """A copy of the context for graphs inside the program's, which have other inputs."""
        return replace(self, kept=None if self.kept is None else ())

    @property
    def by_model(self) -> CompileContext:
        """A copy of the context without measurements, where the cost model decides."""
        return replace(self, seconds=0.0)
