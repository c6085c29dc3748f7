"""Several embedding tables, looked up together and updated in the backward pass.

No gradient has a table's shape: the backward pass changes the rows that the batch used in place, as
FBGEMM's table-batched embeddings do. So tables are not parameters, and nothing else may share their
memory. Tables for optimizers are in embedding.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_float, c_int64
from dataclasses import dataclass
from math import prod
from weakref import ref

import numpy as np

from gnomon.dtypes import float32
from gnomon.errors import ArgumentError, DtypeError, IndexOutOfBounds, ShapeError
from gnomon.ir.node import Sites
from gnomon.ir.provenance import current_sites
from gnomon.lazy import table_programs
from gnomon.nn.module import Module
from gnomon.ops.table_rows import STATE_WIDTH
from gnomon.runtime.buffer import ALIGN, DeviceBuffer
from gnomon.tensor.evaluate import evaluate_all
from gnomon.tensor.state import grads, is_capturing, refusal
from gnomon.tensor.tensor import Tensor, array_of, from_array, from_buffer, leaf_node, raw

POOLING = ("sum", "mean")


@dataclass(frozen=True)
class TableSpec:
    """The description of an embedding table: number of rows, width, name."""

    rows: int
    width: int
    name: str | None = None


@dataclass(frozen=True)
class RowOptimizer:
    """The optimizer of looked-up rows: "sgd", "adagrad" or "rowwise_adagrad", and its settings.

    >>> RowOptimizer("adam")
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: RowOptimizer: rule is one of ...: adam.
    """

    rule: str = "rowwise_adagrad"
    lr: float = 0.01
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        if self.rule not in STATE_WIDTH:
            raise ArgumentError(f"RowOptimizer: rule is one of {sorted(STATE_WIDTH)}: {self.rule}.")


class ForwardCall:
    """The data of one forward call that its backward pass reads."""

    def __init__(self, index: np.ndarray, weights: np.ndarray | None, sites: Sites) -> None:
        self.index, self.weights, self.sites = index, weights, sites


class TableBatchedEmbeddingBags(Module):
    """Embedding bags of several tables; backward passes update the looked-up rows.

    forward takes positions (tables, bags, size), −1 for none, or flat ones with offsets, and
    returns (bags, sum of widths).

    >>> bags = TableBatchedEmbeddingBags([TableSpec(5, 4), TableSpec(3, 2)])
    >>> bags(tensor([[[0, 1]], [[2, -1]]])).shape
    Size([1, 6])
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
        """Allocate fixed memory under a name, and register a buffer over it."""
        self._memory[name] = in_lines(shape)
        self.register_buffer(name, from_array(self._memory[name]))

    # what is in the tables

    def weight(self, number: int) -> Tensor:
        """A copy of a table's values."""
        return from_array(self._settled(f"weight{number}").copy())

    def optimizer_state(self, number: int) -> Tensor:
        """A copy of the optimizer's state of a table."""
        return from_array(self._settled(f"state{number}").copy())

    def set_weight(self, number: int, values: Tensor | np.ndarray) -> None:
        """Set the values of a table."""
        given = values.numpy() if isinstance(values, Tensor) else values
        evaluate_all()
        self._settled(f"weight{number}")[...] = given

    def _settled(self, name: str) -> np.ndarray:
        """The fixed memory of a buffer, updated if the buffer was replaced."""
        mine, held = self._memory[name], raw(self._buffers[name]).value
        if held is None or held.address != mine.ctypes.data:
            mine[...] = array_of(self._buffers[name])
            self._buffers[name] = from_array(mine)
        return mine

    # a step

    def forward(
        self,
        indices: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """The sums or means of the bags' rows, tables side by side.

        With tables · bags + 1 offsets, indices are flat and each bag ends where the next begins.
        """
        if offsets is not None:
            whole = (indices, offsets, per_sample_weights)
            indices, per_sample_weights = in_equal_bags(*whole, len(self.specs))
        batch = self._batch(indices, per_sample_weights)
        shape = (batch.index.shape[1], sum(self.widths))
        made = DeviceBuffer(4 * prod(shape))
        values = made.numpy(np.float32, shape)
        self._run("bags", batch, values)
        share = self._share(batch)
        if share is not None:
            values *= share
        result = from_buffer(made, shape, float32)
        if grads.get():
            result.requires_grad_()
            result.register_post_accumulate_grad_hook(lambda tensor: self._step(tensor, batch))
            # a pass must find the result although nobody but its graph holds it
            leaf_node(result).watch = [lambda: result]
        return result

    def _batch(self, indices: Tensor, weights: Tensor | None) -> ForwardCall:
        """The checked positions and weights of a call."""
        if is_capturing():
            raise refusal("TableBatchedEmbeddingBags: runs at once. Call it outside gn.compile.")
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
        shares = None if weights is None else array_of(weights.detach().float())
        return ForwardCall(array_of(indices), shares, current_sites())

    def _share(self, batch: ForwardCall) -> np.ndarray | None:
        """The factor of each bag's sum; None for pooling "sum"."""
        if self.pooling == "sum":
            return None
        counts = np.maximum((batch.index >= 0).sum(2), 1).astype(np.float32)
        return np.repeat(1 / counts.T, self.widths, 1)

    def _step(self, result: Tensor, batch: ForwardCall) -> None:
        """Update the rows of a batch by its gradient."""
        leaf_node(result).watch = [ref(result)]
        evaluate_all()
        gradient, result.grad = array_of(result.grad), None
        share = self._share(batch)
        self._run("step", batch, gradient if share is None else gradient * share)

    def _run(self, kind: str, batch: ForwardCall, values: np.ndarray) -> None:
        """Run one native program for all tables."""
        (_, bags, size), own = batch.index.shape, self.optimizer
        shapes = tuple((spec.rows, spec.width, spec.name) for spec in self.specs)
        decays, weights = own.weight_decay != 0, batch.weights
        about = table_programs.About(
            kind, shapes, bags, size, weights is not None, own.rule, decays
        )
        owner = table_programs.program_of(about, batch.sites)
        numbers, report = (c_float * 3)(own.lr, own.eps, own.weight_decay), c_int64(0)
        steps, column = kind == "step", values.ctypes.data
        both = (x for x in (batch.index, weights) if x is not None)
        places = [(x.ctypes.data, bags * size * x.itemsize) for x in both]
        given: list[int] = []
        results: list[int] = []
        for number, width in enumerate(self.widths):
            names = [f"weight{number}", f"state{number}"][: 1 + steps]
            owned = [self._settled(x).ctypes.data for x in names if x in self._memory]
            asked = [start + number * each for start, each in places]
            given += [*owned, column, *asked] if steps else [*owned, *asked]
            results += owned if steps else [column]
            column += 4 * width
        given += [addressof(numbers)] if steps else []
        owner.program.run(given, [*results, addressof(report)], caller=owner)
        if report.value:
            lines = ", ".join(map(str, batch.sites))
            raise IndexOutOfBounds(
                "TableBatchedEmbeddingBags: a position is outside its table. Check the indices of "
                f"{lines}."
            )


def in_lines(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros aligned to a cache line, so that few rows share one.

    Pages that are never written are never allocated by the system.
    """
    memory = np.zeros(4 * prod(shape) + ALIGN, np.uint8)
    start = -memory.ctypes.data % ALIGN
    return memory[start : start + 4 * prod(shape)].view(np.float32).reshape(shape)


def in_equal_bags(
    indices: Tensor, offsets: Tensor, weights: Tensor | None, tables: int
) -> tuple[Tensor, Tensor | None]:
    """Flat bags as bags of one size, padded with −1 to a power of two, so that few sizes differ."""
    ends, count = array_of(offsets), indices.numel()
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

    shares = None if weights is None else spread(array_of(weights.detach().float()), 0)
    return spread(array_of(indices), -1), shares
