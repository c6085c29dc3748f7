"""Whatever is decided about fusions, bits are the same: of parts of a program, and of the whole."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.compiler import autotuning as tuning
from gnomon.compiler.build import executable_of_part
from gnomon.compiler.target import context
from gnomon.ir.node import Graph
from gnomon.ops.primitives import contract, reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.program.executable import Executable
from gnomon.schedule.excerpt import Excerpt, Verdicts
from gnomon.schedule.fusion import FusionVerdict
from gnomon.schedule.placed import Placed
from tests.compiled import execute, program
from tests.drawn import given
from tests.schedule.kernels_of import leaf
from tests.strategies import arrays_for, graphs, same_bits


class Drawn(Verdicts):
    """Takes either form of a fusion by its key, and keeps what it was asked about."""

    def __init__(self, odd: int) -> None:
        super().__init__()
        self.odd = odd
        self.met: dict[str, tuple[str, tuple[Placed, Placed]]] = {}

    def find(self, excerpt: Excerpt) -> FusionVerdict:
        """A verdict, the same for the same excerpt."""
        self.met[excerpt.key] = excerpt.fusion.kind, excerpt.forms
        together = 0.5 if sum(excerpt.key.encode()) % 2 == self.odd else 2.0
        return self.known.setdefault(excerpt.key, FusionVerdict(1.0, together, 0.0))


def under(judge: Verdicts, graph: Graph) -> Executable:
    """A program whose fusions somebody decides."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "Tuner", lambda *given: judge)
        return program(graph, seconds=1.0, keep_programs=False)


def kinds_met(graph: Graph, arrays: list[np.ndarray]) -> set[str]:
    """Which kinds of fusion a graph has; all forms of them have the program's bits."""
    plainly, kinds = execute(program(graph), graph, arrays), set()
    for odd in (0, 1):
        judge = Drawn(odd)
        assert all(map(same_bits, plainly, execute(under(judge, graph), graph, arrays)))
        for kind, forms in judge.met.values():
            kinds.add(kind)
            part = forms[0].graph
            apart, together = (
                execute(executable_of_part(context(), x), part, arrays_for(part, 1)) for x in forms
            )
            assert all(map(same_bits, apart, together))
            assert layout(forms[0]) != layout(forms[1])
    return kinds


def layout(placed: Placed) -> object:
    """Who computes what, and what is stored."""
    return [{*c.members} for c in placed.clusters], {*placed.stored}


def test_fusions_of_every_kind_have_the_same_bits_done_and_refused():
    x = leaf(48, 40)
    w, u, other = (x.arena.input(s, x.dtype) for s in ((40, 40), (40, 40), (48, 40)))
    gate = exp(x)
    through = contract("ab,bc->ac", (x * gate) * other, w)
    total = unsqueeze(reduce("add", through * 2.0, (1,)), 1)
    back = contract("ab,bc->ac", through / total, u) * other
    graph = Graph([x, w, u, other], [back * (x * gate) * gate, exp(other) + x])

    assert kinds_met(graph, arrays_for(graph, 0)) == {
        "epilogue",
        "prologue",
        "share",
        "recompute",
        "join",
    }


@given(graph=graphs())
def test_random_programs_have_the_same_bits_however_their_fusions_are_decided(graph: Graph):
    kinds_met(graph, arrays_for(graph, 0))
