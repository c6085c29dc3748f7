"""torch.distributed's gloo, on the ranks of a launch."""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.distributed as dist


def join(rank: int, size: int, world: Any) -> None:
    """Make the process group: its first rank listens at a port that it finds free."""
    torch.set_num_threads(1)
    port = None
    if rank == 0:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
    port = world.bcast(port)
    place = f"tcp://127.0.0.1:{port}"
    dist.init_process_group("gloo", init_method=place, rank=rank, world_size=size)


def calls(array: np.ndarray, ranks: int) -> dict[str, Callable[[], object]]:
    """Its collectives of an array, on tensors that are there."""
    given = torch.from_numpy(array)
    gathered = [torch.empty_like(given) for _ in range(ranks)]
    return {
        "all_reduce": partial(dist.all_reduce, given),
        "all_gather": partial(dist.all_gather, gathered, given),
    }
