"""Programs of captured functions on another device than the one that they were compiled for.

A capture is a graph, which no device is a part of: where its inputs are in another memory, the same
graph is built for that memory's backend.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.compiler.build import build
from gnomon.errors import DeviceError
from gnomon.ir.provenance import user_site
from gnomon.program.executable import Executable, Pairs
from gnomon.runtime.buffer import Allocator, DeviceBuffer, memory

__all__ = ["run_elsewhere"]


def run_elsewhere(
    made: Executable, inputs: Sequence[DeviceBuffer], over: Pairs = ()
) -> list[DeviceBuffer]:
    """Run a program of the processor's on inputs in another memory; numbers are copied there.

    Raises DeviceError where inputs are on several devices.
    """
    graph, place = made.source, memory_of(made, inputs)
    built = build(graph, made.name, place=place.device)
    found = built.run([x if x.memory is place else x.copied(place) for x in inputs])
    for output, given in over:
        place.write(inputs[given], found[output].numpy())
        found[output] = inputs[given]
    return found


def memory_of(made: Executable, inputs: Sequence[DeviceBuffer]) -> Allocator:
    """The memory that a program's inputs are in; a number of the processor's is read anywhere."""
    pairs = zip(inputs, made.source.inputs, strict=False)
    first = {x.memory: leaf for x, leaf in pairs if leaf.rank or x.memory is not memory}
    if len(first) > 1:
        told = " and ".join(f"{leaf} on {place.device}" for place, leaf in first.items())
        raise DeviceError(
            f"{made.name or 'compile'}: expected all tensors to be on the same device: got {told}. "
            f"Move one with to().   [{user_site()}]"
        )
    return next(iter(first))
