"""The file of a compiled function: its programs, its state, its machine code, under one digest.

Nothing in it is executed to be read, and what is read is checked by kind and by place before any of
it is made. What cannot be checked is the code itself: plans and objects. It is run only for the
very graphs that it was made of, by the version of Gnomon that made it, where the processor has what
it asks for, and from a file that nobody but the user or root could have written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from gnomon.codegen.machine import Machine
from gnomon.dtypes import dtype_of
from gnomon.errors import CheckpointError, CompileError, GnomonError, clipped
from gnomon.ir.memo import memo
from gnomon.ir.node import Graph
from gnomon.ops.canonical import NUMERICS
from gnomon.program.graphs import GraphReader
from gnomon.program.saved import SavedProgram
from gnomon.runtime import device, program
from gnomon.runtime.cache import digest as digest_of
from gnomon.runtime.cache import doubt
from gnomon.runtime.files import plain, publish
from gnomon.settings import Settings

__all__ = [
    "Artifact",
    "BufferKind",
    "CONTAINERS",
    "Definition",
    "EntryPoint",
    "MachineCode",
    "Origin",
    "StateTensor",
    "origin",
    "read_artifact",
    "write_artifact",
]

MAGIC = b"gnomon-compiled-1\n"
SEAL = hashlib.sha256().digest_size
OF_CODE = ("codegen", "compiler", "ir", "ops", "passes", "program", "runtime", "schedule")
"""The folders of this package on which machine code and plans depend."""
BROKEN = (
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError),
    *(RecursionError, GnomonError, msgspec.MsgspecError),
)
"""What making a graph of rows raises where they are none."""

CONTAINERS = {kind.__name__: kind for kind in (dict, list, tuple)}
"""What arguments and results may lie in, by name."""

Size = Annotated[int, Meta(ge=0, le=1 << 48)]
BufferKind = tuple[tuple[Size, ...], str]
"""A shape and the name of a dtype."""
BufferPairs = tuple[tuple[Size, Size], ...]
T = TypeVar("T")


class StateTensor(Struct, frozen=True):
    """A tensor that the function reads beside its arguments."""

    dtype: str
    shape: tuple[Size, ...]
    content: bytes


class EntryPoint(Struct, frozen=True):
    """A program of a function: its graph, where inputs come from, where results go.

    kinds: the shape and dtype of each argument. given, state: inputs of the graph, each with an
    argument or a tensor of the state. call, result: the structures of the arguments and of what is
    given back. results: for each tensor that is given back an output, or an argument as -1 - k.
    """

    graph: Size
    call: Any
    kinds: tuple[BufferKind, ...]
    given: BufferPairs
    state: BufferPairs
    result: Any
    results: tuple[int, ...]


class Definition(Struct, frozen=True):
    """A function beside its state and its code: graphs as rows, user lines, entry points."""

    name: str
    rows: list[Any]
    sites: list[Any]
    entries: tuple[EntryPoint, ...]


class Origin(Struct, frozen=True):
    """The maker of machine code, and the processor and settings that it was made for."""

    sources: str
    numerics: int
    target: device.Target
    machine: Machine
    settings: Settings


class MachineCode(Struct, frozen=True):
    """Plans and object code, and the digest of the definition that they were made of."""

    definition: bytes
    origin: Origin
    plans: tuple[SavedProgram, ...]
    objects: dict[str, bytes]


class Sections(Struct, frozen=True):
    """The parts of a file."""

    definition: bytes
    code: MachineCode
    state: tuple[StateTensor, ...]


@dataclass(frozen=True)
class Artifact:
    """A file's parts, checked: each program has a graph and a plan that fit."""

    definition: Definition
    graphs: list[Graph]
    code: MachineCode
    state: tuple[StateTensor, ...]


@memo
@cache
def sources() -> str:
    """The digest of the sources that code depends on, wherever and whenever they were installed."""
    root = Path(__file__).parent.parent
    paths = sorted(path for folder in OF_CODE for path in (root / folder).rglob("*.py"))
    return digest_of(
        *(x for path in paths for x in (str(path.relative_to(root)), path.read_bytes()))
    )


def origin(machine: Machine, settings: Settings) -> Origin:
    """The origin of code that is made here and now, for a processor and under some settings."""
    return Origin(sources(), NUMERICS, device.target(), machine, settings.of_programs())


def write_artifact(
    path: Path,
    definition: Definition,
    made: Origin,
    plans: Sequence[SavedProgram],
    objects: dict[str, bytes],
    state: Sequence[StateTensor],
) -> str:
    """Write a file, which appears whole or not at all; the digest that seals it."""
    text = msgspec.msgpack.encode(definition)
    code = MachineCode(hashlib.sha256(text).digest(), made, tuple(plans), objects)
    body = msgspec.msgpack.encode(Sections(text, code, tuple(state)))
    seal = hashlib.sha256(body)
    publish(path, [MAGIC, seal.digest(), body])
    path.chmod(path.stat().st_mode & 0o755)
    return seal.hexdigest()


def read_artifact(path: Path, digest: str = "") -> Artifact:
    """A file that is the user's own, whole, and made for this machine; else why it is refused.

    A missing file is Python's own OSError.
    """
    with plain(path) as file:
        why = doubt(os.fstat(file.fileno()))
        if why:
            raise CheckpointError(
                f"load_compiled: {path} {why}, and machine code must come from you alone. If you "
                "know who made it, copy it to a file of yours that nobody else can write to."
            )
        whole = file.read()
    body = memoryview(whole)[len(MAGIC) + SEAL :]
    seal = hashlib.sha256(body).digest()
    if whole[: len(MAGIC) + SEAL] != MAGIC + seal:
        raise damaged(path, "its digest is not that of its bytes")
    if digest and str(digest).lower() != seal.hex():
        raise CheckpointError(
            f"load_compiled: {path} has the digest {seal.hex()}, not {clipped(digest)}: it is "
            "another file. Load the one that was saved."
        )
    try:
        found = msgspec.msgpack.decode(body, type=Sections)
        if hashlib.sha256(found.definition).digest() != found.code.definition:
            raise damaged(path, "its code was made for another function")
        refuse_elsewhere(path, found.code.origin)
        return checked(found)
    except (CheckpointError, CompileError):
        raise
    except BROKEN as cause:
        raise damaged(path, cause) from None


def damaged(path: Path, why: object) -> CheckpointError:
    """The error of a file that is not what `save` wrote."""
    return CheckpointError(
        f"load_compiled: {path} is not a file of a compiled function, or was damaged: "
        f"{clipped(why).rstrip('.')}. Save it again."
    )


def refuse_elsewhere(path: Path, made: Origin) -> None:
    """Refuse code that was made by another version, or for another processor."""
    here, why = device.target(), ""
    missing = sorted(features(made.target) - features(here))
    if made.sources != sources() or made.numerics != NUMERICS:
        why = "it was made by another version of Gnomon. Save it anew with this one"
    elif system_of(made.target.triple) != system_of(here.triple):
        other = clipped(made.target.triple)
        why = f"it was made for {other}, this is {here.triple}. Save it on such a one"
    elif missing:
        why = (
            f"it needs {clipped(', '.join(missing))}, which this processor lacks or cpu_features "
            'leaves out. Save it under GNOMON_CPU_FEATURES="avx2", or here'
        )
    if why:
        raise CompileError(f"load_compiled: {path} cannot run here: {why}.")


def system_of(triple: str) -> tuple[str, bool]:
    """The instructions of a triple, and whether its object code is Apple's kind."""
    return triple.partition("-")[0], "-apple-" in triple


def features(target: device.Target) -> set[str]:
    """The processor's features that code for a target may use."""
    return {name[1:] for name in target.features.split(",") if name.startswith("+")}


def checked(found: Sections) -> Artifact:
    """The parts of a file, once everything in them that is a place is one."""
    definition = msgspec.msgpack.decode(found.definition, type=Definition)
    graphs = GraphReader(definition.rows, definition.sites).graphs
    for x in found.state:
        if len(x.content) != prod(x.shape) * dtype_of(x.dtype).itemsize:
            raise ValueError("a tensor's bytes are not those of its shape")
        if x.dtype == "bool" and max(x.content, default=0) > 1:
            raise ValueError("a truth is neither true nor false")
    for entry, plan in zip(definition.entries, found.code.plans, strict=True):
        graph = at(graphs, entry.graph)
        check_entry(entry, graph, found.state)
        check_plan(plan, graph)
        for step in plan.steps:
            check_step(step, plan, found.code.objects)
    return Artifact(definition, graphs, found.code, found.state)


def at(values: Sequence[T], place: int) -> T:
    """A value at a place, which is counted from the front."""
    if not 0 <= place < len(values):
        raise ValueError(f"{place} is no place among {len(values)}")
    return values[place]


def check_entry(entry: EntryPoint, graph: Graph, state: Sequence[StateTensor]) -> None:
    """Refuse a program whose inputs are not all there, each once, and of its kind."""
    if sorted(k for k, _ in (*entry.given, *entry.state)) != [*range(len(graph.inputs))]:
        raise ValueError("inputs of a program are missing")
    there = [(x.shape, x.dtype.name) for x in graph.inputs]
    kept = [(x.shape, x.dtype) for x in state]
    for kinds, pairs in ((entry.kinds, entry.given), (kept, entry.state)):
        if any(there[k] != at(kinds, number) for k, number in pairs):
            raise ValueError("a program's input is of another kind than what it is given")
    for k in entry.results:
        at(graph.outputs, k) if k >= 0 else at(entry.kinds, -1 - k)


def check_plan(plan: SavedProgram, graph: Graph) -> None:
    """Refuse a plan that does not take a graph's inputs to its outputs, in one process."""
    needs, kept = plan.needs, plan.kept
    if plan.meshes or plan.numbers or plan.moves or plan.externals:
        raise ValueError("a plan asks for what no file holds")
    if needs.inputs != len(graph.inputs) or needs.outputs != len(plan.sizes) + 1 + len(kept):
        raise ValueError("a plan is not that of its graph")
    if needs.scalars != len(kept) or not all(0 <= x < 1 << 48 for x in sizes(plan)):
        raise ValueError("a plan asks for sizes that nothing has")
    for (fresh, k), x in zip(plan.returns, graph.outputs, strict=True):
        if not fresh:
            given = at(graph.inputs, k)
            same = (given.shape, given.dtype) == (x.shape, x.dtype)
        else:
            same = at(plan.sizes, k) == max(x.size, 1) * x.dtype.itemsize
        if not same:
            raise ValueError("a result of a plan is not an output of its graph")
    for result, given in (*plan.over, *((0, x.given) for x in kept)):
        at(graph.inputs, given)
        at(range(len(plan.sizes) + 1), result)


def sizes(plan: SavedProgram) -> Iterator[int]:
    """Every number of bytes, and of registers, that a plan asks for."""
    needs = plan.needs
    yield from (needs.arena, needs.scratch, needs.registers, plan.memory.total, *plan.sizes)
    yield from (x.nbytes for x in plan.kept)


def check_step(step: program.Step, plan: SavedProgram, names: Collection[str]) -> None:
    """Refuse a step that reads, calls or goes where there is nothing."""
    count, needs = len(plan.steps), plan.needs
    match step:
        case program.Call(kernel):
            there = kernel in names
        case program.Branch(_, goal) | program.Skip(goal) | program.Bind(goal):
            there = 0 <= goal <= count
        case program.Set(register):
            there = 0 <= register < needs.registers
    if not (there and all(is_there(slot, needs, names) for slot in step.slots)):
        raise ValueError("a step of a plan is out of place")


COUNTED = {
    program.InputSlot: "inputs",
    program.OutputSlot: "outputs",
    program.ScalarSlot: "scalars",
    program.RegisterSlot: "registers",
}
"""Slots by number, and what tells how many there are."""


def is_there(slot: program.Slot, needs: program.Needs, names: Collection[str]) -> bool:
    """Whether a slot is among those of a plan, and what it adds is an address at most."""
    match slot:
        case program.FunctionSlot(kernel):
            return kernel in names
        case program.ConstantSlot(value):
            return -(1 << 63) <= value < 1 << 63
        case program.ArenaSlot(offset):
            return 0 <= offset <= needs.arena
    offset = getattr(slot, "offset", 0)
    return 0 <= slot.index < getattr(needs, COUNTED[type(slot)]) and abs(offset) < 1 << 48
