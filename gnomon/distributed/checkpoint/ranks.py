"""Tensors of all ranks together: which part of each a rank holds, and which it writes.

A part that several ranks hold is written by one of them, another for each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gnomon.distributed.checkpoint.files import NAMES
from gnomon.distributed.checkpoint.parts import DividedTensor, TensorPart, rectangle
from gnomon.distributed.groups import Group, is_initialized, resolve
from gnomon.distributed.objects import gather_objects
from gnomon.dtypes import dtype_of
from gnomon.errors import CheckpointError
from gnomon.ops.placements import Partial
from gnomon.runtime.comm import here
from gnomon.tensor.layouts import layout_of, local_of, part_of, value_layout
from gnomon.tensor.tensor import Tensor, array_of, pair_of

__all__ = ["Ranks", "divided_tensors", "held", "own_part"]


class Ranks:
    """The ranks that save or load together, seen from this one; a single one without a group."""

    def __init__(self, group: Group = None, alone: bool = False) -> None:
        self.group = None if alone or not is_initialized() else resolve(group)
        self.rank = 0 if self.group is None else self.group.rank()
        self.count = 1 if self.group is None else self.group.size()

    def tell(self, given: Any) -> list[Any]:
        """The objects of all ranks, in rank order."""
        return [given] if self.group is None else gather_objects(self.group, given)


class Held(NamedTuple):
    """A tensor's rectangle on a rank: the whole shape, the dtype, its offsets and its sizes."""

    shape: tuple[int, ...]
    dtype: str
    begins: tuple[int, ...]
    sizes: tuple[int, ...]


def own_part(tensor: Tensor) -> Tensor:
    """The part of a tensor on this rank, as the same memory."""
    pair = pair_of(tensor)
    if layout_of(pair):
        return local_of(pair)
    return part_of(pair).detach() if value_layout(pair) else pair.detach()


def held(path: str, tensor: Tensor) -> Held:
    """The rectangle of a tensor on this rank; refuse partial sums and unsupported dtypes."""
    pair = pair_of(tensor)
    layout, shape = value_layout(pair), tuple(pair.shape)
    if any(isinstance(each, Partial) for *_, each in layout) or pair.dtype.name not in NAMES:
        raise CheckpointError(
            f"checkpoint: {path} is a partial sum, or of {pair.dtype.name}: expected values of "
            f"{', '.join(NAMES)}. Use full_tensor() or another dtype."
        )
    where = rectangle(shape, layout, {name: link.place for name, link in here.links().items()})
    begins = tuple(x.start for x in where)
    return Held(shape, pair.dtype.name, begins, tuple(x.stop - x.start for x in where))


def divided_tensors(
    tensors: Mapping[str, Tensor], every: Sequence[Mapping[str, Held]], rank: int
) -> dict[str, DividedTensor]:
    """The tensors of all ranks, with the parts that a rank writes."""
    made = {}
    for path in sorted({path for each in every for path in each}):
        mine = tensors.get(path)
        shape, dtype, shares = shared_out(path, [(k, x[path]) for k, x in with_path(every, path)])
        parts = [
            TensorPart(begins, array_of(own_part(mine)))
            for begins, writer in shares
            if writer == rank and mine is not None
        ]
        made[path] = DividedTensor(shape, dtype, tuple(parts))
    return made


def with_path(
    every: Sequence[Mapping[str, Held]], path: str
) -> Iterator[tuple[int, Mapping[str, Held]]]:
    """The ranks that have a tensor of this path."""
    return ((k, each) for k, each in enumerate(every) if path in each)


def shared_out(
    path: str, parts: list[tuple[int, Held]]
) -> tuple[tuple[int, ...], np.dtype, list[tuple[tuple[int, ...], int]]]:
    """A tensor's shape and dtype, and the writing rank of each of its rectangles."""
    holders: dict[Held, list[int]] = {}
    for rank, part in parts:
        holders.setdefault(part, []).append(rank)
    kinds = {(part.shape, part.dtype) for part in holders}
    shape, dtype = next(iter(kinds))
    if len(kinds) > 1 or sum(prod(part.sizes) for part in holders) != prod(shape):
        raise CheckpointError(
            f"checkpoint: ranks differ in {path}: {sorted(kinds)}, or don't hold all of it. Give "
            "it one name for each value."
        )
    shares = [(part.begins, who[k % len(who)]) for k, (part, who) in enumerate(holders.items())]
    return shape, dtype_of(dtype).numpy, shares
