"""autocast as a policy: products take a narrow dtype, what loses by it stays in float32.

Which operations are products is said where they are declared; values are cast as they enter an
operation, so parameters and results of other operations keep their dtypes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any

from gnomon.dtypes import DType, bfloat16, dtype_of, float16, float32
from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.lazy import modes
from gnomon.ops.registry import Op
from gnomon.tensor.device import CPU, Device
from gnomon.tensor.state import ModeBlock, narrow


def is_there(device: str, what: str) -> bool:
    """Whether a device is available; if not, warn that a feature is off."""
    here = Device(device).type == CPU.type
    if not here:
        warnings.warn(f"{what}: there is no {device} here: it is off.", stacklevel=3)
    return here


class autocast(ModeBlock):
    """Compute products in a narrow dtype inside a `with` or a decorated function.

    For a device that is not here it does nothing and warns, as PyTorch's.
    """

    def __init__(
        self,
        device_type: str = "cpu",
        dtype: object = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        found = bfloat16 if dtype is None else dtype_of(dtype)
        if found not in (bfloat16, float16):
            raise DtypeError(f"autocast: dtype must be bfloat16 or float16: got {found.name}.")
        self.dtype = found if enabled and is_there(device_type, "autocast") else None

    def __enter__(self) -> autocast:
        self.enter({narrow: self.dtype})
        return self

    def __call__(self, function: Callable) -> Callable:
        """A function that always runs under autocast."""
        return modes.inside(lambda: copy(self), function)


def fitted(op: Op | Callable, value: Any) -> Any:
    """An operation's argument, cast to the dtype that autocast gives it."""
    kind = op.facts.autocast if isinstance(op, Op) else ""
    if kind == "narrow":
        return recast(value, (float32,), narrow.get())
    return recast(value, (bfloat16, float16), float32) if kind == "wide" else value


def recast(value: Any, of: tuple[DType, ...], to: DType) -> Any:
    """A nested value, its nodes of some dtypes cast to another."""
    if isinstance(value, Node):
        return cast(value, to) if value.dtype in of else value
    if isinstance(value, (list, tuple)):
        return type(value)([recast(v, of, to) for v in value])
    return value
