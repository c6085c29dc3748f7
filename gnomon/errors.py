"""Everything that Gnomon raises.

    GnomonError
    ├── ShapeError        sizes or ranks do not fit             (ValueError)
    ├── DtypeError        a dtype does not fit                  (TypeError)
    ├── ArgumentError     an argument is out of its domain      (ValueError)
    ├── IndexOutOfBounds  an index is outside its axis          (IndexError)
    ├── GradientError     a gradient that cannot be had         (RuntimeError)
    ├── TraceError        a traced value was needed in Python   (RuntimeError)
    ├── CompileError      a program cannot be built             (RuntimeError)
    ├── LayoutError       a layout that a plan cannot keep      (ValueError)
    ├── CollectiveError   ranks could not finish together       (RuntimeError)
    ├── ConfigError       a setting or recipe is wrong          (ValueError)
    ├── NanError          a NaN that debug_nans looked for      (ArithmeticError)
    ├── OutOfMemory       a program that does not fit           (MemoryError)
    └── CheckpointError   a saved file is not what was written  (RuntimeError)

Messages read `op: what does not fit: what came. What to do.`. Mistakes of our own are asserts.
"""

from __future__ import annotations

__all__ = [
    "ArgumentError",
    "CheckpointError",
    "CollectiveError",
    "CompileError",
    "ConfigError",
    "DtypeError",
    "GnomonError",
    "GradientError",
    "IndexOutOfBounds",
    "LayoutError",
    "NanError",
    "OutOfMemory",
    "ShapeError",
    "TraceError",
]


class GnomonError(Exception):
    """Base of every error that Gnomon raises for a user's mistake."""


class ShapeError(GnomonError, ValueError):
    """Sizes or ranks do not fit."""


class DtypeError(GnomonError, TypeError):
    """A dtype does not fit."""


class ArgumentError(GnomonError, ValueError):
    """An argument is out of its domain."""


class IndexOutOfBounds(GnomonError, IndexError):
    """An index is outside its axis."""


class GradientError(GnomonError, RuntimeError):
    """A gradient that cannot be had."""


class TraceError(GnomonError, RuntimeError):
    """A traced value was needed in Python."""


class CompileError(GnomonError, RuntimeError):
    """A program cannot be built."""


class LayoutError(GnomonError, ValueError):
    """A layout that a plan cannot keep."""


class CollectiveError(GnomonError, RuntimeError):
    """Ranks could not finish together: one failed, or nobody answered."""


class ConfigError(GnomonError, ValueError):
    """A setting or a recipe is wrong."""


class CheckpointError(GnomonError, RuntimeError):
    """A saved file is missing, damaged or of another run."""


class NanError(GnomonError, ArithmeticError):
    """A NaN that debug_nans looked for."""


class OutOfMemory(GnomonError, MemoryError):
    """A program that does not fit in memory."""
