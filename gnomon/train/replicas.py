"""Replicas compared: ranks that hold the same parts of parameters must hold the same bits.

Equal programs on equal inputs give equal bits, so a difference is a fault of a machine: of memory,
of a core, of a message. Each rank sends eight bytes for every way in which parameters are split.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.distributed.mesh import Mesh
from gnomon.errors import GnomonError
from gnomon.nn.module import Module
from gnomon.tensor.layouts import layout_of, local_of
from gnomon.train.team import Team

__all__ = ["Replicas", "checksum"]

Axes = tuple[str, ...]
"""The mesh axes over which a parameter is split."""
WORD = 2**64
ODD = 0x9E3779B97F4A7C15
"""An odd factor: what follows does not undo what came before."""
ROTATION = 17
"""Bits by which one of two sums is turned, so that no bit changes both at one place."""


def checksum(arrays: Sequence[np.ndarray]) -> int:
    """Eight bytes that change with every single bit of some arrays.

    >>> checksum([np.zeros(3)]) == checksum([np.zeros(3)])
    True
    >>> checksum([np.zeros(3)]) == checksum([np.array([0.0, -0.0, 0.0])])
    False
    """
    total = 0
    for array in arrays:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        whole = flat[: flat.size // 8 * 8].view(np.uint64)
        rest = int.from_bytes(flat[whole.size * 8 :].tobytes(), "little")
        added, odd = int(np.add.reduce(whole, dtype=np.uint64)), int(np.bitwise_xor.reduce(whole))
        total = (total * ODD + added + (odd << ROTATION) + (odd >> 64 - ROTATION) + rest) % WORD
    return total


@dataclass(frozen=True)
class Replicas:
    """The parameters of a rank, and which other ranks hold the same parts."""

    model: Module
    mesh: Mesh
    team: Team

    def sums(self) -> list[tuple[Axes, int]]:
        """A checksum of the parameters of each way to be split, in order."""
        found: dict[Axes, list[np.ndarray]] = {}
        for _, p in self.model.named_parameters():
            layout = layout_of(p)
            axes = tuple(name for name, _, axis in layout if axis is not None)
            part = local_of(p) if layout else p
            found.setdefault(axes, []).append(part.detach().numpy())
        return [(axes, checksum(arrays)) for axes, arrays in sorted(found.items())]

    def check(
        self, step: int, told: Sequence[Sequence[tuple[Axes, int]]], before: Callable[[], None]
    ) -> None:
        """Raise where replicas differ, given every rank's checksums: the minority is named.

        before: what is done first, such as to write the checkpoint that is under way to its end.
        """
        wrong: set[int] = set()
        undecided: set[int] = set()
        for k, (axes, _) in enumerate(told[0]):
            for ranks in self.groups(axes):
                counts = Counter(told[rank][k][1] for rank in ranks)
                (most, times), *others = counts.most_common()
                if not others:
                    continue
                outvoted = times > others[0][1]
                differing = [r for r in ranks if not outvoted or told[r][k][1] != most]
                (wrong if outvoted else undecided).update(differing)
        if wrong or undecided:
            before()
            self.refuse(step, sorted(wrong or undecided), bool(wrong))

    def groups(self, axes: Axes) -> list[list[int]]:
        """Ranks that hold the same parts of parameters that are split over these mesh axes."""
        found: dict[tuple[int, ...], list[int]] = {}
        for rank in range(self.mesh.size):
            place = self.mesh.place(rank)
            found.setdefault(tuple(place[name] for name in axes), []).append(rank)
        return list(found.values())

    def refuse(self, step: int, ranks: Sequence[int], outvoted: bool) -> None:
        """Raise, with the ranks that differ and their machines."""
        hosts = self.team.gather(platform.node())
        named = ", ".join(f"rank {rank} on {hosts[rank]}" for rank in ranks)
        what = "differs from the other replicas" if outvoted else "differ from each other"
        raise GnomonError(
            f"train: after step {step} replicas of the parameters do not have the same bits: "
            f"{named} {what}. Memory, a core or a message was at fault, not the program. The "
            "newest checkpoint is of a step at which all agreed: go on from it by --resume, "
            "without that machine."
        )
