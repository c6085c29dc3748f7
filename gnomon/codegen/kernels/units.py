"""Values of an operand as units of a panel: widened, or two steps side by side (steps.py).

What a packer does to values on their way; where they come from and go to is packing.py's part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen.emitter import BITS, Emitter, splat, vector
from gnomon.codegen.kernels.steps import memory_of, sums_of


@dataclass(frozen=True)
class Source:
    """An operand's contents: dtype in memory, and the number of steps that make a unit.

    `padding`: the bits of what fills up a unit of two steps at the end of an odd number of steps.
    """

    scalar: str
    together: int = 1
    padding: int = 0

    @property
    def memory(self) -> str:
        """The LLVM scalar that is loaded."""
        return memory_of(self.scalar)

    @property
    def most(self) -> int:
        """The most steps that a unit holds on any processor."""
        return 2 if self.scalar in ("bfloat", "i8", "u8") else 1

    @property
    def unit(self) -> str:
        """The LLVM scalar of a unit."""
        return sums_of(self.scalar)

    @property
    def item(self) -> int:
        """Bytes of one value."""
        return BITS[self.memory] // 8


def widened(e: Emitter, source: Source, value: str, lanes: int) -> str:
    """Loaded values converted to the type of units."""
    pairs = source.together == 2
    loaded, wide = vector(source.memory, lanes), vector("i32", lanes)
    if source.scalar in ("i8", "u8"):
        extend = "sext" if source.scalar == "i8" else "zext"
        return e.value(f"{extend} {loaded} {value} to {vector('i16', lanes) if pairs else wide}")
    if source.scalar == "bfloat" and not pairs:
        wide_value = e.value(f"zext {loaded} {value} to {wide}")
        bits = e.value(f"shl {wide} {wide_value}, {splat(16, 'i32', lanes)}")
        return e.value(f"bitcast {wide} {bits} to {vector('float', lanes)}")
    if source.scalar == "half":
        halves = e.value(f"bitcast {loaded} {value} to {vector('half', lanes)}")
        return e.value(f"fpext {vector('half', lanes)} {halves} to {vector('float', lanes)}")
    return value


def units_along(e: Emitter, source: Source, value: str, lanes: int) -> str:
    """Units from neighbouring steps of one row, as they were loaded."""
    value = widened(e, source, value, lanes * source.together)
    if source.together == 1:
        return value
    return e.value(f"bitcast {vector('i16', 2 * lanes)} {value} to {vector(source.unit, lanes)}")


def units_across(e: Emitter, source: Source, steps: Sequence[str], lanes: int) -> str:
    """Units from one vector of rows for each of the unit's steps."""
    values = [widened(e, source, value, lanes) for value in steps]
    if len(values) == 1:
        return values[0]
    order = [k + lanes * second for k in range(lanes) for second in (0, 1)]
    mixed_values = e.shuffle(*values, order, "i16", lanes)
    return e.value(
        f"bitcast {vector('i16', 2 * lanes)} {mixed_values} to {vector(source.unit, lanes)}"
    )
