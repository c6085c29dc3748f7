"""States of fully sharded modules: whole values on all ranks or on the first, or parts.

Which of them a module's state_dict gives is a setting of the module, as PyTorch's wrapper has it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.runtime.comm.groups import membership
from gnomon.tensor.layouts import value_layout, whole_of

__all__ = [
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
    "by_parts",
    "convert_values",
    "settings_of",
]

by_parts: ContextVar[bool] = ContextVar("by_parts", default=False)
"""Whether states are asked for as they lie, whatever a module's setting is."""


class StateDictType(Enum):
    """The types of state dicts: whole values, local ones, or sharded parts."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """Options of a module's state; values lie in main memory here, wherever they are asked for."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options of a module's state of whole values: on all ranks, or on the first alone."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of a module's local state, which is refused."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of a module's state of parts."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Options of an optimizer's state."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimizer's state of whole values: on all ranks, or on the first alone."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimizer's local state, which is refused."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimizer's state of parts."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The type of a module's state dict, and its options."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)


CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
"""Kind of a state -> the classes of its options."""


def settings_of(
    kind: StateDictType,
    config: StateDictConfig | None = None,
    optim_config: OptimStateDictConfig | None = None,
) -> StateDictSettings:
    """A kind of state with its options, those of before where none are given.

    Errors: ArgumentError for a kind that is not here, and for options of another one.
    """
    if kind not in CONFIGS:
        raise ArgumentError(
            f"state_dict_type: {kind}: parts without a layout are no state. Use "
            "SHARDED_STATE_DICT, whose parts say how they lie."
        )
    of_module, of_optimizer = CONFIGS[kind]
    module = of_module() if config is None else config
    optimizer = of_optimizer() if optim_config is None else optim_config
    if not isinstance(module, of_module) or not isinstance(optimizer, of_optimizer):
        raise ArgumentError(
            f"state_dict_type: {kind} takes {of_module.__name__} and {of_optimizer.__name__}: got "
            f"{type(module).__name__} and {type(optimizer).__name__}."
        )
    return StateDictSettings(kind, module, optimizer)


def convert_values(state: dict[str, Any], settings: StateDictSettings, prefix: str) -> None:
    """Convert the values of a state dict under a prefix as the settings say."""
    if by_parts.get() or settings.state_dict_type is not StateDictType.FULL_STATE_DICT:
        return
    alone = getattr(settings.state_dict_config, "rank0_only", False)
    leaves = alone and membership().world().rank() > 0
    for key in [key for key in state if key.startswith(prefix)]:
        value = state[key]
        if value_layout(value):
            state[key] = whole_of(value).detach()
        if leaves:
            del state[key]
