"""Symbolic sizes: integers of a program that are known only as polynomials until it runs.

Passes compute with a `SymInt` as with any integer, and get another one. Decisions by one (a
comparison, a truth value, an index, a text) are made for the current sizes and recorded as guards
of the program, which then serves all sizes for which every decision has the same outcome. A SymInt
is no C int, so that no code can read it unnoticed. Decisions that only affect speed use `hint`,
unguarded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from itertools import count
from math import prod
from typing import Any

from gnomon.ir.polynomials import Monomial, Terms, divide_monomial, long_division
from gnomon.ir.sym_float import SymFloat, real
from gnomon.ir.sym_number import Operator, SymNumber

__all__ = ["ShapeEnv", "SymInt", "divides", "hint", "is_symbolic", "late"]

Bounds = tuple[int, int]

LEAST, MOST = 2, 1 << 31
"""The bounds of an input's size: sizes 0 and 1 have programs of their own."""
FAR = 1 << 200

_traces = count()

COMPARISONS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


class Atom:
    """An atom of polynomials: an input's size, a quotient, or the result of a late function."""

    __slots__ = ("bounds", "parts", "text", "value")

    def __init__(self, text: str, value: int, bounds: Bounds, parts: Sequence[Any]) -> None:
        self.text, self.value, self.bounds, self.parts = text, value, bounds, parts


class ShapeEnv:
    """The symbolic sizes of one program, numbers computed from them, and guards."""

    def __init__(self) -> None:
        self.serial = next(_traces)
        self.atoms: list[Atom] = []
        self.symbols = 0
        self.functions: list[Callable[..., int]] = []
        """Functions that are called once sizes are known."""
        self.thread = 0
        """Identifier of the thread in which Python code sees symbolic sizes during a capture."""
        self.is_left = False
        """Whether a size as Python code sees it got where only the library's own may be."""
        self.shown: dict[SymInt, Any] = {}
        """Size -> the object that Python code sees for it."""
        self.guards: dict[str, bool] = {}
        """Text of each comparison that was decided -> its outcome."""
        self._decided: list[SymInt] = []
        self._places: dict[str, int] = {}
        self._made: dict[tuple[tuple[Monomial, int], ...], SymInt] = {}

    def symbol(self, value: int, bounds: Bounds = (LEAST, MOST)) -> SymInt:
        """Create a symbol for the next number that the program is given."""
        self.symbols += 1
        return self._atom(f"s[{self.symbols - 1}]", value, bounds)

    def function(self, numbers: Sequence[Any]) -> Callable[[Sequence[int]], tuple[int, ...]]:
        """A function from the values of the symbols to these numbers."""
        return self._compiled(numbers, f"({''.join(text_of(x) + ', ' for x in numbers)})")

    def value(self, given: Sequence[int], number: Any) -> Any:
        """Evaluate one number for given values of the symbols."""
        return self.function([number])(given)[0]

    def formulas(self, numbers: Sequence[Any]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
        """Like `function`, but evaluated on symbols of another program."""
        text = f"({''.join(text_of(x) + ', ' for x in numbers)})"
        return self._compiled(numbers, text, [partial(late, f) for f in self.functions])

    def test(self) -> Callable[[Sequence[int]], bool]:
        """The guards as one function: whether every recorded comparison has the same outcome."""
        parts = [text if outcome else f"not {text}" for text, outcome in self.guards.items()]
        decided = self._compiled(self._decided, " and ".join(parts) or "True")

        def holds(given: Sequence[int]) -> bool:
            try:
                return decided(given)
            except ZeroDivisionError:  # that no divisor is 0 was decided too
                return False

        return holds

    def _compiled(
        self, numbers: Sequence[Any], text: str, called: Sequence[Callable[..., Any]] | None = None
    ) -> Callable[[Sequence[Any]], Any]:
        """Compile a function of the sizes `s`, with all atoms on which the numbers depend."""
        waiting, needed = list(numbers), set[int]()
        while waiting:
            x = waiting.pop()
            x = x.bits if type(x) is SymFloat else x
            assert type(x) is not SymInt or x.sizes is self, f"sizes: {x!r} is another program's"
            new = {k for m, _ in x.terms for k in m} - needed if type(x) is SymInt else set[int]()
            needed |= new
            waiting += [part for k in new for part in self.atoms[k].parts]
        lines = [f"  a{k} = {self.atoms[k].text}" for k in sorted(needed)]
        source = "\n".join(["def computed(s):", *lines, f"  return {text}"])
        made: dict[str, Any] = {"f": called or self.functions, "real": real}
        exec(compile(source, __file__, "exec"), made)  # of integers and our own names alone
        return made["computed"]

    def _atom(self, text: str, value: int, bounds: Bounds, parts: Sequence[Any] = ()) -> SymInt:
        """A symbol for an expression with bounds, one per text."""
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.atoms)
            self.atoms.append(Atom(text, value, bounds, parts))
        return self.of({(place,): 1})  # type: ignore[return-value]

    def of(self, terms: Terms) -> SymInt | int:
        """The symbolic number of a polynomial; a plain integer if it has no atoms."""
        key = tuple(sorted((m, c) for m, c in terms.items() if c))
        if not key:
            return 0
        if len(key) == 1 and not key[0][0]:
            return key[0][1]
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = SymInt(self, key)
        return found

    def quotient(self, a: Any, b: Any) -> SymInt | int:
        """The symbolic quotient a // b, rounded down."""
        value = hint(a) // hint(b)
        (low, high), (least, most) = bounds_of(a), bounds_of(b)
        bounds = (-FAR, FAR)
        if least > 0:
            ends = [x // y for x in (low, high) for y in (least, most)]
            bounds = min(ends), max(ends)
        if bounds[0] == bounds[1]:
            return bounds[0]
        return self._atom(f"({text_of(a)})//({text_of(b)})", value, bounds, (a, b))

    def late(self, function: Callable[..., int], numbers: Sequence[Any]) -> SymInt:
        """The result of a function of plain integers, which is called once sizes are known."""
        if function not in self.functions:
            self.functions.append(function)
        k = self.functions.index(function)
        text = f"f[{k}]({','.join(text_of(x) for x in numbers)})"
        return self._atom(text, function(*map(hint, numbers)), (-FAR, FAR), numbers)

    def decide(self, sign: str, a: Any, b: Any) -> bool:
        """The outcome of a comparison at present sizes, recorded as a guard if it may differ."""
        rest = a - b
        compare = COMPARISONS[sign]
        if type(rest) is not SymInt:
            return bool(compare(rest, 0))
        low, high = bounds_of(rest)
        if sign == "==":
            settled = low > 0 or high < 0 or low == high
        else:
            settled = compare(low, 0) == compare(high, 0)
        outcome = bool(compare(hint(rest), 0))
        if not settled:
            text = f"({text_of(rest)}){sign}0"
            if text not in self.guards:
                self.guards[text] = outcome
                self._decided.append(rest)
        return outcome


def of_whole(at_hand: Operator, compute: Operator) -> Operator:
    """An operator that is symbolic with integers, and computes with present values otherwise."""
    return lambda self, other: compute(self, other) if is_whole(other) else at_hand(self, other)


class SymInt(SymNumber):
    """A symbolic integer, whose value is known when a program runs."""

    __slots__ = ("_hash", "bounds", "key", "sizes", "terms", "value")
    kind = int

    def __init__(self, sizes: ShapeEnv, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.sizes, self.terms = sizes, terms
        atoms = sizes.atoms
        self.value = sum(c * prod([atoms[k].value for k in m]) for m, c in terms)
        low = high = 0
        for monomial, c in terms:
            ends = (1, 1)
            for k in monomial:
                products = [x * y for x in ends for y in atoms[k].bounds]
                ends = min(products), max(products)
            low += min(c * ends[0], c * ends[1])
            high += max(c * ends[0], c * ends[1])
        self.bounds = max(low, -FAR), min(high, FAR)
        self.key = ("size", sizes.serial, terms)
        self._hash = hash(self.key)

    def __repr__(self) -> str:
        return f"<{self.sizes.serial}:{text_of(self)}>"

    # what is computed

    def __add__(self, other: Any) -> Any:
        return combined(self, other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return combined(self, other, -1)

    def __neg__(self) -> Any:
        return self.sizes.of({m: -c for m, c in self.terms})

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def _times(self, other: Any) -> Any:
        """The product of two polynomials."""
        found: Terms = {}
        for m, c in self.terms:
            for n, d in terms_of(other):
                key = tuple(sorted((*m, *n)))
                found[key] = found.get(key, 0) + c * d
        return self.sizes.of(found)

    __rsub__ = of_whole(SymNumber.__rsub__, lambda self, other: (-self) + other)
    __mul__ = __rmul__ = of_whole(SymNumber.__mul__, _times)
    __floordiv__ = of_whole(SymNumber.__floordiv__, lambda self, other: divided(self, other))
    __rfloordiv__ = of_whole(SymNumber.__rfloordiv__, lambda self, other: divided(other, self))
    __mod__ = of_whole(SymNumber.__mod__, lambda self, other: self - self // other * other)
    __rmod__ = of_whole(SymNumber.__rmod__, lambda self, other: other - other // self * self)

    def __pow__(self, other: Any) -> Any:
        whole = is_whole(other) and other >= 0
        return prod([self] * other) if whole else SymNumber.__pow__(self, other)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __lshift__(self, other: int) -> Any:
        return self * (1 << other)

    def __rshift__(self, other: int) -> Any:
        return self // (1 << other)

    def __invert__(self) -> Any:
        return -self - 1

    # what is decided

    def __eq__(self, other: object) -> bool:
        alike = is_whole(other) or isinstance(other, float)
        return self is other or (alike and self.sizes.decide("==", self, other))

    def __lt__(self, other: Any) -> bool:
        return self.sizes.decide("<", self, other)

    def __le__(self, other: Any) -> bool:
        return self.sizes.decide("<=", self, other)

    def __gt__(self, other: Any) -> bool:
        return not self <= other if is_whole(other) else self.pinned() > other

    def __ge__(self, other: Any) -> bool:
        return not self < other if is_whole(other) else self.pinned() >= other

    def __bool__(self) -> bool:
        return self != 0

    def __hash__(self) -> int:
        return self._hash

    def pinned(self) -> int:
        """The present value; a guard restricts the program to it."""
        self.sizes.decide("==", self, self.value)
        return self.value

    __index__ = __trunc__ = __floor__ = __ceil__ = pinned

    @property
    def _symint(self) -> SymInt:
        return self

    def late(self, function: Callable[[int], int]) -> SymInt:
        """The result of a function of this number alone, which is called when it is known."""
        return self.sizes.late(function, (self,))

    def bit_length(self) -> int:
        """The number of bits of the present value."""
        return self.pinned().bit_length()


def is_symbolic(x: object) -> bool:
    """Whether a number is known only when a program runs."""
    return type(x) in (SymInt, SymFloat)


def agree(a: Hashable, b: Hashable) -> bool:
    """Whether two keys are equal at every size; adds no guard."""
    return len({a, b}) == 1


def is_whole(x: object) -> bool:
    """Whether a value is an integer, plain or symbolic."""
    return type(x) is SymInt or isinstance(x, int)


def hint(x: Any) -> Any:
    """The present value of a number, without a guard: only for choices that change no bits."""
    return x.value if is_symbolic(x) else x


def late(function: Callable[..., int], *numbers: Any) -> Any:
    """The result of a function of integers, which is called once sizes are known."""
    found = next((x for x in numbers if type(x) is SymInt), None)
    return function(*numbers) if found is None else found.sizes.late(function, numbers)


def divides(k: Any, n: Any) -> bool:
    """Whether k divides n for all values of the symbols."""
    rest = n % k
    return type(rest) is int and rest == 0


def terms_of(x: Any) -> Iterable[tuple[Monomial, int]]:
    """A number as a polynomial."""
    return x.terms if type(x) is SymInt else (((), int(x)),)


def bounds_of(x: Any) -> tuple[int, int]:
    """The least and the greatest value that a number can have."""
    return x.bounds if type(x) is SymInt else (x, x)


def text_of(x: Any) -> str:
    """A number as the text of a Python expression of the sizes `s`."""
    if type(x) is SymFloat:
        return f"real({text_of(x.bits)})"
    if type(x) is not SymInt:
        return repr(x)
    return "+".join("*".join((str(c), *(f"a{k}" for k in m))) for m, c in x.terms)


def combined(a: SymInt, b: Any, sign: int) -> Any:
    """The sum of two numbers, or their difference if `sign` is -1."""
    if not is_whole(b):
        return (SymNumber.__add__ if sign > 0 else SymNumber.__sub__)(a, b)
    found = dict(a.terms)
    for m, c in terms_of(b):
        found[m] = found.get(m, 0) + sign * c
    return a.sizes.of(found)


def divided(a: Any, b: Any) -> Any:
    """The quotient rounded down: terms that divide evenly, plus a quotient of the rest."""
    sizes = (a if type(a) is SymInt else b).sizes
    if b == 0:
        raise ZeroDivisionError("sizes: division by zero")
    if type(b) is SymInt and len(b.terms) > 1:
        found = long_division(dict(terms_of(a)), dict(b.terms))
        if found is None:
            return sizes.quotient(a, b)
        return sizes.of(found[0]) + quotient_of(sizes, found[1], b)
    ((by, k),) = terms_of(b)
    whole: Terms = {}
    rest: Terms = {}
    for m, c in terms_of(a):
        left = divide_monomial(m, by)
        if left is None or c % k:
            rest[m] = c
        else:
            whole[left] = c // k
    if by:
        return sizes.of(whole) + quotient_of(sizes, sizes.of(rest), b)
    # of a constant, the part that comes out even
    number = rest.pop((), 0)
    whole[()] = whole.get((), 0) + number // k
    rest[()] = number % k
    return sizes.of(whole) + quotient_of(sizes, sizes.of(rest), b)


def quotient_of(sizes: ShapeEnv, a: Any, b: Any) -> Any:
    """The quotient of a rest, none of whose terms divides evenly."""
    if type(a) is int and (a == 0 or type(b) is int):
        return a and a // b
    return sizes.quotient(a, b)
