"""Object code in this process: libraries, each there while somebody holds it.

Every code costs memory mappings, of which the system allows a process only so many: LLVM ends the
process where it gets no more. So what nobody holds is unlinked, and who asks for too much hears it.
Which names are linked is cpu.py's part.
"""

from __future__ import annotations

import gc
import re
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import count
from threading import Lock
from types import MappingProxyType
from typing import Any

import llvmlite.binding as llvm

from gnomon.errors import CompileError
from gnomon.forking import held
from gnomon.interrupts import Whole
from gnomon.ir import memo
from gnomon.runtime import device, system, worker

__all__ = ["LEVEL", "Library", "link", "parts_of"]

LEVEL = 1
"""LLVM's effort in generating code; its pass pipeline is not run.

At level 2 the same kernels ran in 0.996 to 1.004 of the time, and took up to a third longer.
"""

PART = re.compile(rb"part_[0-9a-f]+")
"""A pattern of the names of functions that kernels call, wherever they were linked."""
SPAN = 256
"""Libraries of one linker, which keeps 9 KB of each that is gone until all of them are."""
UNSEEN = 512
"""Codes that a process links before the first look at how many mappings are left."""
SHARE = 32
"""The part of what is left that codes may take until the next look."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
MAPPINGS = 3
"""Mappings of one code at most: instructions, constants, data."""

_numbers = count()
_there: dict[int, tuple[Any, Any]] = {}
"""LLVM's trackers by a library's number. They must not be a library's own: where a circle is
collected, each object in it is finalized, and LLVM's would close itself beside `unlink`."""
_ended: deque[int] = deque()
_lock = held(Lock())


class Library:
    """Codes that were linked together; their functions are valid while this object lives."""

    __slots__ = ("__weakref__", "_needs", "_number", "addresses")

    def __init__(self, tracker: Any, jit: Any, names: Sequence[str], needs: object) -> None:
        self._number, self._needs = next(_numbers), needs
        self.addresses = {name: tracker[name] for name in names}
        _there[self._number] = tracker, jit

    def __del__(self, ended: deque[int] = _ended) -> None:
        # LLVM may be at work where this is called from: the next link takes it away
        ended.append(self._number)


class Linker:
    """LLVM's linker, replaced by a new one after so many libraries."""

    def __init__(self) -> None:
        self._jit: Any = None
        self._left, self._unseen = 0, UNSEEN

    def look(self, codes: int) -> None:
        """Check that memory mappings suffice to link so many codes; more often if few are left."""
        self._unseen -= codes
        if self._unseen < 0:
            self._unseen = mappings_for(MAPPINGS * codes) // (SHARE * MAPPINGS)

    def jit(self) -> Any:
        """The JIT instance that links the next library."""
        if not self._left:
            self._jit, self._left = new_jit(), SPAN
        self._left -= 1
        return self._jit


_linker = Linker()


def link(
    codes: Sequence[bytes], names: Sequence[str], needs: Mapping[str, Library] = NOTHING
) -> Library:
    """Link object code that defines `names` and may call the functions of `needs`."""
    with Whole(), _lock:
        unlink()
        _linker.look(len(codes))
        jit = _linker.jit()
        builder = llvm.JITLibraryBuilder().add_current_process()
        for name, library in needs.items():
            builder.import_symbol(name, library.addresses[name])
        for code in codes:
            builder.add_object_img(code)
        for name in names:
            builder.export_symbol(name)
        try:
            tracker = builder.link(jit, f"gnomon{next(_numbers)}")
        except RuntimeError as cause:
            raise CompileError(f"link: a function or what it calls is missing: {cause}") from None
        return Library(tracker, jit, names, tuple(needs.values()))


def parts_of(codes: Sequence[bytes]) -> set[str]:
    """The names of shared functions that object code defines or calls."""
    return {name.decode() for code in codes for name in PART.findall(code)}


def unlink() -> None:
    """Remove libraries that nobody holds any more."""
    while _ended:
        tracker, _ = _there.pop(_ended.popleft())
        tracker.close()


def mappings_for(mappings: int) -> int:
    """The mappings left for codes; where few are left, cached programs are dropped first."""
    if mappings_left() < mappings:
        memo.age()
        memo.age()
        gc.collect()
        unlink()
    if mappings_left() < mappings:
        used, most = system.mappings()
        raise CompileError(
            f"link: this process has {used:,} of the {most:,} memory mappings that the system "
            "allows it. Hold fewer compiled functions or mapped files, or raise vm.max_map_count."
        )
    return mappings_left() - mappings


def mappings_left() -> int:
    """The number of mappings that codes may take: all but an eighth of the system's limit."""
    used, most = system.mappings()
    return most - most // 8 - used


def new_jit() -> llvm.LLJIT:
    """LLVM's linker for this machine."""
    if sys.platform == "win32":
        raise CompileError("compile: Windows is not supported. Run Gnomon in WSL2.")
    target = device.host()
    return llvm.create_lljit_compiler(
        worker.machine(target.triple, target.cpu, target.features, LEVEL)
    )


# LLVM's binding holds one lock around each call into it, which has no public name
held(llvm.ffi.lib._lock._lock)
