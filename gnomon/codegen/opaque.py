"""Calls of hand-written kernels, as they are described; their codes, by their descriptions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from gnomon.codegen.apart import outline_functions
from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.families import Emit, Families, NumberedCode
from gnomon.codegen.loops import Code
from gnomon.ir.memo import digest, memo
from gnomon.ir.node import Node

__all__ = ["OpaqueCall", "kernel_code"]


@dataclass(frozen=True)
class OpaqueCall:
    """A call of a hand-written kernel: name, emitter, description, buffers.

    Buffers are outputs first.
    """

    name: str
    emit: Emit
    spec: tuple[Any, ...]
    buffers: tuple[Node, ...]
    flops: int
    outputs: int = 1
    checks: int = 0
    """The number of kinds of index that it checks; if any, it takes a buffer for reports."""
    over: tuple[tuple[int, int], ...] = ()
    """Pairs (output, operand) that may alias, by their numbers among the buffers."""
    bytes: int | None = None
    """The bytes that it reads and writes, where that is not every buffer once."""
    before: OpaqueCall | None = None
    """The call that packs an operand for it."""

    def given(self, sizes_vary: bool = False) -> NumberedCode:
        """The call's code, and its runtime arguments, which follow buffers and reports."""
        first = len(self.buffers) + (2 if self.checks else 0)
        return kernel_code(self.name, self.emit, self.spec, first, sizes_vary)


_written: dict[tuple, NumberedCode] = memo({})
_families: dict[str, Families] = memo(defaultdict(Families))


SHARED = frozenset(
    {"matmul", "matmul_with", "grouped", "matmul_of_blocks", "integer_product", "pack"}
)
"""Kernels that are as quick when they read their sizes: one code serves all from the start."""


def kernel_code(
    name: str, emit: Emit, spec: tuple[Any, ...], first: int, sizes_vary: bool = False
) -> NumberedCode:
    """The code of a hand-written kernel, and its runtime arguments from slot `first` on.

    It is made once per description, or for many; the symbol follows from the description.
    """
    key = (name, *spec)
    if key not in _written:
        families, found = _families[name], None
        if name in SHARED:
            found = families.share(emit, first, *spec)
        elif sizes_vary:
            found = families.find(emit, first, *spec)
        _written[key] = found or alone(name, emit, spec)
    return _written[key]


def alone(name: str, emit: Emit, spec: tuple[Any, ...]) -> NumberedCode:
    """The code of a hand-written kernel for one description, without runtime arguments."""
    module, symbol = LLVMModule(), f"{name}_{digest(repr(spec))}"
    scratch = emit(module, symbol, *spec)
    _families[name].add(*spec)
    parts = outline_functions(module, symbol)
    return NumberedCode(Code(symbol, module.text(), scratch, parts))
