"""Runs a training step on a mesh of threads, and hashes what comes out. Not a test."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import local_part, whole_of
from gnomon.distributed.ranks import run_ranks
from tests.distributed.programs import Step
from tests.distributed.rank_programs import Division, Layout, RankProgram, compiled, spelled

Hashes = dict[str, str]


def hashes(step: Step, outputs: Sequence[np.ndarray]) -> Hashes:
    """SHA-256 of every output's bytes, by name."""
    bits = (hashlib.sha256(np.ascontiguousarray(x).tobytes()).hexdigest() for x in outputs)
    return dict(zip(step.outputs, bits, strict=True))


def alone(step: Step, arrays: Sequence[np.ndarray]) -> Hashes:
    """What one process gives."""
    return hashes(step, compiled(step.graph, list(arrays)))


class OnMesh:
    """A step divided over a mesh: rows along axis "data", parameters along "tensor".

    With `fully` parameters and state are split along "data" too, each along its first axis.
    """

    def __init__(
        self, step: Step, *axes: tuple[str, int], microbatches: int = 1, fully: bool = False
    ) -> None:
        self.step, self.mesh = step, DeviceMesh.of(axes)

        def lying(name: str) -> Layout:
            return step.layout(name, dict(axes), fully)

        self.inputs = [lying(name) for name in step.inputs]
        self.outputs = [lying(name) for name in step.outputs]
        rows = tuple(0 if name in step.batch else None for name in step.inputs)
        division = Division(self.mesh, tuple(self.inputs), tuple(self.outputs), rows, microbatches)
        self.program = RankProgram(step.graph, division)

    def run(self, arrays: Sequence[np.ndarray]) -> Hashes:
        """What the ranks give together."""

        def one(rank: int):
            given = [
                local_part(self.mesh, rank, spelled(self.mesh, layout), x)
                for layout, x in zip(self.inputs, arrays, strict=True)
            ]
            return self.program.run(given)

        made = run_ranks(self.mesh, one)
        whole = [
            whole_of(self.mesh, spelled(self.mesh, layout), [parts[k] for parts in made])
            for k, layout in enumerate(self.outputs)
        ]
        return hashes(self.step, whole)

    def share_of_flops(self) -> float:
        """One rank's flops times the ranks, over one process's: 1 when nothing is done twice."""
        one = RankProgram(self.step.graph, plain(self.step))
        return self.program.flops * self.mesh.size() / one.flops

    def share_of_parameters(self) -> float:
        """One rank's parameter bytes times the ranks along split axes, over all bytes."""
        count = dict(self.mesh.axes).get("tensor", 1)
        pairs = zip(self.program.graph.inputs, self.step.graph.inputs, strict=False)
        sizes = [(x.size, y.size) for x, y in pairs if y.params["name"] not in self.step.batch]
        return count * sum(n for n, _ in sizes) / sum(n for _, n in sizes)


def plain(step: Step) -> Division:
    """No division at all."""
    return Division(DeviceMesh.of(()), ({},) * len(step.inputs), ({},) * len(step.outputs))
