"""Backends: what makes, holds and runs programs on one kind of device.

A compilation is for a backend, which its context carries, and a buffer is in a backend's memory.
Whoever compiles, runs or reads asks these two; no module outside of this folder names a processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from gnomon.runtime import cpu
from gnomon.runtime.buffer import Allocator, memory
from gnomon.runtime.program import Program

__all__ = ["HOST", "Batch", "DeviceBackend", "Handles", "KernelStore"]

Handles = Mapping[str, int]
"""The handles of functions by name, good while somebody holds this; on the CPU, addresses."""


class Batch(Protocol):
    """Kernels that are being compiled while more are asked for."""

    begun: int
    """The number of codes that were not there."""

    def prepare(self) -> None:
        """Prepare for much that is to come."""

    def ask(self, name: str, text: str) -> None:
        """Begin with a function, unless it is there; its name must follow from its text."""

    def load(self, texts: Mapping[str, str]) -> Handles:
        """The handles of functions, given the text that defines each."""
        raise NotImplementedError


class KernelStore(Protocol):
    """Texts of kernels to handles, through what is kept in this process and on the disk."""

    VERSION: str
    """The compiler and its version."""

    @property
    def CompileBatch(self) -> Callable[[], AbstractContextManager[Batch]]:
        """Begins to compile."""
        raise NotImplementedError

    def load(self, texts: Mapping[str, str]) -> Handles:
        """The handles of functions, given the text that defines each."""
        raise NotImplementedError

    def fetch(self, keys: Mapping[str, str]) -> Handles | None:
        """The handles of functions by the keys of their texts; None if one is not on the disk."""
        raise NotImplementedError

    def key_of(self, text: str) -> str:
        """The digest of all that a text's code depends on."""
        raise NotImplementedError

    def compile_kernels(self, texts: Sequence[str]) -> Iterable[bytes]:
        """The code of each text, for a file."""
        raise NotImplementedError

    def link_apart(self, objects: Mapping[str, bytes]) -> Handles:
        """The handles of functions by their code, from a file."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class DeviceBackend:
    """One kind of device: its memory, its kernels, and what runs tables of their calls."""

    name: str
    memory: Allocator
    kernels: KernelStore
    program: type[Program]


HOST = DeviceBackend("cpu", memory, cpu, Program)
"""The processor that Python runs on."""
