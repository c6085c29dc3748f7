"""Infer which numbers of a program vary over several shapes, and which follow from others.

A number that varied together with another in all graphs so far is assumed to follow from it: as the
same, a multiple, a sum, or a product. Users of a program compare all numbers of a graph with this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations, combinations_with_replacement
from math import isqrt
from typing import Any

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.dissected import Numbers
from gnomon.ir.show import log
from gnomon.ir.sizes import LEAST, MOST, ShapeEnv, SymInt
from gnomon.ir.specializations import Made
from gnomon.ir.sym_float import OF_FLOATS, FloatBits
from gnomon.ir.sym_number import Unsized

__all__ = ["Formulas", "Relations", "choosing", "first_that_serves", "unremarkable"]

StandIn = Callable[[int], int]
"""A function from a size at hand to the size for which a program is made."""

FEW = 16
"""Sizes below this get one small stand-in, since small sizes have their own kernels."""


class Relations:
    """Dimension inference: the numbers of a graph as functions of those at `places`.

    inputs: how many of the first numbers are sizes of inputs. leaves: the indices of leaf counts:
    canonical ones follow from sizes, others may not vary. renumbered: computes the canonical ones
    from sizes (gnomon/ir/dissected.py).
    """

    def __init__(
        self,
        samples: Sequence[Numbers],
        inputs: int,
        leaves: Collection[int],
        stand_in: StandIn,
        renumbered: Callable[..., Any] = lambda *_: None,
    ) -> None:
        self.sizes, self.numbers, self.places = ShapeEnv(), list[Any](), list[int]()
        self._bases: list[tuple[Numbers, SymInt]] = []
        made: dict[tuple[Numbers, str], Any] = {}
        columns = list(zip(*samples, strict=True))
        for k, column in enumerate(columns):
            self.numbers.append(column[0])
            is_float = isinstance(column[0], FloatBits)
            # the rest are numbers, and no sizes
            varies = len(set(column)) > 1 and (is_float or LEAST <= column[0] < MOST)
            if not varies or k in leaves:
                continue
            key = (column, "float" if is_float else "size")
            if key not in made:
                found = following(column, self._bases) if k >= inputs and not is_float else None
                made[key] = found or self._given(k, column, int if is_float else stand_in)
            self.numbers[k] = made[key]
        counts: list[Any] = []
        renumbered(iter(self.numbers), None, counts)
        counts = [0 if x is None else x for x in counts] or [0] * len(leaves)
        counts_of = self.sizes.function(counts)
        rows = zip(*[counts_of(tuple([x[k] for k in self.places])) for x in samples], strict=True)
        for k, count, canonical in zip(sorted(leaves), counts, rows, strict=True):
            if columns[k] == canonical:
                self.numbers[k] = count
            elif len(set(columns[k])) > 1:
                raise Unsized("its leaves follow from no sizes")
        self.given_by = choosing(self.sizes, self.numbers, self.places)
        """Function that picks the independent numbers of a graph; None if the others do not follow.
        """

    def _given(self, k: int, column: Numbers, stand_in: StandIn) -> SymInt:
        """Create a symbol for a number that follows from no other."""
        bounds = OF_FLOATS if isinstance(column[0], FloatBits) else (LEAST, MOST)
        size = self.sizes.symbol(stand_in(column[0]), bounds)
        self.places.append(k)
        if stand_in is not int:
            self._bases.append((column, size))
        return size


def choosing(
    env: ShapeEnv, numbers: Sequence[Any], places: Sequence[int]
) -> Callable[[Numbers], Numbers | None]:
    """A function from numbers of this structure to the values of the symbols at `places`.

    It returns None if a symbol is out of its bounds, or another number does not follow.
    """
    expected, bounds = env.function(numbers), [numbers[k].bounds for k in places]

    def choose(found: Numbers) -> Numbers | None:
        own = tuple([found[k] for k in places])
        if any([not low <= n < high for n, (low, high) in zip(own, bounds, strict=True)]):
            return None
        return own if expected(own) == found else None

    return choose


class Formulas:
    """The numbers of a graph captured on symbols, as exact functions of these."""

    def __init__(
        self,
        known: tuple[ShapeEnv, Numbers],
        own: Numbers,
        stand_in: StandIn,
    ) -> None:
        env, numbers = known
        self.sizes, self.places = ShapeEnv(), [*range(len(own))]
        symbols = [self.sizes.symbol(n) for n in distinct_hints([*map(stand_in, own)], stand_in)]
        self.numbers = [*env.formulas(numbers)(symbols)]

    def given_by(self, own: Numbers) -> Numbers:
        """The sizes as they are: the symbols are all that is given."""
        return own


def first_that_serves(
    make: Callable[[StandIn], Made], numbers: Numbers, what: str, level: int
) -> Made | None:
    """Make an artifact for stand-ins or else for the sizes themselves, which serves these numbers.

    None if neither can be made; the reason is logged.
    """
    for stand_in in (unremarkable, own_size):
        try:
            made = make(stand_in)
        except (Unsized, ShapeError, ArgumentError) as cause:  # or stand-ins fit not each other
            text = f"sizes: {what} keeps its sizes: {cause}"
            log(level, lambda text=text: text)
            continue
        if made.serves(numbers) is not None:
            return made
    return None


def own_size(size: int) -> int:
    """Return the size itself: the default stand-in, from which other sizes may follow."""
    return size


def unremarkable(size: int) -> int:
    """A stand-in for a size that equals no other number by chance: a prime.

    >>> unremarkable(4), unremarkable(40), unremarkable(1000)
    (13, 41, 1009)
    """
    return 13 if size < FEW else next_prime(max(size, 37))


def next_prime(least: int) -> int:
    """The least odd prime that is not smaller than `least`."""
    found = least | 1
    while any(found % k == 0 for k in range(3, isqrt(found) + 1, 2)):
        found += 2
    return found


def distinct_hints(sizes: Sequence[int], stand_in: StandIn) -> Sequence[int]:
    """Stand-ins made distinct; sizes that stand for themselves are returned unchanged.

    >>> distinct_hints([13, 41, 13, 41, 13], unremarkable)
    [13, 41, 11, 43, 14]
    """
    found: list[int] = []
    for size in sizes if stand_in is unremarkable else ():
        while size in found:
            size = SMALL[size] if size in SMALL else unremarkable(size + 1)
        found.append(size)
    return found or sizes


SMALL = {13: 11, 11: 14, 14: 15, 15: 17}
"""Stand-in below 16 -> the next one to take if it is taken."""


def following(column: Numbers, bases: Sequence[tuple[Numbers, SymInt]]) -> Any:
    """A varying number as a function of the symbols so far; None if it follows from none."""
    for values, size in (*bases, *products(bases), *sums(bases)):
        found = affine(column, values)
        if found is not None:
            return size * found[0] + found[1]
    return None


def products(bases: Sequence[tuple[Numbers, SymInt]]) -> Iterator[tuple[Numbers, Any]]:
    """Yield products of two symbols, with their values."""
    for (a, one), (b, other) in combinations_with_replacement(bases, 2):
        yield tuple([x * y for x, y in zip(a, b, strict=True)]), one * other


def sums(bases: Sequence[tuple[Numbers, SymInt]]) -> Iterator[tuple[Numbers, Any]]:
    """Yield sums of neighbouring symbols, with their values; two graphs are too few for these."""
    for first, last in combinations(range(len(bases)), 2):
        columns, sizes = zip(*bases[first : last + 1], strict=True)
        if len(set(columns[0])) > 2:
            yield tuple(map(sum, zip(*columns, strict=True))), sum(sizes)


def affine(column: Numbers, values: Numbers) -> tuple[int, int] | None:
    """The integer factor and summand that turn one column into another; None if there are none."""
    other = next((k for k, x in enumerate(values) if x != values[0]), 0)
    if not other:
        return None
    factor, rest = divmod(column[other] - column[0], values[other] - values[0])
    summand = column[0] - factor * values[0]
    fits = all(factor * x + summand == y for x, y in zip(values, column, strict=True))
    # two points are on some line, always
    is_sure = factor == 1 or not summand or len(set(values)) > 2
    return (factor, summand) if fits and not rest and factor > 0 and is_sure else None
