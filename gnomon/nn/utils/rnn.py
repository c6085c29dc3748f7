"""Sequences of several lengths in one tensor."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.tensor.creation import full
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor


def pad_sequence(
    sequences: Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences side by side, the shorter ones filled up."""
    longest = max(x.shape[0] for x in sequences)
    rows = []
    for x in sequences:
        shape = (longest - x.shape[0], *x.shape[1:])
        if not shape[0]:
            rows.append(x)
            continue
        border = full(shape, padding_value, dtype=x.dtype)
        pair = (x, border) if padding_side == "right" else (border, x)
        rows.append(FUNCTIONS["cat"](pair, dim=0))
    return FUNCTIONS["stack"](rows, dim=0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences that pad_sequence put side by side."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:n] for row, n in zip(rows, lengths.tolist(), strict=True)]
