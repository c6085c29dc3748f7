"""Texts that one model writes together, each of which may begin and end at any step.

A prompt is read in parts between the steps of the others, in a cache of its own, which keeps it for
a next one that begins alike. Then its row is put beside theirs. Rows depend on no other, so a text
has the tokens that it has alone. The number of rows is a power of two: some may be empty. Where one
text is written at a time, its prompt is read in the cache in which it is written.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.models.passes import CachedRows, Passes
from gnomon.models.text_row import TextRow

__all__ = ["TextBatch"]

PART = 512
"""The most tokens of a prompt that are read between two steps of the batch."""
Written = tuple[TextRow, Exception | None]
"""A text with a new token and None, or with the error that ended it."""


class BatchCache:
    """The cache of a batch's rows, and the cache in which the next text's prompt is read."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        self.prompt, self.written = passes.rows(), passes.rows()

    def put(self, place: int) -> None:
        """Copy the prompt that was read to a row of the batch."""
        self.written.put(place, self.prompt)

    def leave(self, place: int) -> None:
        """Make a row empty: its text has ended."""
        self.written.rows[place] = []

    def clear(self, place: int) -> None:
        """Write zeros over a row."""
        self.written.put(place, self.passes.rows())

    def take(self, places: Sequence[int | None]) -> None:
        """Reorder the rows to those at `places`; None: an empty row."""
        self.written.take(places)

    def forget(self) -> None:
        """Replace the cache of prompts by an empty one: no later prompt continues one of them."""
        self.prompt = self.passes.rows()


class OneRowCache(BatchCache):
    """The cache of a batch of one row: a text is written where its prompt was read."""

    def __init__(self, passes: Passes) -> None:
        self.passes = passes
        self.prompt = passes.rows()

    @property
    def written(self) -> CachedRows:
        """The cache of the row."""
        return self.prompt

    def put(self, place: int) -> None:
        """Leave the prompt where it is."""

    def leave(self, place: int) -> None:
        """Keep the row: a next prompt may begin as its text does."""

    def clear(self, place: int) -> None:
        """Replace the cache by an empty one."""
        self.forget()


class TextBatch:
    """A batch of texts in generation, of at most `most` texts, and as many as the passes take."""

    def __init__(self, passes: Passes, most: int) -> None:
        self.most = min(most, passes.most_rows)
        self.cache = OneRowCache(passes) if self.most == 1 else BatchCache(passes)
        self.rows: list[TextRow | None] = [None]
        self.coming: TextRow | None = None
        self.unread: Sequence[int] = ()
        """The tokens of the joining text's prompt that have not been read."""

    @property
    def has_place(self) -> bool:
        """Whether a text may join."""
        return self.coming is None and len(self.rows) - self.rows.count(None) < self.most

    def join(self, row: TextRow) -> None:
        """Add a text; its prompt is read in the next steps."""
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
        """Read the next part of the joining prompt; after the last one, add its first token."""
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
        """Add a token to each text. An error that is raised ends all texts."""
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
        """Add a token to a text by the model's scores; the text, and an error if one ended it."""
        try:
            if not np.isfinite(scores_v).all():
                raise ArgumentError("generate: the model's scores are not finite.")
            row.add(scores_v)
        except Exception as wrong:
            return row, wrong
        return row, None

    def fit(self, more: int = 0) -> None:
        """Resize the batch to hold all live texts and `more` new ones."""
        live = [place for place, row in enumerate(self.rows) if row is not None]
        needed = len(live) + more
        if len(self.rows) < needed or 4 * needed <= len(self.rows) > 1:
            empty = [None] * ((1 << max(needed - 1, 0).bit_length()) - len(live))
            self.cache.take([*live, *empty])
            self.rows = [*(self.rows[place] for place in live), *empty]
