"""Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw, SC 2011): a key and a counter to noise.

Each is two 32-bit words. Counter and noise are stored as one uint64 whose lower half is the first
word; the key's words are passed separately, since splitting them would be repeated for every
element. The rounds are written once for any kind of words: numpy's arrays, or generated code
(codegen/noise.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
ROUNDS = 20
PARITY = 0x1BD11BDA
"""The constant from which, with both key words, the third one is computed."""
STEPS = 2 + 3 * ROUNDS + 3 * ROUNDS // 4
"""The number of additions, rotations and exclusive ors of one hash."""

Word: TypeAlias = Any


class WordArithmetic(ABC):
    """Arithmetic on 32-bit words; sums wrap."""

    @abstractmethod
    def const(self, number: int) -> Word:
        """A number as a word."""

    @abstractmethod
    def add(self, a: Word, b: Word) -> Word:
        """The sum a + b."""

    @abstractmethod
    def xor(self, a: Word, b: Word) -> Word:
        """The bits in which a and b differ."""

    @abstractmethod
    def turned(self, a: Word, by: int) -> Word:
        """The bits of a, rotated left."""


def mixed(
    words: WordArithmetic, key: tuple[Word, Word], counter: tuple[Word, Word]
) -> tuple[Word, Word]:
    """Two random words: the Threefry hash of a counter under a key."""
    third = words.xor(words.xor(*key), words.const(PARITY))
    keys = (*key, third)
    a, b = words.add(counter[0], key[0]), words.add(counter[1], key[1])
    for block in range(ROUNDS // 4):
        for by in ROTATIONS[block % 2]:
            a = words.add(a, b)
            b = words.xor(words.turned(b, by), a)
        a = words.add(a, keys[(block + 1) % 3])
        b = words.add(words.add(b, keys[(block + 2) % 3]), words.const(block + 1))
    return a, b


class NumpyWords(WordArithmetic):
    """Words as arrays of uint32."""

    def const(self, number: int) -> Word:
        """A number as a word."""
        return np.uint32(number)

    def add(self, a: Word, b: Word) -> Word:
        """The sum a + b."""
        return np.add(a, b, dtype=np.uint32)

    def xor(self, a: Word, b: Word) -> Word:
        """The bits in which a and b differ."""
        return a ^ b

    def turned(self, a: Word, by: int) -> Word:
        """The bits of a, rotated left."""
        return (a << np.uint32(by)) | (a >> np.uint32(32 - by))


def threefry(first: np.ndarray, second: np.ndarray, counter: np.ndarray) -> np.ndarray:
    """The random bits of a key's two words, uint32, and a counter, uint64."""
    count = ((counter & 0xFFFFFFFF).astype(np.uint32), (counter >> 32).astype(np.uint32))
    with np.errstate(over="ignore"):
        low, high = mixed(NumpyWords(), (first, second), count)
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
