"""Why nodes share a kernel, or do not: told from a partition when somebody asks.

While a partition decides, it notes only what cannot be seen afterwards. What a value has to do with
its readers, and the bytes that it costs, is plain from where they ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gnomon.ir.node import Node
from gnomon.schedule.cluster import READ, Cluster
from gnomon.schedule.fusion import Fusion, Weighed
from gnomon.schedule.glance import Reading
from gnomon.schedule.spare import nbytes

OTHER = "its reader is computed in another kernel"
SUMS = "the kernel of this product cannot go on with its sums"
MADE = "a kernel of its own makes it"
BACK = "it is kept for the backward pass"


@dataclass(frozen=True, eq=False)
class Notes:
    """Where a partition put nodes, what they read, and what was thought of other places."""

    home: Mapping[Node, Cluster]
    reads: Mapping[Node, Sequence[Reading]]
    bases: Mapping[Node, Sequence[Node]]
    required: Collection[Node]
    weighed: Sequence[Weighed]
    products: Sequence[Fusion]

    def decisions(self) -> Iterator[Fusion]:
        """What was decided about products, then about every value and who reads it."""
        yield from self.products
        pairs = list(self._pairs())
        away = Counter(x for x, reader in pairs if self.home[x] is not self.home[reader])
        why = {(w.maker, w.reader): w for w in self.weighed if w.kind == "join"}
        told = {(each.maker, x) for each in self.products for x in each.nodes}
        told |= {(x, reader) for reader, x in told}
        for x, reader in pairs:
            apart = self.home[x] is not self.home[reader]
            if (x, reader) not in told:
                known = why.get((x, reader))
                refused = (known and known.refused) or self._plainly(x, reader) if apart else ""
                kept = x in self.required or away[x] > apart
                moved = 2 * nbytes(x), kept * nbytes(x)
                yield told_of(Fusion(x, (reader,), *moved, refused, "join"), known and known.judged)
        for kind, value, maker, reader, refused, judged in self.weighed:
            if kind != "join":
                read = (value,) if kind == "share" else {r.node for r in self.reads[value]}
                again = sum(map(nbytes, read))
                found = Fusion(maker, (reader,), 2 * nbytes(value), again, refused, kind)
                yield told_of(found, judged)

    def _pairs(self) -> Iterator[tuple[Node, Node]]:
        """Every value that a kernel makes, with each of its readers."""
        for reader in self.home:
            read = self.bases.get(reader) or [r.node for r in self.reads.get(reader, ())]
            yield from ((x, reader) for x in dict.fromkeys(read) if x in self.home)

    def _plainly(self, x: Node, reader: Node) -> str:
        """Why a value is stored, where nothing had to be weighed."""
        if self.home[reader].opaque and reader in self.bases:
            return READ
        if not self.home[x].opaque:
            return BACK if (phase(x), phase(reader)) == ("forward", "backward") else OTHER
        return SUMS if x.op == "contract" else MADE


def told_of(found: Fusion, judged: Fusion | None) -> Fusion:
    """A decision with what was measured for it."""
    if judged is None:
        return found
    return replace(found, measured=judged.measured, modelled=judged.modelled)


def phase(x: Node) -> str:
    """The part of a step that a node belongs to."""
    return x.sites[0].phase if x.sites else ""
