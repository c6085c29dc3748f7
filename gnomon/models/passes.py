"""A KV cache of several rows, and the compiled programs that extend it.

Every row begins at position 0 of the cache, whatever padding its prompt had, and continues at its
own position, so rows do not depend on each other. If a pass has rows of several lengths, short ones
are padded at their end; no token attends to this padding, and the next tokens overwrite it.

Letters: b rows, t tokens of a pass, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, repeat
from operator import add
from typing import TYPE_CHECKING

import numpy as np

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor.tensor import array_of, from_array

if TYPE_CHECKING:
    from gnomon.capture.jit import Compiled
    from gnomon.models.causal import Cache, CausalLM

__all__ = ["CachedRows", "Passes"]

SMALLEST = 128
"""The positions of a new cache; it grows by doubling, so that few programs are compiled."""


class Passes:
    """The compiled programs of a model: one reads prompts, one adds a token to each row.

    Both serve every position. Sizes become symbols when they first change: then one program serves
    all lengths of prompts and all sizes of caches.
    """

    most_rows = 1 << 16
    """The maximum number of rows in one pass."""

    def __init__(self, model: CausalLM) -> None:
        self.model = model

    def rows(self, count: int = 1) -> CachedRows:
        """Make empty rows with a KV cache."""
        return CachedRows(self, count)

    @cached_property
    def read(self) -> Compiled:
        """The compiled function that reads several tokens of each row."""
        return gn.compile(self.scores_of_last, dynamic=True)

    @cached_property
    def extend(self) -> Compiled:
        """The compiled function that reads one token of each row."""
        return gn.compile(self.scores_of_next, dynamic=True)

    @cached_property
    def put(self) -> Compiled:
        """The compiled function that copies a row of one cache into another."""
        return gn.compile(put_row, dynamic=True)

    def scores_of_next(
        self, tokens_bt: gn.Tensor, start_b: gn.Tensor, *tables: gn.Tensor
    ) -> gn.Tensor:
        """Read tokens into the cache and return the logits of the next ones, in float32.

        tables: the keys and the values of each layer in turn, since tensors alone are found fastest
        by a compiled function.
        """
        return self.scores_of_last(tokens_bt, start_b, None, *tables)

    def scores_of_last(
        self,
        tokens_bt: gn.Tensor,
        start_b: gn.Tensor,
        last_b: gn.Tensor | None,
        *tables: gn.Tensor,
    ) -> gn.Tensor:
        """Read tokens of which each row's last is at `last_b`, as `CausalLM.extend` has it."""
        cache = [*zip(tables[::2], tables[1::2], strict=True)]
        with gn.no_grad():
            return self.model.extend(tokens_bt, start_b, cache, last_b).float()


class CachedRows:
    """The tokens that a model has read in some rows, and their KV cache."""

    def __init__(self, passes: Passes, rows: int = 1) -> None:
        self.passes, self.model = passes, passes.model
        self.rows: list[list[int]] = [[] for _ in range(rows)]
        self.size = 0
        """The number of positions in the cache."""
        self.cache: Cache = []

    @property
    def longest(self) -> int:
        """The maximum number of tokens in a row."""
        return self.model.config.max_position_embeddings

    def placed(self, numbers: np.ndarray) -> gn.Tensor:
        """Convert an array to a tensor on the cache's device, which is the model's."""
        place = self.cache[0][0].device if self.cache else self.model.device
        return from_array(numbers).to(place)

    def unread(self, texts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Cut each row to the tokens that it shares with its text; return the rest of each text.

        The rest has at least the text's last token.
        """
        for row, text in zip(self.rows, texts, strict=True):
            pairs = zip(row, text[:-1], strict=False)
            row[:] = row[: next((k for k, (x, y) in enumerate(pairs) if x != y), len(text) - 1)]
        return [[*text[len(row) :]] for row, text in zip(self.rows, texts, strict=True)]

    def read(self, fresh: Sequence[Sequence[int]]) -> np.ndarray:
        """Read more tokens of each row in one pass; return logits (b, v) of the next, in float32.

        A row without new tokens is unchanged, and its logits are meaningless. Raises ArgumentError
        if a row would exceed the model's context.
        """
        before, counts = [*map(len, self.rows)], [*map(len, fresh)]
        most, end, longest = max(counts), max(map(add, before, counts)), self.longest
        if end > longest:
            raise ArgumentError(
                f"generate: a text of {end} tokens is longer than max_position_embeddings "
                f"({longest}). Take a shorter one."
            )
        self.grow(min(max(before) + most, longest))
        tokens_bt = np.array([[*row, *repeat(0, most - len(row))] for row in fresh], np.int64)
        # a row that isn't read on, and has no positions left, is filled up where it ends
        start_b = np.array([min(count, longest - most) for count in before], np.int64)
        given, tables = (self.placed(tokens_bt), self.placed(start_b)), chain(*self.cache)
        if most == 1:
            scores = self.passes.extend(*given, *tables)
        else:
            last_b = np.array([max(count - 1, 0) for count in counts], np.int64)
            scores = self.passes.read(*given, self.placed(last_b), *tables)
        for row, new in zip(self.rows, fresh, strict=True):
            row += new
        return array_of(scores)

    def take(self, places: Sequence[int | None]) -> None:
        """Reorder the rows to those at `places`, with an empty row for None."""
        self.rows = [[] if place is None else self.rows[place] for place in places]
        chosen = self.placed(np.array([place or 0 for place in places], np.int64))
        self.cache = [
            (keys.index_select(0, chosen), values.index_select(0, chosen))
            for keys, values in self.cache
        ]

    def put(self, place: int, other: CachedRows) -> None:
        """Copy the only row of another cache into a row of this one."""
        self.grow(max(other.size, 1))
        other.grow(self.size)
        self.passes.put(self.cache, other.cache, self.placed(np.array([place], np.int64)))
        self.rows[place] = [*other.rows[0]]

    def grow(self, needed: int) -> None:
        """Enlarge the cache if it has fewer positions than needed."""
        if needed <= self.size:
            return
        most = -(-self.longest // SMALLEST) * SMALLEST
        while self.size < needed:
            self.size = min(max(2 * self.size, SMALLEST), most)
        fresh = self.model.empty_cache(len(self.rows), self.size)
        for old, new in zip(self.cache, fresh, strict=bool(self.cache)):
            for here, there in zip(old, new, strict=True):
                there[:, :, : here.shape[2]] = here
        self.cache = fresh


def put_row(tables: Cache, rows: Cache, place_1: gn.Tensor) -> None:
    """Copy the only row of one cache over a row of another, in place."""
    for pair, others in zip(tables, rows, strict=True):
        for table, row in zip(pair, others, strict=True):
            table.index_copy_(0, place_1, row)
