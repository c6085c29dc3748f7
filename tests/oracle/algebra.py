"""Vector arithmetic in numpy, bit for bit what the generated code computes: the bit oracle.

Made to be right rather than fast: numpy has no fma, so it is built here from error-free sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from gnomon.codegen.algebra import Algebra, Value

quiet = np.errstate(all="ignore")

FAR = 400
"""A factor 2^±400 apart, the smaller of two addends only says on which side the larger lies."""


def round_to_odd(total: np.ndarray, error: np.ndarray) -> np.ndarray:
    """The double beside total + error whose last bit is 1, unless total is exact.

    A later rounding to fewer bits then sees on which side of a tie the exact value lies.
    """
    pattern = total.view(np.int64)
    outward = (error > 0) == (total > 0)
    moved = np.where(outward, pattern + 1, pattern - 1)
    adjust = np.isfinite(error) & (error != 0) & (pattern & 1 == 0)
    return np.where(adjust, moved, pattern).view(np.float64)


def two_sum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x + y as its rounded value and the exact error."""
    total = x + y
    other = total - x
    return total, (x - (total - other)) + (y - other)


def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x as a sum of two doubles of 26 bits each."""
    folded = x * 134217729.0
    high = folded - (folded - x)
    return high, x - high


def two_product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x · y as its rounded value and the exact error, for factors of moderate size."""
    product = x * y
    (x1, x0), (y1, y0) = split(x), split(y)
    return product, ((x1 * y1 - product) + x1 * y0 + x0 * y1) + x0 * y0


def fma_float(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x · y + z in float32, rounded once: the product of two float32 is exact in float64."""
    total, error = two_sum(x.astype(np.float64) * y, z.astype(np.float64))
    return round_to_odd(total, error).astype(np.float32)


def fma_scaled(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x · y + z in float64 for finite nonzero values, wherever the result is normal."""
    (fx, ex), (fy, ey), (fz, ez) = np.frexp(x), np.frexp(y), np.frexp(z)
    exponent = ex + ey
    product, low = two_product(fx, fy)
    other = np.ldexp(fz, np.clip(ez - exponent, -FAR, FAR))
    high, middle = two_sum(other, low)
    high, rest = two_sum(product, high)
    result = high + round_to_odd(*two_sum(middle, rest))
    distance = np.clip(ez - exponent - FAR, 0, None)
    return np.where(distance > 0, z, np.ldexp(result, exponent))


def fma_one(x: float, y: float, z: float) -> float:
    """x · y + z rounded once, by fractions: where the result may be denormal."""
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    return float(exact) if exact else x * y + z


def fma_plain(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x · y + z where a value is zero or not finite, so that at most one step rounds."""
    product = x * y
    finite = np.isfinite(x) & np.isfinite(y)
    alone = finite & (x != 0) & (y != 0) & (z == 0)  # may round to a zero, which keeps its sign
    decided = finite & ~np.isfinite(z)  # whatever the product would overflow to
    return np.where(alone, product, np.where(decided, z, product + z))


def fma_double(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x · y + z in float64, rounded once."""
    x, y, z = np.broadcast_arrays(x, y, z)
    ordinary = np.all([np.isfinite(v) & (v != 0) for v in (x, y, z)], axis=0)
    result = np.where(
        ordinary,
        fma_scaled(*(np.where(ordinary, v, 1.0) for v in (x, y, z))),
        fma_plain(x, y, z),
    )
    low = ordinary & (np.abs(result) < 2.0**-1000)
    result[low] = [fma_one(*map(float, each)) for each in zip(x[low], y[low], z[low], strict=True)]
    return result


def smaller(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """minimum with −0 below +0."""
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x), x, y), np.minimum(x, y))


def larger(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """maximum with −0 below +0."""
    return np.where((x == 0) & (y == 0), np.where(np.signbit(x), y, x), np.maximum(x, y))


BINARY: dict[str, Callable] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "minimum": smaller,
    "maximum": larger,
    "copysign": np.copysign,
}
UNARY: dict[str, Callable] = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
INT_BINARY: dict[str, Callable] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
COMPARE: dict[str, Callable] = {
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
}


class ExactAlgebra(Algebra):
    """Values are numpy arrays of float32 or float64, int32 or int64, and bool."""

    def __init__(self, scalar: str) -> None:
        super().__init__(scalar)
        self.dtype = np.dtype(f"f{self.layout.bits // 8}")
        self.integer = np.dtype(f"i{self.layout.bits // 8}")
        self.unsigned = np.dtype(f"u{self.layout.bits // 8}")

    @quiet
    def const(self, number: float) -> Value:
        """An array of rank 0."""
        return np.array(number, self.dtype)

    def int_const(self, number: int) -> Value:
        """An array of rank 0."""
        return np.array(number, self.integer)

    @quiet
    def binary(self, name: str, x: Value, y: Value) -> Value:
        """Numpy's own, but for zeros in minimum and maximum."""
        return np.asarray(BINARY[name](x, y))

    @quiet
    def unary(self, name: str, x: Value) -> Value:
        """Numpy's own."""
        return np.asarray(UNARY[name](x))

    @quiet
    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x · y + z, rounded once."""
        return (fma_float if self.scalar == "float" else fma_double)(x, y, z)

    @quiet
    def compare(self, name: str, x: Value, y: Value) -> Value:
        """An ordered comparison."""
        return np.asarray(COMPARE[name](x, y))

    def both(self, p: Value, q: Value) -> Value:
        """Masks: p and q."""
        return p & q

    def either(self, p: Value, q: Value) -> Value:
        """Masks: p or q."""
        return p | q

    def invert(self, p: Value) -> Value:
        """Masks: not p."""
        return ~p

    def select(self, mask: Value, yes: Value, no: Value) -> Value:
        """Floats: yes where the mask is on, else no."""
        return np.where(mask, yes, no)

    def bits(self, x: Value) -> Value:
        """The bits of a float as an integer."""
        return np.asarray(x).view(self.integer)

    def from_bits(self, i: Value) -> Value:
        """The float that has these bits."""
        return np.asarray(i).view(self.dtype)

    @quiet
    def int_binary(self, name: str, i: Value, j: Value) -> Value:
        """Numpy's own, which wrap."""
        if name == "shift_right_zero":
            moved = np.right_shift(i.view(self.unsigned), j.astype(self.unsigned))
            return np.asarray(moved).view(self.integer)
        return np.asarray(INT_BINARY[name](i, j))

    def int_compare(self, name: str, i: Value, j: Value) -> Value:
        """A signed comparison."""
        return np.asarray(COMPARE[name](i, j))

    @property
    def wide(self) -> ExactAlgebra:
        """The algebra of float64."""
        return ExactAlgebra("double")

    @quiet
    def widen(self, x: Value) -> Value:
        """float32 as float64."""
        return x.astype(np.float64)

    @quiet
    def narrow(self, x: Value) -> Value:
        """float64 rounded to float32."""
        return x.astype(np.float32)

    def rarely(
        self, mask: Value, special: Callable[[], Sequence[Value]], usual: Sequence[Value]
    ) -> list[Value]:
        """Both, and a choice."""
        if not mask.any():
            return list(usual)
        return [self.select(mask, *pair) for pair in zip(special(), usual, strict=True)]

    def over(
        self,
        rows: Sequence[Sequence[float]],
        state: Sequence[Value],
        body: Callable[..., Sequence[Value]],
    ) -> list[Value]:
        """A loop."""
        for row in rows:
            state = body([self.const(number) for number in row], *state)
        return list(state)
