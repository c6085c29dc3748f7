"""Gnomon: a deep-learning compiler and distributed training system, small enough to read.

`import gnomon as gn`: the Python array API standard's names, PyTorch's beside them; everything that
is generated from the registry of operations is a function here and a method of Tensor.
"""

from __future__ import annotations

import importlib
import math
import sys
from types import ModuleType
from typing import Any

import numpy as _numpy  # from here it loads in 70 ms, from far inside other imports in up to 120

from gnomon.dtypes import DType as dtype
from gnomon.dtypes import (
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gnomon.dtypes import bool_ as bool
from gnomon.errors import ArgumentError as _ArgumentError
from gnomon.jit import compile
from gnomon.tensor import autograd
from gnomon.tensor import copies as _copies
from gnomon.tensor import einops as _einops
from gnomon.tensor import hooks as _hooks
from gnomon.tensor import show as _show
from gnomon.tensor.autocast import autocast
from gnomon.tensor.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from gnomon.tensor.control import (
    are_deterministic_algorithms_enabled,
    backends,
    cuda,
    evaluate,
    explain,
    get_float32_matmul_precision,
    get_memory_limit,
    get_num_threads,
    set_default_device,
    set_float32_matmul_precision,
    set_memory_limit,
    set_num_threads,
    synchronize,
    use_deterministic_algorithms,
)
from gnomon.tensor.creation import (
    arange,
    as_tensor,
    asarray,
    empty,
    empty_like,
    eye,
    from_numpy,
    frombuffer,
    full,
    full_like,
    get_default_dtype,
    linspace,
    ones,
    ones_like,
    set_default_dtype,
    tensor,
    tril_indices,
    triu_indices,
    zeros,
    zeros_like,
)
from gnomon.tensor.device import Device as device
from gnomon.tensor.dlpack import from_dlpack
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.indexing import index_put
from gnomon.tensor.nans import debug_nans
from gnomon.tensor.random import (
    Generator,
    bernoulli,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)
from gnomon.tensor.selection import (
    allclose,
    argwhere,
    bincount,
    combinations,
    histc,
    masked_select,
    unique,
    unique_all,
    unique_consecutive,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from gnomon.tensor.standard import astype, broadcast_shapes, nonzero
from gnomon.tensor.tensor import Size, Tensor

__version__ = "0.1.0"
__array_api_version__ = "2024.12"
_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Versions of the array API standard; each holds the ones before it."""

for _name, _function in FUNCTIONS.items():
    globals().setdefault(_name, _function)

double, half, short, long = float64, float16, int16, int64
float, int = float32, int32
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
clone, detach = Tensor.clone, Tensor.detach
strided = contiguous_format = preserve_format = "strided"

_PARTS = ("nn", "optim", "utils", "distributions", "jit", "distributed", "models", "profiler")
_LATE = {part: f"gnomon.{part}" for part in _PARTS} | {
    part: f"gnomon.tensor.{part}" for part in ("amp", "linalg")
}
"""Modules that load when they are first named."""

_LATE_NAMES = {
    "gnomon.tensor.accumulate": ("accumulate",),
    "gnomon.tensor.files": ("load", "save"),
    "gnomon.tensor.flow": ("cond", "scan", "while_loop"),
    "gnomon.tensor.legacy": (
        *("BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor"),
        *("IntTensor", "LongTensor", "ShortTensor"),
    ),
    "gnomon.tensor.windows": (
        *("bartlett_window", "blackman_window", "hamming_window", "hann_window", "logspace"),
    ),
    "gnomon.tensor.limits": (
        *("__array_namespace_info__", "can_cast", "finfo", "iinfo", "is_floating_point"),
        *("is_tensor", "isdtype", "numel", "promote_types", "result_type"),
    ),
    "gnomon.tensor.vmap": ("vmap",),
}
_HOME = {name: module for module, names in _LATE_NAMES.items() for name in names}
"""Names of this package whose modules load when one of them is first used."""


def _namespace(self: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The namespace that the array API standard asks a tensor for: gnomon itself."""
    if api_version not in (None, *_API_VERSIONS):
        raise _ArgumentError(
            f"__array_namespace__: no version {api_version!r}. Use one of {_API_VERSIONS}."
        )
    return importlib.import_module("gnomon")


Tensor.__array_namespace__ = _namespace


def _part(name: str) -> ModuleType | None:
    """A part of the package; None where this version has none of that name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        return None


def __getattr__(name: str) -> Any:
    if name in _HOME:
        found = getattr(importlib.import_module(_HOME[name]), name)
    else:
        found = _part(_LATE[name]) if name in _LATE else None
    if found is None:
        raise AttributeError(f"module 'gnomon' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_LATE})


class _Package(ModuleType):
    """The package: a function's name is not lost to a submodule that loads later."""

    def __setattr__(self, name: str, value: object) -> None:
        mine = self.__dict__.get(name)
        if not (isinstance(value, ModuleType) and callable(mine)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


__all__ = sorted(
    name
    for name, value in (globals() | _HOME).items()
    if not name.startswith("_")
    and name not in ("Any", "FUNCTIONS", "ModuleType", "annotations")
    and not isinstance(value, ModuleType)
)
