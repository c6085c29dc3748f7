"""Kernels of rows for a card, in the CPU's order and bits, with the project's own functions.

A block has a row of a width that 16 leaves divide; 16 threads have a leaf, four lanes each, so
that the 64 chains of a leaf are the CPU's (gnomon/codegen/folds.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import llvmlite.binding as llvm

from gnomon.codegen.emitter import Emitter, LLVMModule, literal
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from gnomon.codegen.math import FUNCTIONS

TRIPLE = 'target triple = "nvptx64-nvidia-cuda"\n'
GIVEN = "ptr addrspace(1) noalias readonly align 16"
GOAL = "ptr addrspace(1) noalias align 16"
FOUR = "<4 x float>"
LEAVES, HALF, WARPS = 16, 16, 8
THREADS = LEAVES * HALF
STRIP = 4096
"""Numbers of a block where there are no rows."""
EPSILON = 1e-5


def to_ptx(text: str, threads: int = THREADS) -> str:
    """PTX of one kernel."""
    module = llvm.parse_assembly(TRIPLE + text)
    module.verify()
    made = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    machine = made.create_target_machine(cpu="sm_80", features="+ptx80", opt=2)
    found = machine.emit_assembly(module)
    head, body = found.split(")\n", 1)
    # LLVM 20 drops the attribute that says so
    return f"{head})\n.maxntid {threads}, 1, 1\n{body}" if threads else found


class Rows(Emitter):
    """Writes a kernel of blocks."""

    def special(self, name: str) -> str:
        """A special register as i32."""
        return self.call("i32", f"llvm.nvvm.read.ptx.sreg.{name}")

    def place(self, base: str, index: str) -> str:
        """The address of a float."""
        return self.value(f"getelementptr float, ptr addrspace(1) {base}, i64 {index}")

    def four(self, address: str) -> str:
        """Four neighbours."""
        return self.value(f"load {FOUR}, ptr addrspace(1) {address}, align 16")

    def put(self, value: str, address: str) -> None:
        """Store four neighbours."""
        self.do(f"store {FOUR} {value}, ptr addrspace(1) {address}, align 16")

    def barrier(self) -> None:
        """Wait for all threads."""
        self.do('call void asm sideeffect "bar.sync 0;", "~{memory}"()')

    def exchanged(self, x: str, by: int) -> str:
        """The value of the thread whose number differs in a bit."""
        given = [("i32", "-1"), ("float", x), ("i32", str(by)), ("i32", "31")]
        return self.call("float", "llvm.nvvm.shfl.sync.bfly.f32", *given)

    def lanes(self, x: str) -> list[str]:
        """The floats of a vector."""
        return [self.value(f"extractelement {FOUR} {x}, i32 {k}") for k in range(4)]

    def spread(self, x: str) -> str:
        """A vector of one float."""
        whole = self.value(f"insertelement {FOUR} poison, float {x}, i32 0")
        return self.value(f"shufflevector {FOUR} {whole}, {FOUR} poison, <4 x i32> zeroinitializer")


class Row:
    """A row in the registers of a block."""

    def __init__(self, e: Rows, width: int) -> None:
        self.e, self.width = e, width
        self.tid = e.special("tid.x")
        self.chain = width // LEAVES // 64
        assert self.chain * LEAVES * 64 == width, "rows: 16 leaves of 64 lanes do not divide it."
        leaf, lane = e.value(f"lshr i32 {self.tid}, 4"), e.value(f"and i32 {self.tid}, 15")
        start = e.value(f"mul i32 {leaf}, {width // LEAVES}")
        at = e.value(f"add i32 {start}, {e.value(f'shl i32 {lane}, 2')}")
        self.own = e.value(f"zext i32 {at} to i64")
        row = e.value(f"zext i32 {e.special('ctaid.x')} to i64")
        self.at = e.value(f"add i64 {e.value(f'mul i64 {row}, {width}')}, {self.own}")
        self.tables = 0

    def places(self, base: str, at: str) -> list[str]:
        """The addresses of a thread's vectors."""
        first = self.e.place(base, at)
        return [self.e.place(first, str(64 * k)) for k in range(self.chain)]

    def read(self, base: str, at: str) -> list[str]:
        """The vectors of a thread."""
        return [self.e.four(x) for x in self.places(base, at)]

    def across(self, parts: list[str], combine: Callable[[str, str], str]) -> str:
        """A value of each warp to one, the same in all threads: a perfect tree over warps."""
        e, table = self.e, f"@table{self.tables}"
        self.tables += 1
        e.module.define(
            f"{table} = internal addrspace(3) global [{WARPS} x float] poison, align 16"
        )
        warp = e.value(f"lshr i32 {self.tid}, 5")
        first = e.value(f"icmp eq i32 {e.value(f'and i32 {self.tid}, 31')}, 0")
        slot = e.value(f"getelementptr float, ptr addrspace(3) {table}, i32 {warp}")
        e.when(first, lambda: e.do(f"store float {parts[0]}, ptr addrspace(3) {slot}, align 4"))
        e.barrier()
        found = []
        for k in range(0, WARPS, 4):
            at = e.value(f"getelementptr float, ptr addrspace(3) {table}, i32 {k}")
            found += e.lanes(e.value(f"load {FOUR}, ptr addrspace(3) {at}, align 16"))
        return halved(found, combine)

    def sum(self, vectors: list[str]) -> str:
        """The row's sum in the CPU's order."""
        e = self.e

        def add(x: str, y: str) -> str:
            return e.value(f"fadd float {x}, {y}")

        start = f"<{', '.join([f'float {literal(-0.0)}'] * 4)}>"
        chain = reduce(lambda total, x: e.value(f"fadd {FOUR} {total}, {x}"), vectors, start)
        parts = e.lanes(chain)
        # lanes that are 32 and 16 apart meet; each of the two threads goes on with half of them
        for by in (8, 4):
            half = len(parts) // 2
            upper = e.value(f"icmp ne i32 {e.value(f'and i32 {self.tid}, {by}')}, 0")
            kept = [
                self.chosen(upper, x, y) for x, y in zip(parts[half:], parts[:half], strict=True)
            ]
            given = [
                self.chosen(upper, y, x) for x, y in zip(parts[half:], parts[:half], strict=True)
            ]
            parts = [add(x, e.exchanged(y, by)) for x, y in zip(kept, given, strict=True)]
        (total,) = parts
        # then 8 and 4, by neighbouring threads; 2 and 1, which are the threads' halves; leaves
        for by in (2, 1, 8, 4, 16):
            total = add(total, e.exchanged(total, by))
        return self.across([total], add)

    def chosen(self, condition: str, x: str, y: str) -> str:
        """One of two floats."""
        return self.e.value(f"select i1 {condition}, float {x}, float {y}")

    def largest(self, vectors: list[str]) -> str:
        """The row's largest number, NaN if there is one."""
        e = self.e

        def larger(x: str, y: str) -> str:
            return e.call("float", "llvm.maximum.f32", ("float", x), ("float", y))

        total = reduce(larger, [x for v in vectors for x in e.lanes(v)])
        for by in (1, 2, 4, 8, 16):
            total = larger(total, e.exchanged(total, by))
        return self.across([total], larger)


def halved(parts: list[str], combine: Callable[[str, str], str]) -> str:
    """The perfect binary tree."""
    while len(parts) > 1:
        parts = [combine(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def kernel(name: str, *parameters: tuple[str, str]) -> Rows:
    """A kernel to be written."""
    module = LLVMModule()
    e = Rows(module, name, parameters, linkage="ptx_kernel")
    module.functions[name] = e
    return e


def softmax(width: int) -> str:
    """Exponentials of each row, divided by their sum."""
    e = kernel("softmax", (GIVEN, "x"), (GOAL, "y"))
    a, row = LlvmAlgebra(e, "float", 4), Row(e, width)
    x = row.read("%x", row.at)
    top = e.spread(row.largest(x))
    powers = [FUNCTIONS["exp"](a, a.sub(v, top)) for v in x]
    total = e.spread(row.sum(powers))
    for power, place in zip(powers, row.places("%y", row.at), strict=True):
        e.put(a.div(power, total), place)
    e.ret()
    return to_ptx(e.module.text())


def layer_norm(width: int) -> str:
    """Each row less its mean, over its deviation, times w, plus b."""
    e = kernel("layer_norm", (GIVEN, "x"), (GIVEN, "w"), (GIVEN, "b"), (GOAL, "y"))
    a, row = LlvmAlgebra(e, "float", 4), Row(e, width)
    x = row.read("%x", row.at)
    part = a.const(1.0 / width)
    mean = a.mul(e.spread(row.sum(x)), part)
    away = [a.sub(v, mean) for v in x]
    square = a.mul(e.spread(row.sum([a.mul(v, v) for v in away])), part)
    scale = a.div(a.const(1.0), a.sqrt(a.add(square, a.const(EPSILON))))
    weights, biases = row.read("%w", row.own), row.read("%b", row.own)
    places = row.places("%y", row.at)
    for v, w, b, place in zip(away, weights, biases, places, strict=True):
        e.put(a.add(a.mul(a.mul(v, scale), w), b), place)
    e.ret()
    return to_ptx(e.module.text())


def silu() -> str:
    """silu(x) y, a strip a block, four vectors a thread."""
    e = kernel("silu", (GIVEN, "x"), (GIVEN, "y"), (GOAL, "z"))
    a = LlvmAlgebra(e, "float", 4)
    block = e.value(f"zext i32 {e.special('ctaid.x')} to i64")
    thread = e.value(f"zext i32 {e.special('tid.x')} to i64")
    first = e.value(f"add i64 {e.mul(block, STRIP)}, {e.mul(thread, 4)}")
    step = 4 * THREADS
    bases = [e.place(x, first) for x in ("%x", "%y", "%z")]
    places = [[e.place(x, str(k * step)) for x in bases] for k in range(STRIP // step)]
    given = [(e.four(x), e.four(y)) for x, y, _ in places]
    for (x, y), (_, _, z) in zip(given, places, strict=True):
        e.put(a.mul(FUNCTIONS["silu"](a, x), y), z)
    e.ret()
    return to_ptx(e.module.text())
