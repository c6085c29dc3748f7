"""Writing text one token at a time, with a cache of keys and values.

A step is one compiled program whatever the position. When the context is full, the newer half of
it is read again and writing goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice

import numpy as np
from tokenizers import Tokenizer

import gnomon as gn
from gnomon.errors import ConfigError
from gnomon.models.causal import Cache, CausalLM
from gnomon.train.order import mix
from gnomon.train.tokenizer import END_ID

__all__ = ["Sampling", "TextGenerator", "choose", "stream"]


@dataclass(frozen=True)
class Sampling:
    """The drawing of the next token; a temperature of 0 takes the likeliest."""

    temperature: float = 0.8
    top_k: int = 40
    seed: int = 0

    def checked(self, most: int) -> Sampling:
        """Itself; what the command line may ask, and nobody can draw, is refused. most: tokens."""
        for name, value in (("max-new-tokens", most), ("top-k", self.top_k), ("seed", self.seed)):
            if value < 0:
                raise ConfigError(f"generate: --{name}: expected int >= 0: got {value}.")
        if not 0 <= self.temperature < float("inf"):
            raise ConfigError(
                f"generate: --temperature: expected float >= 0: got {self.temperature}."
            )
        return self


class TextGenerator:
    """A model and its compiled step."""

    def __init__(self, model: CausalLM) -> None:
        self.model = model
        self.longest = model.config.max_position_embeddings

        @gn.compile
        def extend(token: gn.Tensor, position: gn.Tensor, cache: Cache) -> gn.Tensor:
            with gn.no_grad():
                return model.extend(token, position, cache)

        self.extend = extend

    def read(self, tokens: Sequence[int], cache: Cache, position: int) -> np.ndarray:
        """Scores for what follows the tokens, which begin at a position and go into the cache."""
        scores = None
        for offset, token in enumerate(tokens):
            place = gn.from_numpy(np.array([position + offset], np.int64))
            scores = self.extend(gn.from_numpy(np.array([[token]], np.int64)), place, cache)
        assert scores is not None, "there is always a token to read: the end mark opens a text."
        return scores[0].numpy()

    def write(self, prompt: Sequence[int], sampling: Sampling) -> Iterator[int]:
        """Tokens after the prompt, until the end mark or forever."""
        tokens = [END_ID, *prompt]
        position, cache = 0, self.model.empty_cache(1)
        fresh = tokens[-self.longest :]
        for number in count():
            if position + len(fresh) > self.longest:
                position, cache = 0, self.model.empty_cache(1)
                fresh = tokens[-(self.longest // 2) :]
            scores = self.read(fresh, cache, position)
            position += len(fresh)
            chosen = choose(scores, sampling, number)
            if chosen == END_ID:
                return
            tokens.append(chosen)
            fresh = [chosen]
            yield chosen


def choose(scores: np.ndarray, sampling: Sampling, number: int) -> int:
    """Draw the number-th token of a text; a pure function of scores, seed and number.

    >>> choose(np.array([0.0, 2.0, 1.0]), Sampling(temperature=0.0), 0)
    1
    """
    if sampling.temperature == 0:
        return int(scores.argmax())
    order = np.argsort(-scores, kind="stable")
    kept = order[: sampling.top_k] if sampling.top_k else order
    scaled = scores[kept].astype(np.float64) / sampling.temperature
    weights = np.exp(scaled - scaled[0])
    word = mix(mix(np.array([sampling.seed], np.uint64)) + np.uint64(number))[0]
    drawn = float(word >> np.uint64(11)) * 2.0**-53 * weights.sum()
    place = int(np.searchsorted(np.cumsum(weights), drawn, side="right"))
    return int(kept[min(place, len(kept) - 1)])


def stream(
    writer: TextGenerator, tokenizer: Tokenizer, prompt: str, sampling: Sampling, most: int
) -> Iterator[str]:
    """Pieces of text as they are written; a character is given when all its bytes are there."""
    written: list[int] = []
    given = ""
    for token in islice(writer.write(tokenizer.encode(prompt).ids, sampling), most):
        written.append(token)
        text = tokenizer.decode(written)
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            yield text[len(given) :]
            given = text
    yield tokenizer.decode(written)[len(given) :]
