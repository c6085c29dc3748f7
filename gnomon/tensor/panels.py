"""Weights as products read them: packed beside the weight, until something writes to the weight.

What is kept belongs to a storage, so programs of several shapes share it, and goes with it. It is
right for one version of one buffer; memory that others can write to is packed for every run.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, ref

from gnomon.runtime.buffer import Buffer, memory
from gnomon.tensor.capture import Capture
from gnomon.tensor.state import Storage
from gnomon.tensor.tensor import Tensor

if TYPE_CHECKING:
    from gnomon.executable import Executable, Pairs
    from gnomon.ir.node import Node
    from gnomon.tiers import Tier

__all__ = ["lasting_inputs", "run"]

SHARE = 8
"""One part in so many of the memory is spent on panels at most."""

_shelves: WeakKeyDictionary[Storage, dict[Hashable, tuple[object, Buffer]]] = WeakKeyDictionary()


def lasting_inputs(capture: Capture, used: Sequence[Node]) -> tuple[int, ...]:
    """The inputs that stay from run to run: read from outside, never written by the program.

    Where gradients are taken, weights are about to change.
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


def state_of(tensor: Tensor, value: Buffer) -> object | None:
    """What changes with a weight's value; None where nobody would notice a change."""
    if tensor._view is not None or value.lent:
        return None
    return tensor._storage.version, ref(value)


def run(
    made: Executable | Tier, inputs: Sequence[Tensor], values: Sequence[Buffer], over: Pairs
) -> list[Buffer]:
    """Run a program on the values of inputs, with the panels that are there; keep those it packs.

    They are kept afterwards, since a run may fail.
    """
    rooms: list[tuple[Buffer, bool]] = []
    packed = []
    for each in made.kept:
        tensor = inputs[each.given]
        shelf, key = _shelves.setdefault(tensor._storage, {}), (each.symbol, each.numbers)
        state, found = state_of(tensor, values[each.given]), shelf.get(key)
        if found is not None and found[0] == state:
            rooms.append((found[1], False))
            continue
        # old panels make room for new ones
        found = None
        shelf.pop(key, None)
        rooms.append((Buffer(each.nbytes), True))
        if state is not None:
            packed.append((shelf, key, (state, rooms[-1][0])))
    buffers = made.run(values, over, rooms)
    for shelf, key, kept in packed:
        shelf[key] = kept
    return buffers
