"""Prologues: pointwise nodes that a product computes while it copies its left factor into panels.

The factor is then never stored. A prologue is a candidate, as epilogues are (epilogue.py): it is
taken where the product is the only reader of the factor, the factor's elements are computed once,
and fewer bytes are moved. Bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gnomon.ir.node import Node
from gnomon.ir.sizes import hint
from gnomon.ops.scalars import SCALARS
from gnomon.schedule.epilogue import LITTLE, OTHER_LAYOUT, SMALL, Epilogue, is_plain, lowered
from gnomon.schedule.fusion import Fusion, Judge
from gnomon.schedule.memory import nbytes
from gnomon.schedule.placed import Placed

MOST_READ = 2
"""The most operands of the factor's size that a prologue may read."""
COSTLY = "it takes longer to compute than memory takes"
"""Measured on Zen 3, one thread: gelu in the product is 4 % slower than before it; relu, a mask, a
cast and the scale of a norm are 2 to 10 % faster."""


class Factor(NamedTuple):
    """The left operand of a product that a prologue may compute, and the size of its last axes."""

    node: Node
    steps: int
    refused: str = ""
    """The reason to store it in any case; empty if there is none."""


Opens = Callable[[Node], Factor | None]


def fuse_prologues(placed: Placed, opens: Opens | None, judge: Judge | None = None) -> list[Fusion]:
    """Move nodes into the clusters of products that read them, in place, wherever that pays.

    Results of the graph are stored in any case.
    """
    found: list[Fusion] = []
    results = set(placed.graph.outputs)
    for product in [x for x in placed.home if opens and x.op == "contract"]:
        factor = opens and opens(product)
        if factor and factor.node in placed.home and factor.node not in results:
            nodes = feeding(placed, product, factor.node)
            if nodes:
                fusion = weigh(placed, product, factor, nodes)
                hopeless = fusion.refused in (factor.refused, OTHER_LAYOUT) and fusion.refused
                if judge and not hopeless and fusion.together <= fusion.apart:
                    fusion = judge(placed, fusion, take)
                found.append(fusion)
                if not fusion.refused:
                    take(placed, product, nodes)
    return found


def feeding(placed: Placed, product: Node, factor: Node) -> tuple[Node, ...]:
    """The factor, after the nodes of its kernel that only it needs; () if it must be stored."""
    own, readers = placed.home[factor], placed.readers
    if own.opaque or not is_element(placed, factor) or list(readers[factor]) != [product]:
        return ()
    found = {factor}
    for node in sorted(own.members, key=lambda x: x.serial, reverse=True):
        reading = [r for x in readers.get(node, ()) for r in placed.reads.get(x, ())]
        if (
            node not in placed.required
            and {*readers.get(node, ())} <= found
            and is_element(placed, node)
            and all(r.same for r in reading if r.node is node)
        ):
            found.add(node)
    return tuple(sorted(found, key=lambda x: x.serial))


def is_element(placed: Placed, node: Node) -> bool:
    """Whether a node is an elementwise function, computed once per element."""
    return node.op == "map" and not placed.home[node].members[node]


def weigh(placed: Placed, product: Node, factor: Factor, nodes: tuple[Node, ...]) -> Fusion:
    """The decision about computing a factor in a prologue, by bytes."""
    own, moved = placed.home[factor.node], {*nodes}

    def large(found: set[Node]) -> set[Node]:
        return {x for x in found if hint(x.size) * SMALL > hint(factor.node.size)}

    read = {r.node for x in nodes for r in placed.reads[x]} - moved
    rest = {r.node for x in own.members if x not in moved for r in placed.reads[x]}
    inside = {x for x in read if placed.home.get(x) is own}
    new = {x for x in inside if x not in placed.required and not is_read_outside(placed, x)}
    apart = sum(map(nbytes, large((read | rest) - {*own.members})), 2 * nbytes(factor.node))
    together = sum(sum(map(nbytes, large(found))) for found in (read, rest - {*own.members}, new))
    trial = prologue_of(factor.node, nodes, factor.steps, dict.fromkeys(read)).kernel
    refused = factor.refused or ("" if is_plain(trial) else OTHER_LAYOUT)
    if not refused and hint(apart - together) < hint(nbytes(factor.node)):
        refused = LITTLE
    elif not refused and any(SCALARS[x.params["f"]].costly for x in nodes):
        refused = COSTLY
    elif not refused and len(large(read)) > MOST_READ:
        refused = f"reads {len(large(read))} operands of its size"
    return Fusion(product, nodes, apart, together, refused, "prologue")


def is_read_outside(placed: Placed, node: Node) -> bool:
    """Whether another kernel reads a node, so that it is stored in any case."""
    return any(placed.home[x] is not placed.home[node] for x in placed.readers.get(node, ()))


def take(placed: Placed, product: Node, nodes: Sequence[Node]) -> None:
    """Move nodes, which nothing else reads, into the product's cluster."""
    cluster, own = placed.home[product], placed.home[nodes[-1]]
    for node in nodes:
        del own.members[node]
        placed.home[node] = cluster
        cluster.members[node] = False
        cluster.before.add(node)
    makers = {placed.home.get(r.node) for x in nodes for r in placed.reads[x]}
    cluster.needs |= {x for x in makers if x is not None} - {cluster}
    placed.required.discard(nodes[-1])
    if not own.members:
        placed.clusters.remove(own)
        for other in placed.clusters:
            other.needs.discard(own)


def prologue_of(
    factor: Node, nodes: Sequence[Node], steps: int, stored: Mapping[Node, None]
) -> Epilogue:
    """The kernel that computes a factor's elements, over rows and steps; the factor comes first."""
    return lowered(nodes, {**stored, factor: None}, (factor.size // steps, steps))
