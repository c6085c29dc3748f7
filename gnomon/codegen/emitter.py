"""LLVM IR as text: functions, loops, and the few spellings that every kernel shares.

Knows nothing of graphs or kernels. Text is written rather than built through a library because it
is thirty times faster and spells every type (docs/decisions/0002). No fast-math flag is ever
emitted.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from ctypes import c_float
from itertools import count

LANES = 16
"""Elements in every vector value; LLVM splits them over the machine's registers."""

KERNEL = (("ptr", "buffers"), ("i64", "thread"), ("i64", "threads"), ("ptr", "scratch"))
"""The parameters of every kernel."""
LANE_NUMBERS = f"<{', '.join(f'i64 {k}' for k in range(LANES))}>"
"""0, 1, 2, ... in the lanes of a vector of i64."""

BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "double": 64,
}


def vector(scalar: str, lanes: int = LANES) -> str:
    """The LLVM type of `lanes` values: vector("float") is "<16 x float>"."""
    return f"<{lanes} x {scalar}>"


def literal(value: float, scalar: str = "float") -> str:
    """A number spelled exactly: floats by the bits of their double, integers in decimal.

    What is too large for a float is infinite, as where it is computed.
    """
    if scalar not in ("float", "double"):
        return str(int(value))
    exact = c_float(value).value if scalar == "float" else float(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def splat(value: float, scalar: str = "float", lanes: int = LANES) -> str:
    """A vector constant with the same number in every lane."""
    return f"<{', '.join([f'{scalar} {literal(value, scalar)}'] * lanes)}>"


def mask(active: int, lanes: int = LANES) -> str:
    """A constant mask whose first `active` lanes are on."""
    return f"<{', '.join('i1 true' if k < active else 'i1 false' for k in range(lanes))}>"


class LLVMModule:
    """A set of functions and the declarations that they need, written out as one text."""

    def __init__(self) -> None:
        self.functions: dict[str, Emitter] = {}
        self.declared: dict[str, None] = {}
        self.globals: dict[str, None] = {}

    def function(self, name: str, parameters: Sequence[tuple[str, str]], **options: str) -> Emitter:
        """Start a function; parameters are (type with attributes, name) pairs."""
        self.functions[name] = Emitter(self, name, parameters, **options)
        return self.functions[name]

    def declare(self, declaration: str) -> None:
        """Add `declare ...` once."""
        self.declared[declaration] = None

    def define(self, text: str) -> None:
        """Add a global, such as a constant table, once."""
        self.globals[text] = None

    def give(self, name: str, kind: str, label: str) -> list[Emitter]:
        """Add a parameter to a function and all its callers, which pass it on and are returned."""
        self.functions[name].parameters.insert(0, (kind, label))
        called, given = f"@{name}(", f"@{name}({kind} %{label}, "
        callers = [f for f in self.functions.values() if any(called in x for x in f.lines)]
        for caller in callers:
            caller.lines = [x.replace(called, given).replace(", )", ")") for x in caller.lines]
        return callers

    def text(self) -> str:
        """The whole module as LLVM IR."""
        parts = [
            *self.globals,
            *sorted(self.declared),
            *(f.text() for f in self.functions.values()),
        ]
        return "\n".join(parts) + "\n"


class Emitter:
    """Writes the body of one function, block by block; names come in order, so text is stable."""

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        parameters: Sequence[tuple[str, str]],
        *,
        returns: str = "void",
        linkage: str = "",
        attributes: str = "nounwind",
    ) -> None:
        self.module, self.name = module, name
        self.parameters = list(parameters)
        self.linkage = f"{linkage} " if linkage else ""
        self.attributes, self.returns = attributes, returns
        self.lines: list[str] = ["entry:"]
        self.prologue: list[str] = []
        """Instructions of the entry block, which run once before everything else."""
        self.block = "entry"
        self.numbers = count()

    def value(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        name = f"%v{next(self.numbers)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction that has no result."""
        self.lines.append("  " + text)

    def fresh(self, stem: str) -> str:
        """A block name that is not taken."""
        return f"{stem}{next(self.numbers)}"

    def label(self, name: str) -> None:
        """Start a block."""
        self.lines.append(f"{name}:")
        self.block = name

    def ret(self, value: str = "") -> None:
        """Return `value`, written with its type, or nothing."""
        self.do(f"ret {value or 'void'}")

    def text(self) -> str:
        """The function as LLVM IR."""
        listed = ", ".join(f"{kind} %{label}" for kind, label in self.parameters)
        header = f"define {self.linkage}{self.returns} @{self.name}({listed}) {self.attributes} {{"
        first, *rest = self.lines
        return "\n".join([header, first, *self.prologue, *rest, "}"])

    def takes(self, label: str) -> bool:
        """Whether the function has a parameter of this name."""
        return any(name == label for _, name in self.parameters)

    def call(self, returns: str, name: str, *arguments: tuple[str, str]) -> str:
        """Emit a call; an external function is declared. Arguments are (type, value) pairs."""
        if name not in self.module.functions:
            kinds = ", ".join([kind for kind, _ in arguments])
            self.module.declare(f"declare {returns} @{name}({kinds})")
        given = ", ".join([f"{kind} {value}" for kind, value in arguments])
        text = f"call {returns} @{name}({given})"
        if returns == "void":
            self.do(text)
            return ""
        return self.value(text)

    # integers and addresses (i64 and ptr)

    def add(self, a: str | int, b: str | int) -> str:
        """a + b on i64; folded when both are constants."""
        if isinstance(a, int) and isinstance(b, int):
            return str(a + b)
        if spells(b, 0):
            return str(a)
        return str(b) if spells(a, 0) else self.value(f"add nsw i64 {a}, {b}")

    def sub(self, a: str | int, b: str | int) -> str:
        """a - b on i64."""
        return str(a) if spells(b, 0) else self.value(f"sub nsw i64 {a}, {b}")

    def mul(self, a: str | int, b: str | int) -> str:
        """a * b on i64; folds when a factor is 0 or 1."""
        if spells(a, 0) or spells(b, 0):
            return "0"
        if spells(b, 1):
            return str(a)
        return str(b) if spells(a, 1) else self.value(f"mul nsw i64 {a}, {b}")

    def least(self, a: str | int, b: str | int) -> str:
        """min(a, b) on i64."""
        return self.call("i64", "llvm.smin.i64", ("i64", str(a)), ("i64", str(b)))

    def most(self, a: str | int, b: str | int) -> str:
        """max(a, b) on i64."""
        return self.call("i64", "llvm.smax.i64", ("i64", str(a)), ("i64", str(b)))

    def offset(self, pointer: str, bytes_: str | int) -> str:
        """The address `bytes_` after pointer."""
        if spells(bytes_, 0):
            return pointer
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {bytes_}")

    def buffer(self, slot: str | int) -> str:
        """The address of a kernel's operand or result, by its slot."""
        place = 8 * slot if isinstance(slot, int) else self.mul(slot, 8)
        return self.load(self.offset("%buffers", place), "ptr", 8)

    def divided(self, number: str, by: int) -> tuple[str, str]:
        """The quotient and the remainder of an i64."""
        return self.value(f"udiv i64 {number}, {by}"), self.value(f"urem i64 {number}, {by}")

    # control

    def loop(
        self,
        low: str | int,
        high: str | int,
        step: str | int,
        body: Callable[..., Sequence[str] | None],
        carried: Sequence[tuple[str, str]] = (),
    ) -> list[str]:
        """Emit a loop: body(i, *state) for i in range(low, high, step), with its last state.

        carried lists (type, first value) pairs; body returns their next values in the same order.
        """
        before, head, inside, after = (
            self.block,
            self.fresh("head"),
            self.fresh("body"),
            self.fresh("done"),
        )
        self.do(f"br label %{head}")
        self.label(head)
        place = len(self.lines)
        self.lines.append("")
        index = f"%i{head}"
        state = [f"%c{head}_{k}" for k in range(len(carried))]
        more = self.value(f"icmp slt i64 {index}, {high}")
        self.do(f"br i1 {more}, label %{inside}, label %{after}")
        self.label(inside)
        following = list(body(index, *state) or ())
        assert len(following) == len(state), (
            f"loop: body gave {len(following)} values for {len(state)} carried"
        )
        onward = self.value(f"add nsw i64 {index}, {step}")
        self.do(f"br label %{head}")
        phis = [f"  {index} = phi i64 [{low}, %{before}], [{onward}, %{self.block}]"]
        for (kind, first), name, then in zip(carried, state, following, strict=True):
            phis.append(f"  {name} = phi {kind} [{first}, %{before}], [{then}, %{self.block}]")
        self.lines[place] = "\n".join(phis)
        self.label(after)
        return state

    def when(self, condition: str, body: Callable[[], None]) -> None:
        """Emit body under a branch, if the i1 `condition` holds."""
        inside, after = self.fresh("then"), self.fresh("after")
        self.do(f"br i1 {condition}, label %{inside}, label %{after}")
        self.label(inside)
        body()
        self.do(f"br label %{after}")
        self.label(after)

    def either(
        self, condition: str, body: Callable[[], object], other: Callable[[], object]
    ) -> None:
        """Emit a branch: `body` if the i1 `condition` holds, else `other`."""
        yes, no, after = self.fresh("yes"), self.fresh("no"), self.fresh("after")
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")
        for label, do in ((yes, body), (no, other)):
            self.label(label)
            do()
            self.do(f"br label %{after}")
        self.label(after)

    # vectors

    def broadcast(self, value: str, scalar: str = "float", lanes: int = LANES) -> str:
        """The scalar in every lane."""
        kind = vector(scalar, lanes)
        one = self.value(f"insertelement {kind} poison, {scalar} {value}, i32 0")
        return self.value(
            f"shufflevector {kind} {one}, {kind} poison, {vector('i32', lanes)} zeroinitializer"
        )

    def shuffle(
        self, a: str, b: str, order: Sequence[int], scalar: str = "float", lanes: int = LANES
    ) -> str:
        """Lanes of a and then b, picked by number."""
        kind, picks = vector(scalar, lanes), ", ".join(f"i32 {k}" for k in order)
        return self.value(f"shufflevector {kind} {a}, {kind} {b}, <{len(order)} x i32> <{picks}>")

    def load(self, pointer: str, kind: str, align: int) -> str:
        """Read a value of LLVM type `kind`."""
        return self.value(f"load {kind}, ptr {pointer}, align {align}")

    def store(self, value: str, pointer: str, kind: str, align: int) -> None:
        """Write a value of LLVM type `kind`."""
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}")

    def store_far(self, value: str, pointer: str, kind: str, align: int) -> None:
        """Store a value that nothing reads soon, past the caches; `settle` must follow."""
        self.module.define("!0 = !{i32 1}")
        self.do(f"store {kind} {value}, ptr {pointer}, align {align}, !nontemporal !0")

    def settle(self) -> None:
        """Emit a full memory fence."""
        self.do("fence seq_cst")

    def prefetch(self, pointer: str, write: bool = False, near: int = 3) -> None:
        """Emit a prefetch of a cache line that will be read, or written; any address is valid.

        near: 3 for the first cache, 2 for the second.
        """
        numbers = (("i32", str(int(write))), ("i32", str(near)), ("i32", "1"))
        self.call("void", "llvm.prefetch.p0", ("ptr", pointer), *numbers)

    def load_masked(
        self, pointer: str, on: str, scalar: str, fill: str = "zeroinitializer", lanes: int = LANES
    ) -> str:
        """Read the lanes that are on; the others hold fill."""
        kind, align = vector(scalar, lanes), BITS[scalar] // 8
        self.module.declare(
            f"declare {kind} @llvm.masked.load.v{lanes}{short(scalar)}.p0"
            f"(ptr, i32, <{lanes} x i1>, {kind})"
        )
        return self.value(
            f"call {kind} @llvm.masked.load.v{lanes}{short(scalar)}.p0"
            f"(ptr {pointer}, i32 {align}, <{lanes} x i1> {on}, {kind} {fill})"
        )

    def store_masked(
        self, value: str, pointer: str, on: str, scalar: str, lanes: int = LANES
    ) -> None:
        """Write the lanes that are on."""
        kind, align = vector(scalar, lanes), BITS[scalar] // 8
        self.module.declare(
            f"declare void @llvm.masked.store.v{lanes}{short(scalar)}.p0"
            f"({kind}, ptr, i32, <{lanes} x i1>)"
        )
        self.do(
            f"call void @llvm.masked.store.v{lanes}{short(scalar)}.p0"
            f"({kind} {value}, ptr {pointer}, i32 {align}, <{lanes} x i1> {on})"
        )

    def gather(
        self, places: str, on: str | None, spare: str, scalar: str, fill: str = "zeroinitializer"
    ) -> str:
        """Load each lane from its own address; lanes that are off hold fill.

        Lanes that are off read `spare`, which must exist: a branch for each costs more.
        """
        kind, lanes, mask = vector(scalar), vector("ptr"), vector("i1")
        if on is not None:
            first = self.broadcast(spare, "ptr")
            places = self.value(f"select {mask} {on}, {lanes} {places}, {lanes} {first}")
        name, align = f"llvm.masked.gather.v{LANES}{short(scalar)}.v{LANES}p0", BITS[scalar] // 8
        every = (mask, splat(1, "i1"))
        found = self.call(kind, name, (lanes, places), ("i32", str(align)), every, (kind, fill))
        return found if on is None else self.filled(found, on, scalar, fill)

    def filled(self, value: str, on: str, scalar: str, fill: str) -> str:
        """The lanes of a value that are on, and fill in the others."""
        kind = vector(scalar)
        return self.value(f"select {vector('i1')} {on}, {kind} {value}, {kind} {fill}")

    def both(self, a: str, b: str) -> str:
        """The mask of lanes that two masks have on.

        In i32: of an `and` of i1, LLVM 22 takes a half that is all off for one that is all on.
        """
        kind = vector("i32")
        wide = [self.value(f"sext {vector('i1')} {mask} to {kind}") for mask in (a, b)]
        on = self.value(f"and {kind} {wide[0]}, {wide[1]}")
        return self.value(f"icmp ne {kind} {on}, zeroinitializer")

    def fma(self, a: str, b: str, c: str, scalar: str = "float", lanes: int = LANES) -> str:
        """a * b + c with one rounding."""
        kind = vector(scalar, lanes)
        return self.call(kind, f"llvm.fma.v{lanes}{short(scalar)}", (kind, a), (kind, b), (kind, c))


def spells(x: object, number: int) -> bool:
    """Whether an operand is the constant `number` in the text."""
    return x == str(number) if isinstance(x, str) else isinstance(x, int) and x == number


def short(scalar: str) -> str:
    """A scalar type as intrinsic names spell it: float is f32."""
    return {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}.get(scalar, scalar)
