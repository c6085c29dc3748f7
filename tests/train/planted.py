"""Training by ranks that are threads, one of which has a fault. Not a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path

import numpy as np

from gnomon.errors import GnomonError
from gnomon.runtime.comm.environment import Environment, thread_place
from gnomon.runtime.comm.groups import of_rank
from gnomon.runtime.comm.threads import World
from gnomon.tensor.layouts import layout_of, local_of
from gnomon.tensor.random import own_stream
from gnomon.tensor.tensor import Tensor
from gnomon.train.config import Config
from gnomon.train.loop import Trainer
from gnomon.train.progress import Progress
from gnomon.train.team import Team

__all__ = ["Ending", "flip", "train"]

Ending = tuple[Trainer, str]
"""A rank's run, and what it raised."""


def flip(tensor: Tensor, element: int = 5, bit: int = 20) -> None:
    """Turn a bit of a tensor's memory, of which this rank may hold a part."""
    array = (local_of(tensor) if layout_of(tensor) else tensor.detach()).numpy()
    array.reshape(-1).view(np.uint32)[element] ^= 1 << bit


def train(
    config: Config,
    folder: Path,
    mesh: str,
    kind: Callable[..., Trainer] = Trainer,
    world: World | None = None,
) -> list[Ending]:
    """Train to the end, or to an error, on each rank of a mesh."""
    ranks = int(np.prod([int(part.partition("=")[2]) for part in mesh.split(",")]))
    world = world or World(ranks, 60.0)
    folder.mkdir(exist_ok=True)

    def work(rank: int) -> Ending:
        place = Environment(rank, ranks, rank, ranks, "threads of a test")
        with (
            thread_place(place),
            of_rank(world.backend(rank)),
            own_stream(),
            Team(mesh) as team,
        ):
            run = kind(config, folder, Progress(quiet=True), team=team)
            run.prepare()
            try:
                run.run()
            except GnomonError as wrong:
                return run, str(wrong)
            return run, ""

    with ThreadPoolExecutor(ranks) as pool:
        futures = [pool.submit(copy_context().run, work, rank) for rank in range(ranks)]
        return [each.result() for each in futures]


def said(endings: Sequence[Ending]) -> str:
    """The error that all ranks raised alike; empty where none did."""
    (told,) = {text for _, text in endings}
    return told
