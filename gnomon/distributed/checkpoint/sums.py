"""The sum that guards a tensor's elements: each counted by its place, in whatever parts they come.

The sum over 32-bit words (8 and 16-bit elements: over elements) of word · (2 · place + 1), modulo
2^64. Parts of a tensor, summed by whoever has them, add up to the sum of the whole, which no
digest of a stream of bytes does; so it guards what is on its way from memory to the disk and back,
on any mesh. One changed element is always seen, and so are two that changed places, or two flipped
bits, in tensors of up to 2^31 words. It is no signature: whoever changes a file can change a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gnomon.distributed.checkpoint.parts import DividedTensor, ElementRuns
from gnomon.errors import CheckpointError

__all__ = ["MODULUS", "element_sum", "whole_sums"]

MODULUS = 1 << 64
BLOCK = 1 << 15
"""Words that are widened at a time, to lie in the cache."""
WEIGHTS = 2 * np.arange(BLOCK, dtype=np.uint64) + np.uint64(1)


def element_sum(elements: np.ndarray, place: ElementRuns) -> int:
    """The checksum of elements in these runs of the whole.

    elements: in the order of the runs, of any shape.

    >>> whole = np.arange(6, dtype=np.float32)
    >>> halves = [element_sum(whole[k : k + 3], ElementRuns(np.array([k]), 3)) for k in (0, 3)]
    >>> sum(halves) % MODULUS == element_sum(whole, ElementRuns(np.array([0]), 6))
    True
    """
    if not elements.size:
        return 0
    words = words_of(elements)
    per_element = words.size // elements.size
    words = words.reshape(len(place.starts), place.length * per_element)
    starts, total = place.starts.astype(np.uint64) * np.uint64(per_element), 0
    width = min(BLOCK, words.shape[1])
    height = BLOCK // width
    for top in range(0, len(words), height):
        for left in range(0, words.shape[1], width):
            block = words[top : top + height, left : left + width].astype(np.uint64)
            begins = starts[top : top + height] + np.uint64(left)
            inner = np.dot(block, WEIGHTS[: block.shape[1]])
            outer = np.uint64(2) * begins * block.sum(axis=1)
            total += int((inner + outer).sum())
    return total % MODULUS


def words_of(elements: np.ndarray) -> np.ndarray:
    """The bits of elements as unsigned integers of at most 32."""
    flat = np.ascontiguousarray(elements).reshape(-1)
    return flat.view(f"u{min(flat.dtype.itemsize, 4)}")


def whole_sums(
    tensors: Mapping[str, DividedTensor], shares: Iterable[Mapping[str, tuple[int, int]]]
) -> dict[str, str]:
    """The checksum of each tensor, if every element was written once.

    shares: of each rank the sums of its parts, and how many elements they have.
    """
    sums = dict.fromkeys(tensors, 0)
    missing = {name: tensor.elements for name, tensor in tensors.items()}
    for share in shares:
        for name, (part, count) in share.items():
            sums[name] += part
            missing[name] -= count
    wrong = [name for name, count in missing.items() if count]
    if wrong:
        raise CheckpointError(
            f"checkpoint: {wrong[0]} has {tensors[wrong[0]].elements} elements: its ranks wrote "
            f"{tensors[wrong[0]].elements - missing[wrong[0]]}. Each must belong to one rank."
        )
    return {name: f"{total % MODULUS:016x}" for name, total in sums.items()}
