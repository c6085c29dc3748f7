"""Every file of operations, imported, so that the registry is complete.

Nothing is defined here; who needs all operations by name imports this and reads registry.OPS.
"""

from __future__ import annotations

from gnomon.ops import (
    activations,
    attention,
    combining,
    convolution,
    creation,
    cross_entropy,
    diagonals,
    einsum,
    elementwise,
    embedding,
    grids,
    grouped,
    images,
    indexing,
    joining,
    linalg,
    linear_cross_entropy,
    logic,
    logits,
    losses,
    normalization,
    pooling,
    random,
    reductions,
    scans,
    sorting,
    special,
    statistics,
    views,
)

FILES = (
    *(creation, elementwise, logic, activations, reductions, scans, statistics, sorting, special),
    *(views, joining, combining, diagonals, indexing, embedding, linalg, einsum, grouped, random),
    *(normalization, attention, losses, cross_entropy, logits, linear_cross_entropy),
    *(convolution, pooling, images, grids),
)
"""In the order in which a reader would want them."""
