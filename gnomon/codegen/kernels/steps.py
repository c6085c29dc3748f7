"""Steps of products of one dtype on one machine: the contents of panels, and one step of a chain.

A panel's unit is as wide as a sum: a float, a double, or two 16-bit values that one instruction
multiplies at once. Nothing here but the instructions: order.py says which products meet when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from gnomon.codegen.emitter import Emitter, vector
from gnomon.codegen.kernels.order import Letter, chunk_length
from gnomon.codegen.machine import Machine

SUMS = {"half": "float", "bfloat": "float", "i8": "i32", "u8": "i32"}
"""Scalar of an operand -> scalar of its sums, where they differ."""
MEMORY = {"bfloat": "i16", "half": "i16", "u8": "i8"}
"""Scalar of an operand -> how LLVM loads it, where that differs."""


def sums_of(scalar: str) -> str:
    """The scalar in which products of `scalar` are summed."""
    return SUMS.get(scalar, scalar)


def memory_of(scalar: str) -> str:
    """The scalar that is loaded for an operand's element."""
    return MEMORY.get(scalar, scalar)


@dataclass(frozen=True)
class ChainStep:
    """One step of a chain: its instruction, and the number of products that it takes.

    `paired`: two single steps change places, the odd one first, and denormals are zeros meanwhile;
    `environment`: the processor's register that controls this.
    """

    instruction: str = "fma"
    together: int = 1
    paired: bool = False
    environment: str = ""


FUSED = ChainStep()
FLUSHED = "fma.ftz"
"""CUDA's multiply-add that takes denormals as zeros by itself. What is tiny is decided after
rounding, as on x86: no difference in 262,144 results on an H200, half of them at the edge."""


def choose_step(
    machine: Machine, scalar: str, letters: Sequence[Letter], run: int | None = None
) -> ChainStep:
    """The fastest instruction for a dtype whose units divide the chunks.

    `run`: the number of contiguous steps in an operand, if fewer than a chunk.

    >>> from gnomon.codegen.machine import AVX2
    >>> choose_step(AVX2, "float", [(384, 2)]).instruction
    'fma'
    >>> choose_step(AVX2, "i8", [(384, 2)]).instruction
    'pmaddwd'
    """
    if scalar != "bfloat" and sums_of(scalar) != "i32":
        return FUSED
    whole = whole_pairs(letters, run)
    if scalar == "bfloat" and FLUSHED in machine.instructions:
        return ChainStep(FLUSHED, 1, True)
    if scalar == "bfloat":
        dots = whole and "vdpbf16ps" in machine.instructions
        environment = next((x for x in ENVIRONMENTS if x in machine.instructions), "")
        return ChainStep("vdpbf16ps", 2) if dots else ChainStep("fma", 1, True, environment)
    known = [name for name in ("vpdpwssd", "pmaddwd") if name in machine.instructions]
    return ChainStep(known[0], 2) if known and whole else ChainStep("mul")


def whole_pairs(letters: Sequence[Letter], run: int | None = None) -> bool:
    """Whether chunks can be cut into pairs of contiguous steps."""
    chunk = chunk_length(letters)
    run = run or chunk
    # a unit that is cut short is only legal at the very end
    return chunk % 2 == run % 2 == 0 or chunk == run == prod(size for size, _ in letters)


def note_pairs(e: Emitter, scalar: str, letters: Sequence[Letter], run: int | None) -> None:
    """Write into a kernel's text whether its steps may be paired.

    If they may, some processors multiply pairs: codes with and without pairs have different keys.
    """
    narrow = scalar == "bfloat" or sums_of(scalar) == "i32"
    if narrow and whole_pairs(letters, run):
        e.lines.append("; steps in pairs")


def choose_single(machine: Machine, scalar: str) -> ChainStep:
    """The fastest instruction that takes one product at a time."""
    single = tuple(x for x in machine.instructions if x in ENVIRONMENTS or x == FLUSHED)
    return choose_step(replace(machine, instructions=single), scalar, [])


def multiply(e: Emitter, step: ChainStep, scalar: str, lanes: int, terms: Sequence[str]) -> str:
    """Emit sum + a * b; terms are a and b, vectors of units, and the sum."""
    return INSTRUCTIONS[step.instruction](e, scalar, lanes, *terms)


def fuse(e: Emitter, scalar: str, lanes: int, *terms: str) -> str:
    """Emit a fused multiply-add."""
    return e.fma(*terms, scalar, lanes)


def fuse_flushed(e: Emitter, scalar: str, lanes: int, *terms: str) -> str:
    """Emit a fused multiply-add that treats denormals as zeros."""
    kind, total = vector(scalar, lanes), "poison"
    for lane in range(lanes):
        parts = [e.value(f"extractelement {kind} {x}, i32 {lane}") for x in terms]
        made = e.call(scalar, "llvm.nvvm.fma.rn.ftz.f", *((scalar, x) for x in parts))
        total = e.value(f"insertelement {kind} {total}, {scalar} {made}, i32 {lane}")
    return total


def multiply_integers(e: Emitter, scalar: str, lanes: int, a: str, b: str, total: str) -> str:
    """Emit a product of integers and a sum of i32."""
    kind = vector(scalar, lanes)
    product = e.value(f"mul {kind} {a}, {b}")
    return e.value(f"add {kind} {total}, {product}")


def multiply_shorts(e: Emitter, scalar: str, lanes: int, a: str, b: str, total: str) -> str:
    """Emit two products of i16 and a sum; factors that were bytes cannot overflow."""
    kind, shorts = vector("i32", lanes), vector("i16", 2 * lanes)
    a, b = (e.value(f"bitcast {kind} {x} to {shorts}") for x in (a, b))
    name = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd"}.get(lanes)
    pair = e.call(kind, name or "llvm.x86.avx512.pmaddw.d.512", (shorts, a), (shorts, b))
    return e.value(f"add {kind} {total}, {pair}")


def dot(name: str, pair: str, e: Emitter, scalar: str, lanes: int, *terms: str) -> str:
    """Emit two products and their sum in one instruction.

    Of bfloats the odd product is added first, and denormals are zeros.
    """
    kind, pairs = vector(scalar, lanes), vector(pair, 2 * lanes)
    a, b = (e.value(f"bitcast {kind} {x} to {pairs}") for x in terms[:2])
    return e.call(kind, f"{name}.{32 * lanes}", (kind, terms[2]), (pairs, a), (pairs, b))


INSTRUCTIONS = {
    "fma": fuse,
    FLUSHED: fuse_flushed,
    "mul": multiply_integers,
    "pmaddwd": multiply_shorts,
    "vpdpwssd": partial(dot, "llvm.x86.avx512.vpdpwssd", "i16"),
    "vdpbf16ps": partial(dot, "llvm.x86.avx512bf16.dpbf16ps", "bfloat"),
}
"""Instruction -> what writes it."""


# denormals as zeros

Switch = Callable[[], object]
"""Writes the code that changes what denormals are, from here on."""


def switches(e: Emitter, step: ChainStep) -> tuple[Switch, Switch]:
    """The emitters that switch denormals off and on, at the start of a function.

    LLVM does not know that float operations depend on the switch. So it never shares a block with
    one: sums are computed in loops, which nothing leaves.
    """
    if not step.paired or step.instruction == FLUSHED:
        return no_switch, no_switch
    assert step.environment, "steps: this machine has no way to take denormals as zeros."
    return ENVIRONMENTS[step.environment](e)


def no_switch() -> None:
    """Emit nothing: on this processor denormals need no switch."""


def through_mxcsr(e: Emitter) -> tuple[Switch, Switch]:
    """The switches of x86: bits 6 and 15 of MXCSR, read and written through memory."""
    numbers, zeros = (e.value("alloca i32, align 4") for _ in range(2))
    e.call("void", "llvm.x86.sse.stmxcsr", ("ptr", numbers))
    changed = e.value(f"or i32 {e.load(numbers, 'i32', 4)}, {1 << 6 | 1 << 15}")
    e.store(changed, zeros, "i32", 4)
    load = partial(e.call, "void", "llvm.x86.sse.ldmxcsr")
    return partial(load, ("ptr", zeros)), partial(load, ("ptr", numbers))


def through_fpcr(e: Emitter) -> tuple[Switch, Switch]:
    """The switches of Arm: bit 24 of FPCR."""
    numbers = e.call("i64", "llvm.aarch64.get.fpcr")
    zeros = e.value(f"or i64 {numbers}, {1 << 24}")
    write = partial(e.call, "void", "llvm.aarch64.set.fpcr")
    return partial(write, ("i64", zeros)), partial(write, ("i64", numbers))


ENVIRONMENTS = {"mxcsr": through_mxcsr, "fpcr": through_fpcr}
"""Register -> what writes both switches."""
