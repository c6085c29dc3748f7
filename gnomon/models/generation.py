"""Text generation: the methods `generate` and `stream` of every causal language model.

A prompt is read in one pass, then each pass has one token of each row. Left padding is not read, so
a row of a batch has the tokens that it would have alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.models.generation_config import generation_config
from gnomon.models.passes import CachedRows, Passes
from gnomon.models.text_pieces import Decodes
from gnomon.models.text_row import TextRow
from gnomon.tensor.random import default_generator
from gnomon.tensor.tensor import from_array

if TYPE_CHECKING:
    from gnomon.models.carried import Carried
    from gnomon.models.causal import CausalLM

__all__ = ["GeneratesTokens", "WritesText", "Writing", "steps"]


class WritesText(Protocol):
    """A model that can generate text from rows of tokens."""

    @property
    def config(self) -> Any:
        """The model's configuration, with max_position_embeddings."""

    @property
    def carried(self) -> Carried:
        """The model folder's other files, among them generation_config.json."""

    @property
    def passes(self) -> Any:
        """An object whose `rows(count)` makes empty KV-cache rows, at most `most_rows` of them."""


class GeneratesTokens:
    """The base class of models that generate tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.passes = Passes(self)
        """Compiled passes, made at once so that compiled programs see the model unchanged."""

    def generate(
        self: CausalLM,
        input_ids: gn.Tensor,
        *,
        attention_mask: gn.Tensor | None = None,
        tokenizer: Decodes | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> gn.Tensor:
        """Generate tokens after each prompt and return both, with transformers' arguments.

        attention_mask: 0 at the padding on the left of a row. tokenizer: decodes tokens, for
        `stop_strings`. seed: of sampling; None draws one from Gnomon's generator. options: fields
        of `GenerationConfig`, in place of those of the model's generation_config.json:
        max_new_tokens, max_length, do_sample, temperature, top_k, top_p, min_p, repetition_penalty,
        eos_token_id, pad_token_id, stop_strings.

        Shapes: input_ids (b, t), attention_mask (b, t) -> (b, t + n), n the most new tokens of a
        row; after its end a row has pad_token_id.

        Raises ConfigError for an option that is not implemented, or has no such value, and
        ArgumentError for prompts that are none, or too long.

        >>> from gnomon.models.registry import MODELS
        >>> kind = MODELS["qwen3"]
        >>> model = kind.model(kind.config(hidden_size=8, head_dim=4, num_hidden_layers=1))
        >>> kind.initialize(model, 0)
        >>> model.generate(gn.tensor([[1, 2, 3]]), max_new_tokens=4).shape
        Size([1, 7])
        """
        prompts = prompts_of(input_ids, attention_mask)
        writing = Writing(self, options, tokenizer, seed)
        written, place = [*writing.tokens(prompts)], input_ids.device
        columns = [from_array(np.stack(written, 1)).to(place)] if written else []
        return gn.cat([input_ids.to(gn.int64), *columns], 1)

    def stream(
        self: CausalLM,
        input_ids: gn.Tensor,
        *,
        attention_mask: gn.Tensor | None = None,
        tokenizer: Decodes | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> Iterator[gn.Tensor]:
        """Yield the tokens that `generate` would append, one tensor (b) per step.

        Raises what `generate` raises, at the call.
        """
        prompts = prompts_of(input_ids, attention_mask)
        writing = Writing(self, options, tokenizer, seed)
        chosen, place = writing.tokens(prompts), input_ids.device
        return (from_array(tokens).to(place) for tokens in chosen)


class Writing:
    """The settings of one generation: model, options, tokenizer and seed."""

    def __init__(
        self,
        model: WritesText,
        options: dict[str, Any],
        tokenizer: Decodes | None = None,
        seed: int | None = None,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.config = generation_config(model.carried, options)
        if self.config.stops and tokenizer is None:
            raise ArgumentError("generate: stop_strings need a tokenizer. Give tokenizer=.")
        self.seed = drawn_seed() if seed is None and self.config.do_sample else seed or 0
        if not 0 <= self.seed < 1 << 64:
            raise ArgumentError(f"generate: seed must be 0 or more, of 64 bits: got {seed}.")

    def rows(
        self, prompts: Sequence[Sequence[int]], tokenizer: Decodes | None = None
    ) -> list[TextRow]:
        """Make a row to be continued from each prompt; `tokenizer` decodes the new tokens."""
        length, longest = max(map(len, prompts)), self.model.config.max_position_embeddings
        most = self.config.most_new(length)
        if not all(prompts):
            raise ArgumentError("generate: a prompt has no token. Say something.")
        if length + most - 1 > longest:
            raise ArgumentError(
                f"generate: {length} tokens and {most} new ones are more than "
                f"max_position_embeddings ({longest}). Take a shorter prompt, or a smaller "
                "max_new_tokens."
            )
        more: dict[str, Any] = {"seed": self.seed, "tokenizer": tokenizer}
        return [
            TextRow(self.config, ids, most, number=number, **more)
            for number, ids in enumerate(prompts)
        ]

    def tokens(self, prompts: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
        """Yield each row's new token at each step until all rows have ended."""
        rows = self.rows(prompts, self.tokenizer if self.config.stops else None)
        cached, padding = self.model.passes.rows(len(rows)), self.config.padding
        return (
            np.array([row.tokens[-1] if was else padding for row, was in written], np.int64)
            for written in steps(rows, cached)
        )


def steps(rows: Sequence[TextRow], cached: CachedRows) -> Iterator[list[tuple[TextRow, bool]]]:
    """Generate until all rows have ended; yield at each step the rows and whether each grew.

    cached: the KV cache; what it holds of the rows is not read again.
    """
    fresh = cached.unread([row.tokens for row in rows])
    running = [row.running for row in rows]
    while any(running):
        for row, runs, scores_v in zip(rows, running, cached.read(fresh), strict=True):
            if runs:
                row.add(scores_v)
        yield [*zip(rows, running, strict=True)]
        running = [row.running for row in rows]
        fresh = [row.tokens[-1:] if runs else [] for row, runs in zip(rows, running, strict=True)]


def drawn_seed() -> int:
    """Draw a seed from the default generator, which `manual_seed` sets."""
    high, low = default_generator.key().tolist()
    return (high << 32) + low


def prompts_of(input_ids: gn.Tensor, attention_mask: gn.Tensor | None) -> list[list[int]]:
    """The token ids of each row without the padding on its left."""
    if input_ids.ndim != 2 or 0 in input_ids.shape or not input_ids.dtype.is_integer:
        raise ArgumentError(
            "generate: input_ids must be integers of shape (rows, tokens): got "
            f"{input_ids.dtype.name} of {tuple(input_ids.shape)}."
        )
    rows = input_ids.tolist()
    if attention_mask is None:
        return rows
    mask_bt = attention_mask.cpu().numpy() != 0
    if mask_bt.shape != tuple(input_ids.shape):
        raise ArgumentError(
            f"generate: attention_mask must be {tuple(input_ids.shape)}, as input_ids: got "
            f"{mask_bt.shape}."
        )
    if not mask_bt[:, -1].all() or (mask_bt[:, :-1] > mask_bt[:, 1:]).any():
        raise ArgumentError(
            "generate: attention_mask must be 0 on the left only, and 1 at each row's last token. "
            "Pad prompts on the left."
        )
    return [row[len(row) - int(n) :] for row, n in zip(rows, mask_bt.sum(1), strict=True)]
