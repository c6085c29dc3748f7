"""Texts whose vectors have sixteen lanes, as texts of sixteen threads that have a lane each.

What is a vector in a kernel's text is a number in each of the threads. Operations stay as they are;
reads and writes along memory become those of neighbours, and lanes change places by shuffles of a
warp. Bits are those of the text, since no operation is another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gnomon.codegen.emitter import BITS, LANES, short
from gnomon.errors import CompileError

__all__ = ["by_lanes", "teamwork"]

VECTOR = re.compile(rf"<{LANES} x (\w+)>")
NAMES = re.compile(rf"(?<=\.)v{LANES}(?=[a-z])")
"""The part of an instruction's name that says of how many lanes it is."""
CONSTANT = re.compile(r"<(\w+ [^<>,]+(?:, \w+ [^<>,]+)*)>")
SPELLED = re.compile(r"@llvm\.(?:masked|vector)\.")
"""Instructions that a lane has otherwise."""
HEAD = [
    "entry:",
    "  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
    f"  %lane32 = and i32 %tid, {LANES - 1}",
    "  %lane = zext i32 %lane32 to i64",
    f"  %half = and i32 %tid, {LANES}",
    f"  %members = shl i32 {(1 << LANES) - 1}, %half",
    *(f"  %early{k} = icmp ult i32 %lane32, {k}" for k in range(LANES)),
]
"""The entry of each function: a thread's lane, which threads of its warp have the others, and
whether the lane is one of the first."""
DECLARED = (
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
    "declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)",
    "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)",
    "declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)",
)
SEGMENT = 0x101F
"""The operand that restricts a shuffle to sixteen threads."""
Needed = dict[tuple[str, str], None]
"""Functions that a text calls: names and types."""
Write = Callable[..., list[str]]


def by_lanes(text: str) -> str:
    """A text of vectors, rewritten to one with a lane per thread.

    Raises CompileError for instructions that loop kernels do not contain.
    """
    needed: Needed = {}
    declared, lines = dict.fromkeys(DECLARED), []
    for line in text.splitlines():
        if line == "entry:":
            lines += HEAD
        elif not line.startswith("declare"):
            lines += translated(line, needed) if VECTOR.search(line) else [line]
        elif not SPELLED.search(line):
            declared[of_a_lane(line) if VECTOR.search(line) else line] = None
    made = "\n".join([*declared, *lines, *(FUNCTIONS[name](kind) for name, kind in needed)])
    return made.replace(" alwaysinline nounwind {", " alwaysinline convergent nounwind {")


def translated(line: str, needed: Needed) -> list[str]:
    """The scalar lines that replace one vector line."""
    for pattern, write in PATTERNS:
        if found := pattern.fullmatch(line):
            return write(needed, *map(of_a_lane, found.groups()))
    made = of_a_lane(line)
    if "shufflevector" in made or SPELLED.search(made):
        raise CompileError(f"compile: no lane has this by itself: {line.strip()}. Report it.")
    return [made]


def of_a_lane(text: str) -> str:
    """Vector types, names and constants in a text, replaced by those of one lane."""
    return CONSTANT.sub(constant, NAMES.sub("", VECTOR.sub(r"\1", text)))


def constant(found: re.Match[str]) -> str:
    """A lane's part of a vector constant: its value, the lane's number, or a comparison of that."""
    values = [part.split()[1] for part in found[1].split(", ")]
    early = values.count("true")
    if len(set(values)) == 1:
        return values[0]
    if values == [*map(str, range(LANES))]:
        return "%lane"
    if values == ["true"] * early + ["false"] * (LANES - early):
        return f"%early{early}"
    raise CompileError(f"compile: lanes have different numbers: {found[0]}. Report it.")


# what a lane has otherwise


def helper_name(needed: Needed, name: str, kind: str) -> str:
    """The name of a helper function for a type; it is added to the needed ones."""
    needed[name, kind] = None
    return f"@{name}.{kind}"


def alike(needed: Needed, name: str, kind: str, value: str) -> list[str]:
    """The line that broadcasts a number: in a lane it is the number itself."""
    return [f"  {name} = bitcast {kind} {value} to {kind}"]


def shuffled(needed: Needed, name: str, kind: str, value: str, order: str) -> list[str]:
    """The call of the helper that exchanges pairs of lanes, or broadcasts the first one."""
    picks = [int(part.split()[1]) for part in order.split(", ")]
    if picks == [0] * LANES:
        return first(needed, name, kind, value)
    if picks != [k ^ picks[0] for k in range(LANES)]:
        raise CompileError(f"compile: lanes in an order of their own: {order}. Report it.")
    function = helper_name(needed, "swapped", kind)
    return [f"  {name} = call {kind} {function}({kind} {value}, i32 {picks[0]}, i32 %members)"]


def first(needed: Needed, name: str, kind: str, value: str) -> list[str]:
    """The call of the helper that broadcasts the first lane."""
    function = helper_name(needed, "first", kind)
    return [f"  {name} = call {kind} {function}({kind} {value}, i32 0, i32 %members)"]


def read(needed: Needed, name: str, kind: str, place: str, align: str) -> list[str]:
    """The lines that load contiguous lanes: each lane its own element."""
    at = f"  {name}.at = getelementptr {kind}, ptr {place}, i64 %lane"
    return [at, f"  {name} = load {kind}, ptr {name}.at, align {align}"]


def read_some(needed: Needed, name: str, kind: str, place: str, *given: str) -> list[str]:
    """The call of the helper that loads contiguous lanes under a mask."""
    on, fill = given
    function = helper_name(needed, "read", kind)
    return [f"  {name} = call {kind} {function}(ptr {place}, i64 %lane, i1 {on}, {kind} {fill})"]


def gathered(needed: Needed, name: str, kind: str, place: str, align: str) -> list[str]:
    """The line that gathers lanes: a load from the lane's own address."""
    return [f"  {name} = load {kind}, ptr {place}, align {align}"]


def written(needed: Needed, kind: str, value: str, place: str, on: str = "true") -> list[str]:
    """The call of the helper that stores contiguous lanes under a mask."""
    function = helper_name(needed, "write", kind)
    return [f"  call void {function}(ptr {place}, i64 %lane, i1 {on}, {kind} {value})"]


def ballot(needed: Needed, name: str, value: str) -> list[str]:
    """The call of the helper that gives the mask as bits."""
    function = helper_name(needed, "bits", "i1")
    return [f"  {name} = call i16 {function}(i1 {value}, i32 %members, i32 %half)"]


def some(needed: Needed, name: str, value: str) -> list[str]:
    """The lines that test whether any lane is on."""
    return [
        *ballot(needed, f"{name}.bits", value),
        f"  {name} = icmp ne i16 {name}.bits, 0",
    ]


PATTERNS: Sequence[tuple[re.Pattern[str], Write]] = [
    (re.compile("  " + text.format(r"(%[\w.]+)", rf"<{LANES} x (\w+)>", r"(.+?)")), write)
    for text, write in (
        (r"{0} = insertelement {1} poison, \w+ {2}, i32 0", alike),
        (r"{0} = shufflevector {1} {2}, <16 x \w+> poison, <16 x i32> zeroinitializer", alike),
        (r"{0} = shufflevector {1} (%[\w.]+), <16 x \w+> \3, <16 x i32> <{2}>", shuffled),
        (r"{0} = extractelement {1} {2}, i32 0", first),
        (r"{0} = load {1}, ptr {2}, align {2}", read),
        (
            r"{0} = call {1} @llvm\.masked\.load\.\w+\.p0\(ptr {2}, i32 \d+, <16 x i1> {2}, "
            r"<16 x \w+> {2}\)",
            read_some,
        ),
        (
            r"{0} = call {1} @llvm\.masked\.gather\.\w+\.\w+\(<16 x ptr> {2}, i32 {2}, "
            r"<16 x i1> <i1 1(?:, i1 1)*>, .*",
            gathered,
        ),
        (r"store {1} {2}, ptr {2}, align \d+", written),
        (
            r"call void @llvm\.masked\.store\.\w+\.p0\({1} {2}, ptr {2}, i32 \d+, <16 x i1> {2}\)",
            written,
        ),
        (r"{0} = bitcast <16 x i1> {2} to i16", ballot),
        (r"{0} = call i1 @llvm\.vector\.reduce\.or\.v16i1\(<16 x i1> {2}\)", some),
    )
]
"""Lines that say how lanes lie in memory, or that need more than one of them."""


# functions


def defined(head: str, *lines: str) -> str:
    """The text of a helper function, inlined wherever it is called."""
    body = "\n".join(["entry:", *(f"  {line}" for line in lines), "}"])
    return f"define internal {head} alwaysinline convergent nounwind {{\n{body}"


def teamwork(width: int) -> dict[str, str]:
    """The texts, by name, of the functions that a team of `width` threads calls."""
    barrier = '"bar.sync 0;", "~{memory}"()'
    if width == LANES:
        barrier = '"bar.warp.sync $0;", "r,~{memory}"(i32 %members)'
    number = "%vector = lshr i32 %tid, 4", "%number = zext i32 %vector to i64"
    return {
        "meet": defined("void @meet()", f"call void asm sideeffect {barrier}", "ret void"),
        "member": defined("i64 @member()", *number, "ret i64 %number"),
    }


def moved(name: str, how: str, kind: str) -> str:
    """The text of a function that reads another thread's value, word by word."""
    bits = BITS[kind]
    whole = max(bits, 32)
    lines = [
        f"%bits = bitcast {kind} %x to i{bits}",
        f"%whole = {'zext' if bits < 32 else 'bitcast'} i{bits} %bits to i{whole}",
    ]
    for k in range(whole // 32):
        lines += [
            f"%down{k} = lshr i{whole} %whole, {32 * k}",
            f"%word{k} = {'trunc' if whole > 32 else 'bitcast'} i{whole} %down{k} to i32",
            f"%got{k} = call i32 @llvm.nvvm.shfl.sync.{how}.i32"
            f"(i32 %all, i32 %word{k}, i32 %by, i32 {SEGMENT})",
            f"%wide{k} = {'zext' if whole > 32 else 'bitcast'} i32 %got{k} to i{whole}",
            f"%up{k} = shl i{whole} %wide{k}, {32 * k}",
        ]
    lines += [
        f"%made = or i{whole} %up0, {'%up1' if whole > 32 else 0}",
        f"%cut = {'trunc' if bits < 32 else 'bitcast'} i{whole} %made to i{bits}",
        f"%back = bitcast i{bits} %cut to {kind}",
        f"ret {kind} %back",
    ]
    return defined(f"{kind} @{name}.{kind}({kind} %x, i32 %by, i32 %all)", *lines)


def masked(kind: str) -> tuple[str, str, tuple[str, ...]]:
    """The vector type of one number, its suffix in intrinsics, and lines about the lane's address.

    A masked access of one number becomes a branch, or a predicated instruction.
    """
    place = f"%place = getelementptr {kind}, ptr %first, i64 %number"
    return f"<1 x {kind}>", f"v1{short(kind)}.p0", (place, "%mask = bitcast i1 %on to <1 x i1>")


def reader(kind: str) -> str:
    """The text of the function that loads a number if the lane is on."""
    one, name, lines = masked(kind)
    return defined(
        f"{kind} @read.{kind}(ptr %first, i64 %number, i1 %on, {kind} %fill)",
        *lines,
        f"%other = bitcast {kind} %fill to {one}",
        f"%one = call {one} @llvm.masked.load.{name}"
        f"(ptr %place, i32 {BITS[kind] // 8}, <1 x i1> %mask, {one} %other)",
        f"%made = bitcast {one} %one to {kind}",
        f"ret {kind} %made",
    ) + (f"\ndeclare {one} @llvm.masked.load.{name}(ptr, i32, <1 x i1>, {one})")


def writer(kind: str) -> str:
    """The text of the function that stores a number if the lane is on."""
    one, name, lines = masked(kind)
    return defined(
        f"void @write.{kind}(ptr %first, i64 %number, i1 %on, {kind} %x)",
        *lines,
        f"%one = bitcast {kind} %x to {one}",
        f"call void @llvm.masked.store.{name}"
        f"({one} %one, ptr %place, i32 {BITS[kind] // 8}, <1 x i1> %mask)",
        "ret void",
    ) + (f"\ndeclare void @llvm.masked.store.{name}({one}, ptr, i32, <1 x i1>)")


def voting(_: str) -> str:
    """The text of the function that gives one bit for each lane."""
    return defined(
        "i16 @bits.i1(i1 %on, i32 %all, i32 %down)",
        "%votes = call i32 @llvm.nvvm.vote.ballot.sync(i32 %all, i1 %on)",
        "%own = lshr i32 %votes, %down",
        "%cut = trunc i32 %own to i16",
        "ret i16 %cut",
    )


FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "swapped": partial(moved, "swapped", "bfly"),
    "first": partial(moved, "first", "idx"),
    "read": reader,
    "write": writer,
    "bits": voting,
}
"""The functions that a text may call, each by a type."""
