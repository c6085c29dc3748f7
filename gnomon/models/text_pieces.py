"""Decode tokens one by one into pieces of whole characters, up to a stop string."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

__all__ = ["Decodes", "TextPieces", "text_pieces"]

UNFINISHED = "\N{REPLACEMENT CHARACTER}"
"""The character that tokenizers put in place of incomplete or invalid bytes."""
MANY, CONTEXT = 64, 16
"""At this many tokens, all but the last few are dropped; these give the next its context."""


class Decodes(Protocol):
    """A tokenizer of the `tokenizers` library or of transformers."""

    def decode(self, ids: Sequence[int], /) -> str:
        """Decode tokens to text."""
        ...


class TextPieces:
    """Decodes tokens as they arrive into pieces of text."""

    def __init__(self, tokenizer: Decodes, stop_strings: Sequence[str] = ()) -> None:
        self.tokenizer, self.stop_strings = tokenizer, [x for x in stop_strings if x]
        self.tokens: list[int] = []
        self.given = 0
        """The number of characters returned so far, counted in the text of `tokens`."""
        self.stopped = False
        """Whether a stop string was found, after which no more text is returned."""

    def add(self, token: int) -> str:
        """Add a token and return the text it completes; a possible stop string's start waits."""
        if self.stopped:
            return ""
        self.tokens.append(token)
        whole = self.tokenizer.decode(self.tokens)
        text = whole.rstrip(UNFINISHED)
        found = [text.find(x, self.given) for x in self.stop_strings]
        place = min((x for x in found if x >= 0), default=None)
        self.stopped = place is not None
        end = max(len(text) - self.waiting(text), self.given) if place is None else place
        piece, self.given = text[self.given : end], end
        if len(self.tokens) >= MANY and self.given == len(whole):
            self.forget(whole)
        return piece

    def waiting(self, text: str) -> int:
        """The number of last characters that may begin a stop string."""
        return max(
            (n for x in self.stop_strings for n in range(1, len(x)) if text.endswith(x[:n])),
            default=0,
        )

    def forget(self, whole: str) -> None:
        """Drop all but the last tokens if their text does not depend on the earlier ones."""
        text = self.tokenizer.decode(self.tokens[-CONTEXT:])
        if text and whole.endswith(text):
            self.tokens, self.given = self.tokens[-CONTEXT:], len(text)

    def rest(self) -> str:
        """The text withheld so far, after the last token."""
        return "" if self.stopped else self.tokenizer.decode(self.tokens)[self.given :]


def text_pieces(
    tokens: Iterable[int], tokenizer: Decodes, stop_strings: Sequence[str] = ()
) -> Iterator[str]:
    """Yield pieces of text as tokens arrive; a character comes with the last of its bytes.

    stop_strings: the text ends before the first of them, and no more tokens are read.
    """
    pieces = TextPieces(tokenizer, stop_strings)
    for token in tokens:
        piece = pieces.add(token)
        if piece:
            yield piece
        if pieces.stopped:
            return
    rest = pieces.rest()
    if rest:
        yield rest
