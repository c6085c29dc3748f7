"""The kernels of products by teams: which tile a product has, and who writes it."""

from __future__ import annotations

from gnomon.codegen.emitter import LANES
from gnomon.codegen.kernels.product import MatmulSpec
from gnomon.codegen.kernels.split_rows import SplitWriter
from gnomon.codegen.kernels.tensor_tiles import TensorWriter, takes_tensor_cores, tensor_tile
from gnomon.codegen.kernels.tiled import TiledWriter, team_tile
from gnomon.codegen.machine import Machine

__all__ = ["tile_by_team", "writer_of"]


def tile_by_team(spec: MatmulSpec, machine: Machine, splits: bool = True) -> tuple[int, int]:
    """The rows and columns of a team's tile; splits: whether vectors of threads may share sums."""
    return tensor_tile(spec) if takes_tensor_cores(spec, machine) else team_tile(spec, splits)


def writer_of(spec: MatmulSpec, machine: Machine) -> type[SplitWriter | TiledWriter]:
    """The writer of a product by teams: its factors and its tile say which."""
    if takes_tensor_cores(spec, machine):
        return TensorWriter
    return SplitWriter if spec.tile[1] == LANES else TiledWriter
