"""Device objects: any that PyTorch knows can be named, "cpu" is the one there is.

PyTorch's words for how a new tensor lies are here as well: row by row, whatever they say.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError

NAMES = "cpu cuda hip hpu ipu lazy maia meta mkldnn mps mtia vulkan xla xpu"
KINDS = frozenset(NAMES.split())
WORDS = frozenset({"layout", "memory_format", "pin_memory", "requires_grad"})


class Device:
    """A place for tensors; as a block, that of new ones.

    >>> Device("cpu").type, Device("cuda:1").index
    ('cpu', 1)
    """

    __slots__ = ("index", "type")

    def __init__(self, type: str | Device = "cpu", index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if name not in KINDS or (number and not number.isdecimal()):
            raise ArgumentError(
                f"device: this build computes on the CPU: got {str(type)!r}. "
                f"A device is one of {', '.join(sorted(KINDS))}, and its number after a colon."
            )
        self.type = name
        self.index = int(number) if number else index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        number = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{number})"

    def __eq__(self, other: object) -> bool:
        return str(other).partition(":")[0] == self.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __enter__(self) -> Device:
        check_device(self)
        return self

    def __exit__(self, *_: object) -> None:
        """There is nothing to take back."""


CPU = Device("cpu")


def check_device(device: object) -> None:
    """Refuse a device that is not there."""
    if device is None or device is CPU:
        return
    named = device if isinstance(device, Device) else Device(device)
    if named.type != CPU.type:
        raise ArgumentError(
            f"device: this build computes on the CPU: got {str(named)!r}. Give 'cpu', or nothing."
        )


def with_placing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a tensor, with those of the words that it does not take itself."""
    more = WORDS - inspect.signature(function).parameters.keys()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {word: kwargs.pop(word) for word in more & kwargs.keys()}
        if given.get("layout") not in (None, "strided"):
            raise ArgumentError(f"{call.__name__}: layout is strided: got {given['layout']!r}.")
        made = function(*args, **kwargs)
        return made.requires_grad_() if given.get("requires_grad") else made

    return call
