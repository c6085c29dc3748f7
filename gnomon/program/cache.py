"""The program cache on disk: plans under the digests of all that they depend on.

A plan found there spares a process all passes and all scheduling; machine code is stored under
the keys of its texts in the cache of objects.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gnomon.ir.node import Graph
from gnomon.ops.canonical import NUMERICS
from gnomon.program.context import CompileContext
from gnomon.program.saved import SavedProgram
from gnomon.runtime.backend import Handles
from gnomon.runtime.cache import Cache, cache_of, digest, own_sources
from gnomon.settings import Settings

__all__ = ["is_saved", "key_of", "save", "save_anew", "saved"]


def shelf(settings: Settings) -> Cache | None:
    """The disk cache of programs; None if there is none, or if passes are being watched."""
    looks = settings.verify or settings.debug > 1
    return None if looks or not settings.keep_programs else cache_of(settings, "programs")


def key_of(graph: Graph, context: CompileContext) -> str:
    """The cache key of a plan: a digest of its graph and of all settings."""
    asked, code = f"{context.key} numerics {NUMERICS}", context.backend.kernels.key_of("")
    return digest(graph.key, asked, own_sources(), code)


def save(key: str, context: CompileContext, plan: SavedProgram, texts: Mapping[str, str]) -> None:
    """Store a plan on disk, with the key of each of its kernels."""
    folder = shelf(context.settings)
    if folder is not None:
        codes = {name: context.backend.kernels.key_of(text) for name, text in texts.items()}
        folder.store(key, msgspec.msgpack.encode((plan, codes)))


def is_saved(key: str, settings: Settings) -> bool:
    """Whether a plan is on disk."""
    folder = shelf(settings)
    return folder is not None and folder.path(key).exists()


def save_anew(old: str, new: str, settings: Settings) -> None:
    """Store the content of one key under another as well."""
    folder = shelf(settings)
    content = None if folder is None else folder.load(old)
    if folder is not None and content is not None:
        folder.store(new, content)


def saved(key: str, context: CompileContext) -> tuple[SavedProgram, Handles] | None:
    """A plan from disk, and the handles of its kernels; None if one of them is missing."""
    folder = shelf(context.settings)
    content = None if folder is None else folder.load(key)
    if content is None:
        return None
    plan, codes = msgspec.msgpack.decode(content, type=tuple[SavedProgram, dict[str, str]])
    handles = context.backend.kernels.fetch(codes)
    return None if handles is None else (plan, handles)
