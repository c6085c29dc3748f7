"""The kernels of a program as plain data: a record per call, with lines, operations and buffers.

Machine code is shared by equal programs; records are not: they follow from structure and lines, so
a program found again gives the ones that were given when it was compiled. Times are not here:
events name a record by its id (gnomon/profiler).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from gnomon.codegen.batch import ENTRY, HEAD
from gnomon.ir.node import Node
from gnomon.ir.provenance import Site
from gnomon.program.blocks import ControlCall, ProgramBlock
from gnomon.program.kernel import Kernel, traffic
from gnomon.program.listing import label
from gnomon.runtime.files import publish
from gnomon.runtime.program import Call, Slot, Step
from gnomon.schedule.fusion import Fusion
from gnomon.schedule.memory import nbytes

__all__ = [
    "BufferRecord",
    "Decision",
    "Line",
    "OpRecord",
    "Record",
    "SavedRecords",
    "records_of",
    "save",
]

VERSION = 2
"""The version of the format on disk; a reader refuses others."""

Number = Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
"""A count of nanoseconds, bytes or flops; a file with larger ones is refused."""
BufferRole = Literal["input", "output", "in-place"]
FusionKind = Literal["epilogue", "prologue", "join", "share", "recompute"]
Side = Literal["both", "reads", "makes"]
NUMBER_BITS = 53
"""The bits of ids: as many as JavaScript's numbers hold."""
PLAIN = frozenset({"map", "reduce"})
"""Nodes that take one operation for each element, of the result or of the input."""
WEIGHTLESS = frozenset(
    {"permute", "reshape", "expand", "slice", "window", "detach", "barrier", "place"}
    | {"const", "iota", "input"}
)
"""Nodes that are no work of a kernel: index arithmetic, constants, identities."""


class Line(Struct, frozen=True):
    """A source line, with the module of the model and the phase of the step."""

    file: str
    line: Number
    function: str = ""
    module: str = ""
    phase: str = "forward"


class OpRecord(Struct, frozen=True):
    """An operation that a kernel runs, in order; recomputed if another runs it as well.

    flops: of it alone; a kernel's time is divided among its operations by them.
    """

    name: str
    lines: tuple[Line, ...] = ()
    recomputed: bool = False
    flops: Number = 0


class BufferRecord(Struct, frozen=True):
    """A value that a kernel reads or writes."""

    name: str
    role: BufferRole
    dtype: str
    shape: tuple[Number, ...]
    nbytes: Number


class Decision(Struct, frozen=True, omit_defaults=True):
    """A fusion decision: which operations and lines, bytes apart and together, why not.

    kind: how: as an epilogue or prologue of a product, by not storing what `what` reads `of`
    another, by sharing a load, or by recomputing. side: what this kernel computes of them. times:
    how many equal ones are summed up here. seconds: apart and together, if measured.
    """

    what: str
    apart: Number
    together: Number
    refused: str = ""
    kind: FusionKind = "epilogue"
    of: str = ""
    line: Line | None = None
    of_line: Line | None = None
    side: Side = "both"
    times: Number = 1
    seconds: tuple[float, float] | None = None


class Record(Struct, frozen=True):
    """One call site of a program.

    nbytes: of all its buffers, each once; less where a kernel touches only some of a buffer.
    symbol: which machine code it runs, shared by equal kernels. times: how often one run of the
    program calls it. members: the kernels that it runs as one, if it is a batch; events name the
    batch.
    """

    id: Number
    name: str
    symbol: str
    program: str
    lines: tuple[Line, ...]
    ops: tuple[OpRecord, ...]
    buffers: tuple[BufferRecord, ...]
    flops: Number
    nbytes: Number
    backend: str = "llvm"
    times: Number = 1
    decisions: tuple[Decision, ...] = ()
    members: tuple[Record, ...] = ()


class SavedRecords(Struct, frozen=True):
    """Records on disk."""

    records: tuple[Record, ...]
    version: int = VERSION


def save(path: str | os.PathLike, records: Iterable[Record]) -> None:
    """Write records as JSON, atomically."""
    content = msgspec.json.format(msgspec.json.encode(SavedRecords(tuple(records))), indent=1)
    publish(Path(path), content)


def records_of(block: ProgramBlock, steps: Sequence[Step], program: str) -> tuple[Record, ...]:
    """The records of a program's kernels, in the order of its table."""
    kernels = tuple(block.kernels())
    calls = [step for step in steps if isinstance(step, Call)]
    return RecordsWriter(block, kernels, program).records(calls)


class RecordsWriter:
    """Writes the records of one program."""

    def __init__(self, block: ProgramBlock, kernels: Sequence[Kernel], program: str) -> None:
        self.kernels, self.program = kernels, program
        self.names = names_of(block)
        self.fusions: dict[Node, list[Fusion]] = {}
        for fusion in block.decisions():
            for node in dict.fromkeys((fusion.maker, *fusion.nodes)):
                self.fusions.setdefault(node, []).append(fusion)
        self.stored = {x for k in kernels for x in k.buffers[: k.outputs]}
        self.origins = self._origins()
        self._lines: dict[tuple[Site, ...], tuple[Line, ...]] = {}

    def records(self, calls: Sequence[Call]) -> tuple[Record, ...]:
        """A record for each kernel, given the steps that call them."""
        return tuple(
            self.record(kernel, f"{number}", call)
            for number, (kernel, call) in enumerate(zip(self.kernels, calls, strict=True))
        )

    def record(self, kernel: Kernel, place: str, call: Call) -> Record:
        """The record of a kernel at a place of the program."""
        lines = self.lines_of(kernel)
        parts = calls_of_members(kernel, call.slots)
        return Record(
            id=number_of(self.program, place),
            name=kernel.name,
            symbol=call.kernel,
            program=self.program,
            lines=lines,
            ops=tuple(self.ops(kernel, lines)),
            buffers=tuple(self.buffers(kernel, () if kernel.members else call.slots)),
            flops=kernel.flops,
            nbytes=traffic(kernel),
            times=kernel.times,
            decisions=tuple(self.decisions(kernel)),
            members=tuple(
                self.record(member, f"{place}.{k}", own)
                for k, (member, own) in enumerate(zip(kernel.members, parts, strict=True))
            ),
        )

    def lines_of(self, kernel: Kernel) -> tuple[Line, ...]:
        """The lines that a kernel serves: those of most of its work first."""
        work = (x for k in kernel.members or (kernel,) for x in work_of(k, self.stored))
        counts = Counter(line for x in work for line in self.lines(x.sites)[:1])
        served = dict.fromkeys((*counts, *self.lines(kernel.sites)))
        return tuple(sorted(served, key=lambda line: -counts[line]))

    def lines(self, sites: tuple[Site, ...]) -> tuple[Line, ...]:
        """The lines of sites, each once."""
        found = self._lines.get(sites)
        if found is None:
            made = (Line(s.file, s.line, s.function, s.module, s.phase) for s in sites)
            found = self._lines[sites] = tuple(dict.fromkeys(made))
        return found

    def ops(self, kernel: Kernel, lines: tuple[Line, ...]) -> Iterator[OpRecord]:
        """The operations of a kernel, in order."""
        for member in kernel.members or (kernel,):
            work = work_of(member, self.stored)
            flops = flops_of(work, member.flops)
            for node in work:
                recomputed = self.origins.get(node, member.nodes) is not member.nodes
                yield OpRecord(
                    label(node), self.lines(node.sites) or lines, recomputed, flops[node]
                )

    def _origins(self) -> dict[Node, tuple[Node, ...]]:
        """A map from nodes to the kernel that owns them; other kernels recompute them.

        Chunks of one graph compute equal nodes of different parts, and count as no recomputation.
        """
        origins: dict[Node, tuple[Node, ...]] = {}
        every = (member for k in self.kernels for member in k.members or (k,))
        for kernel in (k for k in every if not k.homes):
            own = frozenset(kernel.nodes)
            for node in work_of(kernel, self.stored):
                if node not in origins or node in own:
                    origins[node] = kernel.nodes
        return origins

    def buffers(self, kernel: Kernel, slots: Sequence[Slot]) -> Iterator[BufferRecord]:
        """The buffers of a kernel; a result that overwrites an operand is in place."""
        places = slots[: len(kernel.buffers)]
        for k, x in enumerate(kernel.buffers):
            role: BufferRole = "output" if k < kernel.outputs else "input"
            if role == "output" and places and places[k] in places[kernel.outputs :]:
                role = "in-place"
            yield BufferRecord(self.name(x), role, x.dtype.name, x.shape, nbytes(x))

    def name(self, node: Node) -> str:
        """A value's name in the program's text; values in only one chunk get new names."""
        return self.names.setdefault(node, f"part{len(self.names)}")

    def decisions(self, kernel: Kernel) -> Iterator[Decision]:
        """The decisions about the kernel's nodes and their neighbours; equal ones are one."""
        own, groups = frozenset(kernel.nodes), {}
        near = {id(each): each for x in kernel.nodes for each in self.fusions.get(x, ())}
        for each in near.values():
            ends = self.first_line(each.nodes[-1]), self.first_line(each.maker)
            side = "reads" if each.maker not in own else "both"
            side = "makes" if own.isdisjoint(each.nodes) else side
            spent = each.measured and (each.measured.apart, each.measured.together)
            groups.setdefault((each.kind, each.refused, side, *ends, spent), []).append(each)
        for (kind, refused, side, *ends, spent), found in groups.items():
            what = ", ".join(dict.fromkeys(label(x) for each in found for x in each.nodes))
            of = ", ".join(dict.fromkeys(label(each.maker) for each in found))
            moved = sum(each.apart for each in found), sum(each.together for each in found)
            yield Decision(what, *moved, refused, kind, of, *ends, side, len(found), spent)

    def first_line(self, node: Node) -> Line | None:
        """The first source line of a node."""
        return next(iter(self.lines(node.sites)), None)


def number_of(program: str, place: str) -> int:
    """The id of a call, equal in every process that compiles the same program."""
    wide = int.from_bytes(sha256(f"{program} {place}".encode()).digest()[:8], "big")
    return wide >> (64 - NUMBER_BITS)


def calls_of_members(kernel: Kernel, slots: Sequence[Slot]) -> list[Call]:
    """The calls of a batch's members, read from its table; their slots follow it."""
    entries = [slots[HEAD + ENTRY * k :][:ENTRY] for k in range(len(kernel.members))]
    return [Call(first.kernel, slots[last.value // 8 :]) for first, *_, last in entries]


def work_of(kernel: Kernel, stored: Collection[Node]) -> list[Node]:
    """The nodes that a kernel computes: from stored values to its results."""
    made, read = kernel.buffers[: kernel.outputs], {*kernel.buffers[kernel.outputs :]}
    order: dict[Node, None] = {}
    stack: list[tuple[Node, bool]] = [(x, False) for x in reversed(made)]
    seen: set[Node] = set()
    while stack:
        node, done = stack.pop()
        if done:
            order[node] = None
        elif node not in seen and (node in made or not (node in read or node in stored)):
            seen.add(node)
            stack.append((node, True))
            stack.extend((x, False) for x in reversed(node.inputs))
    heavy = [x for x in order if x.op not in WEIGHTLESS]
    return heavy or [x for x in order if x.op != "input"] or list(made[:1])


def flops_of(work: Sequence[Node], total: int) -> dict[Node, int]:
    """The flops of each operation of a kernel; those of unknown work share what is left."""
    known = {x: x.size if x.op == "map" else x.inputs[0].size for x in work if x.op in PLAIN}
    others = [x for x in work if x not in known]
    left = max(total - sum(known.values()), 0)
    return known | {x: left // len(others) for x in others}


def names_of(block: ProgramBlock, before: str = "") -> dict[Node, str]:
    """The names of all values of a program: inputs by their names, others by numbers."""
    found: dict[Node, str] = {}
    taken: set[str] = set()
    for k, x in enumerate(block.graph.inputs):
        name = x.params["name"] or next((s.name for s in x.sites if s.name), f"in{k}")
        found[x] = before + (f"{name}({k})" if name in taken else name)
        taken.add(name)
    for k, x in enumerate(block.graph.nodes):
        found.setdefault(x, f"{before}v{k}")
    for number, part in enumerate(x for x in block.parts if isinstance(x, ControlCall)):
        for name, inner in part.blocks.items():
            found |= names_of(inner, f"{before}{part.name}{number}.{name}.")
    return found


def text_of(block: ProgramBlock, names: Mapping[Node, str] | None = None, depth: int = 0) -> str:
    """A program after all passes: a line for each value with the user's line at its end."""
    names, margin = names or names_of(block), "  " * depth
    rows = [
        f"{margin}{names[x]} = {operation_text(x, names)}: {x.dtype.name}{list(x.shape)}{ending(x)}"
        for x in block.graph.nodes
        if x.op != "input"
    ]
    given = ", ".join(f"{names[x]}: {x.dtype.name}{list(x.shape)}" for x in block.graph.inputs)
    rows = [f"{margin}given {given}", *rows]
    for part in (x for x in block.parts if isinstance(x, ControlCall)):
        for name, inner in part.blocks.items():
            rows += [f"{margin}{part.name} {name}:", text_of(inner, names, depth + 1)]
    made = ", ".join(names[x] for x in block.graph.outputs)
    return "\n".join([*rows, f"{margin}return {made}"])


def operation_text(node: Node, names: Mapping[Node, str]) -> str:
    """An operation on its operands."""
    if node.op == "const":
        return f"{node.params['value']}"
    return f"{label(node)}({', '.join(names[x] for x in node.inputs)})"


def ending(node: Node) -> str:
    """The first source line of a node, as a comment."""
    return f"  # {node.sites[0]}" if node.sites else ""
