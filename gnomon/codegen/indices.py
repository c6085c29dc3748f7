"""Index arithmetic of a loop kernel: scalars where it does not vary along the row, else vectors.

What does not vary is added up as a scalar, once per row; a vector is made of the rest alone. Scopes
nest: the row's scalars, the block's values, and the values inside a chain's loop; a name lives
where what it depends on is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen.emitter import LANE_NUMBERS, Emitter, splat, vector
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.codegen.numbers import KernelNumbers, is_narrow
from gnomon.codegen.plan_loops import LoopPlan
from gnomon.ir.node import Node
from gnomon.ir.symbolic import is_quotient

I64 = vector("i64")


@dataclass(frozen=True)
class Position:
    """Sixteen elements of a row: the first one's index, the mask of those that exist or None."""

    index: str
    mask: str | None


class Indices:
    """Emitter of the index arithmetic of a plan; SSA names are remembered per scope."""

    def __init__(self, e: Emitter, plan: LoopPlan) -> None:
        self.e, self.plan = e, plan
        self.numbers = KernelNumbers(plan.kernel)
        self.inner = plan.kernel.inner
        self.rows: dict[Node, str] = {}
        """Ranges of rows and chains -> i64."""
        self.scopes: list[dict[object, list[str]]] = [{}]
        self.scalars: list[dict[Node, str]] = [{}]
        self.bases: list[dict[object, str]] = [{}]
        self.positions: Sequence[Position] = (Position("0", None),)

    # scopes

    def enter(self, positions: Sequence[Position] | None = None) -> None:
        """Start a scope, at other positions if given."""
        for layers in (self.scopes, self.scalars, self.bases):
            layers.append({})
        self.positions = positions or self.positions

    def leave(self) -> None:
        """Forget the scope's values."""
        for layers in (self.scopes, self.scalars, self.bases):
            layers.pop()

    def _known(self, key: object, layers: list[dict]):
        """The remembered values of a key in the open scopes, or None."""
        for layer in reversed(layers):
            if key in layer:
                return layer[key]
        return None

    def vectors(self, node: Node) -> list[str]:
        """A scalar's value at every position; one that does not vary is one splat, repeated."""
        found = self._known(node, self.scopes)
        if found is None:
            found = self._emit(node)
            self.scopes[-1][node] = found
        return found if len(found) == len(self.positions) else [found[0]] * len(self.positions)

    def everywhere(self, number: int | Lifted) -> str:
        """An index in every lane."""
        return self.e.broadcast(str(number), "i64") if is_lifted(number) else splat(number, "i64")

    # indices

    def scalar_index(self, node: Node) -> str:
        """An index that does not vary along the row, as i64."""
        found = self._known(node, self.scalars)
        if found is None:
            found = self._scalar_index(node)
            self.scalars[-1][node] = found
        return found

    def _scalar_index(self, node: Node) -> str:
        """Emit an index that does not vary along the row, as i64."""
        e = self.e
        if node.op == "range":
            return self.rows[node]
        if node.op == "affine":
            terms, offset = self.numbers.terms(node)
            total = str(offset)
            for atom, coef in terms.items():
                total = e.add(total, e.mul(self.scalar_index(atom), coef))
            return total
        if is_quotient(node):
            return self._scalar_division(node)
        return e.value(f"extractelement {I64} {self.vectors(node)[0]}, i32 0")

    def _scalar_division(self, node: Node) -> str:
        """Emit a floor division or remainder of an i64."""
        e, (x, divisor) = self.e, node.inputs
        k, shift = self.numbers.offset(divisor), self.numbers.shift(node)
        value = e.add(self.scalar_index(x), shift * k)
        if node.params["f"] == "remainder":
            return e.value(f"urem i64 {value}, {k}")
        quotient = e.value(f"udiv i64 {value}, {k}")
        return e.add(quotient, -shift)

    def _emit(self, node: Node) -> list[str]:
        """Emit an index at every position: the varying part plus the scalar one."""
        e = self.e
        if not self.plan.varies(node):
            return [e.broadcast(self.scalar_index(node), "i64")]
        if node is self.inner:
            starts = [e.broadcast(at.index, "i64") for at in self.positions]
            return [e.value(f"add {I64} {start}, {LANE_NUMBERS}") for start in starts]
        if node.op == "affine":
            fixed = self.fixed(node)
            totals = self._varying(node)
            if fixed == "0":
                return totals
            splat = e.broadcast(fixed, "i64")
            return [e.value(f"add {I64} {total}, {splat}") for total in totals]
        return [self._vector_division(node, x) for x in self.vectors(node.inputs[0])]

    def fixed(self, index: Node) -> str:
        """The part of an index that does not vary along the row, as i64."""
        found = self._known(index, self.bases)
        if found is None:
            terms, offset = self.numbers.terms(index)
            found = str(offset)
            for atom, coef in terms.items():
                if not self.plan.varies(atom):
                    found = self.e.add(found, self.e.mul(self.scalar_index(atom), coef))
            self.bases[-1][index] = found
        return found

    def _varying(self, index: Node) -> list[str]:
        """The part of an index that varies along the row, at every position."""
        e, totals, key = self.e, [], ("varying", index)
        found = self._known(key, self.scopes)
        if found is not None:
            return found
        for atom, coef in self.numbers.terms(index)[0].items():
            if not self.plan.varies(atom):
                continue
            parts = self.vectors(atom)
            if is_lifted(coef) or coef != 1:
                by = self.everywhere(coef)
                parts = [e.value(f"mul {I64} {part}, {by}") for part in parts]
            pairs = zip(totals, parts, strict=True)
            totals = [e.value(f"add {I64} {a}, {b}") for a, b in pairs] if totals else parts
        self.scopes[-1][key] = totals
        return totals

    def _vector_division(self, node: Node, x: str) -> str:
        """Emit a floor division or remainder of a vector of positions."""
        e, f, divisor = self.e, node.params["f"], node.inputs[1]
        k, shift = self.numbers.offset(divisor), self.numbers.shift(node)
        kind, by = "i32" if is_narrow(node) else "i64", self.everywhere(k)
        wide, shifted = vector(kind), is_lifted(shift) or shift != 0
        value = e.value(f"add {I64} {x}, {self.everywhere(shift * k)}") if shifted else x
        if kind == "i32":
            value = e.value(f"trunc {I64} {value} to {wide}")
            by = e.value(f"trunc {I64} {by} to {wide}") if is_lifted(k) else splat(k, kind)
        name = "urem" if f == "remainder" else "udiv"
        value = e.value(f"{name} {wide} {value}, {by}")
        if kind == "i32":
            value = e.value(f"zext {wide} {value} to {I64}")
        if f == "remainder" or not shifted:
            return value
        return e.value(f"sub {I64} {value}, {self.everywhere(shift)}")
