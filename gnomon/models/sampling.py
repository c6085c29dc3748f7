"""Choosing the next token from logits: repetition penalty, filters, sampling.

Each function is pure and follows the order of transformers' steps. Letters: v vocabulary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnomon.utils.hashing import mix

__all__ = ["TokenDraw", "drawn", "penalized", "share_of"]


class TokenDraw(NamedTuple):
    """Settings of sampling one token."""

    temperature: float = 1.0
    top_k: int = 0
    """Sample among this many of the most likely tokens; 0 means all."""
    top_p: float = 1.0
    min_p: float = 0.0


def share_of(seed: int, number: int, row: int = 0) -> float:
    """A random number in [0, 1) for a row's number-th token, determined by the seed.

    >>> 0 <= share_of(1, 2) < 1, share_of(1, 2) == share_of(1, 2, row=1)
    (True, False)
    """
    place = np.uint64(number) + (np.uint64(row) << np.uint64(32))
    word = mix(mix(np.array([seed], np.uint64)) + place)[0]
    return float(word >> np.uint64(11)) * 2.0**-53


def drawn(scores_v: np.ndarray, draw: TokenDraw, share: float) -> int:
    """Sample a token from logits under the settings, with `share` as the random number.

    >>> drawn(np.array([0.0, 2.0, 1.0]), TokenDraw(top_k=2), 0.9)
    2
    """
    kept = likeliest(scores_v, draw.top_k)
    scaled = scores_v[kept].astype(np.float64) / draw.temperature
    weights = np.exp(scaled - scaled[0])
    if draw.top_p < 1 or draw.min_p > 0:
        before = np.cumsum(weights) - weights
        allowed = (before < draw.top_p * weights.sum()) & (weights >= draw.min_p)
        weights = weights[: max(int(allowed.sum()), 1)]
    place = int(np.searchsorted(np.cumsum(weights), share * weights.sum(), side="right"))
    return int(kept[min(place, len(weights) - 1)])


def likeliest(scores_v: np.ndarray, most: int) -> np.ndarray:
    """The `most` tokens with the highest scores, best first; 0 means all tokens."""
    places = np.arange(len(scores_v))
    if 0 < most < len(scores_v):
        # a few of many are sorted: those that score no less than the last of them
        places = np.flatnonzero(-scores_v <= np.partition(-scores_v, most - 1)[most - 1])
    order = places[np.argsort(-scores_v[places], kind="stable")]
    return order[:most] if most else order


def penalized(scores_v: np.ndarray, seen_v: np.ndarray, penalty: float) -> np.ndarray:
    """Apply the repetition penalty: lower the scores of tokens that occurred already.

    >>> penalized(np.array([4.0, -1.0, 3.0]), np.array([True, True, False]), 2.0).tolist()
    [2.0, -2.0, 3.0]
    """
    factor = scores_v.dtype.type(penalty)
    fallen = np.where(scores_v < 0, scores_v * factor, scores_v / factor)
    return np.where(seen_v, fallen, scores_v)
