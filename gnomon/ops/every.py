"""Every file of operations, imported, so that the registry is complete.

Nothing is defined here; who needs all operations by name imports this and reads registry.OPS.
"""

from __future__ import annotations

from gnomon.ops import (
    activations,
    adaptive_pooling,
    attention,
    bessel,
    blends,
    combining,
    convolution,
    creation,
    cross_entropy,
    diagonals,
    distances,
    divisors,
    einsum,
    elementwise,
    elimination,
    embedding,
    factorizations,
    grids,
    grouped,
    images,
    incomplete,
    indexing,
    joining,
    linalg,
    linear_cross_entropy,
    logic,
    logit_rows,
    losses,
    margin_losses,
    matrices,
    normalization,
    occurrences,
    pooling,
    random,
    reductions,
    rejection,
    repetition,
    rounding,
    routed,
    scans,
    solving,
    sorting,
    special,
    statistics,
    transcendental,
    views,
)

FILES = (
    *(creation, elementwise, transcendental, rounding, special, bessel, incomplete),
    *(divisors, logic, activations, blends),
    *(reductions, scans, statistics, sorting),
    *(views, joining, combining, diagonals, indexing, occurrences, repetition, embedding),
    *(linalg, einsum, grouped, routed, random, rejection),
    *(factorizations, solving, elimination, matrices),
    *(normalization, distances, attention, losses, margin_losses, cross_entropy, logit_rows),
    *(linear_cross_entropy,),
    *(convolution, pooling, adaptive_pooling, images, grids),
)
"""In the order in which a reader would want them."""
