"""Check the arguments of samplers, loaders and splits, with PyTorch's error messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gnomon.errors import ArgumentError, DtypeError, brief

STARTS = ("fork", "spawn", "forkserver")
SETTLED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
"""Attributes of a loader that cannot be changed after it was made."""
ELSEWHERE: dict[str, Any] = {
    "timeout": 0,
    "worker_init_fn": None,
    "multiprocessing_context": None,
    "prefetch_factor": None,
    "persistent_workers": False,
    "pin_memory_device": "",
    "in_order": True,
}
"""Options of PyTorch's loader about worker processes, which are threads here, and their
defaults.
"""


def positive(what: str, value: Any) -> int:
    """Return an integer of at least 1, or raise ArgumentError."""
    if type(value) is bool or not isinstance(value, int) or value <= 0:
        raise ArgumentError(
            f"{what} should be a positive integer value, but got {what}={brief(value)}"
        )
    return value


def is_flag(what: str, value: Any, kind: type[Exception] = ArgumentError) -> bool:
    """Return a bool, or raise an error."""
    if not isinstance(value, bool):
        raise kind(f"{what} should be a boolean value, but got {what}={brief(value)}")
    return value


def check_workers(count: int, options: Mapping[str, Any]) -> None:
    """Refuse invalid options of workers, and options that need workers if there are none."""
    if count < 0:
        raise ArgumentError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            f"multiprocessing: got {count}."
        )
    timeout, ahead = options.get("timeout") or 0, options.get("prefetch_factor")
    if timeout < 0:
        raise ArgumentError(f"timeout option should be non-negative: got {timeout}.")
    if ahead is not None and not count:
        raise ArgumentError("prefetch_factor option needs num_workers > 0. Leave it out.")
    if ahead is not None and ahead < 0:
        raise ArgumentError(f"prefetch_factor option should be non-negative: got {ahead}.")
    if options.get("persistent_workers") and not count:
        raise ArgumentError("persistent_workers option needs num_workers > 0")
    start = options.get("multiprocessing_context")
    if start is not None and not count:
        raise ArgumentError("multiprocessing_context needs num_workers > 0. Leave it out.")
    if isinstance(start, str) and start not in STARTS:
        raise ArgumentError(
            f"multiprocessing_context option should be one of {list(STARTS)}: got {start!r}."
        )
    if start is not None and not isinstance(start, str) and not hasattr(start, "get_start_method"):
        raise DtypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method: got {brief(start)}."
        )


def check_shares(lengths: Sequence[float], total: int) -> None:
    """Refuse negative counts, and fractions outside [0, 1] or with a sum above 1."""
    if sum(lengths) == total and all(isinstance(n, int) for n in lengths):
        shares: Iterable[float] = [n / max(total, 1) for n in lengths]
    else:
        shares = lengths
    for k, share in enumerate(shares):
        if not 0 <= share <= 1 and not isinstance(lengths[k], int):
            raise ArgumentError(f"Fraction at index {k} is not between 0 and 1: got {share}.")
        if share < 0:
            raise ArgumentError(f"random_split: length {k} is negative: got {lengths[k]}.")
    if any(isinstance(n, float) for n in lengths) and sum(lengths) > 1 + 1e-9:
        raise ArgumentError(
            "Sum of input lengths does not equal the length of the input dataset! "
            f"Shares add up to {sum(lengths)}."
        )


def check_sizes(batch: Sequence[Sequence]) -> None:
    """Refuse a batch of sequences of different lengths."""
    if len({len(item) for item in batch}) > 1:
        raise ArgumentError("each element in list of batch should be of equal size")


def refuse_kind(item: object) -> None:
    """Raise DtypeError for an item that cannot be collated."""
    raise DtypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(item)}"
    )
