"""Greedy clustering: assign each node of a graph, in order, to a kernel that computes row by row.

A cluster runs row by row: its members are values per element or per row of one domain (rows,
inner). Cheap nodes that read little belong to no cluster: each reader recomputes them. Being fused
does not decide whether a value is stored, and never changes a bit.
"""

from __future__ import annotations

from math import prod

from gnomon.ir.node import Graph, Node
from gnomon.ir.sizes import hint
from gnomon.ops import control_primitives, external
from gnomon.ops.collectives import TRANSFERS
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.index_primitives import is_index, is_view
from gnomon.ops.registry import facts_of
from gnomon.ops.scalars import SCALARS
from gnomon.schedule.access import domain_of, readings
from gnomon.schedule.cluster import (
    DEEP,
    ELSEWHERE,
    FULL,
    LATER,
    MEMBERS,
    SPACE,
    Cluster,
    is_chain,
)
from gnomon.schedule.cluster_order import ClusterOrder
from gnomon.schedule.fusion import Weighed
from gnomon.schedule.glance import Reading, glance
from gnomon.schedule.nested import by_strides, factors, stored_operands, whole_below
from gnomon.schedule.placed import Placed

OPAQUE = frozenset({"contract", "scan", "sort", "scatter", "region", "external", *TRANSFERS})
"""Operations that have a hand-written kernel."""
LEAVES = frozenset({"input", "const", "iota"})
FREE_OPS = 12
"""The most scalar functions that a node may cost to be rematerialized, not stored."""
FREE_READS = 1
"""The most tensors of its own size that a node may read to be rematerialized."""
FREE_PARTS = 2
"""The most parts of a join that several readers may recompute: each is cut into as many kernels."""


def is_gathered(x: Node) -> bool:
    """Whether a value is a view of parameters that are gathered for their use."""
    while x.op not in TRANSFERS and is_view(x):
        (x,) = x.inputs
    return x.op == "gather_ranks" and "unit" in x.params


class Clustering(Placed):
    """Builder of clusters, node by node: each joins a cluster that it reads, if that is legal."""

    def __init__(self, graph: Graph, fuse: bool = True) -> None:
        super().__init__(graph)
        self.fuse, self.above = fuse, readers_of(graph)
        self.bases = {x: operand_bases(x) for x in graph.nodes if is_opaque(x)}
        self.required |= {x for read in self.bases.values() for x in read if x.op != "input"}
        # looked up again in the backward pass, a gathered table would live until then
        self.required |= {x for x in graph.nodes if x.op == "gather" and is_gathered(x.inputs[0])}
        self.free: dict[Node, tuple[int, bool]] = {}
        self.parts: dict[Node, int] = {}
        """Value -> number of padded tensors that it chooses from, through joins that are not
        stored."""
        self.depth: dict[Node, int] = {}
        """Value -> number of nodes computed in a chain up to it, in its cluster or recomputed."""
        self.calls: dict[object, Cluster] = {}
        """Call of a claimed region -> the cluster that computes all of its results."""
        self.order = ClusterOrder()
        self.chains: dict[object, dict[int, Cluster]] = {}
        """(Chain key, tensor read) -> the clusters that such chains opened, by number."""
        for node in graph.nodes:
            if node.op not in LEAVES or node in self.required:
                self._place(node)

    def _place(self, node: Node) -> None:
        """Assign a cluster, or leave the node to be inlined into its readers."""
        if is_opaque(node):
            twin = self.calls.get(call_of(node))
            if twin is not None:
                self._add(node, twin, per_row=False)
                return
            self._open(node, Cluster(1, node.size, opaque=True))
            self.calls[call_of(node)] = self.home[node]
            return
        above, parts = 1, 0
        for x in node.inputs:
            if self._transparent(x):
                above = max(above, 1 + self.depth.get(x, 0))
                parts += self.parts.get(x, 0)
        self.depth[node] = above
        self.parts[node] = max(parts, 1) if node.op == "pad" else parts
        loose = node not in self.required and above < DEEP
        if is_index(node) and loose:
            return
        found = glance(node, self._transparent, self.reads)
        self.reads[node] = readings(node, self._transparent) if found is None else found
        if self.fuse and loose and self._is_free(node):
            return
        if not self._join(node):
            domain = domain_of(node)
            inner = domain[-1] if domain else 1
            self._open(node, Cluster(prod(domain[:-1]), inner))

    def _transparent(self, x: Node) -> bool:
        """Whether a node is inlined into its readers."""
        return x not in self.home and (is_index(x) or x in self.free or x.op == "iota")

    def _is_free(self, node: Node) -> bool:
        """Whether a node is cheaper to recompute than to store; if so, its cost is recorded."""
        if node.op != "map":
            return False
        scalar = SCALARS[node.params["f"]]
        parts = [self.free[x] for x in node.inputs if x in self.free]
        ops = scalar.steps + sum(steps for steps, _ in parts)
        costly = scalar.costly or any(costs for _, costs in parts)
        big = sum(r.is_wide(node.size) for r in self.reads[node])
        alone = self.users[node] == 1 and self._feeds_a_chain(node)
        if (
            (scalar.costly and big and not alone)
            or (node.size == 1 and costly and self._spreads(node))
            or ops > FREE_OPS
            or (big > FREE_READS and not alone and not self._is_padded(node))
            or (self.parts[node] > FREE_PARTS and self.users[node] > 1)
            or self._narrows(node)
        ):
            return False
        self.free[node] = (ops, costly)
        return True

    def _spreads(self, node: Node) -> bool:
        """Whether several nodes read a scalar, directly or through one chain of views."""
        readers = self.above.get(node, ())
        while len(readers) == 1 and is_index(readers[0]):
            readers = self.above.get(readers[0], ())
        return len(readers) > 1

    def _narrows(self, node: Node) -> bool:
        """Whether a node is the only user of a larger operand, and narrower than it."""
        wide = [r for r in self.reads[node] if r.is_wide(node.size)]
        made = [r.node for r in wide if r.same and r.node in self.home]
        return len(wide) == len(made) == 1 and (
            not self.home[made[0]].opaque
            and self.users[made[0]] == 1
            and made[0].dtype.itemsize > node.dtype.itemsize
        )

    def _feeds_a_chain(self, node: Node) -> bool:
        """Whether a reader folds a node in a chain, element by element: no store is needed then."""
        return self.fuse and any(
            user.op == "reduce" and not user.params["lanes"] for user in self.above.get(node, ())
        )

    def _is_padded(self, node: Node) -> bool:
        """Whether a node's only reader behind views is a pad: fused there, it is computed once."""
        readers = self.above.get(node, ())
        while self.fuse and len(readers) == 1 and is_index(readers[0]):
            if readers[0].op == "pad":
                return True
            readers = self.above.get(readers[0], ())
        return False

    def _open(self, node: Node, cluster: Cluster) -> None:
        """Start a cluster with a node."""
        self.clusters.append(cluster)
        self.order.open(cluster)
        for x in self._wide_reads(node) if is_chain(node) else ():
            self.chains.setdefault((chained(node), x), {})[len(self.clusters)] = cluster
        self._add(node, cluster, per_row=node.op == "reduce" and node.params["lanes"])

    def _add(self, node: Node, cluster: Cluster, per_row: bool) -> None:
        """Add a node to a cluster."""
        self.depth[node] = self._depth(node, cluster)
        cluster.depth = max(cluster.depth, self.depth[node])
        cluster.members[node] = per_row
        self.home[node] = cluster
        for needed in self._needed(node):
            if needed is not cluster and needed not in cluster.needs:
                self.order.need(cluster, needed)

    def _depth(self, node: Node, cluster: Cluster) -> int:
        """The depth of a node as a member of a cluster, above the deepest member that it reads."""
        inside = (r.node for r in self.reads.get(node, ()) if r.node in cluster.members)
        return self.depth.get(node, 1) + max((self.depth[x] for x in inside), default=0)

    def _needed(self, node: Node) -> set[Cluster]:
        """The clusters whose results a node reads."""
        if is_opaque(node):
            return {self.home[x] for x in self.bases[node] if x in self.home}
        return {self.home[r.node] for r in self.reads[node] if r.node in self.home}

    def _join(self, node: Node) -> bool:
        """Add a node to a cluster that it reads, if that is legal; returns whether it was added."""
        if not self.fuse:
            return False
        for cluster in self._candidates(node):
            kind = self._role(node, cluster)
            if not isinstance(kind, str) and not self._would_cycle(node, cluster):
                self._add(node, cluster, kind)
                return True
            self._refuse(node, cluster, kind if isinstance(kind, str) else LATER)
        return False

    def _refuse(self, node: Node, cluster: Cluster, why: str) -> None:
        """Record the reason why a node is not computed together with a cluster that it reads."""
        read = dict.fromkeys(r.node for r in self.reads[node] if r.node in cluster.members)
        self.decisions += [Weighed("join", x, x, node, why) for x in read]

    def _candidates(self, node: Node) -> list[Cluster]:
        """Clusters worth joining, the latest first; chains that read one tensor also join."""
        found = {self.home[r.node]: None for r in reversed(self.reads[node]) if r.node in self.home}
        if is_chain(node):
            others: dict[int, Cluster] = {}
            for x in self._wide_reads(node):
                others.update(self.chains.get((chained(node), x), {}))
            found.update(dict.fromkeys(others[k] for k in sorted(others, reverse=True)))
        able = [c for c in found if not c.opaque]
        for full in [c for c in able if len(c.members) >= MEMBERS or self._depth(node, c) > DEEP]:
            self._refuse(node, full, FULL)
            del found[full]
        return [c for c in found if not c.opaque]

    def _wide_reads(self, chain: Node) -> set[Node]:
        """The tensors that a chain reads and that are larger than its result."""
        own = hint(chain.size)  # a size that varies is as now: it makes a difference to speed alone
        return {r.node for r in self.reads[chain] if r.picked or hint(r.node.size) > own}

    def _role(self, node: Node, cluster: Cluster) -> bool | str:
        """Whether a node would be per row (True) or per element (False); else the reason."""
        total = cluster.rows * cluster.inner
        inside = [r for r in self.reads[node] if self.home.get(r.node) is cluster]
        if node.op == "reduce" and node.params["lanes"]:
            folded = node.inputs[0]
            fits = is_same(folded.size, total) and is_same(folded.shape[-1], cluster.inner)
            aligned = fits and all(self._aligned(r, cluster) for r in inside)
            return True if aligned else ELSEWHERE if fits else SPACE
        last = node.shape[-1] if node.shape else 1
        if is_same(node.size, total) and is_same(last, cluster.inner):
            return False if all(self._aligned(r, cluster) for r in inside) else ELSEWHERE
        if node.op == "map" and is_same(node.size, cluster.rows):
            kept = all(cluster.members[r.node] and r.same for r in inside)
            return True if kept else ELSEWHERE
        return SPACE

    def _aligned(self, reading: Reading, cluster: Cluster) -> bool:
        """Whether a member is read at the same element, or row, at which it is computed."""
        return reading.row if cluster.members[reading.node] else reading.same

    def _would_cycle(self, node: Node, cluster: Cluster) -> bool:
        """Whether joining would make a cycle: the node needs a cluster that runs after this one."""
        return self.order.waits_for(self._needed(node), cluster)


def is_same(a: int, b: int) -> bool:
    """Whether two sizes are equal; False for sizes that differ at present, without a guard."""
    return hint(a) == hint(b) and a == b


def readers_of(graph: Graph) -> dict[Node, list[Node]]:
    """Node -> the nodes that read it."""
    readers: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for x in node.inputs:
            readers.setdefault(x, []).append(node)
    return readers


def is_opaque(node: Node) -> bool:
    """Whether a node has a kernel of its own."""
    return node.op in OPAQUE or node.op in CONTROL


def call_of(node: Node) -> object:
    """The key of an opaque kernel's call: results of one region's call are one call."""
    if node.op in CONTROL:
        return control_primitives.call_of(node)
    if node.op == "external":
        return external.call_of(node)
    if node.op != "region":
        return node
    return (node.inputs, node.params["name"], node.params["call"], node.params["body"])


def chained(chain: Node) -> object:
    """A key of a chain's iteration space: its shape, and its axis and size."""
    axis: int = chain.params["axis"]
    return chain.shape, axis, chain.inputs[0].shape[axis]


def operand_bases(node: Node) -> tuple[Node, ...]:
    """The stored nodes of an opaque call's operands: below views that strides can express."""
    if node.op == "contract":
        return tuple(found.node for found in factors(node))
    claim = facts_of(node).claim
    if claim is not None and claim.over:
        first, *others, last = node.inputs
        return whole_below(first), *others, by_strides(last).node
    if claim is not None and claim.strided:
        inputs = stored_operands(node)
        seen = (x.rank in claim.strided and x.dtype.is_floating_point for x in inputs)
        return tuple(
            by_strides(x).node if views else x for x, views in zip(inputs, seen, strict=True)
        )
    whole = node.op in CONTROL or node.op in TRANSFERS or node.op == "external"
    return tuple(map(whole_below, node.inputs)) if whole else node.inputs
