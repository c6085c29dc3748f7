"""A call of a hand-written kernel: its code, its buffers, and the numbers that it is given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.codegen.apart import taken_apart
from gnomon.codegen.emitter import Module
from gnomon.codegen.families import Families, Given
from gnomon.codegen.loops import Code
from gnomon.ir.node import Node, digest

__all__ = ["OpaqueCall", "call"]


@dataclass(frozen=True)
class OpaqueCall:
    """A kernel and the nodes behind its buffers, outputs first."""

    code: Code
    buffers: tuple[Node, ...]
    flops: int
    outputs: int = 1
    checks: int = 0
    """How many kinds of position it checks; if any, it is also told where to report."""
    over: tuple[tuple[int, int], ...] = ()
    """Which output may lie over which operand, by their numbers among the buffers."""
    numbers: tuple[int, ...] = ()
    """What the code is given after everything else: numbers that it reads at run time."""
    bytes: int | None = None
    """What it reads and writes, where that is not every buffer once."""
    before: OpaqueCall | None = None
    """What packs an operand for it."""


_written: dict[tuple, Given] = {}
_families: dict[str, Families] = defaultdict(Families)


SHARED = frozenset({"matmul", "matmul_with", "grouped", "pack"})
"""Kernels that are as quick when they read their sizes: one code serves all from the start."""


def call(
    name: str, emit: Callable, spec: tuple, buffers: Sequence[Node], flops: int, **more: Any
) -> OpaqueCall:
    """A call of a hand-written kernel; its code is made once per spec, or for many."""
    first = len(buffers) + (2 if more.get("checks") else 0)
    given = written(name, emit, spec, first)
    return OpaqueCall(given.code, tuple(buffers), flops, numbers=given.numbers, **more)


def written(name: str, emit: Callable, spec: tuple, first: int) -> Given:
    """The code of a hand-written kernel, and the numbers that it is given from slot `first` on.

    The symbol follows from the spec.
    """
    key = (name, *spec)
    if key not in _written:
        families = _families[name]
        found = families.share if name in SHARED else families.find
        _written[key] = found(emit, first, *spec) or alone(name, emit, spec)
    return _written[key]


def alone(name: str, emit: Callable, spec: tuple) -> Given:
    """A code for one spec."""
    module, symbol = Module(), f"{name}_{digest(repr(spec))}"
    scratch = emit(module, symbol, *spec)
    _families[name].add(*spec)
    parts = taken_apart(module, symbol)
    return Given(Code(symbol, module.text(), scratch, parts))
