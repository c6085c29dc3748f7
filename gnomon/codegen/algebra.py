"""Straight-line arithmetic on opaque values: what vector math is written over.

A function written once over an Algebra runs as generated code (llvm_algebra.py) and as the exact
oracle of tests in numpy, with the same bits. A value is chosen by `select`; what few
arguments need is skipped where none does (`rarely`), and goes over a table of constants (`over`).
The functions themselves are in math.py and its neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""A float, an integer of the same width, or a mask; only its algebra knows how it is held."""


@dataclass(frozen=True)
class FloatFormat:
    """The bit layout of an IEEE type."""

    bits: int
    mantissa: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 · 2^mantissa: adding it leaves a rounded integer in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa

    @property
    def smallest(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)


LAYOUTS = {"float": FloatFormat(32, 23, 127), "double": FloatFormat(64, 52, 1023)}


class Algebra(ABC):
    """Arithmetic on one float type ("float" or "double") and on integers of its width.

    Every operation on floats rounds once, to nearest even, and keeps denormals.
    Comparisons with NaN are false. Integers wrap.
    """

    def __init__(self, scalar: str) -> None:
        self.scalar = scalar
        self.layout = LAYOUTS[scalar]

    # what an implementation says

    @abstractmethod
    def const(self, number: float) -> Value:
        """A number in every lane, rounded to the type."""

    @abstractmethod
    def int_const(self, number: int) -> Value:
        """An integer in every lane."""

    @abstractmethod
    def binary(self, name: str, x: Value, y: Value) -> Value:
        """A binary operation on floats; `name` is one of BINARY."""

    @abstractmethod
    def unary(self, name: str, x: Value) -> Value:
        """A unary operation on floats; `name` is one of UNARY."""

    @abstractmethod
    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x · y + z, rounded once."""

    @abstractmethod
    def compare(self, name: str, x: Value, y: Value) -> Value:
        """A mask; `name` is "less", "less_equal" or "equal"."""

    @abstractmethod
    def both(self, p: Value, q: Value) -> Value:
        """The mask of lanes that both masks have on."""

    @abstractmethod
    def either(self, p: Value, q: Value) -> Value:
        """The mask of lanes that at least one of two masks has on."""

    @abstractmethod
    def invert(self, p: Value) -> Value:
        """The mask of lanes that another has off."""

    @abstractmethod
    def select(self, mask: Value, yes: Value, no: Value) -> Value:
        """The lanes of float `yes` where the mask is on, else those of `no`."""

    @abstractmethod
    def bits(self, x: Value) -> Value:
        """The bits of a float as an integer."""

    @abstractmethod
    def from_bits(self, i: Value) -> Value:
        """The float that has these bits."""

    @abstractmethod
    def int_binary(self, name: str, i: Value, j: Value) -> Value:
        """A binary operation on integers; `name` is one of INT_BINARY."""

    @abstractmethod
    def int_compare(self, name: str, i: Value, j: Value) -> Value:
        """The mask of a comparison of signed integers; `name` is "less" or "equal"."""

    @property
    @abstractmethod
    def wide(self) -> Algebra:
        """The algebra of doubles beside this one of floats."""

    @abstractmethod
    def widen(self, x: Value) -> Value:
        """A float as a value of `wide`."""

    @abstractmethod
    def narrow(self, x: Value) -> Value:
        """A value of `wide`, rounded to float."""

    @abstractmethod
    def rarely(
        self, mask: Value, special: Callable[[], Sequence[Value]], usual: Sequence[Value]
    ) -> list[Value]:
        """The lanes of special() where the mask is on, else of `usual`; cheap if no lane is on."""

    @abstractmethod
    def over(
        self,
        rows: Sequence[Sequence[float]],
        state: Sequence[Value],
        body: Callable[..., Sequence[Value]],
    ) -> list[Value]:
        """The state of floats after body(row, *state) -> state for each row of constants."""

    # spelled by name

    def add(self, x: Value, y: Value) -> Value:
        """x + y."""
        return self.binary("add", x, y)

    def sub(self, x: Value, y: Value) -> Value:
        """x − y."""
        return self.binary("sub", x, y)

    def mul(self, x: Value, y: Value) -> Value:
        """x · y."""
        return self.binary("mul", x, y)

    def div(self, x: Value, y: Value) -> Value:
        """x / y."""
        return self.binary("div", x, y)

    def minimum(self, x: Value, y: Value) -> Value:
        """The smaller; NaN if either is, and −0 is below +0."""
        return self.binary("minimum", x, y)

    def maximum(self, x: Value, y: Value) -> Value:
        """The larger; NaN if either is, and −0 is below +0."""
        return self.binary("maximum", x, y)

    def copysign(self, x: Value, sign: Value) -> Value:
        """The magnitude of x with the sign bit of `sign`."""
        return self.binary("copysign", x, sign)

    def neg(self, x: Value) -> Value:
        """−x."""
        return self.unary("neg", x)

    def abs(self, x: Value) -> Value:
        """x without its sign bit."""
        return self.unary("abs", x)

    def sqrt(self, x: Value) -> Value:
        """The square root, correctly rounded."""
        return self.unary("sqrt", x)

    def floor(self, x: Value) -> Value:
        """The largest whole number that is no larger."""
        return self.unary("floor", x)

    def ceil(self, x: Value) -> Value:
        """The smallest whole number that is no smaller."""
        return self.unary("ceil", x)

    def trunc(self, x: Value) -> Value:
        """The whole part."""
        return self.unary("trunc", x)

    def round(self, x: Value) -> Value:
        """The nearest whole number; halves go to the even one."""
        return self.unary("round", x)

    def less(self, x: Value, y: Value) -> Value:
        """x < y."""
        return self.compare("less", x, y)

    def less_equal(self, x: Value, y: Value) -> Value:
        """x ≤ y."""
        return self.compare("less_equal", x, y)

    def equal(self, x: Value, y: Value) -> Value:
        """x = y."""
        return self.compare("equal", x, y)

    def int_add(self, i: Value, j: Value) -> Value:
        """i + j."""
        return self.int_binary("add", i, j)

    def int_sub(self, i: Value, j: Value) -> Value:
        """i − j."""
        return self.int_binary("sub", i, j)

    def int_and(self, i: Value, j: Value) -> Value:
        """Bits set in both."""
        return self.int_binary("and", i, j)

    def int_or(self, i: Value, j: Value) -> Value:
        """Bits set in either."""
        return self.int_binary("or", i, j)

    def shift_left(self, i: Value, places: int) -> Value:
        """i · 2^places."""
        return self.int_binary("shift_left", i, self.int_const(places))

    def shift_right(self, i: Value, places: int) -> Value:
        """i / 2^places, rounded down: the sign spreads."""
        return self.int_binary("shift_right", i, self.int_const(places))

    def shift_right_zero(self, i: Value, places: int) -> Value:
        """The bits moved down, zeros after them."""
        return self.int_binary("shift_right_zero", i, self.int_const(places))

    # made from the above

    def at_least(self, x: Value, low: float) -> Value:
        """x, or low where x is below it; NaN stays. One instruction on x86."""
        bound = self.const(low)
        return self.select(self.less(x, bound), bound, x)

    def at_most(self, x: Value, high: float) -> Value:
        """x, or high where x is above it; NaN stays. One instruction on x86."""
        bound = self.const(high)
        return self.select(self.less(bound, x), bound, x)

    def is_nan(self, x: Value) -> Value:
        """The mask of NaN in x."""
        return self.invert(self.equal(x, x))

    def is_negative(self, x: Value) -> Value:
        """The mask of set sign bits, −0 and NaN included."""
        return self.int_compare("less", self.bits(x), self.int_const(0))

    def scale(self, x: Value, number: float) -> Value:
        """x times a constant."""
        return self.mul(x, self.const(number))

    def shift(self, x: Value, number: float) -> Value:
        """x plus a constant."""
        return self.add(x, self.const(number))

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """c0 + c1·x + c2·x² + ..., from the highest down, one fma each."""
        *lower, total = (self.const(c) for c in coefficients)
        for coefficient in reversed(lower):
            total = self.fma(total, x, coefficient)
        return total


BINARY = ("add", "sub", "mul", "div", "minimum", "maximum", "copysign")
UNARY = ("neg", "abs", "sqrt", "floor", "ceil", "trunc", "round")
INT_BINARY = (
    "add",
    "sub",
    "mul",
    "and",
    "or",
    "xor",
    "shift_left",
    "shift_right",
    "shift_right_zero",
)
