"""Numbers that vary from iteration to iteration become inputs, so that they stay out of programs.

The first program of a structure has its constants built in. When the structure comes again with
others, those that differ are inputs: from then on one program serves all. So they are for this
structure alone: others may have the same constant built in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Node
from gnomon.runtime.buffer import DeviceBuffer

NUMBER = -7

NONE_VARY: Mapping[Node, DeviceBuffer] = {}
_seen: Recent[tuple[int, ...], tuple[list[float], set[int]]] = memo(Recent())


def generalized(order: Iterable[Node]) -> Mapping[Node, DeviceBuffer]:
    """The constants of a new structure that vary, and their values."""
    nodes = list(order)
    numbers = [x for x in nodes if x.op == "const" and is_number(x)]
    if not numbers:
        return NONE_VARY
    key = tuple([NUMBER if is_number(x) else x.kind for x in nodes])
    values = [x.params["value"] for x in numbers]
    seen = _seen.get(key)
    if seen is None:
        _seen[key] = (values, set())
        return NONE_VARY
    first, varying = seen
    pairs = enumerate(zip(first, values, strict=True))
    varying.update(k for k, (a, b) in pairs if a.hex() != b.hex())
    return {
        numbers[k]: DeviceBuffer.of(np.asarray(values[k], numbers[k].dtype.numpy)) for k in varying
    }


def is_number(node: Node) -> bool:
    """Whether a node is a constant float."""
    return node.op == "const" and node.dtype.kind == "float"
