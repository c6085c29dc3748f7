"""NCCL's place among the backends: what it will do, and whether its library here is new enough.

Ranks on GPUs will meet by NCCL once programs run there; until then it refuses and says what is
missing. Like every backend it moves bytes: folds are ours, and nothing of NCCL's own sums, whose
order changes with the number of ranks, is asked for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from gnomon.errors import CollectiveError

__all__ = ["FEATURES", "FLOOR", "Feature", "NATIVE", "examined", "refuse", "version_of"]

Version = tuple[int, int, int]

LIBRARY = "libnccl.so.2"
FLOOR: Version = (2, 23, 0)
"""The oldest version that is taken: below it groups of many ranks start one by one."""
NATIVE = (
    ("gather", "ncclAllGather"),
    ("exchange", "ncclSend and ncclRecv in a group"),
    ("shift", "ncclSend and ncclRecv in a group"),
    ("messages", "ncclSend and ncclRecv in a group"),
    ("fold", "ncclSend and ncclRecv in a group, and a fold"),
)
"""Its transfers, each with what will do it: the columns of its table of capabilities."""


class Feature(NamedTuple):
    """A feature of newer versions: the first version, and the function that must exist."""

    since: Version
    symbol: str


FEATURES: Mapping[str, Feature] = {
    "splitting": Feature((2, 18, 0), "ncclCommSplit"),
    "registered memory": Feature((2, 19, 0), "ncclCommRegister"),
    "abort of a group": Feature((2, 22, 0), "ncclCommAbort"),
    "scalable start": Feature((2, 23, 0), "ncclCommInitRankScalable"),
    "shrinking": Feature((2, 27, 0), "ncclCommShrink"),
    "registered windows": Feature((2, 27, 0), "ncclCommWindowRegister"),
    "gather to one rank": Feature((2, 28, 3), "ncclGather"),
}
"""Features with the version and the exported function that each needs."""


def version_of(code: int) -> Version:
    """The version in a library's version number, whose digits moved with 2.9.

    >>> version_of(2804), version_of(22703)
    ((2, 8, 4), (2, 27, 3))
    """
    major, rest = divmod(code, 10_000 if code >= 10_000 else 1000)
    return major, *divmod(rest, 100)


def dotted(version: Version) -> str:
    """Write a version as numbers with dots between."""
    return ".".join(map(str, version))


def examined(library: Any) -> dict[str, str]:
    """Map each feature to the reason why it is off, "" if on; refuse a library that is too old."""
    code = ctypes.c_int()
    failed = library.ncclGetVersion(ctypes.byref(code))
    version = version_of(code.value)
    if failed or version < FLOOR:
        found = f"error {failed}" if failed else dotted(version)
        raise CollectiveError(
            f"nccl: {LIBRARY}: expected version {dotted(FLOOR)} or newer: got {found}. "
            "Install a newer one: pip install nvidia-nccl-cu12."
        )
    functions = {name for _, by in NATIVE for name in by.split() if name.startswith("nccl")}
    missing = sorted(name for name in functions if not hasattr(library, name))
    if missing:
        raise CollectiveError(f"nccl: {LIBRARY} has no {', '.join(missing)}. Install it anew.")
    return {name: reason(library, version, feature) for name, feature in FEATURES.items()}


def reason(library: Any, version: Version, feature: Feature) -> str:
    """The reason why a feature is off; "" if it is on."""
    if version < feature.since:
        return f"needs {dotted(feature.since)}: this is {dotted(version)}"
    return "" if hasattr(library, feature.symbol) else f"{feature.symbol} is missing"


def refuse(load: Callable[[str], Any] = ctypes.CDLL) -> NoReturn:
    """Raise an error that says why ranks cannot use NCCL here."""
    try:
        library = load(LIBRARY)
    except OSError as cause:
        raise CollectiveError(
            f"nccl: {LIBRARY} does not load: {cause}. Ranks on processors meet by MPI: leave the "
            'backend out, or say "mpi".'
        ) from None
    off = [f"{name} ({why})" for name, why in examined(library).items() if why]
    features = f"; off: {', '.join(off)}" if off else ""
    raise CollectiveError(
        f"nccl: the library is there{features}, but no runtime for GPUs is: programs run on "
        'processors, whose ranks meet by MPI. Leave the backend out, or say "mpi".'
    )
