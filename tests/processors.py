"""Processors that tests plant: code is made for them, whatever runs the tests.

Not a test. What a processor asks for by name that this machine lacks is written out instead, in
instructions that it has, so that the code of every description runs everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from gnomon.codegen.machine import Machine
from gnomon.compiler import target as targets
from gnomon.runtime import cpu, device
from gnomon.runtime.linking import Library
from gnomon.runtime.program import Program

MB = 1 << 20
PLAIN = ("mxcsr", "pmaddwd")
DOTS = ("mxcsr", "pmaddwd", "vpdpwssd")

PROCESSORS = {
    # AVX2: a desktop of AMD's, one of Intel's, a small laptop, one whose caches nobody tells
    "zen3": Machine("avx2", 256, 16, 32 << 10, 512 << 10, 4 * MB, PLAIN),
    "desktop": Machine("avx2", 256, 16, 48 << 10, 2 * MB, 30 * MB // 8, DOTS),
    "laptop": Machine("avx2", 256, 16, 32 << 10, 256 << 10, 3 * MB // 2, PLAIN),
    # AVX-512: without what came later, and with it
    "skylake": Machine("avx512", 512, 32, 32 << 10, 1 * MB, 38 * MB // 28, PLAIN),
    "sapphire": Machine("avx512", 512, 32, 48 << 10, 2 * MB, 105 * MB // 56, (*DOTS, "vdpbf16ps")),
    "genoa": Machine("avx512", 512, 32, 32 << 10, 1 * MB, 16 * MB, (*DOTS, "vdpbf16ps")),
    # NEON: Apple's, and a server's
    "apple": Machine("neon", 128, 32, 128 << 10, 12 * MB, 2 * MB, ("fpcr",)),
    "graviton": Machine("neon", 128, 32, 64 << 10, 1 * MB, 32 * MB // 64, ("fpcr",)),
}
"""Name -> description."""

every = pytest.mark.parametrize("processor", PROCESSORS, indirect=True)
"""Runs a test once for each, by a fixture of conftest.py."""


@contextmanager
def planted(name: str) -> Iterator[Machine]:
    """Code is made for this processor inside a `with`, and runs here."""
    made, begin = PROCESSORS[name], cpu.CompileBatch.begin
    with (
        patch.object(targets, "machine_of", lambda target: made),
        patch.object(cpu, "_linked", {}),
        patch.object(cpu.CompileBatch, "begin", lambda batch, text: begin(batch, here(text))),
    ):
        yield made


@contextmanager
def unlinked() -> Iterator[None]:
    """Programs are made as ever, but LLVM does nothing, and neither do they when they run."""

    def begin(batch: cpu.CompileBatch, text: str) -> str:
        batch._futures[text] = Future()
        return text

    known: dict[str, Library] = {}

    def load(batch: cpu.CompileBatch, texts: Mapping[str, str]) -> cpu.Functions:
        for name in texts.keys() - known.keys():
            batch.begin(texts[name])
            known[name] = Nowhere(name)
        return cpu.Functions({name: known[name] for name in texts})

    with (
        patch.object(cpu, "linked", lambda target: known),
        patch.object(cpu.CompileBatch, "begin", begin),
        patch.object(cpu.CompileBatch, "prepare", lambda batch: None),
        patch.object(cpu.CompileBatch, "load", load),
        patch.object(Program, "run", lambda program, *given, **more: None),
    ):
        yield


class Nowhere(Library):
    """A library whose one function lies nowhere."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        self.addresses = {name: 0}

    def __del__(self) -> None:
        pass


# instructions that are missing here

FLUSH = 1 << 6 | 1 << 15
"""The bits of MXCSR that make denormals zeros; bit 24 of FPCR does."""

NAMED = re.compile(r"^declare .*?@(llvm\.(?:x86|aarch64)\.[\w.]+)\(.*\n?", re.MULTILINE)


def here(text: str, target: device.Target | None = None) -> str:
    """A text with all that a target lacks written out: the same bits, in other instructions."""
    target = target or device.target()
    for found in list(NAMED.finditer(text)):
        name = found[1]
        if not is_there(name, target):
            own = name.replace("llvm.", "missing.")
            text = text.replace(found[0], "").replace(f"@{name}(", f"@{own}(")
            text += written_out(own)
    return text


def is_there(name: str, target: device.Target) -> bool:
    """Whether a target has an instruction that is asked for by LLVM's name."""
    if target.name == "neon" or ".aarch64." in name:
        return (".aarch64." in name) == (target.name == "neon")
    wanted = {"vpdp": "avx512vnni", "dpbf16ps": "avx512bf16", "pmadd": "avx512bw"}
    known = (feature for part, feature in wanted.items() if f".avx512.{part}" in name)
    known = (*known, *("avx512bf16" for _ in "x" if ".avx512bf16." in name))
    return all(target.has(feature) for feature in known)


def written_out(name: str) -> str:
    """The definition of an instruction under a name of ours."""
    for part, write in WRITTEN.items():
        if part in name:
            return write(name)
    raise AssertionError(f"processors: {name} is not written out yet.")


def lanes_of(name: str) -> int:
    """Sums in a vector."""
    bits = {"sse2.pmadd.wd": 128, "avx2.pmadd": 256}
    found = [each for part, each in bits.items() if part in name]
    return (found or [int(name.rpartition(".")[2])])[0] // 32


def halves(kind: str, value: str, lanes: int) -> str:
    """The even and the odd elements of a vector of twice as many."""
    return "".join(
        f"  %{value}{k} = shufflevector <{2 * lanes} x {kind}> %{value}w, "
        f"<{2 * lanes} x {kind}> poison, <{lanes} x i32> "
        f"<{', '.join(f'i32 {2 * j + k}' for j in range(lanes))}>\n"
        for k in (0, 1)
    )


def shorts(name: str) -> str:
    """Two products of i16, added; and a sum of theirs, if the name says so."""
    n, dot = lanes_of(name), "vpdpwssd" in name
    first = f"<{n} x i32> %c, " if dot else ""
    ending = f"  %r = add <{n} x i32> %c, %t\n  ret <{n} x i32> %r\n}}\n"
    return (
        f"\ndefine internal <{n} x i32> @{name}({first}<{2 * n} x i16> %a, <{2 * n} x i16> %b) {{\n"
        f"  %aw = sext <{2 * n} x i16> %a to <{2 * n} x i32>\n"
        f"  %bw = sext <{2 * n} x i16> %b to <{2 * n} x i32>\n"
        f"  %pw = mul <{2 * n} x i32> %aw, %bw\n"
        + halves("i32", "p", n)
        + f"  %t = add <{n} x i32> %p0, %p1\n"
        + (ending if dot else f"  ret <{n} x i32> %t\n}}\n")
    )


def short_pairs(name: str) -> str:
    """Two products of bytes, the first without a sign, added as i16 that nothing exceeds."""
    n = 2 * lanes_of(name)
    return (
        f"\ndefine internal <{n} x i16> @{name}(<{2 * n} x i8> %a, <{2 * n} x i8> %b) {{\n"
        f"  %aw = zext <{2 * n} x i8> %a to <{2 * n} x i16>\n"
        f"  %bw = sext <{2 * n} x i8> %b to <{2 * n} x i16>\n"
        f"  %pw = mul <{2 * n} x i16> %aw, %bw\n"
        + halves("i16", "p", n)
        + f"  %t = call <{n} x i16> @llvm.sadd.sat.v{n}i16(<{n} x i16> %p0, <{n} x i16> %p1)\n"
        f"  ret <{n} x i16> %t\n}}\n"
        f"declare <{n} x i16> @llvm.sadd.sat.v{n}i16(<{n} x i16>, <{n} x i16>)\n"
    )


def byte_quads(name: str) -> str:
    """Four products of bytes, the first without a sign, added to a sum."""
    n = lanes_of(name)
    sums, quads, wide = f"<{n} x i32>", f"<{4 * n} x i8>", f"<{4 * n} x i32>"
    picked = "".join(
        f"  %p{k} = shufflevector {wide} %p, {wide} poison, <{n} x i32> "
        f"<{', '.join(f'i32 {4 * j + k}' for j in range(n))}>\n"
        for k in range(4)
    )
    return (
        f"\ndefine internal {sums} @{name}({sums} %c, {quads} %a, {quads} %b) {{\n"
        f"  %aw = zext {quads} %a to {wide}\n  %bw = sext {quads} %b to {wide}\n"
        f"  %p = mul {wide} %aw, %bw\n{picked}"
        f"  %t0 = add {sums} %p0, %p1\n  %t1 = add {sums} %p2, %p3\n"
        f"  %t2 = add {sums} %t0, %t1\n  %r = add {sums} %c, %t2\n  ret {sums} %r\n}}\n"
    )


def bfloats(name: str) -> str:
    """Two products of bfloat, fused, the odd one first, denormals as zeros."""
    n = lanes_of(name)
    kind, pairs = f"<{n} x float>", f"<{2 * n} x bfloat>"
    given = f"{kind} %c, {pairs} %a, {pairs} %b"
    wide = "".join(
        f"  %{x}i = bitcast {pairs} %{x} to <{2 * n} x i16>\n"
        f"  %{x}z = zext <{2 * n} x i16> %{x}i to <{2 * n} x i32>\n"
        f"  %{x}s = shl <{2 * n} x i32> %{x}z, splat (i32 16)\n"
        f"  %{x}w = bitcast <{2 * n} x i32> %{x}s to <{2 * n} x float>\n" + halves("float", x, n)
        for x in "ab"
    )
    fma = f"@llvm.fma.v{n}f32"
    return (
        f"\ndefine internal {kind} @{name}.fused({given}) noinline {{\n{wide}"
        f"  %o = call {kind} {fma}({kind} %a1, {kind} %b1, {kind} %c)\n"
        f"  %r = call {kind} {fma}({kind} %a0, {kind} %b0, {kind} %o)\n"
        f"  ret {kind} %r\n}}\n"
        f"\ndefine internal {kind} @{name}({given}) {{\n"
        f"  %m = alloca i32, align 4\n  %z = alloca i32, align 4\n"
        f"  call void @llvm.x86.sse.stmxcsr(ptr %m)\n  %v = load i32, ptr %m\n"
        f"  %f = or i32 %v, {FLUSH}\n  store i32 %f, ptr %z\n"
        f"  call void @llvm.x86.sse.ldmxcsr(ptr %z)\n"
        f"  %r = call {kind} @{name}.fused({kind} %c, {pairs} %a, {pairs} %b)\n"
        f"  call void @llvm.x86.sse.ldmxcsr(ptr %m)\n  ret {kind} %r\n}}\n"
        f"\ndeclare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n"
        f"declare {kind} {fma}({kind}, {kind}, {kind})\n"
    )


def get_fpcr(name: str) -> str:
    """FPCR's bit 24, as MXCSR has it."""
    return (
        f"\ndefine internal i64 @{name}() noinline {{\n  %m = alloca i32, align 4\n"
        f"  call void @llvm.x86.sse.stmxcsr(ptr %m)\n  %v = load i32, ptr %m\n"
        f"  %s = lshr i32 %v, 15\n  %b = and i32 %s, 1\n  %u = shl i32 %b, 24\n"
        f"  %r = zext i32 %u to i64\n  ret i64 %r\n}}\n"
        f"declare void @llvm.x86.sse.stmxcsr(ptr)\n"
    )


def set_fpcr(name: str) -> str:
    """MXCSR's bits as FPCR's bit 24 says."""
    return (
        f"\ndefine internal void @{name}(i64 %w) noinline {{\n  %m = alloca i32, align 4\n"
        f"  %b = and i64 %w, {1 << 24}\n  %on = icmp ne i64 %b, 0\n"
        f"  %v = select i1 %on, i32 {0x1F80 | FLUSH}, i32 {0x1F80}\n  store i32 %v, ptr %m\n"
        f"  call void @llvm.x86.sse.ldmxcsr(ptr %m)\n  ret void\n}}\n"
        f"declare void @llvm.x86.sse.ldmxcsr(ptr)\n"
    )


WRITTEN: dict[str, Callable[[str], str]] = {
    "pmadd.ub": short_pairs,
    "pmaddubs": short_pairs,
    "vpdpbusd": byte_quads,
    "pmadd": shorts,
    "vpdpwssd": shorts,
    "dpbf16ps": bfloats,
    "get.fpcr": get_fpcr,
    "set.fpcr": set_fpcr,
}
"""Part of a name -> what writes it out."""
