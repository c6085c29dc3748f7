"""All rows of the comparison with torch, family by family; no expected values."""

from __future__ import annotations

from tests.parity.table import (
    convolution,
    creation,
    elementwise,
    functional,
    indexing,
    linalg,
    losses,
    mutation,
    names,
    promotion,
    reductions,
    sorting,
    views,
)

FAMILIES = (
    *(creation, promotion, elementwise, reductions, sorting, views, indexing, mutation),
    *(linalg, functional, losses, convolution, names),
)
RECORDS = [record for family in FAMILIES for record in family.TABLE]
