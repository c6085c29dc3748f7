"""PyTorch's switches: what is fixed here says how, and what may not be changed says nothing.

Programs set these before they begin and ask for them in places; results never depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.dtypes import DType, dtype_of
from gnomon.tensor.amp import get_autocast_dtype, is_autocast_enabled
from gnomon.tensor.creation import set_default_dtype
from gnomon.tensor.tensor import Tensor

has_lapack, has_mkl, has_openmp, has_spectral = True, False, False, False


def answer(name: str, value: Any, what: str) -> Callable[..., Any]:
    """A function of this name and docstring that returns `value` for any arguments."""

    def function(*asked: object) -> Any:
        return value

    function.__name__ = function.__qualname__ = name
    function.__doc__ = what
    return function


FIXED = "Nothing to switch: it is accepted and changes nothing."
ANSWERS: dict[str, Any] = {
    "get_num_interop_threads": 1,
    **dict.fromkeys(("is_anomaly_check_nan_enabled", "is_autocast_cache_enabled"), False),
    **{"is_vulkan_available": False, "is_warn_always_enabled": False},
}
SETTERS = (
    *("clear_autocast_cache", "init_num_threads", "set_autocast_cache_enabled"),
    *("set_num_interop_threads", "set_warn_always"),
)
globals().update({name: answer(name, x, f"Always {x!r}.") for name, x in ANSWERS.items()})
globals().update({name: answer(name, None, FIXED) for name in SETTERS})


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormals are flushed to 0: False, since they are kept."""
    return False


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast to a narrow dtype is on for the CPU."""
    return is_autocast_enabled("cpu")


def get_autocast_cpu_dtype() -> DType:
    """The narrow dtype of products under autocast on the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> DType:
    """The narrow dtype of products under autocast on a GPU."""
    return get_autocast_dtype("cuda")


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by one of PyTorch's oldest constructors, or by its name."""
    kind = t.rpartition(".")[2].removesuffix("Tensor").lower() if isinstance(t, str) else t.dtype
    set_default_dtype(dtype_of(kind))


def typename(obj: object) -> str:
    """The name of an object's type, and of its module.

    >>> typename(1.5)
    'float'
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else (f"{kind.__module__}.{kind.__qualname__}")
    )


def copying(view: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The copying version of a view's function."""

    def function(*args: Any, **kwargs: Any) -> Any:
        made = view(*args, **kwargs)
        parts = [made] if isinstance(made, Tensor) else made
        copies = tuple([part.clone(memory_format="contiguous_format") for part in parts])
        return copies[0] if parts is not made else copies

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name.removesuffix('_copy')}, in memory of its own."
    return function
