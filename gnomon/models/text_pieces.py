"""The text of tokens as they come, in pieces of whole characters, until a stop string."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

__all__ = ["Decodes", "TextPieces", "text_pieces"]

UNFINISHED = "\N{REPLACEMENT CHARACTER}"
"""Decoders put it in the place of bytes that are no character, or not yet."""
MANY, CONTEXT = 64, 16
"""After so many tokens only the last ones are decoded with the next, since some depend on them."""


class Decodes(Protocol):
    """A tokenizer of the `tokenizers` library, or of transformers."""

    def decode(self, ids: Sequence[int], /) -> str:
        """The text of tokens."""
        ...


class TextPieces:
    """Tokens that were written, and a count of the text that was given of them."""

    def __init__(self, tokenizer: Decodes, stop_strings: Sequence[str] = ()) -> None:
        self.tokenizer, self.stop_strings = tokenizer, [x for x in stop_strings if x]
        self.tokens: list[int] = []
        self.given = 0
        """The number of characters of the tokens' text that were given out."""
        self.stopped = False
        """A stop string was found: no more text is given."""

    def add(self, token: int) -> str:
        """The text that one more token completes; what may begin a stop string waits."""
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
        """The number of last characters that may be the beginning of a stop string."""
        return max(
            (n for x in self.stop_strings for n in range(1, len(x)) if text.endswith(x[:n])),
            default=0,
        )

    def forget(self, whole: str) -> None:
        """Leave all but the last tokens out, if those have the same text without the others."""
        text = self.tokenizer.decode(self.tokens[-CONTEXT:])
        if text and whole.endswith(text):
            self.tokens, self.given = self.tokens[-CONTEXT:], len(text)

    def rest(self) -> str:
        """The text that waited, at the end."""
        return "" if self.stopped else self.tokenizer.decode(self.tokens)[self.given :]


def text_pieces(
    tokens: Iterable[int], tokenizer: Decodes, stop_strings: Sequence[str] = ()
) -> Iterator[str]:
    """Pieces of text as tokens come; a character is given when all its bytes are there.

    stop_strings: the text ends before the first of them, and no further token is asked for.
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
