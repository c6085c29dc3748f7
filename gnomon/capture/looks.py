"""Looks of Python at traced values: what is asked, and where that makes a break.

A value that depends on constants alone is computed on the spot. Any other ends a stretch of the
program (paths.py), or is refused where there may be no breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gnomon.ir.node import Node
from gnomon.ir.provenance import user_site
from gnomon.lazy import Lazy, traced_sizes
from gnomon.tensor.borrowing import borrows
from gnomon.tensor.evaluate import evaluate, without_unknown
from gnomon.tensor.host_calls import HostCall, ResultShapes
from gnomon.tensor.tensor import Tensor, array_of, raw, wrap
from gnomon.tensor.traced_numbers import StandInRefused, TracedNumber, number_of

if TYPE_CHECKING:
    from gnomon.capture.paths import Path
    from gnomon.capture.sized_captures import Symbols
    from gnomon.ir.sizes import ShapeEnv
    from gnomon.runtime.buffer import DeviceBuffer
    from gnomon.tensor.state import Storage

__all__ = ["Answer", "Questioned", "ReadKind", "one_value", "truth", "whole_value"]

hashlib = Lazy("hashlib")

LONGEST_ANSWER = 256
"""Bytes of an answer that are kept as they are; of longer ones, a digest."""

Answer = Hashable
ReadKind = Callable[[Tensor], Any]
"""Gives the answer for a value; calls of numpy give tensors, whose shapes are the answer."""


class Questioned:
    """Mixin of captures that handles host reads."""

    def __init__(self) -> None:
        self.path: Path | None = None
        """The way that this call takes, by what Python asks of values."""
        self.hides_values = True
        """Whether Python may not do so: tensors print without them."""
        self.traced_numbers: list[ref[Any]] = []
        """Stand-ins for numbers that vary."""
        self.standing: dict[tuple[int, Any], Tensor] = {}
        """Places of numbers, and the tensors that stand for what is there."""
        self.lasting: set[Storage] = set()
        """Storages of modules and closures that it reaches from outside."""
        self.places_met: tuple[Callable[[Sequence[Tensor]], Any], Any] | None = None
        """A look for places that hold an argument itself, and what it found."""
        self.constants_needed: tuple[Tensor, ...] = ()
        """Arguments among them that the function needs as they are."""
        self.sizes: ShapeEnv | None = None
        """The sizes that vary, where it is for all of them, and the shapes that have such."""
        self.shapes: dict[Storage, tuple[Any, ...]] = {}
        self.symbols: Symbols | None = None
        """Those sizes, of arguments and of what numpy has found."""
        self.found: dict[Node, Tensor] = {}
        """What numpy has found, by the inputs that stand for it."""
        self.places: dict[Node, int] = {}
        """What ran already, and where it is found behind the arguments."""

    def look(self, node: Node, whether: bool = False) -> DeviceBuffer:
        """The buffer of a value that Python reads; `whether`: only its truth counts."""
        return self._look(node, truth if whether else whole_value)

    def _look(self, node: Node, kind: ReadKind) -> DeviceBuffer:
        """The buffer of a value that Python reads; refused in a capture without a path."""
        return self.path.look(node, kind) if is_asked(self, node) else computed(node).value

    @property
    def shown(self) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
        """A function that shows symbolic sizes to Python; None if all sizes are plain."""
        return None if self.sizes is None else traced_sizes.python_sizes

    def item(self, node: Node) -> Any:
        """A number that Python reads; a traced number at lines that gave several values."""
        if not self.hides_values and user_site() in self.path.varying and is_traced(node):
            number = number_of(node) if without_unknown([node]) else None
            if number is not None:
                return number
        if node.dtype.is_integer:
            return self.integers(node)[0]
        return self._look(node, one_value).numpy(node.dtype.numpy, (1,))[0].item()

    def host_call(self, node: Node, call: HostCall, shapes: ResultShapes) -> list[Tensor]:
        """The results of a call of numpy on a value."""
        if not is_asked(self, node):
            return call(wrap(computed(node)))
        return self.path.host_call(node, call, shapes)

    def integers(self, node: Node) -> Sequence[int]:
        """The integers that Python reads."""
        if not is_asked(self, node):
            return integers(wrap(computed(node)))
        found = self.path.integers(node)
        return found if self.shown is None else self.shown(found)

    def lend(self, node: Node) -> np.ndarray:
        """A value that Python reads as an array."""
        found = self.look(node)
        if node.value is not None or self.path is None:
            return found.array(node)
        return self.path.lend(node, found)

    def note_number(self, number: Any) -> None:
        """Record a traced number of this capture."""
        self.traced_numbers.append(ref(number))

    def pin(self, number: TracedNumber) -> Any:
        """Make a traced number constant; from the next call on, its source is constant too."""
        if self.path is None:
            raise StandInRefused("a branch or an iteration needs a number as it is")
        self.constants_needed += number.origins
        if number.formula is not None:
            return number.formula()
        node = raw(number.tensor)
        return self.path.look(node).numpy(node.dtype.numpy, (1,))[0].item()

    def decide(self, number: TracedNumber, tensor: Tensor) -> bool:
        """Whether a tensor computed from traced numbers is true now, recorded as a guard."""
        if not self.hides_values:
            asks = number.formula is not None and self.path is not None
            return self.path.ask(number.formula) if asks else bool(tensor)
        if self.path is None:
            raise StandInRefused("a branch or an iteration needs to know whether a number is true")
        self.constants_needed += number.origins
        return bool(self.path.look(raw(tensor)).numpy(tensor.dtype.numpy, (1,))[0])

    def leave(self) -> None:
        """Drop the path and its error, which refer to each other."""
        if self.path is not None:
            self.path.error = None
        self.path = None


def is_asked(capture: Questioned, node: Node) -> bool:
    """Whether reading a value ends the segment, since it depends on the function's inputs."""
    is_asked = not capture.hides_values and without_unknown([node]) and is_traced(node)
    if capture.sizes is not None and not is_asked:
        traced_sizes.refuse_values(node)
    return is_asked


def computed(node: Node) -> Node:
    """A node that depends on constants alone, with its value computed; TraceError for any other."""
    evaluate([] if borrows(node) else [node])
    return node


def truth(tensor: Tensor) -> bool:
    """The truth of a tensor of one element."""
    return bool(array_of(tensor).item())


def whole_value(tensor: Tensor) -> bytes:
    """All elements of a tensor in a comparable form."""
    value = array_of(tensor).tobytes()
    return value if len(value) <= LONGEST_ANSWER else hashlib.sha256(value).digest()


def integers(tensor: Tensor) -> tuple[int, ...]:
    """All elements of a tensor, as integers that may be used as sizes."""
    return tuple(array_of(tensor).reshape(-1).tolist())


def one_value(tensor: Tensor) -> bytes:
    """The one element of a tensor in a comparable form."""
    return whole_value(tensor)


def is_traced(node: Node) -> bool:
    """Whether a node depends on an input of the function."""
    seen, stack = set(), [node]
    while stack:
        x = stack.pop()
        if x.op == "input" and x.value is None:
            return True
        if x not in seen and not borrows(x):
            seen.add(x)
            stack += x.inputs
    return False
