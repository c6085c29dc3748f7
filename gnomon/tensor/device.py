"""Devices: "cpu", "cuda" where there is a card, "meta", where tensors have no elements.

"reference" computes as tests do; others can be named alone.

A device is a block: new tensors are placed on it inside. placing.py does so. A tensor on "meta" is
a leaf of a shape and a dtype that never has a value. What reads it waits, as every operation does,
and is refused where its elements are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError, DeviceError, TraceError
from gnomon.ir.node import Node, Shape
from gnomon.ir.provenance import user_site
from gnomon.lazy import cuda_driver
from gnomon.runtime.buffer import Allocator, is_placed, memory, others
from gnomon.settings import Block
from gnomon.tensor.borrowing import numbered
from gnomon.tensor.state import state

NAMES = "cpu cuda hip hpu ipu lazy maia meta mkldnn mps mtia reference vulkan xla xpu"
KINDS = frozenset(NAMES.split())


class Device(Block):
    """A place for tensors; as a block, that of new ones.

    >>> Device("cpu").type, Device("cuda:1").index
    ('cpu', 1)
    """

    __slots__ = ("index", "type")

    def __init__(self, type: str | Device = "cpu", index: int | None = None) -> None:
        name, _, number = str(type).partition(":")
        if name not in KINDS or (number and not number.isdecimal()):
            raise ArgumentError(
                f"device: this machine computes on the CPU: got {str(type)!r}. "
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
        check_device(self, *MORE)
        before = _default.get()
        try:
            _default.set((kind_of(self), before))
        except BaseException:
            _default.set(before)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        before = None
        try:
            before = _default.get()
            _default.set(before[1])
        except BaseException:  # Ctrl-C: once more, from where it stood
            _default.set((before or _default.get())[1])
            raise


CPU, META, REFERENCE, CUDA = map(Device, ("cpu", "meta", "reference", "cuda"))
MORE = (META, REFERENCE, CUDA)
"""The devices beside the CPU on which tensors can be."""
_default: ContextVar[tuple[Device, Any]] = ContextVar("gnomon_device", default=(CPU, None))
"""The device of new tensors, and what was said of it around the block that set it."""


def default_device() -> Device:
    """The device of new tensors."""
    return _default.get()[0]


def settle_device(device: Device) -> None:
    """Set the device of new tensors permanently."""
    _default.set((device, _default.get()[1]))


def device_of(device: object) -> Device:
    """The device of a name."""
    return device if isinstance(device, Device) else Device(str(device))


def kind_of(device: object) -> Device:
    """The kind of a supported device, from any of its names."""
    if device is CPU:
        return CPU
    named = device_of(device)
    return next((each for each in MORE if named == each), CPU)


def card_named(device: object) -> Device:
    """The card that a program names by number, as a device, or by default."""
    if device is None or isinstance(device, int):
        return Device("cuda", device)
    return device_of(device)


def check_device(device: object, *more: Device) -> None:
    """Refuse a device that is neither the CPU nor supported by the operation."""
    if device is None or device is CPU:
        return
    named = device_of(device)
    if named == CUDA and CUDA in more and cuda_driver.has_card():
        refuse_other_card(named)
    elif named.type != CPU.type and (named not in more or named == CUDA):
        why = f" ({cuda_driver.reason()})" if named == CUDA else ""
        raise ArgumentError(
            f"device: this machine computes on the CPU: got {str(named)!r}{why}. Give 'cpu', or "
            "nothing."
        )


def refuse_other_card(named: Device) -> None:
    """Refuse a card that is not this process's: a process has one, that of its LOCAL_RANK."""
    number = cuda_driver.driver().card.number
    if named.index not in (None, number):
        raise DeviceError(
            f"device: invalid device ordinal: got 'cuda:{named.index}' in the process of cuda:"
            f"{number}. A process has one card; start a rank for each (gnomon launch)."
        )


# tensors without elements


_leaves: WeakSet[Node] = WeakSet()
"""The leaves of device "meta"."""
any_missing: list[bool] = []
"""Not empty once there was such a leaf, and never cleared again: every write asks, and the size of
a set of weak references is a call of Python."""


def missing_leaf(shape: Shape, dtype: DType) -> Node:
    """A new leaf without elements, on device "meta"."""
    node = state.arena.leaf(shape, dtype, None, None)
    _leaves.add(node)
    any_missing[:] = [True]
    state.failed.add(node)  # it is never computed with what waits
    return node


def is_missing(node: Node) -> bool:
    """Whether a node has no elements, or is computed from such nodes."""
    if node.value is not None or not any_missing:
        return False
    return any(x in _leaves for x in numbered((node,), lambda x: x.value is not None))


def refuse_missing(name: str, node: Node) -> None:
    """Refuse to read the elements of a node that has none."""
    if is_missing(node):
        raise TraceError(
            f"{name}: a tensor on the meta device has no elements: got one of shape "
            f"{tuple(node.shape)}. Use to_empty(device='cpu'), or load its values.   "
            f"[{user_site()}]"
        )


# memory of other devices


_behind: WeakKeyDictionary[Node, Allocator] = WeakKeyDictionary()
"""The memories of the values that inputs of captures stand for."""


def note_input(made: Node, node: Node) -> None:
    """Record the memory of the value that an input of a capture represents."""
    _behind[made] = memory_behind(node)


def memory_found(node: Node) -> Allocator | None:
    """The memory of a node's elements, present or future; None if it reads no values."""
    found = None
    for x in numbered((node,), lambda x: x.value is not None):
        place = _behind.get(x) if x.value is None else x.value.memory
        if place is not None and place is not memory:
            return place
        found = found or place
    return found


def memory_behind(node: Node) -> Allocator:
    """The memory of a node's elements: the host's if no other is read."""
    return (memory_found(node) or memory) if others else memory


def device_behind(node: Node) -> Device:
    """The device of a node's elements."""
    return META if is_missing(node) else kind_of(memory_behind(node).device) if others else CPU


def by_memory(nodes: Sequence[Node]) -> Sequence[list[Node]]:
    """Nodes grouped by the memory of their elements: a program runs on one device."""
    pairs = [(memory_behind(node), node) for node in nodes]
    return [[x for at, x in pairs if at is place] for place in dict(pairs)]


def meeting_place(leaves: Sequence[Node]) -> Allocator:
    """The memory of a program that reads leaves; the CPU's scalars are readable anywhere.

    Raises DeviceError where they are on several devices.
    """
    placed = [x for x in leaves if x.value is not None]
    first = {x.value.memory: x for x in placed if is_placed(x.value, x.rank)}
    if len(first) > 1:
        found = " and ".join(
            f"{x.dtype.name}{list(x.shape)} on {place.device} [{', '.join(map(str, x.sites))}]"
            for place, x in first.items()
        )
        raise DeviceError(
            f"evaluate: expected all tensors to be on the same device: got {found}. Move one with "
            f"to().   [{user_site()}]"
        )
    return next(iter(first), memory)


def refuse_elsewhere(name: str, node: Node) -> None:
    """Refuse to share the memory of a value that the host cannot access."""
    if (place := memory_behind(node)) is not memory:
        raise DeviceError(
            f"{name}: can't convert {place.device} device type tensor: the host has no part in its "
            f"memory. Use Tensor.cpu() to copy it first.   [{user_site()}]"
        )
