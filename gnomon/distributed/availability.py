"""Questions that programs ask before they connect: backends, numbers, and the level of messages.

Ranks here meet by MPI, sockets, shared memory or threads; "gloo" is a name for whichever it is.
"""

from __future__ import annotations

import os
from enum import Enum
from importlib.util import find_spec

from gnomon.distributed.backends import BACKENDS
from gnomon.distributed.groups import SPELLINGS
from gnomon.errors import ArgumentError, ConfigError
from gnomon.ops.group_folds import Reduction
from gnomon.runtime.comm.environment import environment
from gnomon.runtime.comm.groups import default_group, membership
from gnomon.tensor.device import Device

__all__ = [
    "ConnectionName",
    "DebugLevel",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_node_local_rank",
    "get_pg_count",
    "is_backend_available",
    "is_gloo_available",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "set_debug_level",
    "set_debug_level_from_env",
    "supports_complex",
]

LEVEL = "TORCH_DISTRIBUTED_DEBUG"
"""The variable in which PyTorch's programs find their level of messages."""
BY_DEVICE = {"cpu": "gloo", "cuda": "nccl", "xpu": "xccl", "mps": "gloo"}
"""Device -> the backend that PyTorch takes for it."""


class ConnectionName(str):
    """The lower-case name of a backend, as a string; `torch.distributed.Backend`.

    >>> ConnectionName("GLOO") == ConnectionName.GLOO == "gloo"
    True
    """

    UNDEFINED, GLOO, NCCL, MPI, UCC, XCCL = "undefined", "gloo", "nccl", "mpi", "ucc", "xccl"
    FAKE = "fake"
    backend_list = (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE)
    default_device_backend_map = BY_DEVICE

    def __new__(cls, name: str) -> ConnectionName:
        """A name in small letters."""
        if not isinstance(name, str):
            raise ArgumentError(f"Backend: expected a name: got {name!r}.")
        return super().__new__(cls, name.lower())


class DebugLevel(Enum):
    """The levels of debug messages in PyTorch; ranks always compare collectives."""

    OFF, INFO, DETAIL = range(3)


_level: list[DebugLevel] = []


def get_debug_level() -> DebugLevel:
    """The level that was set, or that TORCH_DISTRIBUTED_DEBUG says."""
    if not _level:
        set_debug_level_from_env()
    return _level[-1]


def set_debug_level(level: DebugLevel) -> None:
    """Set the level that get_debug_level returns; Gnomon's messages follow GNOMON_DEBUG."""
    _level[:] = [level]


def set_debug_level_from_env() -> None:
    """Set the level from TORCH_DISTRIBUTED_DEBUG, OFF if it is not set."""
    name = os.environ.get(LEVEL, "OFF").upper()
    if name not in DebugLevel.__members__:
        known = ", ".join(DebugLevel.__members__)
        raise ConfigError(f"{LEVEL}: expected one of {known}: got {name!r}.")
    set_debug_level(DebugLevel[name])


def is_gloo_available() -> bool:
    """Whether the backend name "gloo" is accepted, an alias of Gnomon's backend."""
    return True


def is_mpi_available() -> bool:
    """Whether mpi4py is installed, by which MPI connects ranks."""
    return find_spec("mpi4py") is not None


def is_nccl_available() -> bool:
    """Whether NCCL connects ranks: False."""
    return False


def is_ucc_available() -> bool:
    """Whether UCC connects ranks: False."""
    return False


def is_xccl_available() -> bool:
    """Whether XCCL connects ranks: False."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend: str) -> bool:
    """Whether init_process_group takes a backend's name.

    >>> is_backend_available("gloo"), is_backend_available("cpu:gloo"), is_backend_available("nccl")
    (True, True, False)
    """
    name = backend.lower()
    return is_mpi_available() if name == "mpi" else name in SPELLINGS or name in BACKENDS


def get_default_backend_for_device(device: str | Device) -> str:
    """The name of the backend that PyTorch takes for a device.

    >>> get_default_backend_for_device("cpu")
    'gloo'
    """
    kind = device.type if isinstance(device, Device) else str(device).partition(":")[0]
    if kind not in BY_DEVICE:
        raise ArgumentError(f"Default backend not registered for device : {device}")
    return BY_DEVICE[kind]


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The number of this rank on its machine, as the launcher says.

    Errors: ConfigError without a launcher and without a fallback_rank.
    """
    found = environment()
    if found.size > 1 or "LOCAL_RANK" in os.environ:
        return int(os.environ.get("LOCAL_RANK", found.local_rank))
    if fallback_rank is None:
        raise ConfigError(
            "get_node_local_rank: LOCAL_RANK is not in the environment. Consider passing "
            "fallback_rank, or start ranks by gnomon launch."
        )
    return int(fallback_rank)


def get_pg_count() -> int:
    """The number of groups, the one of all ranks included; 0 before they are connected."""
    return 0 if default_group() is None else membership().made + 1


def supports_complex(reduceOp: Reduction) -> bool:
    """Whether a fold over ranks takes complex numbers.

    >>> from gnomon.ops.group_folds import ReduceOp
    >>> supports_complex(ReduceOp.SUM), supports_complex(ReduceOp.MAX)
    (True, False)
    """
    return reduceOp.monoid in ("add", "average")
