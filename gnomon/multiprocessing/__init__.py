"""torch.multiprocessing's place: Python's multiprocessing, where tensors travel by their memory.

Parameters that processes share are written by all of them at once, as Hogwild does.
"""

import multiprocessing

from gnomon.errors import ArgumentError
from gnomon.multiprocessing.reductions import init_reductions
from gnomon.multiprocessing.spawning import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

globals().update({name: getattr(multiprocessing, name) for name in multiprocessing.__all__})
init_reductions()

STRATEGIES = frozenset({"file_descriptor", "file_system"})
_chosen = ["file_descriptor"]


def get_all_sharing_strategies() -> set[str]:
    """The names of PyTorch's ways to share memory; here all of them send open files."""
    return {*STRATEGIES}


def get_sharing_strategy() -> str:
    """The name that was set last."""
    return _chosen[-1]


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose a way to share memory, which changes nothing here."""
    if new_strategy not in STRATEGIES:
        raise ArgumentError(
            f"set_sharing_strategy: there is no {new_strategy!r}. Use one of {sorted(STRATEGIES)}."
        )
    _chosen[:] = [new_strategy]


__all__ = sorted(
    {
        *multiprocessing.__all__,
        *("ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext"),
        *("get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"),
        *("spawn", "start_processes"),
    }
)
