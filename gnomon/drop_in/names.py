"""Meanings of PyTorch's names, where Gnomon's namespace, the array API's, has another.

Methods have PyTorch's meaning, so a function of two meanings is its method here (0017).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import timedelta
from operator import methodcaller
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlparse

import gnomon as gn
from gnomon.drop_in.absences import Operators
from gnomon.drop_in.argument_orders import ARGUMENT_ORDERS
from gnomon.lazy import HOMES, load, reached
from gnomon.tensor import out
from gnomon.tensor.conversions import target
from gnomon.tensor.device import KINDS
from gnomon.tensor.rejection import standard_gamma

__all__ = ["ANSWERS", "IDLE", "MEANINGS", "SPELLED", "target_of"]

IDLE = ("accelerator", "backends", "cuda", "mps", "mtia", "xpu")
"""Modules that are here for programs that ask first."""


def as_method(name: str) -> Callable[..., Any]:
    """A function that is a tensor's method of its name."""

    def call(input: gn.Tensor, *args: Any, **named: Any) -> Any:
        if "out" in named:
            return out.into(call, (input, *args), named)
        return methodcaller(name, *args, **named)(input)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "torch"
    return call


def meshgrid(*tensors: Any, indexing: str = "ij") -> Sequence[gn.Tensor]:
    """PyTorch's grid: its first axis is the first tensor's."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return gn.meshgrid(*given, indexing=indexing)


def check(cond: Any, message: Callable[[], str] | None = None) -> None:
    """PyTorch's check of what must hold."""
    if not cond:
        raise RuntimeError("Expected cond to be True" if message is None else message())


def check_now(input: Any, assert_msg: str = "Expected Tensor with single nonzero value") -> None:
    """PyTorch's check of a tensor that need not be read at once: here it is."""
    check(bool(input), lambda: assert_msg)


def can_cast(from_: gn.dtype, to: gn.dtype) -> bool:
    """Whether PyTorch stores one dtype in another: of no fewer kinds of numbers."""
    return out.kind(from_) <= out.kind(to)


METHODS = ("equal", "nonzero", "prod", "sort", "squeeze", "std", "sum", "var")
"""Functions whose meaning without a word is the array API's here, and the method's in PyTorch."""
CASTS = ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
"""Dtypes by the names of old: `torch._cast_Long(x)` is `x.long()`."""
MEANINGS: dict[str, Any] = {
    **{name: as_method(name) for name in METHODS},
    **ARGUMENT_ORDERS,
    **{f"_cast_{name}": as_method(name.lower()) for name in CASTS},
    "__version__": "2.13.0+gnomon",
    "__config__": SimpleNamespace(show=lambda: "Gnomon", parallel_info=lambda: "Gnomon"),
    "_assert_async": check_now,
    "_check": check,
    "_standard_gamma": standard_gamma,
    "can_cast": can_cast,
    "meshgrid": meshgrid,
    "ops": Operators("torch.ops", "", lambda name: None),
    "version": SimpleNamespace(__version__="2.13.0+gnomon", cuda=None, hip=None, git_version=""),
}
"""Names of torch itself."""


SPELLED = {
    "GradScaler": "amp.GradScaler",
    **dict.fromkeys(("OutOfMemoryError", "cuda.OutOfMemoryError"), "errors.OutOfMemory"),
    "_grouped_mm": "grouped_mm",
    "backends.cuda.SDPBackend": "nn.attention.SDPBackend",
    "distributed._functional_collectives.DeviceMesh": "distributed.DeviceMesh",
    "distributed._all_gather_base": "distributed.all_gather_single",
    "distributed._reduce_scatter_base": "distributed.reduce_scatter_single",
    "distributed.checkpoint.state_dict._init_optim_state": (
        "distributed.checkpoint.state_dict.init_optimizer_state"
    ),
    "distributed.distributed_c10d._get_global_rank": "distributed.get_global_rank",
    "distributions.transforms._InverseTransform": "distributions.transform.InverseTransform",
    "distributions.utils._standard_normal": "distributions.parameters.standard_normal",
    "distributions.utils._sum_rightmost": "distributions.parameters.sum_rightmost",
    "jit.RecursiveScriptModule": "nn.scripted.ScriptModule",
    "jit.ScriptModule": "nn.scripted.ScriptModule",
    "nn.functional.grouped_mm": "grouped_mm",
    "nn.init._calculate_correct_fan": "nn.init.fan_of",
    "nn.init._calculate_fan_in_and_fan_out": "nn.init.fans",
    "nn.modules.linear.NonDynamicallyQuantizableLinear": (
        "nn.linear.NonDynamicallyQuantizableLinear"
    ),
    "nn.modules.transformer._get_activation_fn": "nn.transformer.activation_of",
    **{
        f"optim.optimizer.register_optimizer_step_{x}_hook": (
            f"optim.step_hooks.register_optimizer_step_{x}_hook"
        )
        for x in ("post", "pre")
    },
    "utils.dlpack.to_dlpack": "Tensor.__dlpack__",
}
"""PyTorch's names -> those under which the same is here."""


def parse_to(*given: Any, **named: Any) -> tuple[Any, Any, bool, Any]:
    """Sort what `Module.to` is given: a device, a dtype, a flag, a format of memory."""
    devices = [
        x
        for x in given
        if isinstance(x, gn.device) or (isinstance(x, str) and x.partition(":")[0] in KINDS)
    ]
    device = named.get("device", devices[0] if devices else None)
    dtype = target(given, {key: named[key] for key in ("device", "dtype") if key in named})
    made = gn.device(device) if isinstance(device, str) else device
    return made, dtype, bool(named.get("non_blocking", False)), named.get("memory_format")


def by_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """A dict's values with their keys, as trees of PyTorch's show them."""
    key_of = reached("utils.pytree.MappingKey")
    return [(key_of(key), value) for key, value in d.items()], list(d)


def is_outside(group: Any) -> bool:
    """Whether this rank is in none of what `new_group` gave."""
    return group == reached("distributed.GroupMember").NON_GROUP_MEMBER


def backend_name(group: Any = None) -> str:
    """PyTorch's name of what connects ranks without cards: scripts ask whether it is that."""
    reached("distributed.get_backend")(group)
    return "gloo"


def answer_no(*_: Any, **__: Any) -> bool:
    """The answer to a question about what PyTorch has and Gnomon does without."""
    return False


ANSWERS: dict[str, Any] = dict.fromkeys(
    (
        "_dynamo.utils.has_triton",
        "_dynamo.utils.has_triton_package",
        "_inductor.utils.has_triton_package",
        "_C._are_functorch_transforms_active",
        "_C._get_tracing_state",
        "_jit_internal.is_scripting",
        "profiler.kineto_available",
        "utils._python_dispatch.is_traceable_wrapper_subclass",
        "utils._triton.has_triton",
        "utils._triton.has_triton_package",
    ),
    answer_no,
)
"""Questions of programs that ask first -> what answers them."""
ANSWERS |= {
    **dict.fromkeys(("cpu.is_available", "cpu.is_initialized"), lambda: True),
    **dict.fromkeys(("cpu.set_device", "cpu.synchronize"), lambda device=None: None),
    "cpu.current_device": lambda: "cpu",
    "cpu.current_stream": lambda device=None: None,
    "cpu.device_count": lambda: 1,
    "cpu.stream": nullcontext,
    "_utils._element_size": lambda dtype: dtype.itemsize,
    "_utils._get_available_device_type": lambda: "cuda" if gn.cuda.is_available() else None,
    "_utils._get_device_module": lambda device_type: getattr(sys.modules["torch"], device_type),
    **dict.fromkeys(
        ("distributed._rank_not_in_group", "distributed.distributed_c10d._rank_not_in_group"),
        is_outside,
    ),
    **dict.fromkeys(
        ("distributed.get_backend", "distributed.distributed_c10d.get_backend"), backend_name
    ),
    "cuda._lazy_call": lambda callable, **_: None,
    "distributed.device_mesh._mesh_resources": SimpleNamespace(),
    "distributed.constants.default_pg_timeout": timedelta(minutes=30),
    "hub.urlparse": urlparse,
    **{f"nn.attention.flex_attention._{x}_mod_signature": Callable for x in ("mask", "score")},
    "optim.optimizer.ParamsT": Any,
    "optim.optimizer.required": object(),
    "serialization.DEFAULT_PROTOCOL": 2,
    "serialization.MAP_LOCATION": Any,
    "utils._pytree._dict_flatten_with_keys": by_keys,
}
NAMESPACES = {
    "_C._nn": SimpleNamespace(_parse_to=parse_to),
    "_dynamo._trace_wrapped_higher_order_op": SimpleNamespace(TransformGetItemToIndex=nullcontext),
}
"""Parts of PyTorch's own library -> what packages call of them."""
HERE = frozenset({"hub"})
"""PyTorch's modules that scripts alone have, files of this folder."""
FILES = {
    f"{home}.{name}": home
    for home, names in (
        ("distributed.fsdp", "api fully_sharded_data_parallel"),
        (
            "distributed.checkpoint",
            "api default_planner filesystem metadata state_dict_loader state_dict_saver stateful",
        ),
    )
    for name in names.split()
} | {"multiprocessing.spawn": "multiprocessing.spawning"}
"""PyTorch's modules below what is one file here -> that file."""


def target_of(path: str) -> Any:
    """The stand-in of a module of PyTorch's, by its path below torch; None where there is none."""
    if path in NAMESPACES:
        return NAMESPACES[path]
    if path in HERE:
        return load(f"gnomon.drop_in.{path}")
    return reached(FILES.get(path) or HOMES.get(path, path))
