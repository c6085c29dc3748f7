"""A batch of texts that are generated together; each may join or leave at any step.

A prompt is read in parts between the other texts' steps, in a cache of its own, which is reused by
a next prompt with the same beginning. Then its row is copied into the batch. Rows are independent,
so a text has the tokens that it would have alone. The number of rows is a power of two, and some
may be empty. If only one text is generated at a time, its prompt is read in the cache in which it
is continued.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.models.passes import CachedRows, Passes
from gnomon.models.text_row import TextRow

__all__ = ["TextBatch"]

PART = 512
"""The maximum number of prompt tokens that are read between two steps of the batch."""
Written = tuple[TextRow, Exception | None]
"""A text and None if it grew by a token, or the error that ended it."""


class BatchCache:
    """The KV cache of a batch, and one in which the next text's prompt is read."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        self.prompt, self.written = passes.rows(), passes.rows()

    def put(self, place: int) -> None:
        """Copy the prompt's row into a row of the batch."""
        self.written.put(place, self.prompt)

    def leave(self, place: int) -> None:
        """Mark a row as empty."""
        self.written.rows[place] = []

    def clear(self, place: int) -> None:
        """Overwrite a row with zeros."""
        self.written.put(place, self.passes.rows())

    def take(self, places: Sequence[int | None]) -> None:
        """Reorder the rows to those at `places`, with an empty row for None."""
        self.written.take(places)

    def forget(self) -> None:
        """Replace the prompts' cache by an empty one."""
        self.prompt = self.passes.rows()


class OneRowCache(BatchCache):
    """The cache of a batch of one row: a text is continued where its prompt was read."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        self.prompt = passes.rows()

    @property
    def written(self) -> CachedRows:
        """The cache of the only row."""
        return self.prompt

    def put(self, place: int) -> None:
        """Do nothing: the prompt is already in its row."""

    def leave(self, place: int) -> None:
        """Do nothing: a next prompt may begin with this text."""

    def clear(self, place: int) -> None:
        """Replace the cache by an empty one."""
        self.forget()


class TextBatch:
    """Texts that are generated together, at most `most` of them."""

    def __init__(self, passes: Passes, most: int) -> None:
        self.most = min(most, passes.most_rows)
        self.cache = OneRowCache(passes) if self.most == 1 else BatchCache(passes)
        self.rows: list[TextRow | None] = [None]
        self.coming: TextRow | None = None
        self.unread: Sequence[int] = ()
        """The tokens of the joining text's prompt that have not been read yet."""

    @property
    def has_place(self) -> bool:
        """Whether another text may join."""
        return self.coming is None and len(self.rows) - self.rows.count(None) < self.most

    def join(self, row: TextRow) -> None:
        """Add a text, whose prompt is read during the next steps."""
        self.coming = row
        (self.unread,) = self.cache.prompt.unread([row.tokens])

    def leave(self, row: TextRow) -> None:
        """Remove a text."""
        if row is self.coming:
            self.coming = None
        if row in self.rows:
            place = self.rows.index(row)
            self.rows[place] = None
            self.cache.leave(place)

    def read(self) -> list[Written]:
        """Read the next part of the joining prompt; after its last part, add its first token."""
        row = self.coming
        if row is None:
            return []
        part, self.unread = self.unread[:PART], self.unread[PART:]
        try:
            (scores_v,) = self.cache.prompt.read([part])
            if self.unread:
                return []
            written = self.added(row, scores_v)
            if row.running:
                self.place(row)
        except Exception as wrong:
            written = row, wrong
        self.coming = None
        if written[1] is not None:
            self.cache.forget()
        return [written]

    def place(self, row: TextRow) -> None:
        """Move a text whose prompt has been read into the batch."""
        self.fit(1)
        place = self.rows.index(None)
        self.cache.put(place)
        self.rows[place] = row

    def extend(self) -> list[Written]:
        """Add a token to each text; a raised error concerns all texts."""
        self.fit()
        places = {place: row for place, row in enumerate(self.rows) if row is not None}
        if not places:
            return []
        scores_bv = self.cache.written.read([[x.tokens[-1]] if x else [] for x in self.rows])
        found = [self.added(row, scores_bv[place]) for place, row in places.items()]
        for place, (row, wrong) in zip(places, found, strict=True):
            if wrong is not None or not row.running:
                self.leave(row)
            if wrong is not None:  # what is no number would be seen behind the end of another row
                self.cache.clear(place)
        return found

    def added(self, row: TextRow, scores_v: np.ndarray) -> Written:
        """Add a token chosen from the logits to a text; return the text and an error or None."""
        try:
            if not np.isfinite(scores_v).all():
                raise ArgumentError("generate: the model's scores are not finite.")
            row.add(scores_v)
        except Exception as wrong:
            return row, wrong
        return row, None

    def fit(self, more: int = 0) -> None:
        """Resize the batch for all running texts and `more` new ones."""
        live = [place for place, row in enumerate(self.rows) if row is not None]
        needed = len(live) + more
        if len(self.rows) < needed or 4 * needed <= len(self.rows) > 1:
            empty = [None] * ((1 << max(needed - 1, 0).bit_length()) - len(live))
            self.cache.take([*live, *empty])
            self.rows = [*(self.rows[place] for place in live), *empty]
