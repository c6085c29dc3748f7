"""Sizes inside of a function that is captured for all of them: integers to Python.

A TracedSize is a SymInt (gnomon/ir/sizes.py) as Python code sees it. Arithmetic gives another, a
comparison is answered for the size at hand and kept as a guard, and every other use takes the
number itself, for which the program then is: a key of a dictionary, an index, a text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

from gnomon.ir import sym_float
from gnomon.ir.node import Node, topological
from gnomon.ir.sizes import SymInt, is_symbolic
from gnomon.ir.sym_float import SymFloat
from gnomon.tensor.state import program_size, state
from gnomon.tensor.traced_numbers import TracedFace

__all__ = ["FloatOfSizes", "SizeLeft", "TracedSize", "python_sizes"]


class SizeLeft(TypeError):
    """Raised if a traced size is used where only plain numbers are allowed; the capture fails."""


class TracedSize(TracedFace):
    """A traced integer size; `_symint` is its symbolic form in the program."""

    __slots__ = ("__weakref__", "_symint", "settled")
    kind = int
    formula = None

    def __init__(self, symbol: SymInt) -> None:
        self._symint, self.settled = symbol, None

    @property
    def key(self) -> Any:
        """Raise SizeLeft: a node's key cannot contain a traced size."""
        self._symint.sizes.is_left = True
        raise SizeLeft(f"a node has {self._symint!r} as Python sees it")

    @property
    def is_over(self) -> bool:
        """Whether its capture is over, or belongs to another thread."""
        return self._symint.sizes.thread != get_ident()

    def pinned(self) -> Any:
        """The plain number, to which the capture becomes specialized."""
        return self._symint.value if self.is_over else self._symint.pinned()

    def late(self, function: Callable[[int], int]) -> Any:
        """The result of a function of this number, called when the number is known."""
        return function(self.value()) if self.is_over else shown_size(self._symint.late(function))

    def value(self) -> int:
        """The current value of the size."""
        return self._symint.value

    def __index__(self) -> int:
        return self.pinned()

    __hash__ = TracedFace.__hash__

    def __eq__(self, other: object) -> bool:
        if self.is_over:
            return self.value() == (other.value() if isinstance(other, TracedSize) else other)
        return self is other or bool(self._symint == program_size(other))

    def __bool__(self) -> bool:
        return self != 0

    def __copy__(self) -> TracedSize:
        return self

    def __deepcopy__(self, known: Any) -> TracedSize:
        return self

    __trunc__ = __floor__ = __ceil__ = __index__


class TracedCount(TracedSize):
    """The number of elements; called, the shape or the size of one axis."""

    __slots__ = ("shape",)

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[dim]


class FloatOfSizes(TracedSize):
    """A float computed from sizes: their quotient, or one of them with a float."""

    __slots__ = ()
    kind = float

    def __index__(self) -> int:
        raise TypeError("'float' object cannot be interpreted as an integer")

    def __eq__(self, other: object) -> bool:
        return self is other or self.pinned() == other

    __hash__ = TracedFace.__hash__

    def hex(self) -> Any:
        """The text of the number once its trace is over; before that, refuse as `key`."""
        return self.pinned().hex() if self.is_over else self.key

    def __trunc__(self) -> int:
        return int(self.pinned())

    def __floor__(self) -> int:
        return math.floor(self.pinned())

    def __ceil__(self) -> int:
        return math.ceil(self.pinned())


def computed(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A method that computes with symbolic forms."""

    def method(self: TracedSize, *others: Any) -> Any:
        if not all(isinstance(x, (int, float)) for x in others):
            return NotImplemented
        if self.is_over:
            return compute(self.pinned(), *others)
        numbers = [self._symint, *map(program_size, others)]
        if sym_float.gives_float(compute, *numbers):
            return shown_size(sym_float.computed(compute, *numbers))
        if SymFloat in map(type, numbers):
            return compute(*[x.pinned() if is_symbolic(x) else x for x in numbers])
        return shown_size(compute(*numbers))

    return method


UNARY = (operator.neg, operator.pos, operator.abs, operator.invert)
COMPARING = (operator.lt, operator.le, operator.gt, operator.ge)
BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.pow),
    *(operator.truediv, operator.and_, operator.or_, operator.xor, operator.lshift),
    operator.rshift,
)
for _compute in (*UNARY, *COMPARING, *BINARY):
    _name = _compute.__name__.strip("_")
    setattr(TracedSize, f"__{_name}__", computed(_compute))
    if _compute in BINARY:
        setattr(TracedSize, f"__r{_name}__", computed(sym_float.from_the_right(_compute)))
TracedSize.__divmod__ = lambda self, other: (self // other, self % other)  # type: ignore
TracedSize.__rdivmod__ = lambda self, other: (other // self, other % self)  # type: ignore


def shown_size(n: Any) -> Any:
    """A size as Python code sees it: the same object for the same size."""
    if not is_symbolic(n):
        return n
    found = n.sizes.shown.get(n)
    if found is None:
        found = n.sizes.shown[n] = (TracedSize if type(n) is SymInt else FloatOfSizes)(n)
        state.recorder.note_number(found)
    return found


def python_sizes(shape: Sequence[Any]) -> Sequence[Any]:
    """Sizes as Python code sees them."""
    return [*map(shown_size, shape)] if SymInt in map(type, shape) else shape


def refuse_values(node: Node) -> None:
    """Refuse to read a value that is computed from symbolic sizes."""
    for each in topological([node]):
        found = next((n for n in each.shape if type(n) is SymInt), None)
        if found is not None:
            found.sizes.is_left = True
            raise SizeLeft(f"a value of {found!r} elements is looked at")
