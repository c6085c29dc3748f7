"""Codes that differ in numbers alone, and the one that then serves them all.

A kernel's code is written for its sizes, which are part of the text. Where a program is built again
with other sizes (`sizes_vary`), a kernel that differs from an earlier one in numbers alone gets
code that reads those numbers when it runs; further sizes find that code and compile nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gnomon.codegen.apart import taken_apart
from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.lifted import Lifted, Lifting
from gnomon.codegen.loops import Code, emit_kernel, emit_loops
from gnomon.codegen.numbers import Dissected, dissected, may_vary, restored
from gnomon.forking import held
from gnomon.ir.memo import digest, memo
from gnomon.ir.show import log
from gnomon.ir.sizes import hint, is_symbolic
from gnomon.schedule.kernel import LoopKernel

__all__ = ["Emit", "Families", "NumberedCode", "code_of"]

MOST = 8
"""Open codes of one outline; further kernels get code of their own."""

Pattern = tuple[int | None, ...]
"""A code's numbers; None where it reads them at run time."""


@dataclass(frozen=True)
class NumberedCode:
    """A code, and the numbers that it is given."""

    code: Code
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Opened:
    """A code that reads some of its numbers at run time, and which: those that are None."""

    pattern: Pattern
    lifting: Lifting
    symbol: str
    text: str
    scratch: int | Lifted
    parts: tuple[Code, ...]

    def serves(self, numbers: Sequence[int]) -> bool:
        """Whether the code is right for a kernel with these numbers, and reads all that vary."""
        if any(
            own is not None and is_symbolic(n) for own, n in zip(self.pattern, numbers, strict=True)
        ):
            return False
        known = [hint(n) for n in numbers]
        return not apart(self.pattern, known) and self.lifting.holds(self._read(known))

    def given(self, numbers: Sequence[int]) -> NumberedCode:
        """The code with a kernel's numbers, and the scratch that it then needs."""
        read, scratch = self._read(numbers), self.scratch
        assert self.lifting.holds(read)  # of numbers that vary: they are what the code is for
        bytes_needed = scratch.reading(read) if isinstance(scratch, Lifted) else scratch
        return NumberedCode(
            Code(self.symbol, self.text, bytes_needed, self.parts), self.lifting.passed(read)
        )

    def _read(self, numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(n for n, own in zip(numbers, self.pattern, strict=True) if own is None)


def apart(pattern: Pattern, numbers: Sequence[int]) -> list[int]:
    """The places at which a kernel's numbers are not those of a code."""
    pairs = enumerate(zip(pattern, numbers, strict=True))
    return [k for k, (own, n) in pairs if own is not None and own != n]


Emit = Callable[..., int | Lifted]
"""Defines a kernel in a module, by name, of its description; gives its bytes of scratch."""


class Families:
    """All codes by what they have in common.

    Kernels are taken apart when sizes first vary, so that programs whose sizes never do pay
    nothing.
    """

    def __init__(self) -> None:
        self._fresh: list[tuple] = []
        self._patterns: dict[Hashable, list[Pattern]] = {}
        self._opened: dict[Hashable, list[Opened]] = {}
        self._lock = held(threading.Lock())

    def clear(self) -> None:
        """Forget all kernels."""
        with self._lock:
            for known in (self._fresh, self._patterns, self._opened):
                known.clear()

    def add(self, *kernel: Any) -> None:
        """Remember a kernel whose code was written for its own numbers."""
        self._fresh.append(kernel)

    def find(self, emit: Emit, first: int, *kernel: Any) -> NumberedCode | None:
        """Code for a kernel and those that differ from it in numbers; None if there are none.

        Its numbers begin at slot `first`.
        """
        with self._lock:
            self._sort()
            taken = dissected(kernel)
            found = self._serving(taken)
            if found is None and (self._patterns.get(taken.outline) or varying(taken.numbers)):
                found = self._open(taken, self._near(taken), partial(written, emit, first, kernel))
            return found and found.given(taken.numbers)

    def share(self, emit: Emit, first: int, *kernel: Any) -> NumberedCode | None:
        """Code that reads all numbers of a kernel that may vary; None if there is none.

        For kernels that lose nothing by it: those of a first program share it too.
        """
        with self._lock:
            taken = dissected(kernel)
            found = self._serving(taken)
            if found is None:
                read = {k for k, varies in enumerate(may_vary(kernel)) if varies}
                read |= varying(taken.numbers)
                found = self._open(taken, read, partial(written, emit, first, kernel))
            return found and found.given(taken.numbers)

    def _serving(self, taken: Dissected) -> Opened | None:
        """A code that is there already."""
        opened = self._opened.get(taken.outline, ())
        return next((each for each in opened if each.serves(taken.numbers)), None)

    def _sort(self) -> None:
        """Take apart what has come since."""
        while self._fresh:
            taken = dissected(self._fresh.pop())
            known = tuple([hint(n) for n in taken.numbers])
            self._patterns.setdefault(taken.outline, []).append(known)

    def _near(self, taken: Dissected) -> set[int]:
        """The numbers that a code has to read that also serves the kernel's nearest relative."""
        known, read = [hint(n) for n in taken.numbers], varying(taken.numbers)
        patterns = self._patterns.get(taken.outline)
        if not patterns:
            return read
        nearest = min(reversed(patterns), key=lambda pattern: len(apart(pattern, known)))
        open_there = {k for k, own in enumerate(nearest) if own is None}
        return {*read, *open_there, *apart(nearest, known)}

    def _open(
        self, taken: Dissected, read: set[int], write: Callable[..., Opened]
    ) -> Opened | None:
        """A code that reads these numbers, and those that follow from them."""
        numbers = [hint(n) for n in taken.numbers]
        opened = self._opened.setdefault(taken.outline, [])
        if len(opened) == MOST and not varying(taken.numbers):
            return None
        # no leaves at all say that an axis is one with another
        read = read | {k for k, leader in taken.follows.items() if leader in read and numbers[k]}
        pattern = tuple(None if k in read else n for k, n in enumerate(numbers))
        try:
            opened.append(write(pattern, numbers))
        except TypeError as cause:
            told = f"sizes: a kernel keeps its sizes in its text: {cause}"
            log(1, lambda: told)
            return None
        self._patterns.setdefault(taken.outline, []).append(pattern)
        if len(opened) > MOST:  # a program for many sizes takes the place of the oldest
            opened.pop(0)
        return opened[-1]


def varying(numbers: Sequence[int]) -> set[int]:
    """The places of numbers that are known only when a program runs."""
    return {k for k, n in enumerate(numbers) if is_symbolic(n)}


def written(
    emit: Emit, first: int, kernel: tuple, pattern: Pattern, numbers: Sequence[int]
) -> Opened:
    """The code that reads the open numbers of a pattern."""
    module, symbol = LLVMModule(), "opened"
    lifting = Lifting(module, symbol, first)
    pairs = zip(pattern, numbers, strict=True)
    mixed = (lifting.number(n) if own is None else own for own, n in pairs)
    scratch = emit(module, symbol, *restored(kernel, mixed))
    lifting.close()
    parts = taken_apart(module, symbol)
    text = module.text()
    name = f"o{digest(text)}"
    # a kernel's own functions are named after it
    text = text.replace(f"@{symbol}(", f"@{name}(").replace(f"@{symbol}.", f"@{name}.")
    return Opened(pattern, lifting, name, text, scratch, parts)


# loop kernels

_loops: dict[str, NumberedCode] = memo({})
_codes: dict[LoopKernel, NumberedCode] = memo({})
_families = memo(Families())


def code_of(kernel: LoopKernel, sizes_vary: bool = False) -> NumberedCode:
    """A loop kernel's code, and its numbers if the code serves several sizes."""
    if kernel not in _codes:
        key = kernel.key()
        if key not in _loops:
            first = len(kernel.dtypes) + kernel.flat + (2 if kernel.checks() else 0)
            found = _families.find(emit_kernel, first, kernel) if sizes_vary else None
            _loops[key] = found or alone(kernel)
        _codes[kernel] = _loops[key]
    return _codes[kernel]


def alone(kernel: LoopKernel) -> NumberedCode:
    """A loop kernel's own code."""
    given = NumberedCode(emit_loops(kernel))
    _families.add(kernel)
    return given
