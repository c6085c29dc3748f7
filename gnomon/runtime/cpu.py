"""Kernels on the CPU: IR text to object code to addresses.

Each distinct text is compiled once: per process by its symbol while somebody holds it, per machine
through the cache on disk, and never twice at a time. Running what was linked is program.py's part.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from threading import Lock
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from gnomon.forking import held
from gnomon.ir.memo import memo
from gnomon.runtime import device, events, perf_map, system, worker, workers
from gnomon.runtime.cache import cache_of, digest
from gnomon.runtime.device import Target
from gnomon.runtime.linking import LEVEL, Library, link, parts_of
from gnomon.settings import current

LOOK = 0.002
"""Seconds between two looks for what another process compiles."""
LLVM = ".".join(map(str, llvm.llvm_version_info))
VERSION = f"LLVM {LLVM}"

_pending: dict[str, Future[bytes]] = {}
_linked: dict[Target, WeakValueDictionary[str, Library]] = memo({})
_change = held(Lock())


class CompileBatch:
    """Kernels that compile in the background while more are requested; `load` returns addresses.

    Leaving the context releases unfinished kernels, so that others need not wait for them.
    """

    def __init__(self, target: Target | None = None, passes: int = 0) -> None:
        self.target, self.passes = target or device.target(), passes
        settings = current()
        processes = settings.compile_workers or min(system.usable_cores(), 16)
        self._store, self._line = cache_of(settings, "objects"), workers.RequestQueue(processes)
        self._known = linked(self.target)
        self._futures: dict[str, Future[bytes]] = {}
        self._mine: list[str] = []
        self._asked: list[str] = []
        self._keys: dict[str, str] = {}
        """The keys of functions' texts, by name: each text is long, and asked for many times."""
        self._elsewhere: dict[str, str] = {}
        """The texts that another process compiles now, by key."""
        self._began = time.perf_counter()

    def __enter__(self) -> CompileBatch:
        return self

    def __exit__(self, kind: object, cause: BaseException | None, trace: object) -> None:
        if cause is not None:
            self._line.close()
            self._settle(cause)

    @property
    def begun(self) -> int:
        """The number of codes that were not loaded or cached."""
        return len(self._futures)

    def prepare(self) -> None:
        """Start another compiling process, since many texts will follow."""
        self._line.prepare()

    def ask(self, name: str, text: str) -> None:
        """Start compiling a function unless it exists; its name must follow from its text."""
        if name not in self._known:
            self._begin_once(name, text)

    def _begin_once(self, name: str, text: str) -> str:
        """Start compiling a text once per name, which identifies its content; its key."""
        if name not in self._keys:
            self._keys[name] = self.begin(text)
        return self._keys[name]

    def begin(self, text: str) -> str:
        """Start compiling a text unless that was started; its key."""
        key = key_of(text, self.target, self.passes)
        if key not in self._futures:
            mine, self._futures[key] = claim(key)
            if mine:
                self._make(key, text)
        return key

    def _make(self, key: str, text: str) -> None:
        """Load machine code from the disk, compile it, or leave that to another process."""
        code, free = self._store.load(key) if self._store else None, True
        if code is None and self._store:
            free = self._store.claim(key)
            # whoever had claimed it may have made it since
            code = self._store.load(key)
        if code is not None:
            self._futures[key].set_result(code)
            disclaim(key)
            self._let_go(key)
            return
        self._mine.append(key)
        if free:
            self._asked.append(key)
            self._line.add(self._request(text))
        else:
            self._elsewhere[key] = text

    def _request(self, text: str) -> workers.Request:
        """The request to a compiling process for a text."""
        made = self.target
        return (text, made.triple, made.cpu, made.features, LEVEL, self.passes)

    def finish(self) -> dict[str, bytes]:
        """The object code of all texts of the batch, by key."""
        try:
            codes = self._line.finish()
            for key, code in zip(self._asked, codes, strict=True):
                self._keep(key, code)
            for key, text in self._elsewhere.items():
                self._await(key, text)
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

    def _keep(self, key: str, code: bytes) -> None:
        """Store finished object code, and give it to all threads that wait for it."""
        if self._store:
            self._store.store(key, code)
        self._let_go(key)
        self._futures[key].set_result(code)

    def _let_go(self, key: str) -> None:
        """Release the claim on a key, so that no other process waits for this one."""
        if self._store:
            self._store.let_go(key)

    def _await(self, key: str, text: str) -> None:
        """Take the result of another process, or compile the text if it ended without one."""
        assert self._store is not None, "CompileBatch: another process is known by its claim."
        while (code := self._store.load(key)) is None and not self._store.claim(key):
            time.sleep(LOOK)
        if code is None:
            self._keep(key, workers.content(workers.compile_here(self._request(text))))
        else:
            self._futures[key].set_result(code)

    def _settle(self, cause: BaseException | None) -> None:
        """Release this batch's keys; a key without code gets the cause as its error."""
        for key in self._mine:
            self._let_go(key)
            if cause is not None and not self._futures[key].done():
                self._futures[key].set_exception(cause)
            disclaim(key)
        self._mine = []

    def load(self, texts: Mapping[str, str]) -> Functions:
        """The addresses of functions, given the IR text that defines each."""
        there = there_of(self._known, texts)
        keys = {
            name: self._begin_once(name, text) for name, text in texts.items() if name not in there
        }
        codes = self.finish()
        fresh = {name: codes[key] for name, key in keys.items()}
        return Functions(link_new(self._known, there, fresh))


class Functions(dict[str, int]):
    """Addresses of functions by name, valid while this object is held."""

    def __init__(self, libraries: Mapping[str, Library]) -> None:
        super().__init__((name, x.addresses[name]) for name, x in libraries.items())
        self.libraries = frozenset(libraries.values())


def linked(target: Target) -> WeakValueDictionary[str, Library]:
    """The live linked functions of a target, by name."""
    return _linked.setdefault(target, WeakValueDictionary())


def there_of(known: WeakValueDictionary[str, Library], names: Iterable[str]) -> dict[str, Library]:
    """The libraries that define some names, which are kept alive from here on."""
    found = {name: known.get(name) for name in names}
    return {name: library for name, library in found.items() if library is not None}


def fetch(keys: Mapping[str, str]) -> Functions | None:
    """The addresses of functions by the keys of their texts; None if one is not on the disk."""
    known = linked(device.target())
    there = there_of(known, keys)
    store, codes = cache_of(current(), "objects"), {}
    for name in keys.keys() - there.keys():
        code = store.load(keys[name]) if store else None
        if code is None:
            return None
        codes[name] = code
    return Functions(link_new(known, there, codes))


def link_apart(objects: Mapping[str, bytes]) -> Functions:
    """Functions of object code from elsewhere; lookups by name never return them."""
    if current().perf_map:
        perf_map.keep_sizes(objects)
    found = link(list(objects.values()), list(objects)) if objects else None
    return Functions({} if found is None else dict.fromkeys(objects, found))


def load(texts: Mapping[str, str], passes: int = 0) -> Functions:
    """The addresses of functions, given the IR text that defines each.

    A name must follow from its text's content: a known name is not compiled again. `passes` is 0,
    or the level of LLVM's pipeline for texts that want it.
    """
    with CompileBatch(passes=passes) as batch:
        return batch.load(texts)


def link_new(
    known: WeakValueDictionary[str, Library],
    there: Mapping[str, Library],
    objects: Mapping[str, bytes],
) -> dict[str, Library]:
    """Link object code, except what another thread linked meanwhile; the library of every name."""
    with _change:
        found = {**there, **there_of(known, objects)}
        fresh = {name: code for name, code in objects.items() if name not in found}
        if current().perf_map:
            perf_map.keep_sizes(fresh)
        if fresh:
            codes = list(fresh.values())
            needs = there_of(known, parts_of(codes) - fresh.keys())
            library = link(codes, list(fresh), needs)
            made = dict.fromkeys(fresh, library)
            known.update(made)
            found |= made
        return found


def compile_kernels(
    texts: Sequence[str], target: Target | None = None, passes: int = 0
) -> list[bytes]:
    """The object code of each text: from the cache, or compiled, in several processes if many."""
    with CompileBatch(target, passes) as batch:
        keys = [batch.begin(text) for text in texts]
        codes = batch.finish()
    return [codes[key] for key in keys]


def claim(key: str) -> tuple[bool, Future[bytes]]:
    """Whether the caller is to compile this key, since nobody else does, and the key's future."""
    with _change:
        mine = key not in _pending
        return mine, _pending.setdefault(key, Future())


def disclaim(key: str) -> None:
    """Remove a key from those being compiled."""
    with _change:
        del _pending[key]


def key_of(text: str, target: Target | None = None, passes: int = 0) -> str:
    """The digest of all inputs of compilation: text, target, passes; not what wrote the text."""
    how = f"{LEVEL} {passes} pic small {worker.OPTION} {worker.MEND}"
    made = target or device.target()
    versions = f"{llvmlite.__version__} {LLVM}"
    return digest(text, versions, made.triple, made.cpu, made.features, how)


# what another thread was compiling, nobody will compile
os.register_at_fork(after_in_child=_pending.clear)
