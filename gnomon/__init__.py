"""Gnomon: a deep-learning compiler and distributed training system with PyTorch's names.

`import gnomon as gn`: the Python array API standard's names, PyTorch's beside them; everything that
is generated from the registry of operations is a function here and a method of Tensor.
"""

from __future__ import annotations

import importlib
import math
import sys
from types import FunctionType as _Function
from types import ModuleType
from types import SimpleNamespace as _Names
from typing import Any

import numpy as _numpy  # from here it loads in 70 ms, from far inside other imports in up to 120

from gnomon.capture.jit import compile
from gnomon.dtypes import DType as dtype
from gnomon.dtypes import (
    bfloat16,
    complex64,
    complex128,
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
from gnomon.interrupts import watch as _watch_interrupts
from gnomon.ir.provenance import show_error as _show_error
from gnomon.lazy import NamesElsewhere as _NamesElsewhere
from gnomon.lazy import below as _below
from gnomon.lazy import complex_calls as _complex_calls
from gnomon.lazy import load as _load
from gnomon.lazy import settle as _settle
from gnomon.ops.registry import OPS as _OPS
from gnomon.ops.registry import explained as _explained
from gnomon.tensor import conversions as _conversions
from gnomon.tensor import copies as _copies
from gnomon.tensor import einops as _einops
from gnomon.tensor import show as _show
from gnomon.tensor.autocast import autocast
from gnomon.tensor.autograd import hooks as _hooks
from gnomon.tensor.autograd.engine import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from gnomon.tensor.creation import (
    arange,
    as_tensor,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    get_default_dtype,
    linspace,
    ones,
    ones_like,
    set_default_dtype,
    tensor,
    zeros,
    zeros_like,
)
from gnomon.tensor.device import Device as device
from gnomon.tensor.dlpack import from_dlpack
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.functions import LATE as _LATE_METHODS
from gnomon.tensor.indexing import index_put
from gnomon.tensor.nans import debug_nans
from gnomon.tensor.overrides import overridable as _overridable
from gnomon.tensor.placing import get_default_device, set_default_device
from gnomon.tensor.random import (
    Generator,
    bernoulli,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
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
    pdist,
    tril_indices,
    triu_indices,
    unique,
    unique_all,
    unique_consecutive,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from gnomon.tensor.show import set_printoptions
from gnomon.tensor.size import Size
from gnomon.tensor.standard import astype, broadcast_shapes, nonzero
from gnomon.tensor.state import complexes as _complexes
from gnomon.tensor.tensor import Tensor

__version__ = "0.1.0"
version = _Names(__version__=__version__, cuda=None, hip=None, xpu=None, debug=False)
__array_api_version__ = "2025.12"
_API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the array API standard; each holds the ones before it."""

_LOOKED_INTO = tuple(
    f"gnomon.tensor.{part}"
    for part in ("choices", "creation", "random", "selection", "sharing", "standard")
)
"""Modules whose functions are no operations: wrong calls are explained here."""

for _name, _function in FUNCTIONS.items():
    if not _OPS[_name].facts.alone:
        globals().setdefault(_name, _function)

for _name, _function in list(globals().items()):
    if getattr(_function, "__module__", "").startswith(_LOOKED_INTO) and callable(_function):
        _checked = _explained(_function) if isinstance(_function, _Function) else _function
        globals()[_name] = _overridable(_checked) if isinstance(_checked, _Function) else _checked

double, half, short, long = float64, float16, int16, int64
float, int = float32, int32
cfloat, cdouble = complex64, complex128
e, inf, nan, newaxis, pi = math.e, math.inf, math.nan, None, math.pi
clone, detach = map(_overridable, (Tensor.clone, Tensor.detach))
_settle(__name__, globals())
_settle(__name__, vars(Tensor), "Tensor.")
strided, contiguous_format, preserve_format = "strided", "contiguous_format", "preserve_format"
channels_last, channels_last_3d = "channels_last", "channels_last_3d"
sparse_coo, sparse_csr = "sparse_coo", "sparse_csr"

_PARTS = (
    *("nn", "optim", "utils", "distributions", "distributed", "library", "models", "profiler"),
    *("serialization", "testing", "compiler", "export", "fx", "gguf", "multiprocessing", "onnx"),
    "quant",
)
_LATE = {part: f"gnomon.{part}" for part in _PARTS} | {
    part: f"gnomon.tensor.{part}"
    for part in (
        *("amp", "fft", "func", "linalg", "masked", "overrides", "quasirandom", "random"),
        *("signal", "special", "storage"),
    )
}
_LATE |= {"autograd": "gnomon.tensor.autograd.names", "jit": "gnomon.capture.scripting"}
_LATE |= {"futures": "gnomon.tensor.works", "nested": "gnomon.nn.nested"}
_LATE["sparse"] = "gnomon.tensor.sparse"
"""Modules that load when they are first named."""

_LATE_NAMES = {
    "gnomon.tensor.absent": ("accelerator", "backends", "cpu", "mps", "mtia", "xpu"),
    "gnomon.tensor.cards": ("cuda",),
    "gnomon.tensor.accumulate": ("accumulate",),
    "gnomon.tensor.amp": ("get_autocast_dtype", "is_autocast_enabled", "set_autocast_enabled"),
    "gnomon.serialization.files": ("load", "save"),
    "gnomon.capture.loaded": ("load_compiled",),
    "gnomon.tensor.control": (
        *("evaluate", "explain", "get_float32_matmul_precision", "get_memory_limit"),
        *("get_num_threads", "set_float32_matmul_precision", "set_memory_limit"),
        *("set_num_threads", "synchronize"),
    ),
    "gnomon.capture.control_flow": ("cond", "scan", "while_loop"),
    "gnomon.tensor.legacy": (
        *("BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor"),
        *("IntTensor", "LongTensor", "ShortTensor"),
    ),
    "gnomon.tensor.composites": (
        *_LATE_METHODS["composites"],
        *("affine_grid_generator", "conv_tbc", "cumulative_trapezoid", "fill"),
        *("frobenius_norm", "gradient", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d"),
        *("max_pool1d_with_indices", "norm_except_dim", "nuclear_norm", "real", "rsub"),
    ),
    "gnomon.tensor.complex_creation": (
        *("complex", "imag", "polar", "view_as_complex", "view_as_real"),
    ),
    "gnomon.tensor.spectrograms": ("istft", "stft"),
    "gnomon.tensor.sparse": ("spmm",),
    "gnomon.tensor.sparse_tensor": ("sparse_coo_tensor", "sparse_csr_tensor"),
    "gnomon.tensor.storage": ("TypedStorage", "UntypedStorage", "is_storage"),
    "gnomon.tensor.matrices": (*_LATE_METHODS["matrices"], "chain_matmul"),
    "gnomon.tensor.lobpcg": ("lobpcg",),
    "gnomon.tensor.low_rank": ("pca_lowrank", "svd_lowrank"),
    "gnomon.tensor.questions": (*_LATE_METHODS["questions"], "histogramdd", "unravel_index"),
    "gnomon.tensor.splicing": (
        *_LATE_METHODS["splicing"],
        *("constant_pad_nd", "empty_permuted", "empty_strided", "range", "scalar_tensor"),
        "slice_copy",
    ),
    "gnomon.tensor.determinism": (
        *("are_deterministic_algorithms_enabled", "get_deterministic_debug_mode"),
        *("is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode"),
        "use_deterministic_algorithms",
    ),
    "gnomon.tensor.switches": (
        *("clear_autocast_cache", "get_autocast_cpu_dtype"),
        *("get_autocast_gpu_dtype", "get_num_interop_threads"),
        *("has_lapack", "has_mkl", "has_openmp", "has_spectral", "init_num_threads"),
        *("is_anomaly_check_nan_enabled", "is_autocast_cache_enabled", "is_autocast_cpu_enabled"),
        *("is_vulkan_available", "is_warn_always_enabled"),
        *("set_autocast_cache_enabled", "set_default_tensor_type", "set_flush_denormal"),
        *("set_num_interop_threads", "set_warn_always", "typename"),
    ),
    "gnomon.nn.functional": ("alpha_dropout", "ctc_loss", "feature_alpha_dropout", "rrelu"),
    "gnomon.tensor.windows": (
        *("bartlett_window", "blackman_window", "hamming_window", "hann_window"),
        *("kaiser_window", "logspace"),
    ),
    "gnomon.tensor.limits": (
        *(
            "__array_namespace_info__",
            "_assert",
            "can_cast",
            "finfo",
            "iinfo",
            "is_complex",
            "is_floating_point",
        ),
        *("is_tensor", "isdtype", "numel", "promote_types", "result_type"),
    ),
    "gnomon.tensor.rejection": ("binomial", "poisson"),
    "gnomon.tensor.choices": _LATE_METHODS["choices"],
    "gnomon.tensor.sharing": ("asarray", "frombuffer"),
    "gnomon.tensor.vmap": ("vmap",),
}
_HOME = {name: module for module, names in _LATE_NAMES.items() for name in names}
"""Names of this package whose modules load when one of them is first used."""
_COMPOSED = tuple(
    f"gnomon.tensor.{part}"
    for part in (
        *("choices", "complex_creation", "composites", "low_rank", "matrices", "questions"),
        *("splicing", "windows"),
    )
)
"""Modules of functions in Python, which a class of their arguments may take over."""


def _namespace(self: Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The namespace that the array API standard asks a tensor for: gnomon itself."""
    if api_version not in (None, *_API_VERSIONS):
        raise _ArgumentError(
            f"__array_namespace__: no version {api_version!r}. Use one of {_API_VERSIONS}."
        )
    return importlib.import_module("gnomon")


Tensor.__array_namespace__ = _namespace
_complexes.append(_complex_calls)


def _part(name: str) -> ModuleType | None:
    """A part of the package; None where this version has none of that name."""
    try:
        return _load(name)
    except ModuleNotFoundError as missing:
        if missing.name != name:
            raise
        return None


def _derived(name: str) -> Any:
    """A function that its ending tells: `_` writes to its argument, `_copy` copies what is seen."""
    stem, _, ending = name.rpartition("_")
    if ending == "copy" and hasattr(Tensor, stem):
        switches = _load("gnomon.tensor.switches")
        return switches.copying(getattr(Tensor, stem), name)
    if name.startswith("_foreach_"):
        return _load("gnomon.drop_in.foreach").foreach(name)
    if ending or not stem or name.startswith("_"):
        return None
    functional = _load("gnomon.nn.functional")
    return getattr(Tensor, name, None) or getattr(functional, name, None)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        found = getattr(_load(_HOME[name]), name)
        if _HOME[name] in _COMPOSED and isinstance(found, _Function):
            found = _overridable(found)
    else:
        found = _part(_LATE[name]) if name in _LATE else _below(__name__, name) or _derived(name)
    if found is None:
        raise AttributeError(f"module 'gnomon' has no attribute {name!r}")
    globals()[name] = found
    _settle(__name__, {name: found})
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_LATE})


class _Package(ModuleType):
    """The package: what has a name does not lose it to a submodule that loads later."""

    def __setattr__(self, name: str, value: object) -> None:
        mine = self.__dict__.get(name)
        stands = callable(mine) or (mine is not None and isinstance(value, _NamesElsewhere))
        if not (isinstance(value, ModuleType) and stands):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
_watch_interrupts()
if sys.excepthook is sys.__excepthook__:
    sys.excepthook = _show_error


__all__ = sorted(
    name
    for name, value in (globals() | _HOME).items()
    if not name.startswith("_")
    and name not in ("Any", "FUNCTIONS", "ModuleType", "annotations")
    and not isinstance(value, ModuleType)
)
