"""Compare replicas: ranks with the same parts of a run's state must have the same bits.

Equal programs on equal inputs give equal bits, so a difference is a fault of a machine: memory, a
core, a message. Each rank sends eight bytes for every way in which tensors are split. If no
majority shows which rank was at fault, replay.py finds out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.nn.module import Module
from gnomon.ops.placements import REPLICATED
from gnomon.optim import Optimizer
from gnomon.train.state import own_parts, parameters_and_buffers

__all__ = ["Difference", "Replicas", "Sums", "checksum"]

MeshAxes = tuple[str, ...]
"""The mesh axes over which a tensor is sharded."""
Sums = Sequence[tuple[MeshAxes, int]]
"""A rank's checksums, one for each sharding."""
WORD = 2**64
ODD = 0x9E3779B97F4A7C15
"""An odd factor, so that later words do not cancel earlier ones."""


def checksum(arrays: Sequence[np.ndarray]) -> int:
    """An 8-byte checksum of arrays that changes with every single bit.

    >>> checksum([np.zeros(3)]) == checksum([np.zeros(3)])
    True
    >>> checksum([np.zeros(3)]) == checksum([np.array([0.0, -0.0, 0.0])])
    False
    """
    total = 0
    for array in arrays:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        words = flat.size // 8 * 8
        added = int(np.add.reduce(flat[:words].view(np.uint64)))
        rest = int.from_bytes(flat[words:].tobytes(), "little")
        total = (total * ODD + added + rest) % WORD
    return total


@dataclass(frozen=True)
class Difference:
    """The ranks that differ from a majority of replicas, or all ranks of a group without one."""

    ranks: tuple[int, ...]
    outvoted: bool


@dataclass(frozen=True)
class Replicas:
    """The comparison of a rank's parameters, buffers and optimizer state with its replicas."""

    model: Module
    optimizer: Optimizer
    mesh: DeviceMesh

    def sums(self, with_state: bool = True) -> list[tuple[MeshAxes, int]]:
        """A checksum of the tensors of each sharding; those of the optimizer's state are last.

        Without the optimizer's state, the result is a prefix of that with it. A fault of the state
        changes parameters at the next step.
        """
        held = own_parts(self.model, self.optimizer if with_state else None)
        found: dict[tuple[bool, MeshAxes], list[np.ndarray]] = {}
        count = len(parameters_and_buffers(self.model))
        for k, (layout, array) in enumerate(held.values()):
            axes = tuple(name for name, _, each in layout if each != REPLICATED)
            found.setdefault((k >= count, axes), []).append(array)
        return [(axes, checksum(arrays)) for (_, axes), arrays in sorted(found.items())]

    def difference(self, sums: Sequence[Sums]) -> Difference | None:
        """The ranks that differ, given the checksums of all; None if replicas agree."""
        wrong: set[int] = set()
        undecided: set[int] = set()
        for k, (axes, _) in enumerate(sums[0]):
            for ranks in self.groups(axes):
                counts = Counter(sums[rank][k][1] for rank in ranks)
                (most, times), *others = counts.most_common()
                if not others:
                    continue
                outvoted = times > others[0][1]
                differing = [r for r in ranks if not outvoted or sums[r][k][1] != most]
                (wrong if outvoted else undecided).update(differing)
        found = wrong or undecided
        return Difference(tuple(sorted(found)), bool(wrong)) if found else None

    def groups(self, axes: Sequence[str]) -> list[list[int]]:
        """The groups of ranks with equal parts of tensors that are sharded over these mesh axes."""
        return self.mesh.groups(*(name for name in self.mesh.names if name not in axes))
