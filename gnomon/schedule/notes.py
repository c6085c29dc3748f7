"""The fusion report: why nodes share a kernel or do not, derived from a partition on demand.

While partitioning, only facts are recorded that cannot be derived from its result. How a value
relates to its readers, and the bytes that it costs, follow from the clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gnomon.ir.node import Node
from gnomon.schedule.cluster import READ
from gnomon.schedule.fusion import Fusion, Weighed
from gnomon.schedule.memory import nbytes
from gnomon.schedule.placed import Placed

OTHER = "its reader is computed in another kernel"
SUMS = "the kernel of this product cannot go on with its sums"
MADE = "a kernel of its own makes it"
BACK = "it is kept for the backward pass"


@dataclass(frozen=True, eq=False)
class Notes:
    """The fusion report of a partition: its decisions, and those that follow from it."""

    placed: Placed

    @property
    def products(self) -> list[Fusion]:
        """The decisions about epilogues and prologues of products."""
        return [x for x in self.placed.decisions if isinstance(x, Fusion)]

    @property
    def weighed(self) -> list[Weighed]:
        """The alternatives that were weighed, and the reasons."""
        return [x for x in self.placed.decisions if isinstance(x, Weighed)]

    def decisions(self) -> Iterator[Fusion]:
        """Yield the decisions about products, then about every value and its readers."""
        products, weighed = self.products, self.weighed
        yield from products
        pairs, home = list(self._pairs()), self.placed.home
        away = Counter(x for x, reader in pairs if home[x] is not home[reader])
        why = {(w.maker, w.reader): w for w in weighed if w.kind == "join"}
        joined = {(each.maker, x) for each in products for x in each.nodes}
        joined |= {(x, reader) for reader, x in joined}
        for x, reader in pairs:
            apart = home[x] is not home[reader]
            if (x, reader) not in joined:
                known = why.get((x, reader))
                refused = (known and known.refused) or self._plainly(x, reader) if apart else ""
                kept = x in self.placed.required or away[x] > apart
                moved = 2 * nbytes(x), kept * nbytes(x)
                yield with_measurement(
                    Fusion(x, (reader,), *moved, refused, "join"), known and known.judged
                )
        for kind, value, maker, reader, refused, judged in weighed:
            if kind != "join":
                read = (value,) if kind == "share" else {r.node for r in self.placed.reads[value]}
                together = sum(map(nbytes, read))
                found = Fusion(maker, (reader,), 2 * nbytes(value), together, refused, kind)
                yield with_measurement(found, judged)

    def _pairs(self) -> Iterator[tuple[Node, Node]]:
        """Each pair of a value that a kernel makes and a node that reads it."""
        for reader in self.placed.home:
            read = dict.fromkeys(self.placed.read_by(reader))
            yield from ((x, reader) for x in read if x in self.placed.home)

    def _plainly(self, x: Node, reader: Node) -> str:
        """The reason why a value is stored, where none was recorded."""
        if self.placed.home[reader].opaque and reader in self.placed.bases:
            return READ
        if not self.placed.home[x].opaque:
            return BACK if (phase(x), phase(reader)) == ("forward", "backward") else OTHER
        return SUMS if x.op == "contract" else MADE


def with_measurement(found: Fusion, judged: Fusion | None) -> Fusion:
    """A fusion decision with the times of its measured excerpt."""
    if judged is None:
        return found
    return replace(found, measured=judged.measured, modelled=judged.modelled)


def phase(x: Node) -> str:
    """The phase of a training step that a node belongs to, such as "forward"."""
    return x.sites[0].phase if x.sites else ""
