"""Mixed precision of fully sharded modules: they compute in a dtype that parameters have not.

While a unit's forward runs, each of its parameters is replaced by its value in another dtype. That
is a cast in the program: ranks cast their parts and gather the small ones, gradients pass through
the cast, and optimizers step the parameters in their own dtype. Sums over ranks are those of one
process, in float32 before they are rounded, so that no value depends on the number of ranks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from gnomon.dtypes import DType, float32
from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.nn.normalization import BatchNorm
from gnomon.tensor.pytree import tensors_in, with_leaves
from gnomon.tensor.tensor import Tensor

__all__ = [
    "MixedPrecision",
    "MixedPrecisionPolicy",
    "cast_buffers",
    "cast_floats",
    "computing_in",
    "keep_precision",
    "policy_of",
    "refuse_other_dtypes",
]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes in which a fully sharded unit computes.

    param_dtype: of its parameters in use; they are stored and stepped in their own. reduce_dtype:
    accepted, and no value depends on it: gradients are summed over ranks before they are rounded.
    output_dtype: of its results. cast_forward_inputs: cast what goes in to param_dtype.

    >>> import gnomon as gn
    >>> from gnomon.distributed.fsdp import fully_shard
    >>> policy = MixedPrecisionPolicy(param_dtype=gn.bfloat16, output_dtype=gn.float32)
    >>> model = fully_shard(gn.nn.Linear(4, 2), mp_policy=policy)
    >>> model(gn.ones(1, 4)).dtype, model.weight.dtype
    (gnomon.float32, gnomon.float32)
    >>> gn.distributed.destroy_process_group()
    """

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    output_dtype: DType | None = None
    cast_forward_inputs: bool = True


@dataclass
class MixedPrecision:
    """The dtypes in which units compute; MixedPrecisionPolicy says what they mean.

    buffer_dtype: to which buffers are cast at once. keep_low_precision_grads: refused, since
    gradients have the dtypes of parameters. Where a policy wraps modules, those of ignored classes
    compute in float32.
    """

    param_dtype: DType | None = None
    reduce_dtype: DType | None = None
    buffer_dtype: DType | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Collection[type[Module]] = (BatchNorm,)


def refuse_other_dtypes(where: str, policy: Any, *dtypes: DType | None) -> None:
    """Refuse dtypes in which no parameter can be."""
    for dtype in dtypes:
        if dtype is not None and not (isinstance(dtype, DType) and dtype.is_floating_point):
            raise ArgumentError(
                f"{where}: dtypes are floating-point ones: got {dtype!r} in {policy}. "
                "Say bfloat16, float16 or float32."
            )


def cast_floats(value: Any, dtype: DType | None) -> Any:
    """A nested value whose floating-point tensors have a dtype; as it is where that is None."""
    if dtype is None:
        return value
    return with_leaves(value, lambda x: cast_float(x, dtype))


def cast_float(value: Any, dtype: DType) -> Any:
    """A tensor of floats in a dtype; anything else as it is."""
    is_float = isinstance(value, Tensor) and value.dtype.is_floating_point
    return value.to(dtype) if is_float else value


@contextmanager
def computing_in(
    module: Module, own: Sequence[Tensor], policy: MixedPrecisionPolicy
) -> Iterator[None]:
    """A context in which a module's own parameters have the dtype of a policy."""
    dtype = policy.param_dtype
    if dtype is None:
        yield
        return
    cast = {id(p): p.to(dtype) for p in own if p.dtype != dtype and p.dtype.is_floating_point}
    found = [
        (inner._parameters, name, p)
        for inner in module.modules()
        if not keeps_precision(inner)
        for name, p in inner._parameters.items()
        if id(p) in cast
    ]
    try:
        for holder, name, p in found:
            holder[name] = cast[id(p)]
        yield
    finally:
        for holder, name, p in found:
            holder[name] = p


def policy_of(wanted: MixedPrecision) -> MixedPrecisionPolicy:
    """The dtypes in which a unit computes, from a policy."""
    dtypes = (wanted.param_dtype, wanted.reduce_dtype, wanted.buffer_dtype)
    refuse_other_dtypes("FullyShardedDataParallel", wanted, *dtypes)
    if wanted.keep_low_precision_grads:
        raise ArgumentError(
            "FullyShardedDataParallel: keep_low_precision_grads=True: gradients have the dtypes of "
            "parameters. Cast the parameters."
        )
    return MixedPrecisionPolicy(
        wanted.param_dtype, wanted.reduce_dtype, cast_forward_inputs=wanted.cast_forward_inputs
    )


def keep_precision(module: Module, classes: tuple[type[Module], ...]) -> None:
    """Make modules of some classes compute in float32, and cast their results back."""
    for inner in module.modules():
        if isinstance(inner, classes) and not keeps_precision(inner):
            object.__setattr__(inner, "_keeps_precision", True)
            dtypes: list[DType | None] = []
            inner.register_forward_pre_hook(partial(enter_wide, dtypes), with_kwargs=True)
            inner.register_forward_hook(partial(leave_wide, dtypes))


def keeps_precision(module: Module) -> bool:
    """Whether a module computes in float32, whatever the unit's dtype is."""
    return "_keeps_precision" in vars(module)


def enter_wide(
    dtypes: list[DType | None], module: Module, inputs: tuple, named: dict[str, Any]
) -> Any:
    """Record the dtype of a module's first floating-point input, and cast all to float32."""
    floats = (x.dtype for x in tensors_in((inputs, named)) if x.dtype.is_floating_point)
    dtypes.append(next(floats, None))
    return cast_floats((inputs, named), float32)


def leave_wide(dtypes: list[DType | None], module: Module, inputs: tuple, output: Any) -> Any:
    """Cast a module's result to the recorded dtype of its input."""
    return cast_floats(output, dtypes.pop())


def cast_buffers(module: Module, dtype: DType | None) -> None:
    """Cast buffers of floats to a dtype, but for those of modules that compute in float32."""
    for inner in module.modules():
        if dtype is not None and not keeps_precision(inner):
            inner._buffers.update({k: cast_floats(b, dtype) for k, b in inner._buffers.items()})
