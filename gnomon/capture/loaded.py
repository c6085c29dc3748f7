"""Compiled functions from files: programs that are found by their arguments, and run.

No function, no pass and no compiler is needed: what runs is what was saved, in one native call.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.capture.inputs import pattern, values_of
from gnomon.capture.signature import structure_of_call
from gnomon.compiler.build import from_artifact
from gnomon.dtypes import DType, dtype_of
from gnomon.errors import ArgumentError, GradientError, clipped
from gnomon.ir.node import Graph, Node
from gnomon.ops.op_calls import OpCall
from gnomon.ops.registry import Traced
from gnomon.program.artifact import (
    CONTAINERS,
    Artifact,
    EntryPoint,
    StateTensor,
    damaged,
    read_artifact,
)
from gnomon.program.executable import Executable
from gnomon.program.graphs import natural
from gnomon.runtime.backend import HOST
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.tensor import nans
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec, unflatten
from gnomon.tensor.state import grads, leaf_like, state
from gnomon.tensor.tensor import Tensor, from_buffer, node_of, wrap
from gnomon.tensor.views import mesh_layout_of

__all__ = ["LoadedFunction", "load_compiled"]

ArgumentKind = tuple[tuple[int, ...], DType]
"""The shape and dtype of an argument."""


def load_compiled(path: str | PathLike, digest: str = "") -> LoadedFunction:
    """The function of a file that `precompile(...).save(path)` wrote, without its source.

    It takes arguments like the examples, gives the bits that the function gave, and no gradients.
    A file holds machine code: load none that you would not run. It must belong to you or root, and
    nobody else may write to it; `digest`, which `save` gave, pins what it holds.

    Raises CheckpointError for a file that was damaged or may be somebody else's, CompileError where
    another processor or version of Gnomon is needed, OSError where there is none.

    >>> import gnomon as gn, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     digest = gn.compile(lambda x: x.exp()).precompile(gn.ones(2)).save(f"{folder}/f.gnc")
    ...     load_compiled(f"{folder}/f.gnc", digest)(gn.zeros(2)).tolist()
    [1.0, 1.0]
    """
    found = Path(path)
    return LoadedFunction(found, read_artifact(found, digest))


class LoadedFunction:
    """A compiled function from a file."""

    _followed = None
    """A capture need not look whether anything inside has changed."""

    def __init__(self, path: Path, found: Artifact) -> None:
        self.path, self.name = path, clipped(found.definition.name)
        self.programs: dict[tuple[Any, tuple[ArgumentKind, ...]], LoadedProgram] = {}
        """By the structure of a call, and the kinds of its tensors."""
        functions = HOST.kernels.link(found.code.objects)
        tensors = [tensor_of(x) for x in found.state]
        for entry, plan in zip(found.definition.entries, found.code.plans, strict=True):
            graph = found.graphs[entry.graph]
            made = from_artifact(graph, plan, functions, found.code.origin, self.name)
            try:
                program = LoadedProgram(entry, graph, made, tensors)
            except (ValueError, TypeError, LookupError, RecursionError) as wrong:
                raise damaged(path, wrong) from None
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
        """The error of a call for which there is no program."""
        known = "; ".join(dict.fromkeys(listed(x) for _, x in self.programs))
        return ArgumentError(
            f"load_compiled: {self.name} of {self.path.name} was precompiled for other arguments: "
            f"got {listed(kinds)}, and others or nested otherwise than {known}. Precompile it with "
            "such an example too."
        )

    def explain(self) -> str:
        """The programs: their kernels, lines, work, shapes and memory."""
        return "\n".join(f"{self.name}: {x.executable.explain()}" for x in self.programs.values())


class LoadedProgram:
    """A program from a file: its executable, the tensors that it reads, its results."""

    def __init__(
        self, entry: EntryPoint, graph: Graph, executable: Executable, tensors: Sequence[Tensor]
    ) -> None:
        self.graph, self.executable, self.results = graph, executable, entry.results
        read = dict(entry.state)
        self.inputs = [tensors[read[k]] if k in read else None for k in range(len(graph.inputs))]
        self.given = entry.given
        self.kinds = tuple([(shape, dtype_of(name)) for shape, name in entry.kinds])
        self.call = tree_of(entry.call, len(self.kinds))
        self.tree = tree_of(entry.result, len(self.results))
        self.panels: tuple[list[DeviceBuffer], list[bool]] | None = None
        """Weights as products read them, once there was a run."""
        self.leaves = [pattern(x) for x in graph.outputs]

    def run(self, arguments: Sequence[Tensor]) -> Any:
        """The results for arguments of the right kinds."""
        inputs: list[Any] = list(self.inputs)
        for k, number in self.given:
            inputs[k] = arguments[number]
        nodes = self._traced(inputs) if state.capture is not None else self._computed(inputs)
        made = list(map(wrap, nodes))
        results = [made[k] if k >= 0 else arguments[-1 - k] for k in self.results]
        return unflatten(self.tree, results)

    def _traced(self, inputs: Sequence[Tensor]) -> Sequence[Node]:
        """The results as part of a function that is captured."""
        region = Traced(self.executable.name, self.graph, OpCall((), ()), True)
        return region.emit([node_of(x) for x in inputs])

    def _computed(self, inputs: Sequence[Tensor]) -> Sequence[Node]:
        """The results by one native call."""
        given, kept = values_of(inputs), self.executable.kept
        panels = self.panels or ([DeviceBuffer(x.nbytes) for x in kept], [True] * len(kept))
        buffers = self.executable.run(given, (), panels)
        self.panels = panels[0], [False] * len(kept)
        if nans.looked_for():
            nans.check(self.graph, given, buffers)
        buffers = [x.copied() if x.lent else x for x in buffers]
        return list(map(leaf_like, self.leaves, buffers))


def tensor_of(found: StateTensor) -> Tensor:
    """A tensor that a program reads."""
    content = np.frombuffer(found.content, np.uint8)
    return from_buffer(DeviceBuffer.of(content).copied(), found.shape, dtype_of(found.dtype))


def tree_of(row: Any, count: int) -> Any:
    """The structure of nested tensors, of which there are so many; see `row_of`."""
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
