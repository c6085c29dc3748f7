"""Everything that Gnomon raises.

    GnomonError
    ├── ShapeError        sizes or ranks do not fit             (ValueError, RuntimeError)
    ├── DtypeError        a dtype does not fit                  (TypeError, RuntimeError)
    ├── DeviceError       devices differ, or lack what is asked (TypeError, RuntimeError)
    ├── ComplexError      complex numbers in a real function    (TypeError, RuntimeError)
    ├── ArgumentError     an argument is out of its domain      (ValueError, RuntimeError)
    ├── AxisError         an axis that is not there             (ArgumentError, IndexError)
    ├── IndexOutOfBounds  an index is outside its axis          (IndexError, RuntimeError)
    ├── GradientError     a gradient that cannot be had         (RuntimeError)
    ├── LinAlgError       a matrix without what is asked for    (RuntimeError)
    ├── TraceError        a traced value was needed in Python   (RuntimeError)
    ├── CompileError      a program cannot be built             (RuntimeError)
    ├── LayoutError       a layout that a plan cannot keep      (ValueError)
    ├── DistError         something between ranks               (RuntimeError)
    ├── CollectiveError   ranks could not finish together       (DistError)
    ├── DistNetworkError  one rank does not reach another       (DistError)
    ├── DistStoreError    a store has not what is asked for     (DistError)
    ├── QueueEmptyError   a queue of a store is empty           (DistStoreError)
    ├── ConfigError       a setting or recipe is wrong          (ValueError)
    ├── NanError          a NaN that debug_nans looked for      (ArithmeticError)
    ├── OutOfMemory       a program that does not fit           (MemoryError)
    └── CheckpointError   a saved file is not what was written  (RuntimeError)

Messages read `op: what does not fit: what came. What to do.`. Mistakes of our own are asserts.
"""

from __future__ import annotations

import os
from itertools import islice

__all__ = [
    "ArgumentError",
    "AxisError",
    "CheckpointError",
    "CollectiveError",
    "CompileError",
    "ComplexError",
    "ConfigError",
    "DeviceError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "DtypeError",
    "GnomonError",
    "GradientError",
    "IndexOutOfBounds",
    "LayoutError",
    "LinAlgError",
    "NanError",
    "OutOfMemory",
    "QueueEmptyError",
    "ShapeError",
    "TraceError",
]

LONGEST = 100
MOST_PARTS = 4 * LONGEST
"""Characters of a value that a message shows."""


class GnomonError(Exception):
    """Base of every error that Gnomon raises for a user's mistake."""


class ShapeError(GnomonError, ValueError, RuntimeError):
    """Sizes or ranks do not fit; PyTorch raises one or the other."""


class DtypeError(GnomonError, TypeError, RuntimeError):
    """A dtype does not fit; PyTorch raises one or the other."""


class DeviceError(GnomonError, TypeError, RuntimeError):
    """Tensors of two devices meet, or a device lacks what is asked; PyTorch raises either."""


class DeviceLost(DeviceError):
    """A device that is of no use to this process any more."""


class ComplexError(DtypeError, AttributeError):
    """Complex numbers in a function of real ones."""


class ArgumentError(GnomonError, ValueError, RuntimeError):
    """An argument is out of its domain; PyTorch raises one or the other."""


class BareCall(ArgumentError, TypeError):
    """A call without the arguments that it needs."""


class AxisError(ArgumentError, IndexError):
    """An axis that a tensor does not have."""


class IndexOutOfBounds(GnomonError, IndexError, RuntimeError):
    """An index is outside its axis, and something that has elements is made of it."""


class GradientError(GnomonError, RuntimeError):
    """A gradient that cannot be had."""


class LinAlgError(GnomonError, RuntimeError):
    """A matrix has no inverse, no factor of the kind asked for, or none that was found."""


class TraceError(GnomonError, RuntimeError):
    """A traced value was needed in Python."""


class CompileError(GnomonError, RuntimeError):
    """A program cannot be built."""


class LayoutError(GnomonError, ValueError):
    """A layout that a plan cannot keep."""


class DistError(GnomonError, RuntimeError):
    """Something between ranks went wrong."""


class CollectiveError(DistError):
    """Ranks could not finish together: one failed, or nobody answered."""


class DistNetworkError(DistError):
    """A rank does not reach another."""


class DistStoreError(DistError):
    """A store does not have what is asked for in time."""


class QueueEmptyError(DistStoreError):
    """A store's queue has nothing in it."""


class ConfigError(GnomonError, ValueError):
    """A setting or a recipe is wrong."""


class CheckpointError(GnomonError, RuntimeError):
    """A saved file is missing, damaged or of another run."""


class NanError(GnomonError, ArithmeticError):
    """A NaN that debug_nans looked for."""


class OutOfMemory(GnomonError, MemoryError, RuntimeError):
    """A program that does not fit in memory; PyTorch's is a RuntimeError."""


def clipped(text: object, most: int = 2 * LONGEST) -> str:
    """A message of another library, cut short: it may repeat all of a file.

    >>> clipped("no JSON"), len(clipped("x" * 1000))
    ('no JSON', 200)
    """
    whole = str(text)
    return whole if len(whole) <= most else f"{whole[: most - 3]}..."


def brief(value: object) -> str:
    """A value as messages show it: what somebody gives may be longer than what is said of it.

    >>> brief("steps"), brief("x" * 1000)[90:], brief([[0] * 100] * 100)
    ("'steps'", 'xxxxxxx...', 'a very long list')
    """
    try:
        if has_few_parts(value):
            return clipped(repr(value), LONGEST)
    except (ValueError, RecursionError):  # integers of too many digits, objects in circles
        pass
    return f"a very long {type(value).__name__}"


def has_few_parts(value: object, most: int = MOST_PARTS) -> bool:
    """Whether nested lists, tuples, sets and dicts are few: those of 40 levels may have 2^40 parts.

    >>> has_few_parts([1, (2, {"a": 3})]), has_few_parts([0] * 5000)
    (True, False)
    """
    waiting = [value]
    while waiting and most >= 0:
        part = waiting.pop()
        if isinstance(part, (list, tuple, set, frozenset, dict)):
            most -= len(part)
            parts = (x for pair in part.items() for x in pair) if isinstance(part, dict) else part
            waiting += islice(parts, 2 * MOST_PARTS)
    return most >= 0


def system_message(wrong: OSError) -> str:
    """The system's message, and the file that it is about."""
    why = wrong.strerror or str(wrong)
    return f"{os.fsdecode(wrong.filename)}: {why}" if isinstance(wrong.filename, str) else why
