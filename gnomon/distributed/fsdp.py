"""torch.distributed.fsdp: fully_shard, and the wrapper of before it, by one set of names."""

from __future__ import annotations

from gnomon.distributed.fsdp_module import FSDPModule, UnshardHandle
from gnomon.distributed.fsdp_wrapper import (
    BackwardPrefetch,
    CPUOffload,
    FullyShardedDataParallel,
    ShardingStrategy,
)
from gnomon.distributed.fully_sharding import (
    CPUOffloadPolicy,
    OffloadPolicy,
    fully_shard,
)
from gnomon.distributed.mixed_precision import MixedPrecision, MixedPrecisionPolicy
from gnomon.distributed.sharded_states import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "FullyShardedDataParallel",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
    "UnshardHandle",
    "fully_shard",
]
__path__: list[str] = []  # PyTorch has modules below this one: gnomon/lazy.py
