"""Sequences of different lengths in one tensor: padded to the longest, or packed by step.

A packed sequence has at each step the elements of the sequences that are long enough, longest
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.ops.arguments import choice
from gnomon.tensor.creation import full
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor, from_array


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stack sequences, the shorter ones padded."""
    if not len(sequences):
        raise ArgumentError("pad_sequence: received an empty list of sequences.")
    choice("pad_sequence", "padding_side", padding_side, ("left", "right"))
    longest = max(x.shape[0] for x in sequences)
    rows = []
    for x in sequences:
        shape = (longest - x.shape[0], *x.shape[1:])
        if not shape[0]:
            rows.append(x)
            continue
        border = full(shape, padding_value, dtype=x.dtype)
        pair = (x, border) if padding_side == "right" else (border, x)
        rows.append(FUNCTIONS["cat"](pair, dim=0))
    return FUNCTIONS["stack"](rows, dim=0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The list of sequences in a padded tensor."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows, lengths.tolist(), strict=True)]


class PackedSequence(NamedTuple):
    """Sequences packed step by step, and the number of sequences in each step."""

    elements: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    """The original positions of the sequences sorted by length, longest first."""
    unsorted_indices: Tensor | None = None
    """The position of each original sequence among the sorted ones."""

    @property
    def data(self) -> Tensor:
        """The elements of all steps."""
        return self.elements

    def to(self, *args: Any, **named: Any) -> PackedSequence:
        """Convert the elements to another dtype; itself if they have it."""
        elements = self.elements.to(*args, **named)
        return self if elements is self.elements else self._replace(elements=elements)

    def cpu(self, *args: Any, **named: Any) -> PackedSequence:
        """Return the sequence, which is on the CPU."""
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a GPU: False."""
        return False


def cast_method(name: str) -> Callable[[PackedSequence], PackedSequence]:
    """A method that casts the elements to the dtype of this name."""

    def cast(self: PackedSequence) -> PackedSequence:
        return self.to(getattr(self.elements, name)().dtype)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The same with its elements as `x.{name}()`."
    return cast


for _name in ("byte", "char", "double", "float", "half", "int", "long", "short"):
    setattr(PackedSequence, _name, cast_method(_name))


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack padded sequences; enforce_sorted: require them sorted by length, longest first."""
    given = np.asarray(lengths.tolist() if isinstance(lengths, Tensor) else lengths)
    x = input.transpose(0, 1) if batch_first else input
    if given.shape != (x.shape[1],) or (given.size and given.min() < 1):
        raise ArgumentError(
            f"pack_padded_sequence: needs a length of at least 1 for each of {x.shape[1]} "
            f"sequences: got {given.tolist()}."
        )
    if enforce_sorted and (np.diff(given) > 0).any():
        raise ArgumentError(
            "pack_padded_sequence: lengths must descend. Sort the sequences, or pass "
            "enforce_sorted=False."
        )
    order = np.argsort(-given, kind="stable")
    sizes = (given[None] > np.arange(given.max())[:, None]).sum(1)
    packed = PackedSequence(x, from_array(sizes))
    if not enforce_sorted:
        packed = packed._replace(
            sorted_indices=from_array(order), unsorted_indices=from_array(np.argsort(order))
        )
    return packed_like(x, packed)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation; None for None.

    >>> invert_permutation(tensor([2, 0, 1]))
    Tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


def packed_like(x: Tensor, like: PackedSequence) -> PackedSequence:
    """Padded sequences (t, b, ...), packed in the order of another PackedSequence."""
    sizes = np.asarray(like.batch_sizes.tolist())
    order = order_of(like)
    places = np.concatenate([t * x.shape[1] + order[:n] for t, n in enumerate(sizes)])
    flat = x.reshape(-1, *x.shape[2:])
    return like._replace(elements=FUNCTIONS["take"](flat, from_array(places), axis=0))


def order_of(packed: PackedSequence) -> np.ndarray:
    """The original positions of packed sequences, longest first."""
    if packed.sorted_indices is None:
        return np.arange(packed.batch_sizes[0].item())
    return np.asarray(packed.sorted_indices.tolist())


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded sequences of a packed one in their original order, and their lengths."""
    sizes, order = np.asarray(sequence.batch_sizes.tolist()), order_of(sequence)
    steps = len(sizes) if total_length is None else total_length
    if steps < len(sizes):
        raise ArgumentError(
            f"pad_packed_sequence: total_length {steps} is less than the longest, {len(sizes)}."
        )
    places = np.full((steps, order.size), -1)
    starts = np.cumsum(sizes) - sizes
    for t, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        places[t, order[:size]] = start + np.arange(size)
    taken = FUNCTIONS["take"](sequence.data, from_array(np.maximum(places, 0)), axis=0)
    here = from_array((places >= 0).reshape(*places.shape, *(1,) * (taken.ndim - 2)))
    padded = FUNCTIONS["where"](here, taken, full((), padding_value, dtype=taken.dtype))
    lengths = from_array((places >= 0).sum(0))
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of several lengths."""
    lengths = [x.shape[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences in a packed one."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
