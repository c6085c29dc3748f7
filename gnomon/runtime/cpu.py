"""Kernels on the CPU: IR text to object code to addresses.

Each distinct text is compiled once: per process by its symbol, per machine through the cache on
disk, and never twice at a time. Running what was linked is program.py's part.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from itertools import count
from threading import Lock
from types import MappingProxyType

import llvmlite
import llvmlite.binding as llvm

from gnomon.errors import CompileError
from gnomon.runtime import device, events, perf_map, system, worker, workers
from gnomon.runtime.cache import Cache, digest
from gnomon.runtime.device import Target
from gnomon.settings import Settings, current

LEVEL = 1
"""LLVM's effort in generating code; its pass pipeline is not run.

At level 2 the same kernels ran in 0.996 to 1.004 of the time, and took up to a third longer.
"""

SHARED = "part_"
"""How the names of functions begin that kernels call, wherever they were linked."""
EMPTY: Mapping[str, int] = MappingProxyType({})

VERSIONS = f"{llvmlite.__version__} {llvm.llvm_version_info}"

_pending: dict[str, Future[bytes]] = {}
_linked: dict[Target, dict[str, int]] = {}
_libraries: list[llvm.ResourceTracker] = []
_numbers = count()
_change = Lock()


class Batch:
    """Kernels that are being compiled while more are asked for; `load` gives their addresses.

    As a context it lets go of what it did not finish, so that others need not wait for it.
    """

    def __init__(self, target: Target | None = None, passes: int = 0) -> None:
        self.target, self.passes = target or device.target(), passes
        settings = current()
        processes = settings.compile_workers or min(system.usable_cores(), 16)
        self._store, self._line = cache_of(settings), workers.Line(processes)
        self._known = _linked.setdefault(self.target, {})
        self._futures: dict[str, Future[bytes]] = {}
        self._mine: list[str] = []
        self._began = time.perf_counter()

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: object, cause: BaseException | None, trace: object) -> None:
        if cause is not None:
            self._line.close()
            self._settle(cause)

    @property
    def begun(self) -> int:
        """How many codes were not there."""
        return len(self._futures)

    def prepare(self) -> None:
        """Have another process ready, since much is to come."""
        self._line.prepare()

    def ask(self, name: str, text: str) -> None:
        """Begin with a function, unless it is there; its name must follow from its text."""
        if name not in self._known:
            self.begin(text)

    def begin(self, text: str) -> str:
        """Begin with a text, unless somebody has; gives its key."""
        key = key_of(text, self.target, self.passes)
        if key not in self._futures:
            mine, self._futures[key] = claim(key)
            code = self._store.load(key) if mine and self._store else None
            if code is not None:
                self._futures[key].set_result(code)
                disclaim(key)
            elif mine:
                self._mine.append(key)
                goal = (self.target.triple, self.target.cpu, self.target.features)
                self._line.add((text, *goal, LEVEL, self.passes))
        return key

    def finish(self) -> dict[str, bytes]:
        """The object code of all that was begun, by key."""
        try:
            codes = self._line.finish()
            for key, code in zip(self._mine, codes, strict=True):
                if self._store:
                    self._store.store(key, code)
                self._futures[key].set_result(code)
        except BaseException as cause:
            self._settle(cause)
            raise
        self._settle(None)
        if events.heard() and self._futures:
            seconds = time.perf_counter() - self._began
            count = len(self._futures)
            end = time.monotonic_ns()
            events.announce(
                "compile",
                name=f"LLVM: {count} kernels",
                kernels=count,
                seconds=seconds,
                target=self.target,
                start=end - round(1e9 * seconds),
                end=end,
            )
        return {key: made.result() for key, made in self._futures.items()}

    def _settle(self, cause: BaseException | None) -> None:
        """Let go of this batch's keys; who waits for one that was not made hears why."""
        for key in self._mine:
            if cause is not None and not self._futures[key].done():
                self._futures[key].set_exception(cause)
            disclaim(key)
        self._mine = []

    def load(self, texts: Mapping[str, str]) -> dict[str, int]:
        """The addresses of functions, given the IR text that defines each."""
        keys = {name: self.begin(text) for name, text in texts.items() if name not in self._known}
        codes = self.finish()
        link_new(self._known, {name: codes[key] for name, key in keys.items()})
        return {name: self._known[name] for name in texts}


def fetch(keys: Mapping[str, str]) -> dict[str, int] | None:
    """The addresses of functions by the keys of their texts; None if one is not on the disk."""
    known = _linked.setdefault(device.target(), {})
    store, codes = cache_of(current()), {}
    for name in keys.keys() - known.keys():
        code = store.load(keys[name]) if store else None
        if code is None:
            return None
        codes[name] = code
    link_new(known, codes)
    return {name: known[name] for name in keys}


def load(texts: Mapping[str, str], passes: int = 0) -> dict[str, int]:
    """The addresses of functions, given the IR text that defines each.

    A name must follow from its text's content: a name seen before is not compiled again.
    `passes` is 0, or the level of LLVM's pipeline for texts that want it.
    """
    with Batch(passes=passes) as batch:
        return batch.load(texts)


def link_new(known: dict[str, int], objects: Mapping[str, bytes]) -> None:
    """Link what no other thread has linked meanwhile."""
    with _change:
        fresh = {k: code for k, code in objects.items() if k not in known}
        if current().perf_map:
            perf_map.keep_sizes(fresh)
        known.update(link(fresh, {k: place for k, place in known.items() if k.startswith(SHARED)}))


def compile_kernels(
    texts: Sequence[str], target: Target | None = None, passes: int = 0
) -> list[bytes]:
    """The object code of each text: from the cache, or compiled, in several processes if many."""
    with Batch(target, passes) as batch:
        keys = [batch.begin(text) for text in texts]
        codes = batch.finish()
    return [codes[key] for key in keys]


def claim(key: str) -> tuple[bool, Future[bytes]]:
    """Whether nobody is compiling this, so that it is now the caller's to do, and its future."""
    with _change:
        mine = key not in _pending
        return mine, _pending.setdefault(key, Future())


def disclaim(key: str) -> None:
    """A key is done."""
    with _change:
        del _pending[key]


def key_of(text: str, target: Target, passes: int = 0) -> str:
    """The digest of all that object code depends on; what wrote the text is not part of it."""
    how = f"{LEVEL} {passes} pic small {worker.OPTION}"
    return digest(text, VERSIONS, target.triple, target.cpu, target.features, how)


@cache
def cache_of(settings: Settings) -> Cache | None:
    """The cache on disk that these settings ask for."""
    return Cache(settings.path_of_cache() / "objects") if settings.cache else None


def link(objects: Mapping[str, bytes], known: Mapping[str, int] = EMPTY) -> dict[str, int]:
    """Load object code into this process; gives the address of each function by its name.

    It may call functions that are `known` already.
    """
    return link_symbols(list(objects.values()), list(objects), known) if objects else {}


def link_symbols(
    codes: Sequence[bytes], names: Sequence[str], known: Mapping[str, int] = EMPTY
) -> dict[str, int]:
    """Load object code that defines these names together."""
    builder = llvm.JITLibraryBuilder().add_current_process()
    for name, address in known.items():
        builder.import_symbol(name, address)
    for code in codes:
        builder.add_object_img(code)
    for name in names:
        builder.export_symbol(name)
    try:
        library = builder.link(linker(), f"gnomon{next(_numbers)}")
    except RuntimeError as cause:
        raise CompileError(f"link: a function or what it calls is missing: {cause}") from None
    _libraries.append(library)
    return {name: library[name] for name in names}


@cache
def linker() -> llvm.LLJIT:
    """LLVM's linker for this process, which lives as long as the process."""
    if sys.platform == "win32":
        raise CompileError("compile: Windows is not supported. Run Gnomon in WSL2.")
    target = device.host()
    return llvm.create_lljit_compiler(
        worker.machine(target.triple, target.cpu, target.features, LEVEL)
    )
