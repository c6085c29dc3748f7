"""A compiled program as data: all that a run needs beside machine code, also as bytes.

Kept on disk, it spares a process that sees a graph again all passes and all scheduling. It is data
alone; machine code lies under the keys of its texts in the cache of objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gnomon.ir.node import Graph
from gnomon.runtime import cpu, device, program
from gnomon.runtime.cache import Cache, digest, fingerprint
from gnomon.runtime.program import Input, Needs, Output, Step
from gnomon.schedule.memory import MemoryPlan
from gnomon.settings import Settings

__all__ = ["Packed", "Plan", "is_saved", "key_of", "save", "save_again", "saved"]


@dataclass(frozen=True)
class Packed:
    """Panels that a run leaves for the next: of which input, their bytes, and who lays them out."""

    given: int
    nbytes: int
    symbol: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """A program without its machine code.

    sizes: the bytes of each result. returns: for each output whether it is a result or an input,
    and which. over: results with an input that each may lie over, if the caller gives it up.
    verdicts: what was measured of its fusions. kept: panels of inputs that last.
    """

    steps: tuple[Step, ...]
    needs: Needs
    memory: MemoryPlan
    sizes: tuple[int, ...]
    returns: tuple[tuple[bool, int], ...]
    over: tuple[tuple[int, int], ...] = ()
    verdicts: tuple[tuple[str, tuple[Any, ...] | None], ...] = ()
    kept: tuple[Packed, ...] = ()


# on disk

KINDS = {
    kind.__name__: kind
    for kind in (
        Plan, Packed, Needs, MemoryPlan, program.Arena, Input, Output, program.Scalar,
        program.Constant, program.Register, program.Function, program.Call, program.Branch,
        program.Skip, program.Set, program.Bind,
    )
}  # fmt: skip
"""What a plan is made of, beside tuples, numbers and names."""


def packed(x: object) -> object:
    """A plan as lists: the name of a kind and its fields, or no name and a tuple's."""
    if isinstance(x, tuple):
        return ["", *map(packed, x)]
    if type(x).__name__ in KINDS:
        return [type(x).__name__, *(packed(getattr(x, f.name)) for f in fields(x))]
    return x


def unpacked(x: object) -> object:
    """A plan from its lists."""
    if not isinstance(x, list):
        return x
    name, *parts = x
    return KINDS[name](*map(unpacked, parts)) if name else tuple(map(unpacked, parts))


@cache
def shelf(settings: Settings) -> Cache | None:
    """Where programs are kept; None where they are not, or where somebody looks at passes."""
    looks = settings.verify or settings.debug > 1
    if looks or not (settings.cache and settings.keep_programs):
        return None
    return Cache(settings.path_of_cache() / "programs")


@cache
def maker() -> str:
    """What a plan depends on beside the graph: our own sources."""
    return fingerprint(Path(__file__).parent)


def key_of(graph: Graph, settings: Settings, machine: object) -> str:
    """The digest of all that a plan depends on."""
    asked = f"{settings.of_programs()} {machine}"
    return digest(graph.key, asked, maker(), cpu.key_of("", device.target()))


def save(key: str, settings: Settings, plan: Plan, texts: Mapping[str, str]) -> None:
    """Put a plan on disk, with the key of each of its kernels."""
    folder = shelf(settings)
    if folder is not None:
        codes = {name: cpu.key_of(text, device.target()) for name, text in texts.items()}
        folder.store(key, msgspec.msgpack.encode([packed(plan), codes]))


def is_saved(key: str, settings: Settings) -> bool:
    """Whether a plan lies on the disk."""
    folder = shelf(settings)
    return folder is not None and folder.path(key).exists()


def save_again(old: str, new: str, settings: Settings) -> None:
    """Put what lies under one key under another as well."""
    folder = shelf(settings)
    content = None if folder is None else folder.load(old)
    if folder is not None and content is not None:
        folder.store(new, content)


def saved(key: str, settings: Settings) -> tuple[Plan, dict[str, int]] | None:
    """A plan from the disk, and the addresses of its kernels."""
    folder = shelf(settings)
    content = None if folder is None else folder.load(key)
    if content is None:
        return None
    plan, codes = msgspec.msgpack.decode(content)
    addresses = cpu.fetch(codes)
    return None if addresses is None else (unpacked(plan), addresses)
