"""Tables of rotary positions, scaled to longer contexts if a config says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

__all__ = ["RopeScaling", "rotary_tables"]

Factor = Annotated[float, Meta(gt=0, le=1e9)]


@dataclass(frozen=True, kw_only=True)
class RopeScaling:
    """The scaling of rotary angles to longer contexts, with Hugging Face's field names."""

    rope_type: Literal["linear", "llama3", "yarn"]
    factor: Factor
    original_max_position_embeddings: Annotated[int, Meta(ge=1, le=1 << 32)] | None = None
    low_freq_factor: Factor | None = None
    high_freq_factor: Factor | None = None
    attention_factor: Factor | None = None
    beta_fast: Factor | None = None
    beta_slow: Factor | None = None

    @property
    def missing(self) -> str | None:
        """The name of a field that this kind of scaling needs but lacks, or None."""
        needs = {
            "llama3": ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
            "yarn": ("original_max_position_embeddings",),
        }
        absent = (x for x in needs.get(self.rope_type, ()) if getattr(self, x) is None)
        return next(absent, None)

    def stretched(self, rates: np.ndarray, theta: float) -> tuple[np.ndarray, float]:
        """The scaled angle per position of each pair, and a factor of cosines and sines.

        >>> RopeScaling(rope_type="linear", factor=2.0).stretched(np.ones(1), 1e4)
        (array([0.5]), 1.0)
        """
        slow, first = rates / self.factor, self.original_max_position_embeddings
        if first is None or self.rope_type == "linear":
            return slow, 1.0
        if self.rope_type == "llama3":
            low, high = self.low_freq_factor or 1.0, self.high_freq_factor or 1.0
            keeps = (first * rates / (2 * math.pi) - low) / max(high - low, 1e-30)
            fast = np.clip(keeps, 0, 1)
            return fast * rates + (1 - fast) * slow, 1.0
        halves = len(rates)
        ends = [
            halves * math.log(first / (beta * 2 * math.pi)) / math.log(theta)
            for beta in (self.beta_fast or 32.0, self.beta_slow or 1.0)
        ]
        low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), 2 * halves - 1)
        ramp = np.clip((np.arange(halves) - low) / max(high - low, 1e-3), 0, 1)
        factor = self.attention_factor or 0.1 * math.log(max(self.factor, 1.0)) + 1
        return (1 - ramp) * rates + ramp * slow, factor


def rotary_tables(
    longest: int, head_dim: int, theta: float, scaling: RopeScaling | None
) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and sines of each position's angles, (longest, head_dim / 2) each.

    Computed in float64 and rounded once.
    """
    half = np.arange(0, head_dim, 2) / head_dim
    rates, factor = theta**-half, 1.0
    if scaling is not None:
        rates, factor = scaling.stretched(rates, theta)
    angles = np.outer(np.arange(longest), rates)
    return tuple((factor * wave(angles)).astype(np.float32) for wave in (np.cos, np.sin))
