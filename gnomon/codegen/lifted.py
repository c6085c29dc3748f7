"""Integers that code reads when it runs, so that one code serves every size.

A writer of code computes with sizes as with any integers. Where a size is a `Lifted` instead, what
it computes becomes instructions at the function's entry, and what it *decides* by a value (a
comparison, a truth, an index) is kept as a guard: the code serves all numbers for which every
decision falls the same way. So no writer has two forms, and none can be wrong unnoticed: a number
that it must know (a `range`, a table) is decided too, and the code then serves that number alone.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gnomon.ir.sizes import late

if TYPE_CHECKING:
    from gnomon.codegen.emitter import LLVMModule

__all__ = ["Lifted", "Lifting", "Unliftable", "by_caller", "is_lifted"]

STEM, NAME = "%n", re.compile(r"%n\d+\b")
"""The beginning of the names of lifted numbers, and their pattern in a text."""

RuntimeArguments = Sequence[int]
Reading = Callable[[RuntimeArguments], int]
"""A function that computes a number from the runtime arguments."""


class Unliftable(TypeError):
    """Raised where a number cannot be a runtime argument, since it must be part of the text."""


class Lifting:
    """The runtime arguments of one code, in the slots from `first` on, and its guards."""

    def __init__(self, module: LLVMModule, symbol: str, first: int) -> None:
        self.module, self.symbol, self.first = module, symbol, first
        self.given: list[int] = []
        self.guards: dict[str, tuple[Reading, int]] = {}
        self.names: dict[str, str] = {}
        self.lines: dict[str, str] = {}
        self.derived: list[Reading] = []

    def number(self, value: int) -> Lifted:
        """The next runtime argument, which is `value` in the first program."""
        k = len(self.given)
        self.given.append(value)
        return self._slot(f"n{k}", k, operator.itemgetter(k))

    def derive(self, key: str, reading: Reading) -> Lifted:
        """A host-computed argument: derived from the others and passed after them."""
        k = len(self.given) + len(self.derived)
        self.derived.append(reading)
        return self._slot(key, k, reading)

    def _slot(self, key: str, k: int, reading: Reading) -> Lifted:
        """The runtime argument in slot k, loaded where it is used."""
        place = f"getelementptr i8, ptr %buffers, i64 {8 * (self.first + k)}"
        return Lifted(
            self, key, reading, lambda: self.put(f"load i64, ptr {self.put(place)}, align 8")
        )

    def passed(self, numbers: RuntimeArguments) -> tuple[int, ...]:
        """The runtime arguments for these numbers, host-computed ones last."""
        return (*numbers, *(reading(numbers) for reading in self.derived))

    def put(self, text: str) -> str:
        """Append an instruction and return its result's name."""
        name = f"{STEM}{len(self.lines)}"
        self.lines[name] = f"  {name} = {text}"
        return name

    def holds(self, numbers: RuntimeArguments) -> bool:
        """Whether every guard has the same outcome for other numbers."""
        return all(reading(numbers) == outcome for reading, outcome in self.guards.values())

    def close(self) -> None:
        """Emit the loads of runtime arguments at the entry of each function that uses them.

        The arguments are behind the kernel's buffers, which callers pass on.
        """
        module = self.module
        if any(NAME.search(text) for text in module.globals):
            raise Unliftable(f"{self.symbol}: a run-time number is used in a table.")
        for function in module.functions.values():
            function.prologue = self._needed(function.lines)
        waiting = [f for f in module.functions.values() if f.prologue]
        while waiting:
            function = waiting.pop()
            if not function.takes("buffers"):
                waiting += module.give(function.name, "ptr", "buffers")

    def _needed(self, lines: Sequence[str]) -> list[str]:
        """The instructions that compute the runtime arguments of these lines, in order."""
        waiting, needed = ["\n".join(lines)], set()
        while waiting:
            new = {*NAME.findall(waiting.pop())} - needed
            needed |= new
            waiting += (self.lines[name] for name in new)
        return [line for name, line in self.lines.items() if name in needed]


class Lifted:
    """A runtime argument of a code, or an integer computed from such arguments."""

    __slots__ = ("key", "lifting", "reading", "write")

    def __init__(
        self, lifting: Lifting, key: str, reading: Reading, write: Callable[[], str]
    ) -> None:
        self.lifting, self.key, self.reading, self.write = lifting, key, reading, write

    # as text

    def __str__(self) -> str:
        names = self.lifting.names
        if self.key not in names:
            names[self.key] = self.write()
        return names[self.key]

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else str(self)

    def __repr__(self) -> str:
        return self.key

    def __getattr__(self, name: str) -> Any:
        raise Unliftable(f"lifted: {self.key} has no {name}.")

    # what is computed

    def __add__(self, other: object) -> Lifted:
        return self if equals(other, 0) else combined("+", self, other)

    def __radd__(self, other: object) -> Lifted:
        return self if equals(other, 0) else combined("+", other, self)

    def __sub__(self, other: object) -> Lifted:
        return self if equals(other, 0) else combined("-", self, other)

    def __rsub__(self, other: object) -> Lifted:
        return combined("-", other, self)

    def __neg__(self) -> Lifted:
        return combined("-", 0, self)

    def __mul__(self, other: object) -> Lifted | int:
        return 0 if equals(other, 0) else self if equals(other, 1) else combined("*", self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Lifted:
        return self if equals(other, 1) else combined("//", self, other)

    def __rfloordiv__(self, other: object) -> Lifted:
        return combined("//", other, self)

    def __mod__(self, other: object) -> Lifted | int:
        return 0 if equals(other, 1) else combined("%", self, other)

    def __rmod__(self, other: object) -> Lifted:
        return combined("%", other, self)

    # what is decided

    def __eq__(self, other: object) -> bool:
        return self is other or (is_number(other) and decided("==", self, other))

    def __lt__(self, other: object) -> bool:
        return decided("<", self, other)

    def __le__(self, other: object) -> bool:
        return decided("<=", self, other)

    def __gt__(self, other: object) -> bool:
        return decided(">", self, other)

    def __ge__(self, other: object) -> bool:
        return decided(">=", self, other)

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        value = self.reading(self.lifting.given)
        self.lifting.guards[self.key] = (self.reading, value)
        return value

    __int__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    def __hash__(self) -> int:
        return hash(int(self))


def is_lifted(x: object) -> bool:
    """Whether a number is known only when code runs."""
    return isinstance(x, Lifted)


def by_caller(
    function: Callable[..., tuple[int, ...]], count: int, *numbers: int | Lifted
) -> Sequence[int | Lifted]:
    """The `count` results of a function of integers, as host-computed arguments if needed.

    Where numbers are lifted, the caller computes it: in Python, when sizes are known.
    """
    lifted = next((x for x in numbers if isinstance(x, Lifted)), None)
    if lifted is None:
        return function(*numbers)
    readings = [reading_of(x) for x in numbers]
    parts = [lambda *given, k=k: whole(given)[k] for k in range(count)]

    @lru_cache(maxsize=64)
    def whole(given: tuple[int, ...]) -> tuple[int, ...]:
        return function(*(reading(given) for reading in readings))

    lifting = lifted.lifting
    start = len(lifting.derived)
    return [
        lifting.derive(f"d{start + k}", lambda given, part=parts[k]: late(part, *given))
        for k in range(count)
    ]


def is_number(x: object) -> bool:
    """Whether something is an integer, constant or runtime argument."""
    return isinstance(x, int | Lifted)


def equals(x: object, value: int) -> bool:
    """Whether a number is a constant in the text, and equals `value`."""
    return isinstance(x, int) and x == value


def divided(lifting: Lifting, a: object, b: object) -> str:
    """Emit the quotient of two integers, rounded down."""
    put = lifting.put
    quotient, rest = put(f"sdiv i64 {a}, {b}"), put(f"srem i64 {a}, {b}")
    apart = put(f"icmp slt i64 {put(f'xor i64 {rest}, {b}')}, 0")
    below = put(f"and i1 {apart}, {put(f'icmp ne i64 {rest}, 0')}")
    return put(f"sub i64 {quotient}, {put(f'zext i1 {below} to i64')}")


def remainder(lifting: Lifting, a: object, b: object) -> str:
    """Emit the remainder of the division that rounds down."""
    whole = lifting.put(f"mul i64 {divided(lifting, a, b)}, {b}")
    return lifting.put(f"sub i64 {a}, {whole}")


ARITHMETIC = {
    "+": (operator.add, lambda lifting, a, b: lifting.put(f"add nsw i64 {a}, {b}")),
    "-": (operator.sub, lambda lifting, a, b: lifting.put(f"sub nsw i64 {a}, {b}")),
    "*": (operator.mul, lambda lifting, a, b: lifting.put(f"mul nsw i64 {a}, {b}")),
    "//": (operator.floordiv, divided),
    "%": (operator.mod, remainder),
}
"""Sign -> what it means for integers, and how it is written."""

DECISIONS = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def reading_of(x: object) -> Reading:
    """A function that computes a number from the runtime arguments."""
    return x.reading if isinstance(x, Lifted) else lambda numbers: x


def expression(sign: str, function: Callable, a: object, b: object) -> tuple[Lifting, str, Reading]:
    """The key and the value of an expression: two numbers and the sign between them."""
    if not (is_number(a) and is_number(b)):
        raise Unliftable(f"lifted: {a!r} {sign} {b!r} is not of two integers.")
    one = a if isinstance(a, Lifted) else b
    left, right = reading_of(a), reading_of(b)
    return one.lifting, f"({a!r} {sign} {b!r})", lambda n: function(left(n), right(n))


def combined(sign: str, a: object, b: object) -> Lifted:
    """A runtime integer computed from two numbers by an operator."""
    function, write = ARITHMETIC[sign]
    if sign in "//%" and isinstance(b, Lifted):
        decided("==", b, 0)
    lifting, key, reading = expression(sign, function, a, b)
    return Lifted(lifting, key, reading, lambda: write(lifting, a, b))


def decided(sign: str, a: object, b: object) -> bool:
    """Compare two numbers; the outcome is recorded as a guard."""
    lifting, key, reading = expression(sign, DECISIONS[sign], a, b)
    outcome = reading(lifting.given)
    lifting.guards[key] = (reading, outcome)
    return bool(outcome)
