"""A launch on a cluster of Ray, which `pip install ray` brings: ranks that are actors."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ConfigError
from gnomon.lazy import Lazy

__all__ = ["RayLauncher"]

RAY = Lazy("ray")


class RayRank:
    """The Ray actor of one rank."""

    def place(self) -> tuple[str, int]:
        """The address of the actor's machine, and a free port there."""
        with socket.create_server(("", 0)) as server:
            return RAY.util.get_node_ip_address(), server.getsockname()[1]

    def run(self, given: dict[str, str], function: Callable[..., Any], inputs: Sequence) -> Any:
        """The function's result, under these variables."""
        os.environ.update(given)
        return function(*inputs)


class RayLauncher:
    """A launch of so many ranks, actors of Ray with so many cores each, that meet by sockets.

    Options are those of Ray's actors, as `resources` or `scheduling_strategy`.
    """

    def __init__(self, ranks: int, cores: int = 1, **options: Any) -> None:
        if ranks < 1:
            raise ConfigError(f"RayLauncher: ranks: expected int >= 1: got {ranks}.")
        self.ranks, self.cores, self.options = ranks, cores, options

    def run(self, function: Callable[..., Any], *inputs: Any) -> list[Any]:
        """The results of function(*inputs) on every rank, in rank order.

        An exception on one rank is raised here, and ends the others.
        """
        actors = self._actors()
        try:
            places = RAY.get([actor.place.remote() for actor in actors])
            runs = [
                actor.run.remote(given, function, inputs)
                for actor, given in zip(actors, variables_of(places), strict=True)
            ]
            left = list(runs)
            while left:
                done, left = RAY.wait(left)
                RAY.get(done)
            return RAY.get(runs)
        finally:
            for actor in actors:
                RAY.kill(actor)

    def _actors(self) -> list[Any]:
        """An actor for each rank."""
        try:
            actor = RAY.remote(RayRank)
        except ImportError as cause:
            raise ConfigError(f"RayLauncher: {cause}. Install it: pip install ray.") from None
        share = {"env_vars": {"GNOMON_NUM_THREADS": str(self.cores)}}
        made = actor.options(**{"num_cpus": self.cores, "runtime_env": share} | self.options)
        return [made.remote() for _ in range(self.ranks)]


def variables_of(places: Sequence[tuple[str, int]]) -> list[dict[str, str]]:
    """The variables of each rank by torchrun's names; all connect at the first one's machine.

    >>> first, second = variables_of([("10.0.0.1", 4000), ("10.0.0.2", 5000)])
    >>> second["MASTER_ADDR"], second["RANK"], second["LOCAL_RANK"]
    ('10.0.0.1', '1', '0')
    """
    host, port = places[0]
    beside, seen = Counter(where for where, _ in places), Counter[str]()
    found = []
    for rank, (where, _) in enumerate(places):
        numbers = {"RANK": rank, "WORLD_SIZE": len(places), "LOCAL_RANK": seen[where]}
        numbers |= {"LOCAL_WORLD_SIZE": beside[where], "MASTER_PORT": port}
        found.append({name: str(number) for name, number in numbers.items()})
        found[-1]["MASTER_ADDR"] = host
        seen[where] += 1
    return found
