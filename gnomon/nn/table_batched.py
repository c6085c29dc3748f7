"""Many tables whose bags are looked up together, and whose rows are stepped by a backward pass.

A gradient never takes a table's shape: when it arrives, the rows that the batch has met change in
place, as FBGEMM's table batched embeddings do. Tables are therefore no parameters, and nobody else
may hold their memory. Tables that an optimizer updates are in embedding.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_float, c_int64
from dataclasses import dataclass
from functools import cache
from math import prod
from weakref import ref

import numpy as np

from gnomon.codegen.emitter import Module as Text
from gnomon.codegen.kernels.bag_steps import STATE_WIDTH, emit_step
from gnomon.codegen.kernels.bags import BagSpec, emit_bags
from gnomon.dtypes import float32
from gnomon.errors import ArgumentError, DtypeError, IndexOutOfBounds, ShapeError, TraceError
from gnomon.ir.node import digest
from gnomon.nn.module import Module
from gnomon.runtime.buffer import ALIGN, Buffer
from gnomon.runtime.cpu import load
from gnomon.runtime.program import Call, Constant, Input, Needs, Output, Program
from gnomon.tensor.evaluate import evaluate, evaluate_all
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor, from_array, from_buffer, leaf_node, raw

POOLING = ("sum", "mean")


@dataclass(frozen=True)
class TableSpec:
    """A table: how many rows, how wide."""

    rows: int
    width: int
    name: str | None = None


@dataclass(frozen=True)
class RowOptimizer:
    """How met rows change: "sgd", "adagrad" or "rowwise_adagrad", with its numbers."""

    rule: str = "rowwise_adagrad"
    lr: float = 0.01
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.rule not in STATE_WIDTH:
            raise ArgumentError(f"RowOptimizer: rule is one of {sorted(STATE_WIDTH)}: {self.rule}.")


class Batch:
    """One forward call: what its backward pass reads."""

    def __init__(self, index: np.ndarray, weights: np.ndarray | None) -> None:
        self.index, self.weights = index, weights


class TableBatchedEmbeddingBags(Module):
    """Bags of several tables at once; a backward pass steps the rows that they hold.

    forward takes positions (tables, bags, size), −1 for none, or flat ones with offsets, and gives
    (bags, sum of widths).
    """

    def __init__(
        self,
        specs: Sequence[TableSpec],
        *,
        pooling: str = "sum",
        optimizer: RowOptimizer | None = None,
    ) -> None:
        super().__init__()
        if pooling not in POOLING or not specs:
            raise ArgumentError(f"TableBatchedEmbeddingBags: pooling is one of {POOLING}.")
        self.specs, self.pooling = tuple(specs), pooling
        self.optimizer = optimizer or RowOptimizer()
        self.widths = [s.width for s in self.specs]
        self._memory: dict[str, np.ndarray] = {}
        kept = STATE_WIDTH[self.optimizer.rule]
        for number, spec in enumerate(self.specs):
            shape = (spec.rows, spec.width)
            self._own(f"weight{number}", shape)
            if kept is not None:
                self._own(f"state{number}", shape if kept == "width" else shape[:1])

    def _own(self, name: str, shape: tuple[int, ...]) -> None:
        """Memory under a name, which a buffer of the module shows."""
        self._memory[name] = in_lines(shape)
        self.register_buffer(name, from_array(self._memory[name]))

    # what is in the tables

    def weight(self, number: int) -> Tensor:
        """A copy of a table."""
        return from_array(self._settled(f"weight{number}").copy())

    def optimizer_state(self, number: int) -> Tensor:
        """A copy of what a table's rows keep between steps."""
        return from_array(self._settled(f"state{number}").copy())

    def set_weight(self, number: int, values: Tensor | np.ndarray) -> None:
        """Fill a table."""
        given = values.numpy() if isinstance(values, Tensor) else values
        evaluate_all()
        self._settled(f"weight{number}")[...] = given

    def _settled(self, name: str) -> np.ndarray:
        """A buffer's own memory; what was written to the buffer meanwhile is taken over."""
        mine, held = self._memory[name], raw(self._buffers[name]).value
        if held is None or held.address != mine.ctypes.data:
            mine[...] = values_of(self._buffers[name])
            self._buffers[name] = from_array(mine)
        return mine

    # a step

    def forward(
        self,
        indices: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """The bags' rows, summed or averaged; tables side by side.

        With offsets, tables · bags + 1 of them, indices are flat and a bag ends where the next
        begins.
        """
        if offsets is not None:
            whole = (indices, offsets, per_sample_weights)
            indices, per_sample_weights = in_equal_bags(*whole, len(self.specs))
        batch = self._batch(indices, per_sample_weights)
        shape = (batch.index.shape[1], sum(self.widths))
        made = Buffer(4 * prod(shape))
        values = made.numpy(np.float32, shape)
        self._run("bags", batch, values)
        share = self._share(batch)
        if share is not None:
            values *= share
        result = from_buffer(made, shape, float32)
        if state.grad:
            result.requires_grad_()
            result.register_post_accumulate_grad_hook(lambda tensor: self._step(tensor, batch))
            # a pass must find the result although nobody but its graph holds it
            leaf_node(result).watch = [lambda: result]
        return result

    def _batch(self, indices: Tensor, weights: Tensor | None) -> Batch:
        """The positions and weights of a call."""
        if state.capture is not None:
            raise TraceError("TableBatchedEmbeddingBags: runs at once. Call it outside gn.compile.")
        if indices.dtype.name != "int64":
            raise DtypeError(f"TableBatchedEmbeddingBags: needs int64: got {indices.dtype.name}.")
        if indices.ndim != 3 or indices.shape[0] != len(self.specs):
            raise ShapeError(
                f"TableBatchedEmbeddingBags: indices must be ({len(self.specs)}, bags, size): got "
                f"{tuple(indices.shape)}."
            )
        if weights is not None and weights.shape != indices.shape:
            raise ShapeError(
                f"TableBatchedEmbeddingBags: per_sample_weights must be {tuple(indices.shape)}: "
                f"got {tuple(weights.shape)}."
            )
        shares = None if weights is None else values_of(weights.detach().float())
        return Batch(values_of(indices), shares)

    def _share(self, batch: Batch) -> np.ndarray | None:
        """What each bag's sum is multiplied by."""
        if self.pooling == "sum":
            return None
        counts = np.maximum((batch.index >= 0).sum(2), 1).astype(np.float32)
        return np.repeat(1 / counts.T, self.widths, 1)

    def _step(self, result: Tensor, batch: Batch) -> None:
        """Change the rows of a batch by the gradient that has arrived."""
        leaf_node(result).watch = [ref(result)]
        evaluate_all()
        gradient, result.grad = values_of(result.grad), None
        share = self._share(batch)
        self._run("step", batch, gradient if share is None else gradient * share)

    def _run(self, kind: str, batch: Batch, values: np.ndarray) -> None:
        """One native call for all tables."""
        _, bags, size = batch.index.shape
        weighted = batch.weights is not None
        rule = (self.optimizer.rule, self.optimizer.weight_decay != 0)
        program = program_of(kind, self.specs, bags, size, weighted, *rule)
        about = self.optimizer
        numbers = (c_float * 3)(about.lr, about.eps, about.weight_decay)
        report = c_int64(0)
        given = [batch.index.ctypes.data, batch.weights.ctypes.data if weighted else 0]
        names = [f"{word}{k}" for word in ("weight", "state") for k in range(len(self.specs))]
        owned = [self._settled(name) if name in self._memory else None for name in names]
        places = [0 if x is None else x.ctypes.data for x in owned]
        program.run([*given, addressof(numbers)], [values.ctypes.data, addressof(report), *places])
        if report.value:
            raise IndexOutOfBounds("TableBatchedEmbeddingBags: a position is outside its table.")


def in_lines(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that begin where a line of the caches does, so that rows share as few as they can.

    Pages that nothing is written to are never taken from the system.
    """
    room = np.zeros(4 * prod(shape) + ALIGN, np.uint8)
    start = -room.ctypes.data % ALIGN
    return room[start : start + 4 * prod(shape)].view(np.float32).reshape(shape)


def in_equal_bags(
    indices: Tensor, offsets: Tensor, weights: Tensor | None, tables: int
) -> tuple[Tensor, Tensor | None]:
    """Flat bags as bags of one size, a power of two so that few sizes differ; −1 fills them up."""
    ends, count = values_of(offsets), indices.numel()
    good = ends.ndim == 1 and ends.size % tables == 1 % tables and ends[0] == 0
    if not good or ends[-1] != count or (np.diff(ends) < 0).any():
        raise ShapeError(
            f"TableBatchedEmbeddingBags: offsets must be {tables} · bags + 1 that rise from 0 to "
            f"{count}: got {tuple(offsets.shape)}."
        )
    sizes = np.diff(ends)
    longest = int(sizes.max(initial=1))
    size = 1 << max(longest - 1, 0).bit_length()
    inside = np.arange(size) < sizes[:, None]
    shape = (tables, sizes.size // tables, size)

    def spread(values: np.ndarray, nothing: int) -> Tensor:
        made = np.full(inside.shape, nothing, values.dtype)
        made[inside] = values
        return from_array(made.reshape(shape))

    shares = None if weights is None else spread(values_of(weights.detach().float()), 0)
    return spread(values_of(indices), -1), shares


def values_of(tensor: Tensor) -> np.ndarray:
    """A tensor's values, for reading while the array lives."""
    node = raw(tensor)
    evaluate([node])
    return node.value.numpy(node.dtype.numpy, node.shape)


@cache
def program_of(
    kind: str,
    specs: tuple[TableSpec, ...],
    bags: int,
    size: int,
    weighted: bool,
    rule: str,
    decays: bool,
) -> Program:
    """The program that looks bags up, or steps rows: a call per table, none waits for another."""
    stride, column, calls, texts, scratch = sum(s.width for s in specs), 0, [], {}, 64 << 10
    for number, spec in enumerate(specs):
        about = BagSpec(spec.rows, spec.width, bags, size, stride, weighted, rule, decays)
        name, text, room = code_of(kind, about)
        texts[name], scratch = text, max(scratch, room)
        calls.append(Call(name, slots_of(kind, number, len(specs), column, about)))
        column += spec.width
    work = bags * size * sum(s.width for s in specs)
    needs = Needs(
        inputs=3, outputs=2 + 2 * len(specs), scratch=scratch, alone=prod((work, 1)) < 1 << 15
    )
    return Program(calls, load(texts), needs)


@cache
def code_of(kind: str, spec: BagSpec) -> tuple[str, str, int]:
    """A kernel's name, its text, the scratch it needs."""
    module, name = Text(), f"{kind}_{digest(repr(spec))}"
    room = (emit_bags if kind == "bags" else emit_step)(module, name, spec)
    return name, module.text(), room


def slots_of(kind: str, number: int, tables: int, column: int, spec: BagSpec) -> tuple:
    """Where a table's kernel finds what it reads and writes."""
    table, kept = Output(2 + number), Output(2 + tables + number)
    values, report = Output(0, 4 * column), (Output(1), Constant(0))
    index = Input(0, 8 * number * spec.lookups)
    weights = (Input(1, 4 * number * spec.lookups),) if spec.weighted else ()
    if kind == "bags":
        return (values, table, index, *report, *weights)
    return (table, values, index, *report, kept, Input(2), *weights)
