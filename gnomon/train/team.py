"""The ranks that train together: roles, agreement, and the rows that each gets.

Every rank takes every step. The first one writes metrics and checkpoints, and prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

import gnomon as gn
from gnomon.distributed.backends import connected, place
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import mesh_of
from gnomon.distributed.plans import PLAN, ShardingPlan, bound_of
from gnomon.distributed.ranks import connect
from gnomon.errors import LONGEST, ConfigError
from gnomon.models.registry import MODELS
from gnomon.runtime.comm import here
from gnomon.runtime.comm.base import Backend, Link
from gnomon.runtime.comm.board import LeftOut
from gnomon.runtime.comm.groups import membership
from gnomon.runtime.comm.watch import leave_out
from gnomon.runtime.system import usable_cores
from gnomon.train.config import near, read_toml

__all__ = ["Team", "read_plan"]

TOKENS = "tokens"
"""The mark of a mesh axis along which tokens are exchanged instead of sharding matrices."""
EXPERT = "expert"
"""The only parameter axis along which tokens may be exchanged."""
ROWS = "data"
"""The default mesh axis of all ranks, which shards a batch's rows."""
LISTS = ("rows", "fully", "token_dispatch")
"""The entries of a plan's file that are lists."""


class Team:
    """The ranks that train together; inside `with Team(mesh) as team:` they are connected."""

    def __init__(self, wanted: str | None = None, plan: Path | None = None) -> None:
        found = place()
        self.plan: ShardingPlan = PLAN if plan is None else read_plan(plan)
        self.mesh_is_named = wanted is not None
        self.plan_file = plan
        """The file of the plan, if it is not the default one."""
        if wanted is None:
            wanted = f"{ROWS}={found.size}" if found.size > 1 else ""
        self.mesh: DeviceMesh = mesh_of(wanted)
        if self.mesh.size() != found.size:
            raise ConfigError(
                f"--mesh {wanted}: {self.mesh.size()} ranks: {found.size} run ({found.source}). "
                f"Launch as many: gnomon launch -n {self.mesh.size()} train --mesh {wanted}"
            )
        refuse_unknown(self.mesh, self.plan)
        self.rank, self.beside = found.rank, found.local_size
        self._backend: Backend | None = None
        self._world: Link | None = None
        self._own = ExitStack()

    @property
    def leads(self) -> bool:
        """Whether this rank writes files and prints."""
        return self.rank == 0

    def __enter__(self) -> Team:
        if self.mesh.size() > 1:
            self._backend = connected()
            links = connect(self.mesh, self._backend)
            if membership().seat is None:
                here.settle(links)
            else:
                self._own.enter_context(here.along(links))
            self._world = self._backend.link("world", range(self._backend.size))
            gn.set_num_threads(max(1, usable_cores() // self.beside))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # what fails is reported, and ends the job, at the end of the command
        if self._backend is not None and error is None:
            self._backend.close()
        self._own.close()

    def share(self, value: Any) -> Any:
        """The first rank's plain data, on all ranks."""
        return self.gather(value)[0]

    def gather(self, value: Any) -> list[Any]:
        """Every rank's plain data, on all ranks in rank order."""
        if self._world is None:
            return [value]
        return [msgspec.msgpack.decode(x) for x in self._world.tell(msgspec.msgpack.encode(value))]

    def leave_out(self, ranks: Sequence[int], hosts: Sequence[str], rows: int) -> None:
        """Make the launcher exclude these ranks from the next job, if it starts one.

        If there are other machines, all ranks of these ranks' machines are excluded. hosts: one per
        rank. rows: a number that must be divisible by the number of ranks.
        """
        at = {hosts[rank] for rank in ranks}
        others = sum(host not in at for host in hosts)
        most = others or len(hosts) - len(ranks)
        counts = [n for n in range(1, most + 1) if rows % n == 0 and not self.mesh_is_named]
        named = ", ".join(f"rank {rank} on {hosts[rank]}" for rank in ranks)
        if self.leads:
            leave_out(LeftOut(tuple(sorted(at)) if others else (), max(counts, default=0), named))


def pairs_of(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Parse pairs of parameter axes and mesh axes, and the axes along which tokens are sent.

    >>> pairs_of("expert=data,heads=tensor")
    ({'expert': 'data', 'heads': 'tensor'}, ())
    >>> pairs_of("expert=data:tokens")
    ({'expert': 'data'}, ('expert',))
    """
    known = {name for kind in MODELS.values() for names in kind.axes.values() for name in names}
    found: dict[str, str] = {}
    travel: list[str] = []
    for pair in text.split(","):
        name, _, place = pair.partition("=")
        mesh, marked, way = place.partition(":")
        flag = f"--plan {text[:LONGEST]}: expected NAME=MESH_AXIS"
        if name not in known or not mesh.isidentifier():
            came = f"got {pair[:LONGEST]}: {near(name, known)}"
            raise ConfigError(f"{flag}, of a parameter's axis: {came}")
        if marked and way != TOKENS:
            raise ConfigError(f"{flag}:{TOKENS}: got {pair[:LONGEST]}: {near(way, {TOKENS})}")
        found[name] = mesh
        travel += [name] if marked else []
    return found, tuple(travel)


def refuse_tokens(plan: ShardingPlan, flag: str) -> None:
    """Refuse an exchange of tokens along an axis that shards no experts, or not the rows."""
    for name in plan.token_dispatch:
        mesh = plan.axes.get(name)
        if name != EXPERT:
            raise ConfigError(
                f"{flag}: tokens travel to experts alone: got {name!r}. Leave out {TOKENS!r} there."
            )
        if mesh not in plan.rows:
            raise ConfigError(
                f"{flag}: tokens travel along a mesh axis that spreads rows, one of "
                f"{', '.join(plan.rows)}: got {mesh!r}. Use another, or leave out {TOKENS!r}."
            )


def refuse_unknown(mesh: DeviceMesh, plan: ShardingPlan) -> None:
    """Refuse a mesh axis along which nothing is sharded: its ranks would compute the same."""
    known = {*plan.rows, *plan.fully, *plan.axes.values()}
    strange = [name for name, _ in mesh.divided if name not in known]
    if strange:
        raise ConfigError(
            f"--mesh: {strange[0]!r} is no mesh axis of the plan: expected one of "
            f"{', '.join(sorted(known))}. Name it so, or give a plan: --plan FILE.toml"
        )


def read_plan(path: Path) -> ShardingPlan:
    """The plan of a TOML file: `rows` and `fully` list mesh axes, `axes` maps names to them.

    `reductions` is the maximum number of units' gradients under way, or "auto"; `token_dispatch`
    lists names whose ranks tokens are sent to. Instead of a file, NAME=MESH_AXIS pairs are added to
    the default plan's axes; NAME=MESH_AXIS:tokens sends tokens along it.
    """
    plan = plan_of_pairs(str(path)) if "=" in path.name else plan_of_file(path)
    refuse_tokens(plan, f"--plan {str(path)[:LONGEST]}")
    return plan


def plan_of_pairs(text: str) -> ShardingPlan:
    """The default plan with further axes."""
    axes, travel = pairs_of(text)
    return replace(PLAN, axes={**PLAN.axes, **axes}, token_dispatch=travel)


def plan_of_file(path: Path) -> ShardingPlan:
    """The default plan, changed by a TOML file."""
    found = read_toml(path)
    reductions = bound_of(f"--plan {path}: reductions", found.pop("reductions", 0))
    for name, value in found.items():
        items = value.values() if name == "axes" and isinstance(value, dict) else value
        listed = name in LISTS and isinstance(value, list)
        if not (listed or items is not value) or not all(isinstance(x, str) for x in items):
            raise ConfigError(
                f"--plan {path}: {name}: expected rows or fully, lists of mesh axes, or axes, a "
                f"table of names and mesh axes, or token_dispatch, a list of names: got {value!r}."
            )
    lists = {name: tuple(value) for name, value in found.items() if name != "axes"}
    lists |= {"axes": found["axes"]} if "axes" in found else {}
    return replace(PLAN, reductions=reductions, **lists)
