"""autocast as a policy: products take a narrow dtype, what loses by it stays in float32.

Which operations are products is said here by name; values are cast as they enter an operation, so
parameters and results of other operations keep their dtypes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gnomon.dtypes import DType, bfloat16, dtype_of, float16, float32
from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.tensor.state import state

NARROW = frozenset(
    {"linear", "linears", "matmul", "mm", "bmm", "mv", "addmm", "baddbmm", "einsum", "attention"}
    | {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
)
"""Operations whose float32 inputs become narrow."""
WIDE = frozenset(
    {"softmax", "log_softmax", "logsumexp", "layer_norm", "rms_norm", "group_norm", "cross_entropy"}
    | {"batch_norm", "batch_norm_training", "nll_loss", "mse_loss", "l1_loss", "smooth_l1_loss"}
    | {"binary_cross_entropy_with_logits", "kl_div", "exp", "log", "pow", "norm", "vector_norm"}
    | {"sum", "prod", "cumsum", "cosine_similarity"}
)
"""Operations whose narrow inputs become float32."""


class autocast:
    """Let products take a narrow dtype inside a `with` or a decorated function."""

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
        self.dtype = found if enabled else None
        self.before: list[DType | None] = []

    def __enter__(self) -> autocast:
        self.before.append(state.autocast)
        state.autocast = self.dtype
        return self

    def __exit__(self, *_: object) -> None:
        state.autocast = self.before.pop()

    def __call__(self, function: Callable) -> Callable:
        """A function that always runs under the policy."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return inside


def fitted(name: str, value: Any) -> Any:
    """An operation's argument in the dtype that the policy gives it."""
    if name in NARROW:
        return recast(value, (float32,), state.autocast)
    return recast(value, (bfloat16, float16), float32) if name in WIDE else value


def recast(value: Any, of: tuple[DType, ...], to: DType) -> Any:
    """A node of some dtypes, or nested ones, in another."""
    if isinstance(value, Node):
        return cast(value, to) if value.dtype in of else value
    if isinstance(value, (list, tuple)):
        return type(value)([recast(v, of, to) for v in value])
    return value
