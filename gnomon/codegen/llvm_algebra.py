"""Vector arithmetic as LLVM text: each operation appends one instruction to an emitter.

No fast-math flags and no approximate instructions, so every machine gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from gnomon.codegen.algebra import BINARY, INT_BINARY, UNARY, Algebra, Value
from gnomon.codegen.emitter import LANES, Emitter, literal, short, splat, vector

INSTRUCTIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "neg": "fneg"}
INTRINSICS = {"abs": "fabs", "round": "roundeven"}
INT_INSTRUCTIONS = {"shift_left": "shl", "shift_right": "ashr", "shift_right_zero": "lshr"}
CONDITIONS = {"less": "olt", "less_equal": "ole", "equal": "oeq"}
INT_CONDITIONS = {"less": "slt", "equal": "eq"}


class LlvmAlgebra(Algebra):
    """Algebra whose values are SSA names or constants of `<lanes x scalar>`."""

    def __init__(self, emitter: Emitter, scalar: str, lanes: int = LANES) -> None:
        super().__init__(scalar)
        self.emitter, self.lanes = emitter, lanes
        self.integer = f"i{self.layout.bits}"
        self.kind = vector(scalar, lanes)
        self.int_kind = vector(self.integer, lanes)
        self.mask_kind = vector("i1", lanes)

    def const(self, number: float) -> Value:
        """A number in every lane, rounded to the type."""
        return splat(number, self.scalar, self.lanes)

    def int_const(self, number: int) -> Value:
        """An integer in every lane."""
        return splat(number, self.integer, self.lanes)

    def intrinsic(self, name: str, *values: Value) -> Value:
        """Emit a call of an LLVM intrinsic on floats."""
        full = f"llvm.{name}.v{self.lanes}{short(self.scalar)}"
        return self.emitter.call(self.kind, full, *((self.kind, value) for value in values))

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """An instruction where there is one, else an intrinsic."""
        assert name in BINARY, f"no operation {name}"
        if name in INSTRUCTIONS:
            return self.emitter.value(f"{INSTRUCTIONS[name]} {self.kind} {x}, {y}")
        return self.intrinsic(name, x, y)

    def unary(self, name: str, x: Value) -> Value:
        """An instruction where there is one, else an intrinsic."""
        assert name in UNARY, f"no operation {name}"
        if name in INSTRUCTIONS:
            return self.emitter.value(f"{INSTRUCTIONS[name]} {self.kind} {x}")
        return self.intrinsic(INTRINSICS.get(name, name), x)

    def fma(self, x: Value, y: Value, z: Value) -> Value:
        """x · y + z, rounded once."""
        return self.emitter.fma(x, y, z, self.scalar, self.lanes)

    def compare(self, name: str, x: Value, y: Value) -> Value:
        """An ordered comparison."""
        return self.emitter.value(f"fcmp {CONDITIONS[name]} {self.kind} {x}, {y}")

    def both(self, p: Value, q: Value) -> Value:
        """The mask of lanes that both masks have on."""
        return self.emitter.value(f"and {self.mask_kind} {p}, {q}")

    def either(self, p: Value, q: Value) -> Value:
        """The mask of lanes that at least one of two masks has on."""
        return self.emitter.value(f"or {self.mask_kind} {p}, {q}")

    def invert(self, p: Value) -> Value:
        """The mask of lanes that another has off."""
        on = splat(-1, "i1", self.lanes)
        return self.emitter.value(f"xor {self.mask_kind} {p}, {on}")

    def select(self, mask: Value, yes: Value, no: Value) -> Value:
        """The lanes of float `yes` where the mask is on, else those of `no`."""
        return self.emitter.value(
            f"select {self.mask_kind} {mask}, {self.kind} {yes}, {self.kind} {no}"
        )

    def bits(self, x: Value) -> Value:
        """The bits of a float as an integer."""
        return self.emitter.value(f"bitcast {self.kind} {x} to {self.int_kind}")

    def from_bits(self, i: Value) -> Value:
        """The float that has these bits."""
        return self.emitter.value(f"bitcast {self.int_kind} {i} to {self.kind}")

    def int_binary(self, name: str, i: Value, j: Value) -> Value:
        """One integer instruction."""
        assert name in INT_BINARY, f"no operation {name}"
        instruction = INT_INSTRUCTIONS.get(name, name)
        return self.emitter.value(f"{instruction} {self.int_kind} {i}, {j}")

    def int_compare(self, name: str, i: Value, j: Value) -> Value:
        """A signed comparison."""
        return self.emitter.value(f"icmp {INT_CONDITIONS[name]} {self.int_kind} {i}, {j}")

    @property
    def wide(self) -> LlvmAlgebra:
        """The algebra of doubles on the same emitter."""
        return LlvmAlgebra(self.emitter, "double", self.lanes)

    def widen(self, x: Value) -> Value:
        """A float as a double."""
        return self.emitter.value(f"fpext {self.kind} {x} to {self.wide.kind}")

    def narrow(self, x: Value) -> Value:
        """A double rounded to float."""
        return self.emitter.value(f"fptrunc {self.wide.kind} {x} to {self.kind}")

    def rarely(
        self, mask: Value, special: Callable[[], Sequence[Value]], usual: Sequence[Value]
    ) -> list[Value]:
        """Emit a branch around the special case, taken by a whole vector if one lane needs it."""
        e, before = self.emitter, self.emitter.block
        some = e.call("i1", f"llvm.vector.reduce.or.v{self.lanes}i1", (self.mask_kind, mask))
        inside, after = e.fresh("rare"), e.fresh("after")
        e.module.define('!1 = !{!"branch_weights", i32 1, i32 1000}')
        e.do(f"br i1 {some}, label %{inside}, label %{after}, !prof !1")
        e.label(inside)
        chosen = [self.select(mask, *pair) for pair in zip(special(), usual, strict=True)]
        last = e.block
        e.do(f"br label %{after}")
        e.label(after)
        pairs = zip(chosen, usual, strict=True)
        return [
            e.value(f"phi {self.kind} [{yes}, %{last}], [{no}, %{before}]") for yes, no in pairs
        ]

    def over(
        self,
        rows: Sequence[Sequence[float]],
        state: Sequence[Value],
        body: Callable[..., Sequence[Value]],
    ) -> list[Value]:
        """Emit a loop over a table of constants in the module, with the text of one row."""
        e, width, count = self.emitter, len(rows[0]), len(rows)
        numbers = ", ".join(f"{self.scalar} {literal(x, self.scalar)}" for row in rows for x in row)
        size, bytes_ = width * count, self.layout.bits // 8
        name = f"@t{sha256(numbers.encode()).hexdigest()[:12]}"
        kind = f"[{size} x {self.scalar}]"
        e.module.define(f"{name} = private unnamed_addr constant {kind} [{numbers}]")

        def step(k: str, *values: Value) -> Sequence[Value]:
            first = e.offset(name, e.mul(k, width * bytes_))
            row = [
                e.broadcast(e.load(e.offset(first, j * bytes_), self.scalar, bytes_), self.scalar)
                for j in range(width)
            ]
            return body(row, *values)

        return e.loop(0, count, 1, step, [(self.kind, value) for value in state])
