"""Endless generation for `gnomon generate` and the sample at the end of a run.

When the context is full, its newer half is read again and generation continues. Everything else is
as in gnomon/models/generation.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import count, islice

import numpy as np
from tokenizers import Tokenizer

from gnomon.models.causal import CausalLM
from gnomon.models.passes import CachedRows
from gnomon.models.sampling import TokenDraw, drawn, share_of
from gnomon.models.text_pieces import text_pieces
from gnomon.train.sampling_flags import SamplingFlags
from gnomon.train.tokenizer import END_ID

__all__ = ["Sampling", "TextGenerator", "choose", "stream"]


@dataclass(frozen=True)
class Sampling:
    """The settings of drawing the next token; temperature 0 takes the most probable one."""

    temperature: float = 0.8
    top_k: int = 40
    seed: int = 0
    top_p: float = 1.0

    @classmethod
    def of(cls, flags: SamplingFlags) -> Sampling:
        """The settings of command-line flags, with defaults for those not given.

        >>> Sampling.of(SamplingFlags(top_k=3))
        Sampling(temperature=0.8, top_k=3, seed=0, top_p=1.0)
        """
        given = flags.given()
        return cls(**{x.name: given[x.name] for x in fields(cls) if x.name in given})


class TextGenerator:
    """A generator of texts as in training: each begins after the end-of-text token."""

    def __init__(self, model: CausalLM) -> None:
        self.passes = model.passes
        self.extend = self.passes.extend

    def write(self, prompt: Sequence[int], sampling: Sampling) -> Iterator[int]:
        """The tokens after a prompt, until the end-of-text token."""
        cached, tokens = CachedRows(self.passes), [END_ID, *prompt]
        fresh = tokens[-cached.longest :]
        for number in count():
            if len(cached.rows[0]) + len(fresh) > cached.longest:
                cached = CachedRows(self.passes)
                fresh = tokens[-(cached.longest // 2) :]
            chosen = choose(cached.read([fresh])[0], sampling, number)
            if chosen == END_ID:
                return
            tokens.append(chosen)
            fresh = [chosen]
            yield chosen


def choose(scores: np.ndarray, sampling: Sampling, number: int) -> int:
    """The number-th token of a text, drawn by scores; it depends on seed and number only.

    >>> choose(np.array([0.0, 2.0, 1.0]), Sampling(temperature=0.0), 0)
    1
    """
    if sampling.temperature == 0:
        return int(scores.argmax())
    draw = TokenDraw(sampling.temperature, sampling.top_k, sampling.top_p)
    return drawn(scores, draw, share_of(sampling.seed, number))


def stream(
    writer: TextGenerator, tokenizer: Tokenizer, prompt: str, sampling: Sampling, most: int
) -> Iterator[str]:
    """The pieces of a generated text, each of whole characters."""
    tokens = writer.write(tokenizer.encode(prompt).ids, sampling)
    return text_pieces(islice(tokens, most), tokenizer)
