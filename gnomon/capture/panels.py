"""Weights as products read them: packed beside the weight, until something writes to the weight.

What is kept belongs to a storage, so programs of several shapes share it, and goes with it. It is
right for one version of one buffer; memory that others can write to is packed for every run.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from operator import attrgetter, call, is_
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from gnomon.capture.tracing import Capture
from gnomon.ir.memo import memo
from gnomon.runtime.buffer import DeviceBuffer, memory
from gnomon.tensor.state import Storage
from gnomon.tensor.tensor import Tensor

if TYPE_CHECKING:
    from gnomon.compiler.tiers import Tier
    from gnomon.ir.node import Node
    from gnomon.program.executable import Executable, Pairs, Panels

__all__ = ["lasting_inputs", "run"]

SHARE = 8
"""One part in so many of the memory is spent on panels at most."""

_latest: WeakKeyDictionary[Executable | Tier, Latest] = memo(WeakKeyDictionary())
_shelves: WeakKeyDictionary[Storage, dict[Hashable, tuple[object, DeviceBuffer]]] = memo(
    WeakKeyDictionary()
)


def lasting_inputs(capture: Capture, used: Sequence[Node]) -> tuple[int, ...]:
    """The inputs that outlive runs: read from outside, never written by the program.

    None after a backward pass, since weights are then about to change, or if they fill the memory.
    """
    written = set(capture.written())
    homes = {
        node: storage
        for storage, node in capture.first.items()
        if storage not in capture.reads and storage not in written
    }
    found = [k for k, node in enumerate(used) if node in homes and node.rank > 1]
    size = sum(used[k].size * used[k].dtype.itemsize for k in found)
    return tuple(found) if SHARE * size <= memory.limit and not capture.went_back else ()


def state_of(tensor: Tensor, value: DeviceBuffer) -> object | None:
    """A token that changes when a weight is written; None if writes to it cannot be noticed."""
    if tensor._view is not None or value.lent:
        return None
    return tensor._storage.version, ref(value)


version_there, value_there, lent_there, view_there, given_there = map(
    attrgetter, ("_storage.version", "_storage.node.value", "lent", "_view", "given")
)


class Latest:
    """The weights of a program's latest run with their prepacked panels."""

    def __init__(self, tensors: Sequence[Tensor], values: Iterable[DeviceBuffer]) -> None:
        self.versions = list(map(version_there, tensors))
        self.values = list(map(ref, values))  # another thread's tensors have none of their own yet
        self.panels: list[ref[DeviceBuffer]] = []

    def places(self, tensors: Sequence[Tensor]) -> Panels | None:
        """The panels of the latest run, if none of its weights has changed since; else None."""
        values = list(map(value_there, tensors))
        if (
            not all(values)
            or list(map(version_there, tensors)) != self.versions
            or not all(map(is_, values, map(call, self.values)))
            or any(map(lent_there, values))
            or any(map(view_there, tensors))
        ):
            return None
        found = list(map(call, self.panels))
        return (found, [False] * len(found)) if found and all(found) else None


def run(
    made: Executable | Tier, inputs: Sequence[Tensor], values: Sequence[DeviceBuffer], over: Pairs
) -> list[DeviceBuffer]:
    """Run a program with the prepacked panels that are valid, and store those that it packs.

    They are stored after the run, since it may fail.
    """
    tensors, held = list(map(inputs.__getitem__, map(given_there, made.kept))), _latest.get(made)
    found = held.places(tensors) if held is not None else None
    if found is not None:
        return made.run(values, over, found)
    _latest[made] = Latest(tensors, [values[each.given] for each in made.kept])
    places, stale, packed = [], [], []
    for each in made.kept:
        tensor = inputs[each.given]
        shelf, key = _shelves.setdefault(tensor._storage, {}), (each.symbol, each.numbers)
        state, found = state_of(tensor, values[each.given]), shelf.get(key)
        if found is not None and found[0] == state:
            places.append(found[1])
            stale.append(False)
            continue
        # old panels make way for new ones
        found = None
        shelf.pop(key, None)
        places.append(DeviceBuffer(each.nbytes))
        stale.append(True)
        if state is not None:
            packed.append((shelf, key, (state, places[-1])))
    buffers = made.run(values, over, (places, stale))
    for shelf, key, kept in packed:
        shelf[key] = kept
    _latest[made].panels = list(map(ref, places))
    return buffers
