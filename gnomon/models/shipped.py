"""Decoders as program files: one method reads a piece of a prompt, one a token, over one cache.

Matrices lie in the file as the model has them, those of a GGUF file in its blocks. The file's notes
are the tokenizer, the chat template and the settings of generation.

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
"""Positions of a cache at most, where nobody says how many."""
PIECE = 32
"""Tokens of a prompt that are read in one pass; fewer are filled up."""


class DecoderNotes(msgspec.Struct, frozen=True):
    """The texts of a decoder in a file, and the fields and the file of its generation."""

    max_position_embeddings: int
    """Positions of the cache, by the name that configurations have for the longest text."""
    piece: int
    tokenizer: str
    template: str | None
    special: dict[str, str]
    fields: dict[str, Any]
    generation: bytes


class CachedDecoder(nn.Module):
    """A decoder with a cache of its own for one row."""

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
        """Scores (b, v) of what follows after more tokens, in float32; see CausalLM.extend."""
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
    """Write a model as a program file; gives its digest.

    Its methods are `prefill(tokens, start, last)` and `decode(tokens, start)`. positions: of the
    cache, by default the model's, and 4,096 at most.
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
    """A decoder out of a program file, as conversations and servers ask one: nothing is compiled.

    Its cache has one row, which is the text's that was read last; another one is read anew.

    Raises CheckpointError for a file that cannot run, and for one of no decoder.
    """

    most_rows = 1
    """Maximum number of rows: texts are written one after another."""

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
        """The rows whose tokens the cache has."""
        self.spoiled = False
        """The cache has what is no number."""
        self.texts = TextFormat(str(path), tokenizer, notes.template, notes.special)
        self.carried = Carried(notes.fields, {FILE: notes.generation})
        self.config, self.passes = notes, self

    def rows(self, count: int = 1) -> ShippedRows:
        """No tokens of a row yet. Raises ArgumentError where more than one row is asked for."""
        if count != 1:
            raise ArgumentError(
                f"generate: a program file has a cache of 1 row: got {count}. Write one text after "
                "another, or take the model that the file was made of."
            )
        return ShippedRows(self)

    def take(self, reader: ShippedRows) -> None:
        """Give the cache to other rows."""
        if self.spoiled:  # what is no number would be seen behind the end of the row
            self.program.reset()
        self.reader, self.spoiled = reader, False


class ShippedRows(CachedRows):
    """The tokens of the one row that a decoder has read."""

    def __init__(self, decoder: ShippedDecoder) -> None:
        self.decoder, self.notes, self.rows = decoder, decoder.config, [[]]

    @property
    def longest(self) -> int:
        """The most tokens that the row may have."""
        return self.notes.max_position_embeddings

    def read(self, fresh: Sequence[Sequence[int]]) -> np.ndarray:
        """Read more tokens; scores of what follows, (1, v), in float32."""
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
        """Read a piece of tokens, or one; the scores, and the tokens that are left."""
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
