"""Backends: what makes, holds and runs programs on one kind of device.

A compilation is for a backend, which its context carries, and a buffer is in a backend's memory.
Whoever compiles, runs or reads asks these two; no module outside of this folder names a processor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from gnomon.runtime import cpu, reference
from gnomon.runtime.buffer import Allocator, memory
from gnomon.runtime.cuda.kernels import STORE
from gnomon.runtime.cuda.memory import card_memory
from gnomon.runtime.cuda.program import CardProgram
from gnomon.runtime.program import DeviceProgram, Program

__all__ = ["BACKENDS", "CUDA", "DeviceBackend", "HOST", "Handles", "KernelStore", "REFERENCE"]

Handles = Mapping[str, Any]
"""The handles of functions by name, good while somebody holds this; on the CPU, addresses."""


@dataclass(frozen=True, eq=False)
class KernelStore:
    """The kernels of one kind of device by text: loaded in this process, or cached on disk."""

    version: str
    """The compiler and its version."""
    batch: Callable[[], AbstractContextManager[Any]]
    """Begins to compile while more is asked for: see CompileBatch."""
    load: Callable[[Mapping[str, Any]], Handles]
    """The handles of functions, given the text that defines each."""
    key_of: Callable[[Any], str]
    """The digest of all that a text's code depends on."""
    fetch: Callable[[Mapping[str, str]], Handles | None]
    """The handles of functions by the keys of their texts; None if one is not on the disk."""
    compile: Callable[..., Sequence[bytes]]
    """The code of each text, for a file; of another processor where a target is given."""
    link: Callable[[Mapping[str, bytes]], Handles]
    """The handles of functions by their code, from a file."""


@dataclass(frozen=True, eq=False)
class DeviceBackend:
    """One kind of device: its memory, its kernel store, and the class that runs its programs."""

    name: str
    memory: Allocator
    kernels: KernelStore
    program: Callable[..., DeviceProgram]
    """Makes what runs a table of steps by these handles: see Program."""
    interprets: bool = False
    """Whether a kernel is a node of a graph as it is, which no pass has opened."""
    on_host: bool = True
    """Whether kernels are functions of this process, which call others by their addresses."""


_code = cpu.CompileBatch, cpu.load, cpu.key_of, cpu.fetch, cpu.compile_kernels, cpu.link_apart
HOST = DeviceBackend("cpu", memory, KernelStore(cpu.VERSION, *_code), Program)
"""The processor that Python runs on."""
REFERENCE = DeviceBackend(
    "reference",
    reference.closed_memory,
    KernelStore("numpy", *reference.AS_THEY_ARE),
    reference.ReferenceProgram,
    interprets=True,
)
CUDA = DeviceBackend(
    "cuda", card_memory, KernelStore(cpu.VERSION, *STORE), CardProgram, False, False
)
"""A card of NVIDIA's."""
"""Graphs as they are, in memory that the host may not touch."""
BACKENDS = {backend.name: backend for backend in (HOST, REFERENCE, CUDA)}
"""By the names of devices."""
