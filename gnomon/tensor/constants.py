"""Numbers that vary from iteration to iteration become inputs, so that they stay out of programs.

The first program of a structure has its constants built in. When the structure comes again with
others, those that differ are given values, as leaves have: from then on one program serves all.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gnomon.ir.memo import memo
from gnomon.ir.node import Node
from gnomon.runtime.buffer import DeviceBuffer

NUMBER = -7
MOST = 4096

_seen: dict[tuple[int, ...], tuple[list[float], set[int]]] = memo({})


def generalize(order: Iterable[Node]) -> bool:
    """Give values to the numbers of a new structure that vary; whether there were any."""
    nodes = list(order)
    numbers = [x for x in nodes if is_number(x)]
    if not numbers:
        return False
    key = tuple([NUMBER if is_number(x) else x.kind for x in nodes])
    values = [x.params["value"] for x in numbers]
    if key not in _seen:
        if len(_seen) >= MOST:
            _seen.clear()
        _seen[key] = (values, set())
        return False
    first, varying = _seen[key]
    pairs = enumerate(zip(first, values, strict=True))
    varying.update(k for k, (a, b) in pairs if a.hex() != b.hex())
    built_in = [k for k in varying if numbers[k].value is None]
    for k in built_in:
        numbers[k].value = DeviceBuffer.of(np.asarray(values[k], numbers[k].dtype.numpy))
    return bool(built_in)


def is_number(node: Node) -> bool:
    """Whether a node is a constant float."""
    return node.op == "const" and node.dtype.kind == "float"
