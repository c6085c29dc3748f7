"""Meshes and programs over several ranks; how ranks exchange arrays is gnomon/runtime/comm."""

from gnomon.distributed.launch import run_ranks
from gnomon.distributed.mesh import Mesh, local_part, whole_of
from gnomon.distributed.plans import shared_axis
from gnomon.distributed.program import Division, RankProgram
from gnomon.distributed.report import explain
from gnomon.passes.layout import Partial, Replicated, Split

__all__ = [
    "Division",
    "Mesh",
    "Partial",
    "RankProgram",
    "Replicated",
    "Split",
    "explain",
    "local_part",
    "run_ranks",
    "shared_axis",
    "whole_of",
]
