"""Process groups, their collectives, meshes, and programs over several ranks, by PyTorch's names.

How ranks exchange bytes is gnomon/runtime/comm.
"""

from gnomon.distributed import functional, nn
from gnomon.distributed.availability import ConnectionName as Backend
from gnomon.distributed.availability import (
    DebugLevel,
    get_debug_level,
    get_default_backend_for_device,
    get_node_local_rank,
    get_pg_count,
    is_backend_available,
    is_gloo_available,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    set_debug_level,
    set_debug_level_from_env,
    supports_complex,
)
from gnomon.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
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
from gnomon.distributed.mesh import local_part, whole_of
from gnomon.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from gnomon.distributed.plans import PLAN, AxisNames, ParameterLayout, ShardingPlan, distribute
from gnomon.distributed.point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from gnomon.distributed.ranks import connect, run_ranks
from gnomon.distributed.ray_launcher import RayLauncher
from gnomon.distributed.report import explain, races
from gnomon.distributed.stores import FileStore, HashStore, PrefixStore, Store
from gnomon.distributed.subgroups import (
    monitored_barrier,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from gnomon.distributed.tcp_store import TCPStore
from gnomon.distributed.token_dispatch.all_to_all import AllToAllTokenDispatcher
from gnomon.distributed.token_dispatch.base import Dispatched, TokenDispatcher
from gnomon.distributed.token_dispatch.local import LocalTokenDispatcher
from gnomon.distributed.token_dispatch.static import StaticTokenDispatcher
from gnomon.errors import CollectiveError as DistBackendError
from gnomon.errors import DistError, DistNetworkError, DistStoreError, QueueEmptyError
from gnomon.nn.parallel import GradBucket
from gnomon.ops.group_folds import ReduceOp
from gnomon.ops.placements import Partial, Replicated, Split
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.runtime.comm.slow import SlowWorld, Wire
from gnomon.tensor import placements as _placements
from gnomon.tensor.works import Work

split = split_group

__all__ = [
    "AllToAllTokenDispatcher",
    "AxisNames",
    "Backend",
    "DebugLevel",
    "DeviceMesh",
    "Dispatched",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "LocalTokenDispatcher",
    "P2POp",
    "PLAN",
    "ParameterLayout",
    "Partial",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "RayLauncher",
    "ReduceOp",
    "Replicated",
    "ShardingPlan",
    "SlowWorld",
    "Split",
    "StaticTokenDispatcher",
    "Store",
    "TCPStore",
    "TokenDispatcher",
    "Wire",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
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
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "local_part",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "nn",
    "races",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "run_ranks",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "split",
    "split_group",
    "supports_complex",
    "whole_of",
]
