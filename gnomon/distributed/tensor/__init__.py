"""Tensors sharded over the ranks of a mesh, by the names of torch.distributed.tensor.

Any tensor may be sharded: a DTensor is one that is, and operations on it are those of all
tensors. The methods are in gnomon/tensor/placements.py.
"""

from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.tensor.creation import empty, full, ones, rand, randn, zeros
from gnomon.distributed.tensor.dtensor import DTensor, distribute_module, distribute_tensor
from gnomon.ops.placements import Partial, Placement
from gnomon.ops.placements import Replicated as Replicate
from gnomon.ops.placements import Split as Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "ones",
    "rand",
    "randn",
    "zeros",
]
