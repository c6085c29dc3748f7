"""Numbers of Python's that vary from call to call, inside a function that is captured.

Such a number is an input of the program: arithmetic with tensors and other numbers is recorded, a
comparison asks for its answer, and every other use needs the value itself. Outside of captures
there are none: the same structure gives plain numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from operator import abs  # a user's program may replace the builtin
from threading import get_ident
from typing import Any

import numpy as np

from gnomon.dtypes import float64, int64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.tensor.state import is_capturing, state
from gnomon.tensor.tensor import Tensor, detached, from_array, raw, wrap

__all__ = [
    "StandInRefused",
    "TracedFace",
    "TracedFloat",
    "TracedInt",
    "TracedNumber",
    "alive",
    "beside",
    "kind_of_number",
    "number_of",
    "tensor_of",
    "varies",
]

EXACT = 1 << 53
"""Integers up to here are floats too."""
LARGEST = 1 << 62
"""Integers up to here are added in 64 bits."""
SMALL = 1 << 31
"""Integers below are passed in as inputs."""


class StandInRefused(TypeError):
    """Raised where a placeholder cannot replace a number; the number becomes a constant."""


class TracedFace:
    """A traced number as captured code sees it: each use by C code reads `pinned`."""

    __slots__ = ()
    kind: type[Any]
    """The class that it is taken for."""

    @property
    def __class__(self) -> type[Any]:
        return self.kind

    @__class__.setter
    def __class__(self, kind: type[Any]) -> None:
        raise TypeError(f"a {self.kind.__name__} keeps its class")

    def pinned(self) -> Any:
        """The number itself: the program gets a guard on it, or reads it at run time."""
        raise NotImplementedError

    def __int__(self) -> int:
        return int(self.pinned())

    def __float__(self) -> float:
        return float(self.pinned())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.pinned(), digits)

    def __repr__(self) -> str:
        return repr(self.pinned())

    def __format__(self, spec: str) -> str:
        return format(self.pinned(), spec)

    def __hash__(self) -> int:
        return hash(self.pinned())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The number as numpy's."""
        return np.asarray(self.pinned(), dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.pinned().__reduce_ex__(protocol)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self.kind, name):
            raise AttributeError(f"{self.kind.__name__!r} object has no attribute {name!r}")
        return getattr(self.pinned(), name)


class TracedNumber(TracedFace):
    """A traced number; `parts` has the tensor that represents it."""

    __slots__ = ("__weakref__", "bound", "formula", "origins", "settled", "tensor", "thread")
    __array_priority__ = 1000
    __array_ufunc__ = None
    kind = float

    tensor: Tensor
    origins: tuple[Tensor, ...]
    """The arguments that it was computed of."""
    bound: int
    """An upper bound of an integer's absolute value; 0 if unknown."""

    settled: Any
    """Its value, once the capture is over in which it varies; None before."""
    formula: Callable[[], Any] | None
    """Gives what it is now from numbers that stand somewhere in Python; None where it needs more.
    """
    thread: int
    """The capturing thread; in others it is the plain number."""

    def __new__(cls, parts: Sequence[Tensor]) -> Any:
        """A new traced number, or the plain number outside of captures."""
        (tensor,) = parts
        return tensor.item() if not is_capturing() else traced_number(cls, tensor, (tensor,), SMALL)

    def value(self) -> Any:
        """The number itself: an argument used so is a constant from the next call on."""
        return self.now() if self.is_settled else state.recorder.pin(self)

    pinned = value

    @property
    def is_settled(self) -> bool:
        """Whether it is a plain number here: its capture is over, or another thread's."""
        return self.settled is not None or self.thread != get_ident()

    def now(self) -> Any:
        """The number itself, without a guard."""
        if self.settled is not None:
            return self.settled
        if self.formula is None:
            raise StandInRefused("a number that is computed in a capture is read by another thread")
        return self.formula()

    def __bool__(self) -> bool:
        return self._answer(self.tensor)

    def _answer(self, tensor: Tensor) -> bool:
        """Whether a tensor is true for the values of this call."""
        return bool(self.now()) if self.is_settled else state.recorder.decide(self, tensor)


class TracedFloat(TracedNumber):
    """A traced float."""

    __slots__ = ()


class TracedInt(TracedNumber):
    """A traced integer."""

    __slots__ = ()
    kind = int

    def __index__(self) -> int:
        return int(self.value())


def traced_number(
    kind: Any,
    tensor: Tensor,
    origins: tuple[Tensor, ...],
    bound: int = 0,
    formula: Callable[[], Any] | None = None,
) -> Any:
    """A traced number that represents a tensor."""
    number = object.__new__(kind)
    number.tensor, number.origins, number.bound, number.settled = tensor, origins, bound, None
    number.formula, number.thread = formula, get_ident()
    state.recorder.note_number(number)
    return number


def alive(capture: Any) -> list[TracedNumber]:
    """The traced numbers of a capture that are still referenced."""
    found = [reference() for reference in capture.traced_numbers]
    return [number for number in found if number is not None]


def number_of(node: Node) -> Any:
    """The Python number of a tensor of one element; None for a boolean."""
    if node.dtype.kind == "bool":
        return None
    is_float = node.dtype.is_floating_point
    shaped = node if not node.shape else node.arena.node("reshape", (node,), shape=())
    tensor = wrap(detached(cast(shaped, float64 if is_float else int64)))
    bound = 0 if is_float or node.dtype.bits > 32 else SMALL * 2
    return traced_number(TracedFloat if is_float else TracedInt, tensor, (), bound)


def kind_of_number(value: Any) -> type | None:
    """The class of a plain number that may vary: any float, and small integers."""
    if type(value) is float:
        return TracedFloat
    return TracedInt if type(value) is int and abs(value) < SMALL else None


def tensor_of(value: float) -> Tensor:
    """A plain number as a tensor."""
    return from_array(np.asarray(value, np.float64 if type(value) is float else np.int64))


def beside(number: TracedNumber, node: Node) -> Any:
    """A traced number as an operand beside a node: in the node's dtype if promotion says so."""
    if number.is_settled:
        return number.now()
    mine = raw(number.tensor)
    if node.dtype.is_floating_point or (node.dtype is int64 and mine.dtype is int64):
        return cast(mine, node.dtype)
    return number.value()


# arithmetic of Python's numbers

ARITHMETIC = ("__add__", "__sub__", "__mul__", "__truediv__")
COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")
OTHERS = (
    *("__floordiv__", "__mod__", "__pow__", "__divmod__", "__and__", "__or__", "__xor__"),
    *("__lshift__", "__rshift__"),
)
UNARY = ("__neg__", "__pos__", "__abs__", "__invert__", "__trunc__", "__floor__", "__ceil__")
DIVISIONS = ("__floordiv__", "__mod__")
EXACT_UNARY = ("__neg__", "__pos__", "__abs__")
NOT_OPERATORS = {
    "__divmod__": divmod,
    "__pow__": pow,
    "__trunc__": math.trunc,
    "__floor__": math.floor,
    "__ceil__": math.ceil,
}
"""Python's own functions of what the module of operators has not, or with other arguments."""


def varies(value: Any) -> bool:
    """Whether a number is a traced one."""
    return type(value) in (TracedFloat, TracedInt)


def plain_of(value: Any) -> Any:
    """The current value of a traced number; others unchanged."""
    return value.value() if varies(value) else value


def as_float(value: Any) -> Any:
    """A number as a float, exactly; None if that is not certain."""
    if type(value) in (float, TracedFloat):
        return value.tensor if varies(value) else value
    bound = value.bound if varies(value) else abs(value)
    if varies(value):
        return value.tensor.to(float64) if 0 < bound <= EXACT else None
    return float(value) if bound <= EXACT else None


def as_integer(value: Any) -> Any:
    """An integer as 64 bits."""
    return value.tensor if varies(value) else value


def recorded(name: str, left: Any, right: Any) -> Any:
    """A function of two numbers as a tensor with bounds; None if it needs their values."""
    function = getattr(operator, name)
    kinds = {type(left), type(right)}
    if not kinds <= {int, float, TracedInt, TracedFloat}:
        return None
    if any(varies(x) and x.is_settled for x in (left, right)):
        return None
    if kinds & {float, TracedFloat} or name == "__truediv__":
        if name == "__truediv__" and not right:
            return None
        parts = as_float(left), as_float(right)
        return None if parts[0] is None or parts[1] is None else (function(*parts), 0)
    bounds = [x.bound if varies(x) else abs(x) for x in (left, right)]
    if name in COMPARISONS:
        within = max(bounds) <= LARGEST
    else:
        bounds = [max(1, bounds[0] * bounds[1] if name == "__mul__" else sum(bounds))]
        within = all(x.bound for x in (left, right) if varies(x)) and bounds[0] <= LARGEST
    return (function(as_integer(left), as_integer(right)), bounds[0]) if within else None


def formula_of(python: Callable, left: Any, right: Any) -> Callable[[], Any] | None:
    """A function that recomputes a function of two numbers from their present values."""
    first, second = (x.formula if varies(x) else lambda x=x: x for x in (left, right))
    return None if first is None or second is None else lambda: python(first(), second())


def divide_traced(formula: Callable[[], Any] | None, left: Any, right: Any) -> Any:
    """A rounded quotient, or a remainder, by a constant, as a separate input."""
    known = formula is not None and type(left) is TracedInt and type(right) is int
    if not known or not 0 < right < SMALL or not left.bound or left.is_settled:
        return None
    return state.recorder.number_input(formula, int64), left.bound + right


def binary(name: str, swapped: bool, python: Callable) -> Callable:
    """A binary operator with a traced number on one side."""

    def method(self: TracedNumber, other: Any, *more: Any) -> Any:
        if isinstance(other, Tensor):
            return NotImplemented
        left, right = (other, self) if swapped else (self, other)
        formula = formula_of(python, left, right)
        if name in (*ARITHMETIC, *COMPARISONS):
            found = recorded(name, left, right)
        else:
            found = divide_traced(formula, left, right) if name in DIVISIONS else None
        if found is None:
            return python(plain_of(left), plain_of(right), *more)
        tensor, bound = found
        origins = (*self.origins, *(other.origins if varies(other) else ()))
        if name in COMPARISONS:
            return traced_number(TracedFloat, tensor, origins, 0, formula)._answer(tensor)
        is_float = tensor.dtype is float64
        return traced_number(
            TracedFloat if is_float else TracedInt, tensor, origins, bound, formula
        )

    return method


def unary(name: str, python: Callable) -> Callable:
    """A unary operator of traced numbers."""

    def method(self: TracedNumber) -> Any:
        if (
            name in EXACT_UNARY
            and not self.is_settled
            and (self.bound or type(self) is TracedFloat)
        ):
            before = self.formula
            formula = None if before is None else lambda: python(before())
            return traced_number(type(self), python(self.tensor), self.origins, self.bound, formula)
        return python(self.value())

    return method


def python_of(slot: str) -> Callable:
    """Python's function of an operator."""
    return NOT_OPERATORS.get(slot) or getattr(operator, slot)


def install() -> None:
    """Define Python's operators on traced numbers."""
    for slot in (*ARITHMETIC, *OTHERS):
        setattr(TracedNumber, slot, binary(slot, False, python_of(slot)))
        setattr(TracedNumber, f"__r{slot[2:]}", binary(slot, True, python_of(slot)))
    for slot in COMPARISONS:
        setattr(TracedNumber, slot, binary(slot, False, python_of(slot)))
    for slot in UNARY:
        setattr(TracedNumber, slot, unary(slot, python_of(slot)))


install()
