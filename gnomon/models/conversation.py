"""A conversation with a model, whose answers are written piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gnomon.models.generation import WritesText, Writing, steps
from gnomon.models.passes import CachedRows
from gnomon.models.text_format import TextFormat

__all__ = ["Answer", "Conversation"]


class Conversation:
    """A chat between a user and a model that reads only new tokens at each message.

    plain: messages are texts that the model continues, without a chat template.
    """

    def __init__(
        self,
        model: WritesText,
        texts: TextFormat,
        system: str | None = None,
        plain: bool = False,
        **options: Any,
    ) -> None:
        self.model, self.texts, self.options, self.plain = model, texts, options, plain
        self.messages = [{"role": "system", "content": system}] if system else []
        self.cached: CachedRows = model.passes.rows()

    def say(self, text: str) -> Iterator[str]:
        """Send a message and yield the pieces of the model's answer as they are generated.

        Raises what `generate` raises; then the message is not part of the conversation.
        """
        messages = [*self.messages, {"role": "user", "content": text}]
        ids = self.texts.ids(text) if self.plain else self.texts.chat_ids(messages)
        found = Answer(self.model, self.texts, ids, self.options, self.cached)
        return self.pass_and_record(messages, iter(found))

    def pass_and_record(
        self, messages: list[dict[str, Any]], pieces: Iterator[str]
    ) -> Iterator[str]:
        """Yield the pieces, then append the joined answer to the messages, even if interrupted."""
        written: list[str] = []
        try:
            for piece in pieces:
                written.append(piece)
                yield piece
        finally:
            self.messages = [*messages, {"role": "assistant", "content": "".join(written)}]


class Answer:
    """The text that a model generates after some tokens, up to the end of its context.

    options: those of `generate`, seed included. Raises what `generate` raises.
    """

    def __init__(
        self,
        model: WritesText,
        texts: TextFormat,
        ids: Sequence[int],
        options: dict[str, Any],
        cached: CachedRows | None = None,
    ) -> None:
        given = {k: v for k, v in options.items() if k != "seed"}
        longest = model.config.max_position_embeddings
        if not {"max_new_tokens", "max_length"} & given.keys():
            given["max_new_tokens"] = max(longest + 1 - len(ids), 1)
        writing = Writing(model, given, texts.tokenizer, options.get("seed"))
        (self.row,) = writing.rows([ids], texts.tokenizer)
        self.cached = cached or model.passes.rows()

    def __iter__(self) -> Iterator[str]:
        """Yield the answer's pieces of text while they are generated."""
        for _ in steps([self.row], self.cached):
            if self.row.piece:
                yield self.row.piece
