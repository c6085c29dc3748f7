"""Chips that layouts are planned for: their peaks and links, from public data sheets.

Programs reach only a part of a peak: times computed from these figures are bounds for comparing
layouts. Flops are those of float32 products, in which recipes train.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from math import prod

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.errors import LONGEST, ConfigError
from gnomon.profiler.limits import machine_now
from gnomon.program.overlap import WIRE
from gnomon.runtime.system import memory_bytes

__all__ = ["ASKER", "CHIPS", "Chip", "chip_of"]


@dataclass(frozen=True)
class Chip:
    """A processor and its memory; all rates are per second."""

    name: str
    flops: float
    memory: float
    """The bytes of memory."""
    bandwidth: float
    """The memory bandwidth in bytes."""
    node: int
    """The number of chips in a node."""
    inside: float
    """The bandwidth to other chips of its node, in bytes."""
    between: float
    """The bandwidth to other nodes in bytes: its part of the node's network."""

    def links(self, mesh: DeviceMesh) -> dict[str, float]:
        """The bandwidth along each mesh axis: that between nodes if its ranks are on several.

        >>> CHIPS["h100"].links(DeviceMesh.of({"data": 4, "tensor": 8}))
        {'data': 50000000000.0, 'tensor': 450000000000.0}
        """
        within = [prod(mesh.shape[k:]) <= self.node for k in range(mesh.ndim)]
        pairs = zip(mesh.names, within, strict=True)
        return {name: self.inside if near else self.between for name, near in pairs}


CHIPS = {
    chip.name: chip
    for chip in (
        # NVIDIA A100 80GB SXM data sheet (2021): NVLink 600 GB/s both ways; DGX A100: 8 x HDR 200
        Chip("a100", 19.5e12, 80e9, 2.039e12, 8, 300e9, 25e9),
        # NVIDIA H100 SXM data sheet (2023): NVLink 900 GB/s both ways; DGX H100: 8 x NDR 400
        Chip("h100", 67e12, 80e9, 3.35e12, 8, 450e9, 50e9),
        # NVIDIA H200 SXM data sheet (2024): the same processor and links, more memory
        Chip("h200", 67e12, 141e9, 4.8e12, 8, 450e9, 50e9),
        # AMD Instinct MI300X data sheet (2023): 7 links of 64 GB/s each way; 400 Gb/s per chip
        Chip("mi300x", 163.4e12, 192e9, 5.3e12, 8, 448e9, 50e9),
        # AMD EPYC 9654 product page (2022): 96 cores at 2.4 GHz, 32 flops a cycle; 12 channels of
        # DDR5-4800, here of 64 GB each; two sockets by 3 xGMI links of 32 GB/s; 200 Gb/s a node
        Chip("epyc-9654", 7.37e12, 768e9, 460.8e9, 2, 96e9, 12.5e9),
    )
}
"""The chips by name, without "this", which is measured."""
ASKER = "this"
"""The name of the present machine among chips."""


def chip_of(name: str) -> Chip:
    """The chip of a name; "this" is the present machine, whose peaks are measured.

    Its network is the one that the order of calls supposes (gnomon/program/overlap.py).
    """
    if name == ASKER:
        found = machine_now()
        return Chip(ASKER, found.flops, float(memory_bytes()), found.bandwidth, 1, WIRE, WIRE)
    if name not in CHIPS:
        names = (*sorted(CHIPS), ASKER)
        close = difflib.get_close_matches(name, names, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise ConfigError(
            f"plan: --chip {name[:LONGEST]} is not known: {meant}There is {', '.join(names)}."
        )
    return CHIPS[name]
