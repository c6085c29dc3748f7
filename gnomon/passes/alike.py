"""Compare over ranks the values that count as replicated, under the setting `verify`.

A value that varies counts as replicated at a node that combines it with a split or pending value
(varying.py). There its bits are compared between ranks, by a digest, before the node reads it.
Values that meet rows which each rank passed for itself are exempt: they may differ between ranks
too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from gnomon.dtypes import bool_, int64
from gnomon.errors import CollectiveError
from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise
from gnomon.ops.collectives import all_gather
from gnomon.ops.external import EXTERNALS, ExternalOp, external
from gnomon.ops.layouts import LAYOUTS, rows_of
from gnomon.ops.placements import VARYING
from gnomon.ops.scalars import where
from gnomon.passes.layout import MeshAxis, is_whole
from gnomon.passes.strategies import Strategy, is_named

__all__ = ["compared", "counts_as_alike"]

DIGEST, AGREE = "gnomon::digest", "gnomon::agree"


def digest(_: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """A hash of a value's bits in 8 bytes, as an external operation computes it."""
    found = blake2b(np.ascontiguousarray(arrays[0]).tobytes(), digest_size=8).digest()
    return [np.frombuffer(found, np.int64).copy()]


def agree(what: str, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return True; raises CollectiveError if the digests gathered from all ranks differ."""
    digests = arrays[0].tolist()
    groups = [[k for k, x in enumerate(digests) if x == each] for each in dict.fromkeys(digests)]
    if len(groups) > 1:
        apart = "; ".join(", ".join(map(str, ranks)) for ranks in groups)
        raise CollectiveError(what.replace("RANKS", apart))
    return [np.ones((), bool)]


EXTERNALS.update({DIGEST: ExternalOp("digest", digest), AGREE: ExternalOp("agree", agree)})


def counts_as_alike(node: Node, plan: Mapping[Node, Strategy], across: MeshAxis) -> bool:
    """Whether a node takes inputs that vary over ranks as if they were replicated."""
    given = plan[node].given
    if node.op in LAYOUTS and is_named(node, across):
        plain = node.op == "place" and not {"pins", "only"} & node.params.keys()
        return plain and given != VARYING
    return not is_whole(given) and across.name not in rows_of(node)


def compared(x: Node, image: Node, reader: Node, across: MeshAxis) -> Node:
    """The image of a value, computed only after a check that all ranks have the same bits.

    When it runs, it raises CollectiveError if they differ.
    """
    line = f"   [{reader.sites[0]}]" if reader.sites else ""
    what = (
        f"{reader.params.get('name') or reader.params.get('f') or reader.op}: {x.dtype.name}"
        f"{list(x.shape)} counts as replicated over mesh axis {across.name!r}, and ranks differ: "
        f"RANKS. Make it alike on all ranks, or take the local parts of what it meets.{line}"
    )
    arena = image.arena
    (number,) = external(arena, (image,), DIGEST, "", (((1,), int64),), None)
    every = all_gather(number, 0, across.name, across.ranks)
    (alike,) = external(arena, (every,), AGREE, what, (((), bool_),), None)
    return elementwise("and", image, alike) if x.dtype is bool_ else where(alike, image, 0)
