"""PyTorch's planners by name: options alone, for there is one plan."""

from __future__ import annotations

from gnomon.errors import ArgumentError

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "check_planner"]


class DefaultSavePlanner:
    """The plan of a save; its options choose what every save here does."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        """Accept PyTorch's options, and keep none."""


class DefaultLoadPlanner:
    """The plan of a load: with allow_partial_load, what a checkpoint lacks stays as it is."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.allow_partial_load = allow_partial_load


def check_planner(name: str, planner: object, kind: type) -> None:
    """Refuse a plan of somebody's own."""
    if planner is not None and type(planner) is not kind:
        raise ArgumentError(
            f"{name}: expected {kind.__name__} or none: got {type(planner).__name__}. There is one "
            "plan here."
        )
