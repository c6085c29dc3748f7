"""Texts of kernels to handles of a card's functions: PTX from LLVM, assembled by the driver.

Both PTX and the machine code of a card are on the disk, so that a process assembles nothing anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from threading import RLock
from typing import Any, Never
from weakref import WeakValueDictionary, finalize

from gnomon.errors import CompileError
from gnomon.forking import held
from gnomon.ir.memo import memo
from gnomon.runtime import cpu
from gnomon.runtime.cache import cache_of, digest
from gnomon.runtime.cuda.driver import Driver, driver
from gnomon.runtime.cuda.texts import ENTRY, PTX, entry_text, is_part, width_of
from gnomon.settings import current

__all__ = ["CardBatch", "STORE"]

_loaded: WeakValueDictionary[str, CardKernel] = memo(WeakValueDictionary())
_unused: deque[tuple[Driver, int]] = deque()
"""Modules whose kernels nobody holds: they are given back when the next one is loaded."""
_change = held(RLock())


class CardKernel:
    """A kernel loaded on the card while this object is held."""

    def __init__(self, ptx: bytes, width: int) -> None:
        self.driver, self.width = driver(), width
        module = self.driver.load(machine_code(ptx, self.driver))
        self.handle = self.driver.function(module, ENTRY)
        # a finalizer runs anywhere, and may not wait for the card
        finalize(self, _unused.append, (self.driver, module)).atexit = False


class CardFunctions(dict[str, int]):
    """Kernel handles by name, valid while this object is held."""

    def __init__(self, kernels: Mapping[str, CardKernel]) -> None:
        super().__init__((name, kernel.handle) for name, kernel in kernels.items())
        self.kernels = tuple(kernels.values())
        self.widths = {kernel.handle: kernel.width for kernel in self.kernels}
        """How many threads of the card are one thread of a kernel, by its handle."""


class CardBatch:
    """Kernels that are compiled together, when the texts of all their parts are known."""

    def __init__(self) -> None:
        self.begun = 0

    def __enter__(self) -> CardBatch:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: no work is under way between calls."""

    def prepare(self) -> None:
        """Do nothing: no process has to be ready."""

    def ask(self, symbol: str, text: str) -> None:
        """Do nothing: a kernel is compiled when all texts are there."""

    def load(self, texts: Mapping[str, str]) -> CardFunctions:
        """The handles of kernels, given the text of each and of what they call."""
        wanted = [name for name in texts if not is_part(name)]
        with _change:
            release_unused()
            there = {name: kernel for name in wanted if (kernel := loaded_kernel(name))}
            new = [name for name in wanted if name not in there]
            codes = cpu.compile_kernels([entry_text(name, texts) for name in new], PTX)
            for name, code in zip(new, codes, strict=True):
                there[name] = _loaded[name] = CardKernel(code, width_of(texts[name]))
            self.begun += len(new)
        return CardFunctions(there)


def machine_code(ptx: bytes, to: Driver) -> bytes:
    """The machine code of a PTX text for a card, from the cache or the driver's assembler."""
    store = cache_of(current(), "cubins")
    key = digest(ptx, repr(to.card.capability), str(to.version))
    known = store.load(key) if store else None
    if known is not None:
        return known
    code = to.assembled(ptx)
    if store:
        store.store(key, code)
    return code


def loaded_kernel(name: str) -> CardKernel | None:
    """A kernel that this process loaded on the current card, or None."""
    kernel = _loaded.get(name)
    return kernel if kernel is not None and kernel.driver is driver() else None


def release_unused() -> None:
    """Unload modules that nobody holds, once the card is done with them."""
    if _unused:
        driver().synchronize()
    while _unused:
        owner, module = _unused.popleft()
        if owner is driver():
            owner.unload(module)


def load(texts: Mapping[str, str]) -> CardFunctions:
    """The handles of kernels, given the text of each and of what they call."""
    return CardBatch().load(texts)


def key_of(text: str) -> str:
    """The digest of all that a text's PTX depends on."""
    return cpu.key_of(text, PTX)


def fetch(keys: Mapping[str, str]) -> None:
    """Return None: the cache holds PTX by whole texts, which the passes must make first."""


def no_files(_: Mapping[str, bytes] | Sequence[Any]) -> Never:
    """Refuse files of compiled functions, which cards do not support."""
    raise CompileError("precompile: a file holds no kernels of a card. Use device 'cpu'.")


STORE = CardBatch, load, key_of, fetch, no_files, no_files
"""The functions of the card's kernel store."""
