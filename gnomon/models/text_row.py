"""One text that is being generated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.models.generation_config import GenerationConfig
from gnomon.models.sampling import TokenDraw, drawn, penalized, share_of
from gnomon.models.text_pieces import Decodes, TextPieces

__all__ = ["TextRow"]


class TextRow:
    """A text's tokens, continued one by one from logits, generation settings and a seed."""

    def __init__(
        self,
        config: GenerationConfig,
        ids: Sequence[int],
        most: int,
        *,
        seed: int = 0,
        number: int = 0,
        tokenizer: Decodes | None = None,
    ) -> None:
        """Start from the tokens of a prompt.

        number: the row's index, which varies the sampling. tokenizer: decodes the new tokens into
        `piece`.
        """
        self.config, self.tokens, self.most = config, [*ids], most
        self.seed, self.number = seed, number
        self.count = 0
        """The number of new tokens."""
        self.ended = False
        """Whether an end token or a stop string was generated."""
        self.piece = ""
        """The text that the newest token completed."""
        self.pieces = TextPieces(tokenizer, config.stops) if tokenizer else None
        self.seen_v = np.zeros(0, bool)
        """A mask of the tokens in the text so far, for the repetition penalty."""

    @property
    def running(self) -> bool:
        """Whether more tokens are to be generated."""
        return not self.ended and self.count < self.most

    def add(self, scores_v: np.ndarray) -> None:
        """Choose the next token from the logits and append it."""
        token = self.choice(self.penalized(scores_v))
        self.tokens.append(token)
        self.count += 1
        self.ended, self.piece = token in self.config.ends, ""
        if self.pieces is None:
            return
        if not self.ended:
            self.piece = self.pieces.add(token)
            self.ended = self.pieces.stopped
        if not self.running:
            self.piece += self.pieces.rest()

    def choice(self, scores_v: np.ndarray) -> int:
        """Choose the most likely token, or sample one if `do_sample` is true."""
        c = self.config
        if not c.do_sample:
            return int(scores_v.argmax())
        draw = TokenDraw(c.temperature, c.top_k or 0, c.top_p, c.min_p or 0.0)
        return drawn(scores_v, draw, share_of(self.seed, self.count, self.number))

    def penalized(self, scores_v: np.ndarray) -> np.ndarray:
        """Apply the repetition penalty to the scores."""
        penalty = self.config.repetition_penalty
        if penalty == 1:
            return scores_v
        if not self.count:
            self.seen_v = np.zeros(scores_v.shape, bool)
            self.seen_v[self.tokens] = True
        self.seen_v[self.tokens[-1]] = True
        return penalized(scores_v, self.seen_v, penalty)
