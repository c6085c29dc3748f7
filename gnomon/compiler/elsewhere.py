"""Programs of captured functions on devices other than the processor.

A captured graph contains no device: if its inputs are in another memory, it is built for that
memory's backend alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gnomon.compiler.build import build
from gnomon.compiler.tiers import Tier
from gnomon.errors import DeviceError
from gnomon.ir.node import Graph
from gnomon.ir.provenance import user_site
from gnomon.program.executable import Executable, Pairs
from gnomon.runtime.buffer import Allocator, DeviceBuffer, is_placed, memory

__all__ = ["TiersElsewhere"]


class TiersElsewhere:
    """The programs of a captured graph on devices beside the processor, built on first use.

    rewritten: pairs of an output that replaces an input's value, and that input.
    """

    def __init__(self, graph: Callable[[], Graph], name: str, rewritten: Pairs = ()) -> None:
        self._graph, self._name, self._rewritten = graph, name, rewritten
        self._made: dict[str, Tier] = {}

    def tier(self, form: Graph, values: Sequence[DeviceBuffer]) -> Tier | None:
        """The program on the device of these values; None if that is the processor.

        Raises DeviceError if inputs are on several devices.
        """
        place = memory_of(form, self._name, values)
        if place is memory:
            return None
        found = self._made.get(place.device)
        if found is None:
            made = build(self._graph(), self._name, place=place.device)
            over = made.overwriting(self._rewritten)
            found = self._made[place.device] = Tier(0, made, over, partial(run_there, made, place))
        return found


def run_there(
    made: Executable, place: Allocator, inputs: Sequence[DeviceBuffer], over: Pairs = ()
) -> list[DeviceBuffer]:
    """Run a program in a memory; operands in the processor's memory are copied there."""
    return made.run([x if x.memory is place else x.copied(place) for x in inputs], over)


def memory_of(form: Graph, name: str, values: Sequence[DeviceBuffer]) -> Allocator:
    """The memory of a program's inputs; single numbers of the processor may be anywhere."""
    pairs = zip(values, form.inputs, strict=False)
    first = {x.memory: leaf for x, leaf in pairs if is_placed(x, leaf.rank)}
    if len(first) > 1:
        found = " and ".join(f"{leaf} on {place.device}" for place, leaf in first.items())
        raise DeviceError(
            f"{name or 'compile'}: expected all tensors to be on the same device: got {found}. "
            f"Move one with to().   [{user_site()}]"
        )
    return next(iter(first), memory)
