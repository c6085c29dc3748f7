"""Matrices quantized to the blocks of gnomon/ops/blocks.py, by numpy.

Rounded to the nearest, halves to the even one. A block is one group; where a whole row has one
factor, each of its blocks holds it.
"""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import float8_e4m3fn
from gnomon.errors import ArgumentError
from gnomon.ops.blocks import GROUPS
from gnomon.quant.configs import (
    Float8WeightOnlyConfig,
    Int4WeightOnlyConfig,
    Int8WeightOnlyConfig,
    WeightConfig,
)

__all__ = ["encoded_rows"]

NUMBERS = {
    Int8WeightOnlyConfig: ("INT8", 127.0),
    Int4WeightOnlyConfig: ("INT4", 15.0),
    Float8WeightOnlyConfig: ("FLOAT8", 448.0),
}
"""The name of a config's numbers, and the largest, which the largest one of a group becomes."""


def encoded_rows(weight: np.ndarray, config: WeightConfig) -> tuple[np.ndarray, str]:
    """The blocks of a matrix of float32, a row for each, and the name of their format.

    Raises ArgumentError for infinities and NaN, for rows that no group divides, and for numbers
    that float16 does not hold where minima and steps are such.
    """
    rows, size = weight.shape
    group = config.group_size or next((n for n in GROUPS[::-1] if size % n == 0), GROUPS[0])
    if size % group:
        raise ArgumentError(f"rows of {size} numbers are no whole groups of {group}")
    if not np.isfinite(weight).all():
        raise ArgumentError("it has infinities or NaN")
    grouped = weight.reshape(rows, size // group, group)
    name, most = next(row for kind, row in NUMBERS.items() if isinstance(config, kind))
    if isinstance(config, Int4WeightOnlyConfig):
        blocks = int4_blocks(grouped)
    else:
        blocks = scaled_blocks(grouped, config, most)
    return blocks.reshape(rows, blocks.shape[1] * blocks.shape[2]), f"{name}_{group}"


def scaled_blocks(grouped: np.ndarray, config: WeightConfig, most: float) -> np.ndarray:
    """A factor and numbers of 8 bits for each group."""
    size = np.abs(grouped)
    peak = size.max(2, keepdims=True, initial=0.0)
    if config.group_size is None:
        peak = np.broadcast_to(peak.max(1, keepdims=True, initial=0.0), peak.shape)
    factor = (peak / np.float32(most)).astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        numbers = np.where(factor > 0, grouped / factor, np.float32(0))
    numbers = numbers.clip(-most, most)
    if isinstance(config, Int8WeightOnlyConfig):
        content = np.rint(numbers).astype(np.int8).view(np.uint8)
    else:
        content = numbers.astype(float8_e4m3fn.numpy).view(np.uint8)
    return np.concatenate([np.ascontiguousarray(factor).view(np.uint8), content], 2)


def int4_blocks(grouped: np.ndarray) -> np.ndarray:
    """A step, a least number and numbers of 4 bits for each group."""
    least, most = grouped.min(2, keepdims=True), grouped.max(2, keepdims=True)
    with np.errstate(over="ignore"):
        step, start = ((most - least) / np.float32(15)).astype("<f2"), least.astype("<f2")
    if not (np.isfinite(step).all() and np.isfinite(start).all()):
        raise ArgumentError(f"float16 holds no number as large as {np.abs(grouped).max():.3g}")
    wide = step.astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        numbers = np.where(wide > 0, (grouped - start.astype(np.float32)) / wide, np.float32(0))
    q = np.rint(numbers.clip(0, 15)).astype(np.uint8)
    stretches = q.reshape(*q.shape[:2], q.shape[2] // 32, 2, 16)
    content = stretches[..., 0, :] | stretches[..., 1, :] << 4
    head = np.concatenate([step.view(np.uint8), start.view(np.uint8)], 2)
    return np.concatenate([head, content.reshape(*q.shape[:2], q.shape[2] // 2)], 2)
