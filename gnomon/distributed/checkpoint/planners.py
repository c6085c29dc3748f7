"""PyTorch's planners by name: options alone, for there is one plan."""

from __future__ import annotations

from gnomon.errors import ArgumentError

__all__ = ["DefaultLoadPlanner", "DefaultSavePlanner", "check_planner"]


class DefaultSavePlanner:
    """PyTorch's planner of saves; its options have no effect, since every save does the same."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        """Accept PyTorch's options, which have no effect."""


class DefaultLoadPlanner:
    """PyTorch's planner of loads; with allow_partial_load, missing tensors stay unchanged."""

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.allow_partial_load = allow_partial_load


def check_planner(name: str, planner: object, kind: type) -> None:
    """Refuse a user-defined planner."""
    if planner is not None and type(planner) is not kind:
        raise ArgumentError(
            f"{name}: expected {kind.__name__} or none: got {type(planner).__name__}. There is one "
            "plan here."
        )
