"""Decoders as program files, with one method to read a prompt and one to read a token.

Weights are stored as the model has them, a GGUF file's matrices in its blocks. The file's notes
hold the tokenizer, the chat template and the generation settings.

Letters: b rows, t tokens, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from tokenizers import Tokenizer

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, CheckpointError, clipped
from gnomon.lazy import exporting, program_capture
from gnomon.models.carried import Carried
from gnomon.models.generation_config import FILE, TOKENS
from gnomon.models.passes import CachedRows
from gnomon.models.text_format import TextFormat
from gnomon.runtime.program_file import ProgramFileError, load_program

if TYPE_CHECKING:
    from gnomon.models.causal import CausalLM

__all__ = ["CachedDecoder", "DecoderNotes", "ShippedDecoder", "ShippedRows", "ship"]

CONTEXT = 4096
"""The cache's maximum number of positions by default."""
PIECE = 32
"""The number of prompt tokens read in one pass; shorter pieces are padded."""


class DecoderNotes(msgspec.Struct, frozen=True):
    """The notes in a decoder's program file: tokenizer, chat template, generation settings."""

    max_position_embeddings: int
    """The number of positions in the cache."""
    piece: int
    tokenizer: str
    template: str | None
    special: dict[str, str]
    fields: dict[str, Any]
    generation: bytes


class CachedDecoder(nn.Module):
    """A decoder whose buffers are a KV cache of one row."""

    def __init__(self, model: CausalLM, positions: int) -> None:
        super().__init__()
        self.model, self.layers = model, 0
        for k, pair in enumerate(model.empty_cache(1, positions)):
            for name, x in zip(("keys", "values"), pair, strict=True):
                self.register_buffer(f"{name}_{k}", x, persistent=False)
            self.layers += 1

    def forward(
        self, tokens_bt: gn.Tensor, start_b: gn.Tensor, last_b: gn.Tensor | None = None
    ) -> gn.Tensor:
        """Read tokens into the cache and return the logits (b, v) of the next, in float32."""
        cache = [
            (getattr(self, f"keys_{k}"), getattr(self, f"values_{k}")) for k in range(self.layers)
        ]
        return self.model.extend(tokens_bt, start_b, cache, last_b).float()


def ship(
    model: CausalLM,
    texts: TextFormat,
    path: Path,
    targets: Sequence[str],
    positions: int | None = None,
) -> str:
    """Write a decoder as a program file and return the file's digest.

    Its methods are `prefill(tokens, start, last)` and `decode(tokens, start)`. positions: the
    cache's size, at most the model's; by default 4,096.
    """
    longest = model.config.max_position_embeddings
    size = min(positions or CONTEXT, longest)
    piece = min(PIECE, size)
    module = CachedDecoder(model.eval(), size)
    start = gn.tensor([0])
    methods = {
        "prefill": exporting.export(
            module, (gn.zeros((1, piece), dtype=gn.int64), start, start + 0)
        ),
        "decode": exporting.export(module, (gn.zeros((1, 1), dtype=gn.int64), start)),
    }
    carried = model.carried
    notes = DecoderNotes(
        size,
        piece,
        texts.tokenizer.to_str(),
        texts.template,
        dict(texts.special),
        {name: carried.fields[name] for name in TOKENS if name in carried.fields},
        carried.files.get(FILE, b"{}"),
    )
    encoded = msgspec.msgpack.encode(notes)
    return program_capture.save_programs(methods, path, targets, notes=encoded)


class ShippedDecoder:
    """A decoder loaded from a program file, for conversations and servers; nothing is compiled.

    Its cache has one row, that of the last text that was read; another text is read again from its
    start.

    Raises CheckpointError for a file that cannot run, and for one without a decoder.
    """

    most_rows = 1
    """The maximum number of rows in one pass."""

    def __init__(self, path: Path) -> None:
        try:
            self.program = load_program(path)
        except ProgramFileError as wrong:
            raise CheckpointError(str(wrong)) from None
        try:
            notes = msgspec.msgpack.decode(self.program.notes, type=DecoderNotes)
            tokenizer = Tokenizer.from_str(notes.tokenizer)
        except Exception as wrong:  # the library raises nothing narrower
            raise CheckpointError(f"chat: {path} holds no decoder: {clipped(wrong)}.") from None
        self.reader: ShippedRows | None = None
        """The rows whose tokens the cache holds."""
        self.spoiled = False
        """Whether the cache may hold NaN or infinity."""
        self.texts = TextFormat(str(path), tokenizer, notes.template, notes.special)
        self.carried = Carried(notes.fields, {FILE: notes.generation})
        self.config, self.passes = notes, self

    def rows(self, count: int = 1) -> ShippedRows:
        """Make an empty row. Raises ArgumentError if `count` is not 1."""
        if count != 1:
            raise ArgumentError(
                f"generate: a program file has a cache of 1 row: got {count}. Write one text after "
                "another, or take the model that the file was made of."
            )
        return ShippedRows(self)

    def take(self, reader: ShippedRows) -> None:
        """Make other rows the owner of the cache."""
        if self.spoiled:  # what is no number would be seen behind the end of the row
            self.program.reset()
        self.reader, self.spoiled = reader, False


class ShippedRows(CachedRows):
    """The single row of a decoder from a program file."""

    def __init__(self, decoder: ShippedDecoder) -> None:
        self.decoder, self.notes, self.rows = decoder, decoder.config, [[]]

    @property
    def longest(self) -> int:
        """The maximum number of tokens in the row."""
        return self.notes.max_position_embeddings

    def read(self, fresh: Sequence[Sequence[int]]) -> np.ndarray:
        """Read more tokens and return the logits (1, v) of the next, in float32."""
        (row,), (new,) = self.rows, fresh
        end = len(row) + len(new)
        if end > self.longest:
            raise ArgumentError(
                f"generate: a text of {end} tokens is longer than the file's cache "
                f"({self.longest}). Take a shorter one, or write a file with more --context."
            )
        if self.decoder.reader is not self:
            self.decoder.take(self)
            self.rows, new = [[]], [*row, *new]
        scores = np.zeros(0, np.float32)
        while new:
            scores, new = self.part(self.rows[0], new)
        self.decoder.spoiled |= not np.isfinite(scores).all()
        return scores

    def part(self, row: list[int], new: Sequence[int]) -> tuple[np.ndarray, Sequence[int]]:
        """Read the next piece of tokens; return the logits and the tokens that remain."""
        program, piece = self.decoder.program, self.notes.piece
        first = np.array([len(row)])
        if len(new) > 1 and len(row) + piece <= self.longest:
            some = new[:piece]
            tokens_bt = np.zeros((1, piece), np.int64)
            tokens_bt[0, : len(some)] = some
            scores = program["prefill"](tokens_bt, first, np.array([len(some) - 1]))
        else:
            some = new[:1]
            scores = program["decode"](np.array([some], np.int64), first)
        row += some
        return scores, new[len(some) :]
