"""gn.xpu and its neighbours: devices that this build does not have, for programs that ask first.

They say that there is none: no device, no memory in use. What only seeds, frees or marks does
nothing; what needs a device is refused. The switches of gn.backends are here too: nothing reads
them.
"""

from __future__ import annotations

from contextlib import ContextDecorator, nullcontext
from types import SimpleNamespace
from typing import Any, Never

from gnomon.errors import ArgumentError
from gnomon.lazy import modules_below


class EmptyBlock(ContextDecorator, nullcontext):
    """A context manager and decorator that changes nothing."""


NONE_OF = {
    bool: "is_available is_bf16_supported is_built is_current_stream_capturing is_initialized "
    "is_tf32_supported",
    dict: "host_memory_stats memory_stats memory_stats_as_nested_dict",
    int: "device_count max_memory_allocated max_memory_cached max_memory_reserved "
    "memory_allocated memory_cached memory_reserved",
    list: "get_arch_list get_rng_state_all memory_snapshot",
    str: "get_gencode_flags memory_summary",
    type(None): "current_accelerator empty_cache empty_host_cache ipc_collect manual_seed "
    "manual_seed_all mark range_pop range_push reset_accumulated_memory_stats "
    "reset_max_memory_allocated reset_max_memory_cached reset_peak_memory_stats seed seed_all "
    "set_rng_state_all",
    EmptyBlock: "device device_index device_of range stream",
}
"""A kind of empty value -> the functions that give it; those that give None do nothing."""
ANSWERS = {name: kind for kind, names in NONE_OF.items() for name in names.split()}
CLASSES = frozenset({"CUDAGraph", "Event", "ExternalStream", "MemPool", "Stream"})
WANTING = (
    "can_device_access_peer current_blas_handle current_device current_device_idx "
    "current_device_index current_stream default_stream device_memory_used get_device_capability "
    "get_device_name get_device_properties get_memory_info get_rng_state graph init initial_seed "
    "list_gpu_processes make_graphed_callables mem_get_info memory_usage power_draw set_device "
    "set_device_idx set_device_index set_per_process_memory_fraction set_rng_state set_stream "
    "synchronize temperature utilization"
)
REFUSED = frozenset(WANTING.split())
"""Functions that need the device."""


class Absent:
    """A kind of device that this build does not have, for programs that ask first.

    >>> xpu.is_available(), xpu.memory_allocated(), xpu.empty_cache()
    (False, 0, None)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        """A function with a fixed answer or a refusal, an unusable class, or a module, by name."""
        asked = f"{self.__dict__.get('name')}.{name}"
        found: Any
        if name in ANSWERS:
            found = function(asked, ANSWERS[name])
        elif name in CLASSES:
            found = type(name, (OnDevice,), {"asked": asked, "__module__": f"gnomon.{self.name}"})
        elif name in REFUSED:
            found = refusal(asked)
        else:
            return modules_below(f"gnomon.{self.name}")(name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*ANSWERS, *CLASSES, *REFUSED})


class OnDevice:
    """A class of an absent device: usable in isinstance() and annotations, but not to be made."""

    asked = ""

    def __init__(self, *_: Any, **__: Any) -> None:
        refusal(self.asked)()


def function(name: str, kind: Any) -> Any:
    """A function that accepts any arguments and returns an empty value."""

    def answer(*_: Any, **__: Any) -> Any:
        return kind()

    answer.__name__ = answer.__qualname__ = name.rpartition(".")[2]
    answer.__doc__ = f"{kind()!r}: there is no such device."
    return answer


def refusal(name: str) -> Any:
    """A function that raises an error, in place of one that needs a GPU."""

    def refuse(*_: Any, **__: Any) -> Never:
        raise ArgumentError(
            f"{name}: this machine computes on the CPU. Ask is_available() before, which is False."
        )

    refuse.__name__, refuse.__doc__ = name.rpartition(".")[2], "Refused: there is no such device."
    return refuse


accelerator, mps, mtia, xpu = map(Absent, ("accelerator", "mps", "mtia", "xpu"))


class Present(SimpleNamespace):
    """The CPU as PyTorch's module of a device, such as torch.cpu."""

    def __getattr__(self, name: str) -> Any:
        """A submodule of gnomon.cpu, by name."""
        return modules_below("gnomon.cpu")(name)


cpu = Present(
    is_available=lambda: True,
    device_count=lambda: 1,
    current_device=lambda: "cpu",
    synchronize=function("synchronize", type(None)),
    stream=function("stream", EmptyBlock),
)


class Switches(SimpleNamespace):
    """A namespace of settings that programs assign before they train, without effect."""

    def flags(self, **_: Any) -> EmptyBlock:
        """A context in which the settings would have other values; it changes nothing."""
        return EmptyBlock()

    def is_available(self) -> bool:
        """Whether the library behind the settings is available: False."""
        return False

    def version(self) -> None:
        """The version of the library behind the settings: None."""


SDP = ("flash", "mem_efficient", "math", "cudnn")
"""Ways to compute attention, which programs turn on and off."""
backends = SimpleNamespace(
    cpu=SimpleNamespace(get_cpu_capability=lambda: "DEFAULT"),
    cuda=Switches(
        matmul=Switches(allow_tf32=False, allow_bf16_reduced_precision_reduction=False),
        is_built=function("is_built", bool),
        sdp_kernel=function("sdp_kernel", EmptyBlock),
        **{f"enable_{kind}_sdp": function(f"enable_{kind}_sdp", type(None)) for kind in SDP},
        **{f"{kind}_sdp_enabled": function(f"{kind}_sdp_enabled", bool) for kind in SDP},
    ),
    cudnn=Switches(benchmark=False, deterministic=True, enabled=False, allow_tf32=False),
    mkl=Switches(),
    mkldnn=Switches(enabled=False),
    mps=Absent("mps"),
    openmp=Switches(),
    opt_einsum=Switches(enabled=False, strategy=None),
    quantized=Switches(engine="none", supported_engines=["none"]),
)
