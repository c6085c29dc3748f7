"""IR text to object code: in this process, or as a process of its own that works for another.

As a program it answers requests on its pipes until they close, its parent dies, or a minute passes
without one. It is run by path and imports LLVM alone, so that it starts quickly and needs nothing
of the parent's script. Caching and choosing who compiles are in cpu.py.
"""

from __future__ import annotations

import os
import pickle
import re
import select
import signal
import sys
from functools import cache
from itertools import count

import llvmlite.binding as llvm

IDLE_SECONDS = 60

CARDS = "nvptx"
"""The beginning of triples whose code is assembler text, with all functions inlined."""
OPTION = "-disable-lsr"
"""Loop strength reduction is half of LLVM's work on long kernels, and they run as fast without it:
addresses are written by us. The option holds for LLVM in the whole process.
"""

MEND = "masks"
"""A version of what `mended` does to a text, for the keys of object code."""
NARROW = re.compile(
    r"(?P<call>call void @llvm\.masked\.store\.v(?P<lanes>\d+)i(?:8|16|32)\.p0\(.*, "
    r"<\d+ x i1>) (?P<mask>[^()]+)\)"
)
"""A masked store of what a truncation may have made, in a text."""


def mended(text: str, features: str) -> str:
    """A text with masks of narrow stores hidden from LLVM's constant folding, around a bug.

    On AVX-512 it makes of a truncation and a store under a mask of one lane a store of the whole
    wide element, over up to seven bytes beyond (llvm/llvm-project#179489; LLVM 22.1.0 has it,
    #179853 mends it). A mask that passed an empty assembly is none that LLVM knows, neither now
    nor after inlining; on AVX-512 it costs a move between registers at most.
    """
    if "+avx512f" not in features or "@llvm.masked.store." not in text:
        return text
    numbers = count()
    return NARROW.sub(lambda found: hidden(found, next(numbers)), text)


def hidden(found: re.Match[str], number: int) -> str:
    """A masked store whose mask passed an empty assembly, so that it is unknown to LLVM."""
    lanes, name = int(found["lanes"]), f"%mask{number}."
    bits = 64 if lanes > 32 else 32
    kind, mask = f"<{lanes} x i1>", found["mask"]
    widen, narrow = ("bitcast", "bitcast") if lanes == bits else ("zext", "trunc")
    return (
        f"{name}a = bitcast {kind} {mask} to i{lanes}\n"
        f"  {name}b = {widen} i{lanes} {name}a to i{bits}\n"
        f'  {name}c = call i{bits} asm "", "=r,0"(i{bits} {name}b)\n'
        f"  {name}d = {narrow} i{bits} {name}c to i{lanes}\n"
        f"  {name}e = bitcast i{lanes} {name}d to {kind}\n"
        f"  {found['call']} {name}e)"
    )


@cache
def prepare() -> None:
    """Initialize all of LLVM's targets, so that code for other machines can be generated."""
    llvm.set_option("", OPTION)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


@cache
def machine(triple: str, cpu: str, features: str, level: int) -> llvm.TargetMachine:
    """LLVM's code generator for a processor; threads use the binding one at a time."""
    prepare()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True
    )


def parse_checked(module: llvm.ModuleRef, generator: llvm.TargetMachine) -> None:
    """Set the target of a parsed module, and verify it."""
    module.triple = generator.triple
    module.data_layout = str(generator.target_data)
    module.verify()


def optimize(module: llvm.ModuleRef, generator: llvm.TargetMachine, level: int) -> None:
    """Run LLVM's pipeline of a level on a module."""
    with (
        llvm.create_pipeline_tuning_options(speed_level=level) as options,
        llvm.create_pass_builder(generator, options) as builder,
        builder.getModulePassManager() as passes,
    ):
        passes.run(module, builder)


def inline_all(module: llvm.ModuleRef, generator: llvm.TargetMachine) -> None:
    """Inline the functions marked so: calls between functions are slow on a card."""
    with (
        llvm.create_pipeline_tuning_options(2) as options,
        llvm.create_pass_builder(generator, options) as builder,
        llvm.create_new_module_pass_manager() as passes,
    ):
        passes.add_always_inliner_pass()
        passes.run(module, builder)


def compile_text(text: str, triple: str, cpu: str, features: str, level: int, passes: int) -> bytes:
    """The object code of an IR text; for a card, PTX.

    `passes` 0 generates code from the text as it stands; 1 to 3 run LLVM's pipeline before.
    """
    generator = machine(triple, cpu, features, level)
    # a module is closed before its context, whatever is raised: where both die in a cycle, as a
    # traceback makes one, Python may finalize the context first, and the module then frees its own
    with (
        llvm.create_context() as context,
        llvm.parse_assembly(mended(text, features), context) as module,
    ):
        parse_checked(module, generator)
        if passes:
            optimize(module, generator, passes)
        if not triple.startswith(CARDS):
            return generator.emit_object(module)
        inline_all(module, generator)
        return generator.emit_assembly(module).encode()


def answer(request: tuple[str, str, str, str, int, int]) -> tuple[bytes, str]:
    """The object code of a request and no message, or no code and LLVM's error message."""
    try:
        return compile_text(*request), ""
    except RuntimeError as cause:
        return b"", str(cause)


def serve() -> None:
    """Answer requests until the input ends."""
    # Ctrl-C is the parent's to handle; this process ends when the pipe does
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # a stray print must not stand among the answers
    os.dup2(2, 1)
    while select.select([requests], [], [], IDLE_SECONDS)[0]:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        pickle.dump(answer(request), answers)
        answers.flush()


if __name__ == "__main__":
    serve()
    # nothing is left to tidy, and LLVM takes its time
    os._exit(0)
