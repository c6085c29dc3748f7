"""The known error: a value that a gradient needs was written over in place.

Graphs are immutable here, so the old value would still be at hand; a program that overwrites it
means something else than it says, and PyTorch refuses it too. Which operands a scalar function's
gradient reads is found by building it once.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from gnomon.dtypes import float32
from gnomon.errors import GradientError
from gnomon.ir.node import PRIMITIVES, Arena, Node, topological
from gnomon.ir.provenance import inherit
from gnomon.passes.grad import depends_on
from gnomon.tensor.state import Storage, state

OUTPUT = -1


@cache
def read_by_gradient(f: str, arity: int, operand: int) -> frozenset[int]:
    """Which operands (or OUTPUT) the gradient of one operand reads."""
    arena = Arena()
    with inherit(()):
        inputs = tuple(arena.input((2,), float32) for _ in range(arity))
        node = arena.node("map", inputs, f=f)
        g = arena.input((2,), float32)
        needed = tuple(k == operand for k in range(arity))
        part = PRIMITIVES["map"].gradient(node, g, needed)[operand]
    behind = set(topological([part])) if part is not None else set()
    # what stands behind the output is read through it
    found = {OUTPUT} if node in behind else {k for k, x in enumerate(inputs) if x in behind}
    return frozenset(found)


def overwritten(storage: Storage) -> None:
    """Remember that a value which gradients may need is written over."""
    if state.grad and storage.tracked:
        state.overwritten.add(storage.node)


def check(roots: Iterable[Node], wanted: Iterable[Node]) -> None:
    """Refuse a backward pass that would read an overwritten value."""
    nodes = topological(roots)
    on_the_way = depends_on(nodes, list(wanted))
    for node in nodes:
        if node.op == "map" and node in on_the_way and node.params["f"] not in ("where", "cast"):
            refuse(node, on_the_way)


def refuse(node: Node, on_the_way: set[Node]) -> None:
    """Look at one scalar function."""
    for place, x in enumerate(node.inputs):
        if x not in on_the_way:
            continue
        for k in read_by_gradient(node.params["f"], len(node.inputs), place):
            if (node if k == OUTPUT else node.inputs[k]) in state.overwritten:
                raise GradientError(
                    "backward: one of the variables needed for gradient computation has been "
                    f"modified by an inplace operation: {node.params['f']} needs a value that was "
                    "written over. Write to a clone(), or use the operation that is not in place.  "
                    f" [{node.sites[0] if node.sites else ''}]"
                )
