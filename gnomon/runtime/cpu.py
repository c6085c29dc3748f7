"""Kernels on the CPU: IR text to object code to addresses.

Each distinct text is compiled once: per process by its symbol, per machine through the cache on
disk, and never twice at a time. Running what was linked is program.py's part.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from itertools import count
from threading import Lock

import llvmlite
import llvmlite.binding as llvm

from gnomon.errors import CompileError
from gnomon.runtime import device, events, system, worker, workers
from gnomon.runtime.cache import Cache, digest
from gnomon.runtime.device import Target
from gnomon.settings import Settings, current

LEVEL = 2
"""LLVM's effort in generating code; its pass pipeline is not run (docs/decisions)."""

VERSIONS = f"{llvmlite.__version__} {llvm.llvm_version_info}"

_pending: dict[str, Future[bytes]] = {}
_linked: dict[Target, dict[str, int]] = {}
_libraries: list[llvm.ResourceTracker] = []
_numbers = count()
_change = Lock()


def load(texts: Mapping[str, str], passes: int = 0) -> dict[str, int]:
    """The addresses of functions, given the IR text that defines each.

    A name must follow from its text's content: a name seen before is not compiled again.
    `passes` is 0, or the level of LLVM's pipeline for texts that want it.
    """
    target = device.target()
    known = _linked.setdefault(target, {})
    missing = [name for name in texts if name not in known]
    if missing:
        objects = compile_kernels([texts[name] for name in missing], target, passes)
        link_new(known, dict(zip(missing, objects, strict=True)))
    return {name: known[name] for name in texts}


def link_new(known: dict[str, int], objects: Mapping[str, bytes]) -> None:
    """Link what no other thread has linked meanwhile."""
    with _change:
        known.update(link({k: code for k, code in objects.items() if k not in known}))


def compile_kernels(
    texts: Sequence[str], target: Target | None = None, passes: int = 0
) -> list[bytes]:
    """The object code of each text: from the cache, or compiled, in several processes if many."""
    target = target or device.target()
    keys = [key_of(text, target, passes) for text in texts]
    began, wanted = time.perf_counter(), dict(zip(keys, texts, strict=True))
    mine, futures = claim(wanted)
    try:
        made = produce({key: wanted[key] for key in mine}, target, passes)
        for key, code in made.items():
            futures[key].set_result(code)
    except BaseException as cause:
        for key in mine:
            if not futures[key].done():
                futures[key].set_exception(cause)
        raise
    finally:
        disclaim(mine)
    if events.heard():
        seconds = time.perf_counter() - began
        events.announce("compile", kernels=len(wanted), seconds=seconds, target=target)
    return [futures[key].result() for key in keys]


def claim(keys: Iterable[str]) -> tuple[list[str], dict[str, Future[bytes]]]:
    """The keys that nobody is compiling, now this caller's to do, and the futures of all."""
    with _change:
        mine = [key for key in keys if key not in _pending]
        _pending.update((key, Future()) for key in mine)
        return mine, {key: _pending[key] for key in keys}


def disclaim(keys: Iterable[str]) -> None:
    """The keys are done."""
    with _change:
        for key in keys:
            del _pending[key]


def produce(texts: Mapping[str, str], target: Target, passes: int) -> dict[str, bytes]:
    """Object code by key, from the disk where it is there, else compiled and kept."""
    settings = current()
    store = cache_of(settings)
    found = {key: code for key in texts if store and (code := store.load(key)) is not None}
    missing = [key for key in texts if key not in found]
    goal = (target.triple, target.cpu, target.features, LEVEL, passes)
    processes = settings.compile_workers or min(system.usable_cores(), 16)
    codes = workers.compile_all([(texts[key], *goal) for key in missing], processes)
    for key, code in zip(missing, codes, strict=True):
        if store:
            store.store(key, code)
        found[key] = code
    return found


def key_of(text: str, target: Target, passes: int) -> str:
    """The digest of all that object code depends on; what wrote the text is not part of it."""
    return digest(
        text, VERSIONS, target.triple, target.cpu, target.features, f"{LEVEL} {passes} pic small"
    )


@cache
def cache_of(settings: Settings) -> Cache | None:
    """The cache on disk that these settings ask for."""
    return Cache(settings.path_of_cache() / "objects") if settings.cache else None


def link(objects: Mapping[str, bytes]) -> dict[str, int]:
    """Load object code into this process; gives the address of each function by its name."""
    return link_symbols(list(objects.values()), list(objects)) if objects else {}


def link_symbols(codes: Sequence[bytes], names: Sequence[str]) -> dict[str, int]:
    """Load object code that defines these names together."""
    builder = llvm.JITLibraryBuilder().add_current_process()
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
