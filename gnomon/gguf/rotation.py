"""Convert rotary settings, and the order of rows, between GGUF and Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, brief, clipped

__all__ = ["FACTORS", "in_halves", "in_pairs", "llama3_factors", "rotation_keys", "rotation_of"]

FACTORS = "rope_freqs.weight"
"""The tensor of Llama 3's divisors of rotary frequencies."""
LLAMA3 = {
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
"""Rotary scaling settings of all Llama 3 models, which GGUF does not store."""
SCALED = {
    "scaling.factor": "factor",
    "scaling.original_context_length": "original_max_position_embeddings",
}


def in_pairs(rows: np.ndarray, heads: int) -> np.ndarray:
    """Reorder rows of each head from rotary pairs (i, i + k/2) to pairs (2i, 2i + 1).

    >>> in_pairs(np.arange(4), 1).tolist(), in_halves(in_pairs(np.arange(4), 1), 1).tolist()
    ([0, 2, 1, 3], [0, 1, 2, 3])
    """
    parted = rows.reshape(heads, 2, -1, *rows.shape[1:])
    return parted.swapaxes(1, 2).reshape(rows.shape)


def in_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """Reorder rows of each head from rotary pairs (2i, 2i + 1) to pairs (i, i + k/2)."""
    parted = rows.reshape(heads, -1, 2, *rows.shape[1:])
    return parted.swapaxes(1, 2).reshape(rows.shape)


def llama3_factors(rotation: Mapping[str, Any], size: int) -> np.ndarray:
    """The divisors of rotary frequencies that Llama 3 uses, for a head's size."""
    low, high = rotation["low_freq_factor"], rotation["high_freq_factor"]
    frequencies = float(rotation["rope_theta"]) ** -(np.arange(0, size, 2) / size)
    periods = rotation["original_max_position_embeddings"] * frequencies / (2 * np.pi)
    smooth = np.clip((periods - low) / (high - low), 0, 1)
    with np.errstate(all="ignore"):
        return (1 / ((1 - smooth) / rotation["factor"] + smooth)).astype(np.float32)


def rotation_of(said: Mapping[str, Any], factors: np.ndarray | None, size: int) -> dict[str, Any]:
    """A config's rope_parameters from GGUF's keys and Llama 3's factors.

    Raises ArgumentError for other factors and unknown kinds of scaling.
    """
    rest = dict(said)
    theta, kind = rest.pop("freq_base", 10000.0), rest.pop("scaling.type", "none")
    if not isinstance(theta, int | float) or not 0 < theta < np.inf:
        raise ArgumentError(f"rope.freq_base is {brief(theta)}")
    found: dict[str, Any] = {"rope_theta": theta, "rope_type": "default"}
    if kind in ("linear", "yarn"):
        scaled = {SCALED[key]: rest.pop(key) for key in SCALED if key in rest}
        found |= {"rope_type": kind} | scaled
    if rest or kind not in ("none", "linear", "yarn"):
        strange = f"rope.{next(iter(rest), 'scaling.type')}"
        raise ArgumentError(f"{clipped(strange)} has no place in a config")
    if factors is None:
        return found
    if factors.shape != ((size + 1) // 2,):
        raise ArgumentError(f"{FACTORS} has shape {factors.shape} for heads of {size}")
    own = found | {"rope_type": "llama3", "factor": float(factors.max(initial=1)), **LLAMA3}
    if kind != "none" or not np.allclose(factors, llama3_factors(own, size), rtol=1e-4, atol=0):
        raise ArgumentError(f"{FACTORS} are not the factors of Llama 3")
    return own


def rotation_keys(rotation: Mapping[str, Any]) -> dict[str, Any]:
    """GGUF's keys for a config's rope_parameters; those of llama3 are in a tensor.

    Raises ArgumentError for kinds of scaling without keys.
    """
    kind, rest = rotation.get("rope_type", "default"), dict(rotation)
    keys: dict[str, Any] = {"freq_base": np.float32(rest.pop("rope_theta", 10000.0))}
    rest.pop("rope_type", None)
    if kind == "llama3":
        return keys
    if kind in ("linear", "yarn"):
        keys["scaling.type"] = kind
        for key, field in SCALED.items():
            if field in rest:
                value = rest.pop(field)
                keys[key] = np.float32(value) if field == "factor" else np.uint32(value)
    if rest or kind not in ("default", "linear", "yarn"):
        raise ArgumentError(f"rope_parameters are {brief(dict(rotation))}")
    return keys
