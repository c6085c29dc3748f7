"""Codes that differ in numbers alone, and the one that then serves them all.

A kernel's code is written for its sizes, which are part of the text. Where a program is built again
with other sizes (`sizes_vary`), a kernel that differs from an earlier one in numbers alone gets
code that reads those numbers when it runs; further sizes find that code and compile nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gnomon.codegen.apart import outline_functions
from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.lifted import Lifted, Lifting
from gnomon.codegen.loops import Code, emit_kernel, emit_loops
from gnomon.codegen.numbers import Dissected, dissected, may_vary, restored
from gnomon.ir.memo import digest, memo
from gnomon.ir.show import log
from gnomon.ir.sizes import hint, is_symbolic
from gnomon.ir.specializations import KERNELS, ArtifactFamily, Specializations
from gnomon.schedule.kernel import LoopKernel

__all__ = ["Emit", "Families", "NumberedCode", "code_of"]

Pattern = tuple[int | None, ...]
"""A code's numbers; None where it reads them at run time."""


@dataclass(frozen=True)
class NumberedCode:
    """A code, and the runtime arguments that it is called with."""

    code: Code
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Opened:
    """A code with runtime arguments: the numbers whose entry in `pattern` is None."""

    pattern: Pattern
    lifting: Lifting
    symbol: str
    text: str
    scratch: int | Lifted
    parts: tuple[Code, ...]

    def serves(self, numbers: Sequence[int]) -> Sequence[int] | None:
        """The runtime arguments with which the code serves a kernel; None if a constant differs."""
        pairs = [*zip(self.pattern, numbers, strict=True)]
        if any(own is not None and (is_symbolic(n) or n != own) for own, n in pairs):
            return None
        read = [n for own, n in pairs if own is None]
        return read if self.lifting.holds([*map(hint, read)]) else None

    def given(self, read: Sequence[int]) -> NumberedCode:
        """Bind the code to its runtime arguments, with the scratch that they need."""
        scratch = self.scratch
        assert self.lifting.holds(read)  # of numbers that vary: they are what the code is for
        bytes_needed = scratch.reading(read) if isinstance(scratch, Lifted) else scratch
        return NumberedCode(
            Code(self.symbol, self.text, bytes_needed, self.parts), self.lifting.passed(read)
        )


Emit = Callable[..., int | Lifted]
"""Defines a kernel in a module, by name, of its description; gives its bytes of scratch."""


class Families:
    """The specialization cache of kernels: codes by their shape-erased key.

    Kernels are taken apart when sizes first vary, so that programs whose sizes never do pay
    nothing.
    """

    def __init__(self) -> None:
        self._fresh: list[tuple] = []
        self._known = Specializations(KERNELS)

    def clear(self) -> None:
        """Forget all kernels."""
        with self._known.lock:
            self._fresh.clear()
            self._known.clear()

    def add(self, *kernel: Any) -> None:
        """Register a kernel whose code was written for its own numbers."""
        self._fresh.append(kernel)

    def find(self, emit: Emit, first: int, *kernel: Any) -> NumberedCode | None:
        """Find or add code that serves a kernel and others of its family; None for a family of one.

        The runtime arguments begin at slot `first`.
        """
        return self._code(near, emit, first, kernel)

    def share(self, emit: Emit, first: int, *kernel: Any) -> NumberedCode | None:
        """Code that reads all of a kernel's numbers that may vary; None if there is none.

        For kernels that lose no speed by it: those of a first program share it too.
        """
        read = {k for k, varies in enumerate(may_vary(kernel)) if varies}
        return self._code(lambda *_: read, emit, first, kernel)

    def _code(
        self, reads: ChooseNumbers, emit: Emit, first: int, kernel: tuple
    ) -> NumberedCode | None:
        """Find a code that serves the kernel, or emit one."""
        with self._known.lock:
            while self._fresh:
                fresh = dissected(self._fresh.pop())
                self._known.of(fresh.outline).samples[tuple(map(hint, fresh.numbers))] = None
            taken = dissected(kernel)
            family = self._known.of(taken.outline)
            found = family.serving(taken.numbers)
            varies, read = varying(taken.numbers), set[int]()
            if found is None and (varies or not family.is_closed):
                read = reads(family, taken) | varies
            if read:
                write = partial(emit_open, emit, first, kernel)
                # where its text needs one of them as a number, those that vary are read alone
                if not open_code(family, taken, read, write) and 0 < len(varies) < len(read):
                    open_code(family, taken, varies, write)
                found = family.serving(taken.numbers)
            return found and found[0].given(found[1])


ChooseNumbers = Callable[[ArtifactFamily[Opened], Dissected], set[int]]
"""The numbers of a kernel that a new code of its family reads."""


def differences(pattern: Pattern, numbers: Sequence[int]) -> list[int]:
    """The positions at which a kernel's numbers differ from a code's constants."""
    pairs = enumerate(zip(pattern, numbers, strict=True))
    return [k for k, (own, n) in pairs if own is not None and own != n]


def near(family: ArtifactFamily[Opened], taken: Dissected) -> set[int]:
    """The numbers to make runtime arguments to serve the most similar kernel too."""
    known = tuple(map(hint, taken.numbers))
    patterns = reversed([*family.samples])
    nearest = min(patterns, key=lambda pattern: len(differences(pattern, known)), default=known)
    return {k for k, own in enumerate(nearest) if own is None} | {*differences(nearest, known)}


def open_code(
    family: ArtifactFamily[Opened], taken: Dissected, read: set[int], write: Callable[..., Opened]
) -> bool:
    """Emit code with some numbers, and those that follow from them, as runtime arguments.

    False if the text needs one of them as a number.
    """
    numbers = [*map(hint, taken.numbers)]
    # no leaves at all say that an axis is one with another
    read = read | {k for k, leader in taken.follows.items() if leader in read and numbers[k]}
    pattern = tuple(None if k in read else n for k, n in enumerate(numbers))
    try:
        family.add(write(pattern, numbers))
    except TypeError as cause:
        text = f"sizes: a kernel keeps its sizes in its text: {cause}"
        log(1, lambda: text)
        return False
    family.samples[pattern] = None
    return True


def varying(numbers: Sequence[int]) -> set[int]:
    """The positions of numbers that are known only when a program runs."""
    return {k for k, n in enumerate(numbers) if is_symbolic(n)}


def emit_open(
    emit: Emit, first: int, kernel: tuple, pattern: Pattern, numbers: Sequence[int]
) -> Opened:
    """Emit the code for a pattern, with its open numbers as runtime arguments."""
    module, symbol = LLVMModule(), "opened"
    lifting = Lifting(module, symbol, first)
    pairs = zip(pattern, numbers, strict=True)
    mixed = (lifting.number(n) if own is None else own for own, n in pairs)
    scratch = emit(module, symbol, *restored(kernel, mixed))
    lifting.close()
    parts = outline_functions(module, symbol)
    text = module.text()
    name = f"o{digest(text)}"
    # a kernel's own functions are named after it
    text = text.replace(f"@{symbol}(", f"@{name}(").replace(f"@{symbol}.", f"@{name}.")
    return Opened(pattern, lifting, name, text, scratch, parts)


# loop kernels

_loops: dict[tuple, NumberedCode] = memo({})
_codes: dict[tuple, NumberedCode] = memo({})
_families = memo(Families())


def code_of(kernel: LoopKernel, sizes_vary: bool = False, *shares: str) -> NumberedCode:
    """A loop kernel's code, and its runtime arguments if the code serves several sizes.

    shares: how threads share its work, if not in runs of rows.
    """
    own = (kernel, *shares)
    if own not in _codes:
        key = (kernel.key(), *shares)
        if key not in _loops:
            first = len(kernel.dtypes) + kernel.flat + (2 if kernel.checks() else 0)
            found = _families.find(emit_kernel, first, *own) if sizes_vary else None
            _loops[key] = found or alone(*own)
        _codes[own] = _loops[key]
    return _codes[own]


def alone(*kernel: Any) -> NumberedCode:
    """A loop kernel's code with all of its numbers as constants."""
    given = NumberedCode(emit_loops(*kernel))
    _families.add(*kernel)
    return given
