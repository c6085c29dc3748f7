"""Writes program files: methods for several processors, and tensors as they lie in memory.

The format is docs/program-files.md's; its reader has its constants.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.capture.program_methods import HeldTensor, HeldTensors, ProgramMethod
from gnomon.compiler import conformance, pipeline
from gnomon.compiler.sized_tables import sized_block, sizes_table
from gnomon.compiler.target import MACHINES
from gnomon.dtypes import DType
from gnomon.errors import ArgumentError, TraceError
from gnomon.ir.sizes import ShapeEnv, is_symbolic
from gnomon.program import assembly
from gnomon.program.context import CompileContext
from gnomon.program.saved import SavedProgram
from gnomon.runtime import device, native
from gnomon.runtime.backend import HOST
from gnomon.runtime.files import publish
from gnomon.runtime.flat_code import FlatCode, flat_code
from gnomon.runtime.program import Bind, FunctionSlot, Needs, Step, bindings, table
from gnomon.runtime.program_file import (
    ABI,
    CODE,
    DESCRIPTION,
    DTYPES,
    FIRST_SLOT,
    FORMAT,
    HEAD,
    LIBRARY,
    LINE,
    MAGIC,
    NOTES,
    PAGE,
    PLAN,
    ROW,
    TARGETS,
    WEIGHTS,
    WRITTEN,
    ZEROS,
)

__all__ = ["write_program"]

LARGE = 1 << 16
"""Bytes from which on a tensor begins at a page."""
PACKED = frozenset({DESCRIPTION, CODE, PLAN})
"""The kinds of sections that are deflated."""


def write_program(
    path: Path,
    methods: Sequence[ProgramMethod],
    tensors: HeldTensors,
    targets: Sequence[str],
    notes: bytes = b"",
) -> str:
    """Write one file of several methods; gives its digest. notes: for Gnomon itself."""
    unknown = [x for x in targets if x not in MACHINES]
    if unknown or not targets or not methods:
        known = ", ".join(MACHINES)
        raise ArgumentError(
            f"save: expected a method at least, and targets of {known}: got {len(methods)} methods "
            f"for {', '.join(targets) or 'no target'}."
        )
    held = tensors.content()
    weights, places = packed(held)
    sections = [(DESCRIPTION, 0, description(methods, held, places)), (WEIGHTS, 0, weights)]
    for name in targets:
        plan, code = for_target(methods, tensors.written, name)
        sections += [(CODE, TARGETS[name], [code]), (PLAN, TARGETS[name], [plan])]
    if notes:
        sections.append((NOTES, 0, [notes]))
    conformance.assure()
    return write_sections(path, sections)


class WordList:
    """Writer of numbers and names as a section of a file."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def add(self, *numbers: int) -> None:
        """Append integers of 8 bytes."""
        self.parts.append(struct.pack(f"<{len(numbers)}q", *numbers))

    def row(self, numbers: Sequence[int]) -> None:
        """Write a count, then the numbers."""
        self.add(len(numbers), *numbers)

    def pairs(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Write a count, then pairs."""
        self.add(len(pairs), *(x for pair in pairs for x in pair))

    def text(self, text: str) -> None:
        """Append a name: its length, and its bytes padded to whole words."""
        content = text.encode()
        self.add(len(content))
        self.parts.append(content + bytes(-len(content) % 8))

    def kind(self, dtype: DType, shape: Sequence[int]) -> None:
        """Append a tensor's dtype and shape."""
        if dtype.name not in DTYPES:
            raise TraceError(f"save: no file holds tensors of {dtype}. Cast them with to().")
        self.text(dtype.name)
        self.row(shape)

    def content(self) -> bytes:
        """The bytes of all words."""
        return b"".join(self.parts)


def packed(held: Sequence[HeldTensor]) -> tuple[list[bytes], list[int]]:
    """The bytes of tensors, equal ones once and large ones page-aligned; and their offsets.

    State that begins as zeros has no bytes.
    """
    parts, places, known, end = [], [], dict[bytes, int](), 0
    for x in held:
        if x.begins_as_zeros:
            places.append(0)
            continue
        key = hashlib.sha256(x.content).digest()
        if key not in known:
            gap = -end % (PAGE if len(x.content) >= LARGE else LINE)
            known[key] = end + gap
            parts += [bytes(gap), x.content]
            end += gap + len(x.content)
        places.append(known[key])
    return parts, places


def description(
    methods: Sequence[ProgramMethod], held: Sequence[HeldTensor], places: Sequence[int]
) -> list[bytes]:
    """The sections of a file that are the same for all processors."""
    words = WordList()
    words.add(len(held))
    for x, at in zip(held, places, strict=True):
        words.text(x.name)
        words.kind(x.tensor.dtype, x.tensor.shape)
        words.add(ZEROS if x.begins_as_zeros else WRITTEN if x.written else 0, at)
    words.add(len(methods))
    for method in methods:
        words.text(method.name)
        places, bounds = ((), ()) if method.sizes is None else method.sizes[2:]
        words.add(len(method.arguments), len(places))
        for (name, dtype), shape in zip(method.arguments, method.shapes, strict=True):
            words.text(name)
            words.kind(dtype, shape)
        words.pairs(places)
        words.add(*(n for pair in bounds for n in pair))
        words.text(json.dumps(method.call))
        words.text(json.dumps(method.result))
        dims = dims_of(method)
        words.add(len(dims), len(method.graph.outputs))
        for x in method.graph.outputs:
            words.kind(x.dtype, [-1 - dims.index(n) if is_symbolic(n) else n for n in x.shape])
        words.row(method.results)
        words.add(len(method.graph.inputs))
        for pairs in (method.given, method.held, method.writes):
            words.pairs(pairs)
    return [words.content()]


def for_target(
    methods: Sequence[ProgramMethod], written: set[int], name: str
) -> tuple[bytes, bytes]:
    """The sections of a file for one processor: the plans of methods, and their code."""
    target, texts, plans = device.foreign(name), dict[str, str](), []
    for method in methods:
        changed = {k for k, x in method.held if x in written}
        kept = tuple(k for k in method.lasting if k not in changed)
        vary = method.sizes is not None
        context = CompileContext(MACHINES[name], kept=kept, sizes_vary=vary)
        if method.sizes is not None:
            block, plan, env = sized_block(method.name, method.graph, method.sizes, context)
        else:
            block, env = pipeline.kernels_of(method.graph, context), None
            plan = assembly.plan_of(block)
        plans.append((method, plan, env))
        texts |= {code.symbol: code.text for k in block.kernels() for code in k.codes}
        if plan.externals:
            raise TraceError(f"save: {method.name} calls a custom operation. Call it outside.")
    objects = HOST.kernels.compile([*texts.values(), native.text_for(target)], target)
    code, words = flat_code(objects, LIBRARY), WordList()
    words.add(len(code.imports))
    for imported, at in code.imports.items():
        words.text(imported)
        words.add(at)
    words.add(*(code.functions[x] for x in ("run", "post", "worker")))
    for each in plans:
        add_plan(words, code, *each)
    return words.content(), code.content


def dims_of(method: ProgramMethod) -> list[Any]:
    """The symbolic sizes in a method's results."""
    return list(dict.fromkeys(n for x in method.graph.outputs for n in x.shape if is_symbolic(n)))


def add_plan(
    words: WordList, code: FlatCode, method: ProgramMethod, plan: SavedProgram, env: ShapeEnv | None
) -> None:
    """Append a method's plan: the needs of a run, and the tables of its steps."""
    needs, sizes = plan.needs, method.sizes
    numbers = [needs.arena, needs.scratch, needs.alone, *plan.sizes, *(x.nbytes for x in plan.kept)]
    words.add(needs.inputs, needs.outputs, needs.scalars, needs.registers)
    words.add(len(plan.sizes), len(plan.kept), *([0] * len(numbers) if env else numbers))
    words.add(*(k if fresh else len(plan.sizes) + k for fresh, k in plan.returns))
    words.pairs(plan.over)
    steps = tuple(plan.steps)
    calls, slots = shared_slots(steps, code, needs)
    words.add(len(calls), len(slots))
    words.add(*calls.reshape(-1).tolist())
    varying = [k for k, (_, offset, _) in enumerate(slots) if is_symbolic(offset)]
    words.add(*(0 if is_symbolic(x) else x for *row, _ in slots for x in row))
    words.row([k for k, (*_, is_function) in enumerate(slots) if is_function])
    words.row(varying)
    if sizes is not None and env is not None:
        numbers += [slots[k][1] for k in varying]
        found = sizes_table(method.name, sizes, dims_of(method), env, numbers)
        words.row(found.places.tolist())
        words.add(*found.multiples.reshape(-1).tolist(), len(found.rows))
        words.add(*found.rows.reshape(-1).tolist())


def shared_slots(
    steps: Sequence[Step], code: FlatCode, needs: Needs
) -> tuple[np.ndarray, list[tuple[int, Any, bool]]]:
    """The table of steps, and slots: base, offset, whether it is a function's.

    Equal slots of several steps are stored once, unless a program has steps that fill the slots of
    others again.
    """
    calls, flat = table(steps, code.functions, needs), [x for step in steps for x in step.slots]
    pairs = zip(bindings(steps, code.functions, needs), flat, strict=True)
    slots = [(*pair, isinstance(slot, FunctionSlot)) for pair, slot in pairs]
    if any(isinstance(step, Bind) for step in steps):
        return calls, slots
    places, kept, at = dict[tuple, int](), list[tuple[int, Any, bool]](), 0
    for k, step in enumerate(steps):
        own, at = tuple(slots[at : at + len(step.slots)]), at + len(step.slots)
        if own not in places:
            places[own] = len(kept)
            kept += own
        calls[k, FIRST_SLOT] = 8 * places[own]
    return calls, kept


def write_sections(path: Path, sections: Sequence[tuple[int, int, list[bytes]]]) -> str:
    """Write a file atomically from its sections; its digest."""
    rows, end, parts = [], HEAD.size + ROW.size * len(sections), list[bytes]()
    for kind, target, content in sections:
        whole = sum(map(len, content)) if kind in PACKED else 0
        stored = [deflated(b"".join(content))] if whole else content
        gap, seal = -end % (PAGE if kind == WEIGHTS else LINE), hashlib.sha256()
        for part in stored:
            seal.update(part)
        size = sum(map(len, stored))
        rows.append(ROW.pack(kind, target, end + gap, size, whole, seal.digest()))
        parts += [bytes(gap), *stored]
        end += gap + size
    rest = MAGIC, FORMAT, ABI, end, len(sections)
    found = hashlib.sha256(HEAD.pack(*rest, bytes(32)) + b"".join(rows)).digest()
    publish(path, [HEAD.pack(*rest, found), *rows, *parts])
    path.chmod(path.stat().st_mode & 0o755)
    return found.hex()


def deflated(content: bytes) -> bytes:
    """Bytes packed by deflate, with no frame around."""
    packer = zlib.compressobj(zlib.Z_BEST_COMPRESSION, wbits=-zlib.MAX_WBITS)
    return packer.compress(content) + packer.flush()
