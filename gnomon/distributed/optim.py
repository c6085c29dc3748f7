"""torch.distributed.optim: an optimizer of whose state each rank keeps a part.

A rank updates its own parameters by an optimizer of theirs, and sends them to the others; every
value has the bits that one optimizer of all parameters gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.distributed.functional import member
from gnomon.distributed.groups import Group
from gnomon.distributed.objects import gather_object
from gnomon.errors import ArgumentError
from gnomon.optim.optimizer import Groups, Optimizer, without
from gnomon.optim.step_hooks import call_hooks
from gnomon.tensor.collectives import Part, move
from gnomon.tensor.tensor import Tensor, pair_of

__all__ = ["ZeroRedundancyOptimizer"]
__path__: list[str] = []  # PyTorch has a module below this one: gnomon/lazy.py


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of a class, whose state each rank has for its own parameters only.

    Parameters are assigned to ranks by size, largest first, each to the rank with the least.

    >>> import gnomon as gn
    >>> gn.distributed.init_process_group("threads")
    >>> model = gn.nn.Linear(2, 2)
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), gn.optim.Adam, lr=0.1)
    >>> optimizer.optim.param_groups[0]["lr"]
    0.1
    >>> gn.distributed.destroy_process_group()
    """

    def __init__(
        self,
        params: Groups,
        optimizer_class: Callable[..., Optimizer],
        process_group: Group = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise ArgumentError(
                "ZeroRedundancyOptimizer: overlap_with_ddp=True: steps follow the backward pass "
                "here. Leave it out, and call step()."
            )
        self.process_group = member("ZeroRedundancyOptimizer", process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.optim: Optimizer | None = None
        """The optimizer of this rank's parameters."""
        self._owners: dict[Tensor, int] = {}
        self._loads = [0] * self.world_size
        self._states: list[dict[str, Any]] = []
        super().__init__(params, defaults)
        groups = [self._own_part(group) for group in self.param_groups]
        self.optim = optimizer_class(groups, **defaults)
        self.defaults = self.optim.defaults
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            group.update({**without(own), **without(group)})
        self.state = self.optim.state

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Update more parameters, with options of their own; all ranks add them."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for p in sorted(group["params"], key=Tensor.numel, reverse=True):
            owner = self._loads.index(min(self._loads))
            self._owners[p] = owner
            self._loads[owner] += p.numel()
        if self.optim is not None:
            self.optim.add_param_group(self._own_part(group))

    def _own_part(self, group: dict[str, Any]) -> dict[str, Any]:
        """A parameter group with only this rank's parameters."""
        return {**group, "params": [p for p in group["params"] if self._owners[p] == self.rank]}

    def _local(self) -> Optimizer:
        """The optimizer of this rank's parameters, with the options of all groups."""
        assert self.optim is not None, "it is made with the first groups"
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            changed = {k: v for k, v in without(group).items() if own.get(k) is not v}
            own.update(changed)
        return self.optim

    def step(
        self, closure: Callable[[], Any] | None = None, *, only_if: Tensor | None = None
    ) -> Any:
        """Update this rank's parameters, and receive the others' from their ranks."""
        call_hooks(self._shared.before, self._before, self, closure)
        loss = self._local().step(closure, only_if=only_if)
        others = [k for k in range(self.world_size) if k != self.rank]
        sends, receives = [], []
        for p, owner in self._owners.items():
            pair = pair_of(p)
            if owner == self.rank:
                sends += [Part(k, pair, 0, pair.numel()) for k in others]
            else:
                receives.append(Part(owner, pair, 0, pair.numel()))
        if others:
            move(self.process_group, sends, receives).wait()
        call_hooks(self._after, self._shared.after, self, closure)
        return loss

    # states

    def _numbers_of(self, rank: int) -> list[int]:
        """The numbers among all of a rank's parameters, in its own order."""
        listed = [p for group in self.param_groups for p in group["params"]]
        return [number for number, p in enumerate(listed) if self._owners[p] == rank]

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all ranks on a global rank; all ranks call it."""
        every: list[dict[str, Any]] = [{}] * self.world_size
        gather_object(self._local().state_dict(), every, to, self.process_group)
        leads = self.process_group.ranks[self.rank] == to
        self._states = every if leads else []

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters, as consolidate_state_dict brought it to this rank.

        Errors: ArgumentError where it did not.
        """
        if not self._states:
            raise ArgumentError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.process_group.ranks[self.rank]})` on all ranks "
                "beforehand if you meant to save the global state."
            )
        made = super().state_dict()
        for rank, state in enumerate(self._states):
            numbers = self._numbers_of(rank)
            made["state"] |= {numbers[k]: entry for k, entry in state["state"].items()}
        made["state"] = dict(sorted(made["state"].items()))
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state of all parameters: each rank keeps its own part."""
        local = self._local()
        super().load_state_dict({**state_dict, "state": {}})
        places = {number: k for k, number in enumerate(self._numbers_of(self.rank))}
        entries = {places[k]: v for k, v in state_dict["state"].items() if k in places}
        groups = [
            {**group, "params": own["params"]}
            for group, own in zip(
                map(without, self.param_groups), local.state_dict()["param_groups"], strict=True
            )
        ]
        local.load_state_dict({"state": entries, "param_groups": groups})
        self.state = local.state
