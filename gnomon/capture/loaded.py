"""Compiled functions from files: programs that are found by their arguments, and run.

No function, no pass and no compiler is needed: what runs is what was saved, in one native call. The
file is a program file (docs/program-files.md) whose notes say what its methods compute. A file that
another version of Gnomon wrote runs too; its kernels have no lines then.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from gnomon.capture.inputs import pattern, values_of
from gnomon.capture.program_methods import CONTAINERS
from gnomon.capture.signature import structure_of_call
from gnomon.compiler.build import from_file
from gnomon.compiler.target import MACHINES
from gnomon.dtypes import DType, dtype_of
from gnomon.errors import (
    ArgumentError,
    CheckpointError,
    CompileError,
    GradientError,
    IndexOutOfBounds,
    clipped,
)
from gnomon.ir.node import Graph, Node
from gnomon.lazy import assembly, listing
from gnomon.ops.op_calls import OpCall
from gnomon.ops.registry import Traced
from gnomon.program.context import CompileContext
from gnomon.program.executable import Executable
from gnomon.program.graphs import natural
from gnomon.program.program_notes import BROKEN, ProgramNotes, read_graphs, read_notes
from gnomon.program.saved import Packed, SavedProgram
from gnomon.runtime import device
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.cache import doubt
from gnomon.runtime.files import plain
from gnomon.runtime.program import Needs
from gnomon.runtime.program_file import (
    HEAD,
    ROW,
    WEIGHTS,
    ForeignProgramError,
    ProgramFileError,
    ShippedMethod,
    ShippedProgram,
    load_program,
)
from gnomon.schedule.memory import MemoryPlan
from gnomon.settings import Settings, current
from gnomon.tensor import nans
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec, unflatten
from gnomon.tensor.state import grads, is_capturing, leaf_like
from gnomon.tensor.tensor import Tensor, from_buffer, node_of, wrap
from gnomon.tensor.views import mesh_layout_of

__all__ = ["LoadedFunction", "load_compiled"]

ArgumentKind = tuple[tuple[int, ...], DType]
"""The shape and dtype of an argument."""
PIECE = 1 << 20
"""Bytes that are read at a time."""
BELOW = {"avx512": ("avx512", "avx2")}
"""The targets whose code runs on a processor, the best first, where it is more than its own."""


def load_compiled(path: str | PathLike, digest: str = "") -> LoadedFunction:
    """The function of a file that `precompile(...).save(path)` wrote, without its source.

    It takes arguments like the examples, gives the bits that the function gave, and no gradients.
    A file holds machine code: load none that you would not run. It must belong to you or root, and
    nobody else may write to it; `digest`, which `save` gave, pins what it holds.

    Raises CheckpointError for a file that was damaged or may be somebody else's, CompileError where
    another processor or version of Gnomon is needed, OSError where there is none.

    >>> import gnomon as gn, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digest = gn.compile(lambda x: x.exp()).precompile(gn.ones(2)).save(f"{folder}/f.gnp")
    ...     load_compiled(f"{folder}/f.gnp", digest)(gn.zeros(2)).tolist()
    [1.0, 1.0]
    """
    found, here = Path(path), device.target().name
    with plain(found) as file:
        why = doubt(os.fstat(file.fileno()))
    if why:
        raise CheckpointError(
            f"load_compiled: {found} {why}, and machine code must come from you alone. If you "
            "know who made it, copy it to a file of yours that nobody else can write to."
        )
    try:
        targets = BELOW.get(here, (here,))
        shipped = load_program(found, str(digest), current().num_threads, targets)
        check_weights(found, shipped)
        if not shipped.notes:
            raise ProgramFileError("it is of gn.export. Load it by gn.export.load_program")
        notes = read_notes(shipped.notes)
        return LoadedFunction(found, shipped, notes, read_graphs(notes))
    except ForeignProgramError as wrong:
        raise CompileError(
            f"load_compiled: {found} cannot run here: {reason_of(wrong)}. Save it for this "
            f"processor, {here}, by this version of Gnomon."
        ) from None
    except BROKEN as wrong:
        raise damaged(found, reason_of(wrong)) from None


def reason_of(wrong: Exception) -> str:
    """The reason in an error's message, without the name of the file."""
    return clipped(str(wrong).rpartition(": ")[2].rstrip("."))


def damaged(path: Path, why: object) -> CheckpointError:
    """The error of a file that is not what `save` wrote."""
    return CheckpointError(
        f"load_compiled: {path} is not a file of a compiled function, or was damaged: "
        f"{clipped(why).rstrip('.')}. Save it again."
    )


def check_weights(path: Path, shipped: ShippedProgram) -> None:
    """Refuse weights that differ from their checksums, or booleans that are neither 0 nor 1."""
    with path.open("rb") as file:
        count = HEAD.unpack(file.read(HEAD.size))[4]
        rows = list(ROW.iter_unpack(file.read(ROW.size * count)))
        for kind, _, at, size, _, seal in rows:
            if kind == WEIGHTS:
                file.seek(at)
                own = hashlib.sha256()
                for start in range(0, size, PIECE):
                    own.update(file.read(min(PIECE, size - start)))
                if own.digest() != seal:
                    raise ProgramFileError("its weights were damaged")
    for kind, x in zip(shipped.kinds, shipped.tensors, strict=True):
        if kind.name == "bool" and x.view(np.uint8).max(initial=0) > 1:
            raise ProgramFileError("a truth is neither true nor false")


class LoadedFunction:
    """A compiled function from a file."""

    _followed = None
    """A capture need not look whether anything inside has changed."""

    def __init__(
        self,
        path: Path,
        shipped: ShippedProgram,
        notes: ProgramNotes,
        known: tuple[list[Graph], Settings] | None,
    ) -> None:
        self.path, self.name = path, clipped(notes.name)
        self.programs: dict[tuple[Any, tuple[ArgumentKind, ...]], LoadedProgram] = {}
        """By the structure of a call, and the kinds of its tensors."""
        pairs = zip(shipped.kinds, shipped.tensors, strict=True)
        tensors = [tensor_of(kind.sizes, kind.name, x) for kind, x in pairs]
        methods = [x for each in shipped.methods.values() for x in each.alike]
        for k, (method, own) in enumerate(zip(methods, notes.methods, strict=True)):
            if method.symbols or method.writes or shipped.state:
                raise ProgramFileError("a method writes, or is for many sizes")
            program = LoadedProgram(method, tensors)
            if known is not None:
                graph, machine = known[0][k], MACHINES[shipped.target]
                check_graph(method, graph)
                context = CompileContext(machine, known[1], kept=own.kept)
                program.understand(graph, context, self.name)
            self.programs[program.call, program.kinds] = program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, by the program of arguments like these."""
        call, arguments = structure_of_call(args, kwargs)
        kinds = tuple([(tuple(x.shape), x.dtype) for x in arguments])
        program = self.programs.get((call, kinds))
        if program is None or any(mesh_layout_of(x._view) for x in arguments):
            raise self._misfit(kinds)
        if grads.get() and any(x.requires_grad for x in arguments):
            raise GradientError(
                f"load_compiled: {self.name} of {self.path.name} gives no gradients, and an "
                "argument wants one. Pass its detach(), or call it under no_grad()."
            )
        return program.run(arguments)

    def _misfit(self, kinds: tuple[ArgumentKind, ...]) -> ArgumentError:
        """The error of a call that no program of the file serves."""
        known = "; ".join(dict.fromkeys(listed(x) for _, x in self.programs))
        return ArgumentError(
            f"load_compiled: {self.name} of {self.path.name} was precompiled for other arguments: "
            f"got {listed(kinds)}, and others or nested otherwise than {known}. Precompile it with "
            "such an example too."
        )

    def explain(self) -> str:
        """The programs: their kernels, lines, work, shapes and memory."""
        return "\n".join(f"{self.name}: {x.explain()}" for x in self.programs.values())


class LoadedProgram:
    """A program from a file: its method, the tensors that it reads, its results."""

    def __init__(self, method: ShippedMethod, tensors: Sequence[Tensor]) -> None:
        self.method, self.results = method, method.results
        read = dict(method.held)
        self.inputs = [tensors[read[k]] if k in read else None for k in range(method.inputs)]
        self.kinds = tuple([(tuple(x.sizes), dtype_of(x.name)) for _, x in method.arguments])
        self.call = tree_of(method.call, len(self.kinds))
        self.tree = tree_of(method.result, len(self.results))
        self.panels: tuple[list[DeviceBuffer], list[bool]] | None = None
        """Weights as products read them, once there was a run."""
        self.executable: Executable | None = None
        """None where another version of Gnomon wrote what the kernels are."""

    def understand(self, graph: Graph, context: CompileContext, name: str) -> None:
        """Make the executable of the program's graph from the plan and the code of the file."""
        plan, run = self.method.plan, self.method.plan.at(self.method, ())
        arena, scratch = plan.numbers[:2]
        counts = plan.inputs, plan.fresh + 1 + len(run.kept), len(run.kept)
        saved = SavedProgram(
            cast(Any, range(len(plan.calls))),
            Needs(*counts, plan.registers, arena, scratch, run.alone),
            MemoryPlan((), arena, arena),
            tuple(run.sizes),
            tuple((k < plan.fresh, k - (k >= plan.fresh) * plan.fresh) for k in plan.places),
            tuple(plan.over),
            kept=tuple(Packed(0, n, "", ()) for n in run.kept),
        )
        tables = plan.calls, run.bindings
        made = from_file(graph, saved, tables, self.method.program.code, context)
        self.executable, made.name = made, name
        self.leaves = [pattern(x) for x in graph.outputs]

    def explain(self) -> str:
        """The kernels, and the memory that they need in between."""
        if self.executable is None:
            return "written by another version of Gnomon, which knows the kernels"
        block = self.executable.block
        return listing.listing(self.executable.kernels, assembly.plan_of(block).memory)

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """The results for arguments of the right kinds."""
        if self.executable is None:
            return unflatten(self.tree, self._by_loader(arguments))
        inputs: list[Any] = list(self.inputs)
        for k, number in self.method.read:
            inputs[k] = arguments[number]
        known = self.executable
        nodes = self._traced(known, inputs) if is_capturing() else self._computed(known, inputs)
        made = list(map(wrap, nodes))
        results = [made[k] if k >= 0 else arguments[-1 - k] for k in self.results]
        return unflatten(self.tree, results)

    def _by_loader(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        """Run the program with the file's own loader, which works for every version."""
        try:
            arrays = self.method.computed([x.detach().numpy() for x in arguments])
        except IndexError as wrong:
            raise IndexOutOfBounds(f"load_compiled: {wrong}") from None
        kinds = [self.method.made[k] if k >= 0 else None for k in self.results]
        return [
            arguments[-1 - k] if kind is None else tensor_of(array.shape, kind.name, array)
            for k, kind, array in zip(self.results, kinds, arrays, strict=True)
        ]

    def _traced(self, known: Executable, inputs: Sequence[Tensor]) -> Sequence[Node]:
        """The results as nodes in a running capture."""
        region = Traced(known.name, known.source, OpCall((), ()), True)
        return region.emit([node_of(x) for x in inputs])

    def _computed(self, known: Executable, inputs: Sequence[Tensor]) -> Sequence[Node]:
        """The results, computed by one native call."""
        given, kept = values_of(inputs), known.kept
        panels = self.panels or ([DeviceBuffer(x.nbytes) for x in kept], [True] * len(kept))
        buffers = known.run(given, (), panels)
        self.panels = panels[0], [False] * len(kept)
        if nans.looked_for():
            nans.check(known.source, given, buffers)
        buffers = [x.copied() if x.lent else x for x in buffers]
        return list(map(leaf_like, self.leaves, buffers))


def check_graph(method: ShippedMethod, graph: Graph) -> None:
    """Refuse a graph whose inputs and outputs are not those of the method."""
    kinds: list[Any] = [None] * method.inputs
    for k, number in method.read:
        kinds[k] = method.arguments[number][1]
    for k, number in method.held:
        kinds[k] = method.program.kinds[number]
    expected = [(tuple(x.sizes), x.name) for x in (*kinds, *method.made)]
    if [(x.shape, x.dtype.name) for x in (*graph.inputs, *graph.outputs)] != expected:
        raise ProgramFileError("a method's graph has other inputs or outputs than its code")


def tensor_of(shape: Sequence[int], dtype: str, array: np.ndarray) -> Tensor:
    """A tensor over an array's memory."""
    content = array.reshape(-1).view(np.uint8)
    return from_buffer(DeviceBuffer.of(content), tuple(shape), dtype_of(dtype))


def tree_of(row: Any, count: int) -> Any:
    """The structure of `count` nested tensors; see `row_of`."""
    if type(row) is int:
        return TreeLeaf(range(count)[natural(row)])
    kind, names, *rest = row
    if not kind:
        return Constant(names)
    parts = tuple([tree_of(part, count) for part in rest[0]])
    if len(names) != (len(parts) if kind == "dict" else 0):
        raise ValueError("a container has parts without names")
    return TreeSpec(CONTAINERS[kind], tuple(map(Constant, names)), parts)


def listed(kinds: Sequence[ArgumentKind]) -> str:
    """The kinds of tensors as messages show them."""
    return clipped(f"({', '.join(f'{dtype.name}{list(shape)}' for shape, dtype in kinds)})")
