"""Loads every module of operations, so that the registry is full before tensors are made of it."""

from __future__ import annotations

from gnomon.ops import (  # noqa: F401 - each registers what it holds
    activations,
    arguments,
    attention,
    creation,
    cross_entropy,
    diagonals,
    einsum,
    elementwise,
    embedding,
    indexing,
    joining,
    linalg,
    logic,
    losses,
    normalization,
    primitives,
    reductions,
    scans,
    statistics,
    views,
)
