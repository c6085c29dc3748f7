"""Ragged tensors: batches whose items differ in size along one axis, as values and offsets.

PyTorch's jagged layout: `values` has the items one after another along the ragged axis, and
`offsets` says where each begins and ends. ragged_calls.py has functions of such tensors.

Letters: b items, j the ragged axis, s all places of it, *d other axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ops.external import EXTERNALS, ExternalOp, external
from gnomon.tensor.creation import arange, full
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.size import Size
from gnomon.tensor.state import is_eager
from gnomon.tensor.tensor import Tensor, node_of, wrap

__all__ = ["RaggedBatch", "ends_of", "in_steps", "items_of", "like"]


class RaggedSize:
    """The size of a ragged axis, equal to that of the same offsets."""

    def __init__(self, offsets: Tensor) -> None:
        self._offsets = offsets

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedSize) and self._offsets is other._offsets

    def __hash__(self) -> int:
        return id(self._offsets)

    def __index__(self) -> int:
        raise ShapeError(
            "nested: a ragged axis has no one size: got j. Take offsets().diff(), or pad: "
            "to_padded_tensor."
        )

    def __repr__(self) -> str:
        return "j"


class RaggedBatch:
    """A batch of tensors with one axis of different sizes, as values and offsets."""

    __array_priority__ = 1000
    _is_data = True
    is_nested = True
    layout = "jagged"

    def __init__(
        self,
        values: Tensor,
        offsets: Tensor,
        axis: int = 1,
        most: int | None = None,
        ends: Tensor | None = None,
    ) -> None:
        self._values, self._offsets, self._axis, self._most = values, offsets, axis, most
        """`_most`: an upper bound of the items' lengths, rounded up so that few programs are
        made.
        """
        self._ends = offsets if ends is None else ends
        """The offsets, once checked."""

    def values(self) -> Tensor:
        """The concatenated items, without an axis of items."""
        return self._values

    def offsets(self) -> Tensor:
        """The positions at which items begin along the ragged axis, and the end of the last."""
        return self._offsets

    @property
    def shape(self) -> Size:
        """The sizes of the axes; the ragged one is `j`."""
        sizes: list[Any] = list(self._values.shape)
        sizes[self._axis - 1] = RaggedSize(self._offsets)
        return Size((self._count, *sizes))

    def size(self, dim: int | None = None) -> Any:
        """The sizes of the axes, or of one."""
        return self.shape if dim is None else self.shape[dim]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._values.ndim + 1

    def dim(self) -> int:
        """The number of axes."""
        return self.ndim

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._values.dtype

    @property
    def device(self) -> Any:
        """The device of the elements."""
        return self._values.device

    @property
    def requires_grad(self) -> bool:
        """Whether gradients of the values are computed."""
        return self._values.requires_grad

    @property
    def grad(self) -> RaggedBatch | None:
        """The gradient of the values as a ragged batch with the same items; None without one."""
        found = self._values.grad
        return None if found is None else like(self, found)

    def requires_grad_(self, requires_grad: bool = True) -> RaggedBatch:
        """Set whether gradients of the values are computed."""
        self._values.requires_grad_(requires_grad)
        return self

    def longest(self) -> int:
        """The length of the longest item, which reads the offsets."""
        return int(self._ends.diff().max().item()) if self._count else 0

    def most(self) -> int:
        """An upper bound of the longest item's length; reads the offsets only if none is known."""
        if self._most is None:
            self._most = in_steps(self.longest())
        return self._most

    def unbind(self, dim: int = 0) -> list[Tensor]:
        """The items, as views of the values."""
        if dim != 0:
            raise ArgumentError(f"unbind: a ragged tensor is a batch along axis 0: got dim={dim}.")
        ends, axis = self._ends.tolist(), self._axis - 1
        return [self._values.narrow(axis, start, end - start) for start, end in pairwise(ends)]

    def reshape(self, *shape: Any) -> RaggedBatch:
        """Reshape the values; the batch and the ragged axis stay the first two."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if self._axis != 1 or len(sizes) < 2 or sizes[0] not in (-1, self._count):
            raise ShapeError(
                f"reshape: a ragged tensor {tuple(self.shape)} keeps its items and places: got "
                f"{tuple(sizes)}. Begin with ({self._count}, -1, ...)."
            )
        if not (sizes[1] == -1 or sizes[1] == self.shape[1]):
            raise ShapeError(f"reshape: the ragged axis stays: got {tuple(sizes)}. Give -1 for it.")
        return like(self, self._values.reshape(self._values.shape[0], *sizes[2:]))

    view = reshape

    @property
    def _count(self) -> int:
        # len() would need the number at hand, where it is one for all sizes
        return self._offsets.shape[0] - 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __getitem__(self, number: int) -> Tensor:
        return self.unbind()[number]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={tuple(self.shape)}, dtype={self.dtype})"


def like(x: RaggedBatch, values: Tensor, axis: int | None = None) -> RaggedBatch:
    """A ragged batch of other values, with the items of `x`."""
    axis = x._axis if axis is None else axis
    return type(x)(values, x._offsets, axis, x._most, x._ends)


def check_offsets(name: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Refuse offsets that do not rise from 0 to the values' length, or rise by over `most`."""
    offsets, places, most = arrays
    steps = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != places or not np.all((steps >= 0) & (steps <= most)):
        raise ShapeError(
            f"nested_tensor_from_jagged: offsets must go from 0 to {places}, never down, by at "
            f"most {most} (max_seqlen): got {offsets.tolist()}."
        )
    return [offsets]


KEY = "gnomon::offsets"
EXTERNALS.update({KEY: ExternalOp("nested_tensor_from_jagged", check_offsets)})


def ends_of(offsets: Tensor, places: int, most: int | None) -> Tensor:
    """An equal tensor of offsets, checked now or at each run of a captured program."""
    numbers = (full((), n, dtype=int64) for n in (places, places if most is None else most))
    given = tuple(map(node_of, (offsets, *numbers)))
    kinds = ((given[0].shape, given[0].dtype),)
    (made,) = external(given[0].arena, given, KEY, "", kinds, None)
    if is_eager():
        evaluate([made])
    return wrap(made)


def in_steps(places: int, least: int = 1) -> int:
    """A length rounded up to one of eight per doubling, so that few programs serve all.

    >>> [in_steps(k) for k in (0, 7, 17, 33, 100)], in_steps(5, least=8)
    ([0, 7, 18, 36, 104], 8)
    """
    step = max(least, 1 << max(0, places.bit_length() - 4))
    return -(-places // step) * step


def items_of(x: RaggedBatch) -> Tensor:
    """The number of the item of each position, (s)."""
    places = arange(x._values.shape[x._axis - 1])
    return FUNCTIONS["searchsorted"](x._ends[1:], places, right=True)
