"""Process groups, their collectives, meshes, and programs over several ranks, by PyTorch's names.

How ranks exchange bytes is gnomon/runtime/comm.
"""

from gnomon.distributed import functional
from gnomon.distributed.collectives import (
    all_gather,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.groups import (
    GroupMember,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
    split_group,
)
from gnomon.distributed.mesh import Mesh, local_part, whole_of
from gnomon.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    scatter_object_list,
)
from gnomon.distributed.plans import PLAN, AxisNames, ParameterLayout, ShardingPlan, distribute
from gnomon.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from gnomon.distributed.program import Division, RankProgram
from gnomon.distributed.ranks import connect, run_ranks
from gnomon.distributed.ray_launcher import RayLauncher
from gnomon.distributed.report import explain, races
from gnomon.distributed.token_dispatch.all_to_all import AllToAllTokenDispatcher
from gnomon.distributed.token_dispatch.base import Dispatched, TokenDispatcher
from gnomon.distributed.token_dispatch.local import LocalTokenDispatcher
from gnomon.distributed.token_dispatch.static import StaticTokenDispatcher
from gnomon.ops.group_folds import ReduceOp
from gnomon.passes.layout import Partial, Replicated, Split
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.runtime.comm.slow import SlowWorld, Wire
from gnomon.tensor import placements as _placements
from gnomon.tensor.works import Work

split = split_group

__all__ = [
    "AllToAllTokenDispatcher",
    "AxisNames",
    "DeviceMesh",
    "Dispatched",
    "Division",
    "GroupMember",
    "LocalTokenDispatcher",
    "Mesh",
    "P2POp",
    "PLAN",
    "ParameterLayout",
    "Partial",
    "ProcessGroup",
    "RankProgram",
    "RayLauncher",
    "ReduceOp",
    "Replicated",
    "ShardingPlan",
    "SlowWorld",
    "Split",
    "StaticTokenDispatcher",
    "TokenDispatcher",
    "Wire",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "connect",
    "destroy_process_group",
    "distribute",
    "explain",
    "functional",
    "gather",
    "gather_object",
    "get_backend",
    "get_global_rank",
    "get_group_rank",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_initialized",
    "isend",
    "local_part",
    "new_group",
    "races",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "run_ranks",
    "scatter",
    "scatter_object_list",
    "send",
    "split",
    "split_group",
    "whole_of",
]
