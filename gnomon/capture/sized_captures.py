"""Captures that serve every size: the function runs once more, on sizes that are symbols.

Its first captures have sizes of their own. When it is called with a third, or with a second where
that is asked for, sizes that varied are symbols (gnomon/ir/sizes.py) of one more capture, and what
Python decides by them is kept as guards. A further size asks these, and has its program filled in:
no capture, no pass. The earlier captures must come out of it, number by number, or it is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.capture import varying
from gnomon.capture.inputs import pattern
from gnomon.capture.replay import CapturedProgram
from gnomon.capture.sized_graphs import AtSizes, SizedGraph
from gnomon.errors import TraceError
from gnomon.ir.dissected import dissection, renumbered
from gnomon.ir.relations import choosing
from gnomon.ir.show import log
from gnomon.ir.sizes import LEAST, MOST, ShapeEnv, SymInt, hint, is_symbolic, text_of
from gnomon.ir.specializations import FILLED, LatestEntries
from gnomon.ir.substitution import of_symbols, substituted
from gnomon.ir.sym_number import Unsized
from gnomon.tensor.pytree import Constant
from gnomon.tensor.state import program_size
from gnomon.tensor.traced_sizes import FloatOfSizes, TracedCount, TracedSize

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard
    from gnomon.capture.paths import Path
    from gnomon.capture.size_families import SizeFamily
    from gnomon.capture.tracing import Capture
    from gnomon.ir.node import Graph
    from gnomon.tensor.tensor import Tensor

__all__ = [
    "DoneOnce",
    "SizedAttempt",
    "SizedCapture",
    "Unproven",
    "at_current_sizes",
    "known_sizes",
]

Sizes = tuple[int, ...]

TRACED = (TracedSize, TracedCount, FloatOfSizes)
"""Sizes as Python sees them."""


class DoneOnce(TraceError):
    """Raised if a function has had effects during its capture and cannot be captured again."""


class Symbols:
    """The symbols of varying sizes: one for those that were equal in all calls so far."""

    def __init__(self, samples: Sequence[Sizes]) -> None:
        self.env, self.sizes = ShapeEnv(), list[Any]()
        self.places: list[int] = []
        columns = [*zip(*samples, strict=True)]
        made: dict[tuple, Any] = {}
        for k, column in enumerate(columns):
            if len({*column}) == 1:
                self.sizes.append(column[0])
                continue
            if column not in made and column[0] >= LEAST:
                made[column] = self.env.symbol(column[0])
                self.places.append(k)
            self.sizes.append(made.get(column, column[0]))
        self.pattern = tuple(map(text_of, self.sizes))
        """Those of arguments, the same for all captures for which the same ones vary."""
        self.of_arguments = choosing(self.env, [*self.sizes], [*self.places])
        """The symbols' values for sizes of arguments; None where they are not like these."""
        own = [x.value for x in made.values()]
        fixed = {x for x in self.sizes if type(x) is int}
        self.are_distinct = bool(own) and len({*own}) == len(own) and fixed.isdisjoint(own)
        """Whether no size at hand agrees with another by chance."""

    def shapes(self, tensors: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The symbolic shapes of a call's tensors."""
        rest = iter(self.sizes)
        return [tuple([next(rest) for _ in tensor.shape]) for tensor in tensors]

    def found(self, n: int) -> Any:
        """A new symbol for a size that is found in values."""
        found = self.env.symbol(n) if LEAST <= n < MOST else n
        if found is not n:
            self.places.append(len(self.sizes))
        self.sizes.append(found)
        return found

    def own(self, sizes: Sequence[int]) -> Sizes:
        """The values of the existing symbols at these sizes."""
        return tuple([sizes[k] for k in self.places])

    @property
    def now(self) -> Sizes:
        """The current values of all symbolic sizes."""
        return tuple(map(hint, self.sizes))


class SizedCapture:
    """A capture on symbolic sizes."""

    def __init__(self, symbols: Symbols, guard: Guard, program: CapturedProgram) -> None:
        env = symbols.env
        self.symbols, self.guard, self.source = symbols, guard, program
        self.sized = SizedGraph(env, program.graph)
        self._size_numbers: dict[SymInt, SymInt] = {}
        plain_sizes(program.size_numbers, lambda n: self._size_numbers.setdefault(n, n))
        self._numbers_at = env.function([*self._size_numbers])
        self._own, self._holds = choosing(env, symbols.sizes, symbols.places), env.test()
        self.filled_in: LatestEntries[Sizes, FilledProgram] = LatestEntries(FILLED)
        """Programs of the latest sizes at the end of a way."""

    def serves(self, sizes: Sizes) -> Sizes | None:
        """The symbols' values for these sizes; None if a guard on sizes fails."""
        own = self._own(sizes)
        return own if own is not None and self._holds(own) else None

    def gives(self, sizes: Sizes, program: CapturedProgram) -> bool | None:
        """Whether a fixed-size capture equals this one at its sizes; None if not served."""
        own = self.serves(sizes)
        if own is None:
            return None
        if (
            self._size_numbers
            and self.filling(own)(self.source.size_numbers) != program.size_numbers
        ):
            return False
        return program.graph is not None and self.sized.graph(own).key == program.graph.key

    def filling(self, own: Sizes) -> Callable[[Any], Any]:
        """A function that replaces symbols by numbers in recipes of results."""
        values = dict(zip(self._size_numbers, self._numbers_at(own), strict=True))
        return (
            partial(plain_sizes, number=values.__getitem__) if values else lambda numbers: numbers
        )

    def program(self, sizes: Sizes, tracked: bool) -> FilledProgram | None:
        """The program at these sizes; None if it does not serve them."""
        own = self.serves(sizes)
        if own is None:
            return None
        return self.filled_in.found(own, lambda own: FilledProgram(self, own, tracked))


class FilledProgram(AtSizes, CapturedProgram):
    """A symbolic capture's program at some sizes; its graph is made when it is first read."""

    def __init__(self, capture: SizedCapture, own: Sizes, opens: bool) -> None:
        source = capture.source
        vars(self).update({x: y for x, y in vars(source).items() if x not in ("graph", "leaves")})
        self.sized, self.own_sizes = capture.sized, own
        fill = capture.filling(own)
        self.results, self.outcome = source.results.settled(fill), source.outcome.settled(fill)
        self.draws = {**fill(source.draws)}
        self.first, source.first = source.first, []
        self.latest = ((), [])
        self.opens = opens


def at_current_sizes(graph: Graph) -> Graph:
    """A symbolic graph with the current values of its symbols."""
    return renumbered(graph, iter([*map(hint, dissection(graph).numbers)]))


def settle_current_sizes(program: CapturedProgram) -> CapturedProgram:
    """Fix a symbolic program to the current values of its symbols."""
    if program.graph is not None:
        program.graph = at_current_sizes(program.graph)
        program.leaves = list(map(pattern, program.graph.outputs))
    program.results = program.results.settled(plain_sizes)
    program.outcome = program.outcome.settled(plain_sizes)
    program.draws = plain_sizes(program.draws)
    return program


def plain_sizes(value: Any, number: Callable[[Any], Any] = hint) -> Any:
    """A recipe of results with symbols replaced by numbers, by default their current values."""

    def constant(x: Constant) -> Constant:
        return Constant(number(program_size(x.value))) if has_size(x.value) else x

    traced = dict.fromkeys(TRACED, lambda x: number(program_size(x)))
    return substituted(value, {**of_symbols(number), **traced, Constant: constant})


def known_sizes(value: Any) -> Any:
    """A recipe of results with symbolic sizes in the program's form."""
    return plain_sizes(value, program_size)


def is_of_all(program: CapturedProgram) -> bool:
    """Whether a program leaves no object behind that depends on a size."""
    sizes = [n for storage in program.escaped for n in storage.node.shape]
    does_more = program.placed or program.outcome.writes
    return program.graph is not None and not does_more and not any(map(has_size, sizes))


def has_size(value: Any) -> bool:
    """Whether a value contains a symbolic size."""
    return type(value) in TRACED or is_symbolic(value)


class Unproven(Unsized):
    """Raised if no fixed-size capture could prove a symbolic one yet."""


class SizedAttempt(NamedTuple):
    """An attempt to capture on symbolic sizes."""

    family: SizeFamily
    symbols: Symbols
    sizes: Sizes
    """The sizes of arguments."""

    def begin(
        self, capture: Capture, stand_ins: Sequence[Tensor], arguments: Sequence[Tensor]
    ) -> None:
        """Give the capture's arguments symbolic sizes."""
        capture.sizes, capture.symbols = self.symbols.env, self.symbols
        for tensor, shape in zip(stand_ins, self.symbols.shapes(arguments), strict=True):
            if SymInt in map(type, shape):
                is_part = tensor._view is not None and bool(tensor._view.chain)
                if is_part or tensor._storage not in capture.reads:
                    raise Unsized("an argument is reached from outside too, or part of another")
                capture.shapes[tensor._storage] = shape
        self.symbols.env.thread = get_ident()

    def settled(self, guard: Guard, program: CapturedProgram, path: Path) -> CapturedProgram:
        """The program of this call; the symbolic capture is kept if it is proven."""
        self.symbols.env.thread = 0
        serves_others = not (guard.lost or path.is_torn) and is_of_all(program)
        if serves_others and path.steps:
            # a second run proves it, if no capture of this way is there yet
            serves_others = varying.is_repeatable(guard, path.seen)
        if not serves_others:
            self.family.failed += 1
            path.is_torn = path.is_torn or bool(path.steps)
            return settle_current_sizes(program)
        made, sizes = SizedCapture(self.symbols, guard, program), self.symbols.now
        if made.serves(sizes) is None:
            raise Unsized("it does not serve the sizes that it was made with")
        self.family.prove(made, path.steps)
        return FilledProgram(made, self.symbols.own(sizes), bool(path.steps))

    def refuse_second_run(self, name: str, guard: Guard, path: Path, error: BaseException) -> None:
        """Refuse to capture a function with effects again; the effects stay."""
        self.symbols.env.thread = 0
        if path.seen is not None and not varying.is_repeatable(guard, path.seen):
            raise DoneOnce(
                f"compile: {name} has changed Python values while it was captured for all sizes, "
                f"and cannot be captured again: {error}. Compile it with dynamic=False."
            ) from error

    def failed(self, name: str, cause: Exception) -> None:
        """Record that symbolic captures fail, and why."""
        self.family.failed += not isinstance(cause, Unproven)
        message = f"sizes: {name} is captured for each: {cause or type(cause.__cause__)}"
        log(1, lambda: message)
