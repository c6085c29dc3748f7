"""PyTorch's switches of deterministic algorithms.

Every algorithm here is deterministic: the switches are kept and answered, and change nothing else.
"""

from __future__ import annotations

from gnomon.errors import ArgumentError
from gnomon.tensor.state import state

MODES = ("default", "warn", "error")
"""The names of PyTorch's modes, in the order of their numbers."""
_mode = [0]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Note whether deterministic algorithms are asked for; there are no others.

    >>> use_deterministic_algorithms(True)
    >>> are_deterministic_algorithms_enabled()
    True
    >>> use_deterministic_algorithms(False)
    """
    for value in (mode, warn_only):
        if not isinstance(value, bool):
            kind = type(value).__name__
            raise TypeError(f"use_deterministic_algorithms: arguments must be bool, not {kind}")
    state.recorder.acted("use_deterministic_algorithms")
    _mode[0] = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were requested."""
    return get_deterministic_debug_mode() > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether they were requested with warnings in place of errors."""
    return get_deterministic_debug_mode() == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms by a number from 0 to 2, or by "default", "warn" or "error".

    >>> set_deterministic_debug_mode("warn")
    >>> get_deterministic_debug_mode(), is_deterministic_algorithms_warn_only_enabled()
    (1, True)
    >>> set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    known = MODES if isinstance(debug_mode, str) else range(len(MODES))
    if debug_mode not in known:
        allowed = "`default`, `warn`, `error`" if isinstance(debug_mode, str) else "0, 1, or 2"
        raise ArgumentError(
            "set_deterministic_debug_mode: invalid value of debug_mode, expected one of "
            f"{allowed}: got {debug_mode}."
        )
    state.recorder.acted("set_deterministic_debug_mode")
    _mode[0] = known.index(debug_mode)


def get_deterministic_debug_mode() -> int:
    """The mode 0 without deterministic algorithms, 1 with warnings, 2 with errors."""
    return state.recorder.asked(lambda: _mode[0])
