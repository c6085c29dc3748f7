"""Evaluate a model on held-out text, in bits per byte.

A window slides over the tokens and only its last `stride` targets count, so each token counts once,
with as much context as there is. Bytes are those that the tokens decode to, so that tokenizers, and
compressors such as xz, can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import gnomon as gn
from gnomon.errors import ConfigError
from gnomon.models.causal import CausalLM

__all__ = ["HeldOut", "Measure", "TokenWindow", "cut"]


@dataclass(frozen=True)
class Measure:
    """The total loss of a text in nats, with its numbers of tokens and bytes."""

    nats: float
    tokens: int
    bytes: int

    @property
    def loss(self) -> float:
        """The loss in nats per token."""
        return self.nats / self.tokens

    @property
    def bits_per_byte(self) -> float:
        """The loss in bits per byte of text."""
        return self.nats / math.log(2) / self.bytes


@dataclass(frozen=True)
class TokenWindow:
    """A window of tokens for one prediction, and the range that counts."""

    start: int
    """The first token of the window."""
    first: int
    """The first token that counts."""
    stop: int
    """The token after the last that counts."""


def cut(tokens: int, length: int, stride: int) -> list[TokenWindow]:
    """Windows of length + 1 tokens in which every token but the first counts exactly once.

    >>> cut(8, 4, 2)
    [TokenWindow(start=0, first=1, stop=3), TokenWindow(start=0, first=3, stop=5), \
TokenWindow(start=2, first=5, stop=7), TokenWindow(start=3, first=7, stop=8)]
    """
    if tokens < length + 1:
        raise ConfigError(
            f"train.sequence_length: expected fewer than {tokens}, the tokens held out: "
            f"got {length}."
        )
    windows = []
    for first in range(1, tokens, stride):
        stop = min(first + stride, tokens)
        start = min(max(0, stop - 1 - length), tokens - 1 - length)
        windows.append(TokenWindow(start, first, stop))
    return windows


class HeldOut:
    """Held-out tokens that can be measured repeatedly by one compiled program."""

    def __init__(
        self,
        model: CausalLM,
        tokens: np.ndarray,
        lengths: np.ndarray,
        shape: tuple[int, int],
        stride: int,
        spread: Callable[[gn.Tensor], gn.Tensor] = lambda window: window,
    ) -> None:
        """Set the tokens, the bytes of every token, and shape = (windows at once, tokens).

        spread: a function that distributes windows to the ranks that measure together.
        """
        self.tokens, self.lengths, self.shape = tokens, lengths, shape
        self.windows = cut(len(tokens), shape[1], stride)

        @gn.compile
        def losses(window_bt: gn.Tensor) -> gn.Tensor:
            with gn.no_grad():
                return model.losses(spread(window_bt))

        self.losses, self.device = losses, next(model.parameters()).device

    def measure(self, quick: int = 0) -> Measure:
        """Measure all windows, or `quick` of them, evenly spaced."""
        chosen = self.windows
        if 0 < quick < len(chosen):
            chosen = [chosen[i * len(chosen) // quick] for i in range(quick)]
        nats = math.fsum(self.nats(chosen))
        counted = np.concatenate([self.tokens[w.first : w.stop] for w in chosen])
        return Measure(nats, len(counted), int(self.lengths[counted].sum()))

    def nats(self, chosen: Sequence[TokenWindow]) -> Iterator[float]:
        """The loss of each counted token."""
        batch, length = self.shape
        for place in range(0, len(chosen), batch):
            part = chosen[place : place + batch]
            # the last batch is filled up, so that one program serves all
            starts = [w.start for w in (*part, *[part[-1]] * (batch - len(part)))]
            rows = np.stack([self.tokens[s : s + length + 1] for s in starts])
            found = self.losses(gn.from_numpy(rows).to(self.device)).cpu().numpy()
            for window, row in zip(part, found, strict=False):
                yield from row[window.first - window.start - 1 : window.stop - window.start - 1]
