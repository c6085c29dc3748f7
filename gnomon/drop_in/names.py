"""PyTorch's meanings of names that mean something else in Gnomon's namespace.

Gnomon's functions follow the array API and its methods PyTorch, so such a function is its method
here (0017).
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import timedelta
from operator import methodcaller
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import urlparse

import gnomon as gn
from gnomon.drop_in.absences import Operators
from gnomon.drop_in.argument_orders import ARGUMENT_ORDERS
from gnomon.drop_in.foreach import group_tensors
from gnomon.lazy import HOMES, load, reached
from gnomon.tensor import out
from gnomon.tensor.conversions import target
from gnomon.tensor.device import KINDS
from gnomon.tensor.rejection import standard_gamma

__all__ = ["ANSWERS", "IDLE", "MEANINGS", "SPELLED", "target_of"]

IDLE = ("accelerator", "backends", "cuda", "mps", "mtia", "xpu")
"""Modules that do nothing, for programs that check for devices first."""


def as_method(name: str) -> Callable[..., Any]:
    """Make a function that calls a tensor's method of its name."""

    def call(input: gn.Tensor, *args: Any, **named: Any) -> Any:
        if "out" in named:
            return out.into(call, (input, *args), named)
        return methodcaller(name, *args, **named)(input)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "torch"
    return call


def meshgrid(*tensors: Any, indexing: str = "ij") -> Sequence[gn.Tensor]:
    """torch.meshgrid, whose default indexing is "ij"."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return gn.meshgrid(*given, indexing=indexing)


def check(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise RuntimeError unless a condition holds, as torch._check."""
    if not cond:
        raise RuntimeError("Expected cond to be True" if message is None else message())


def check_now(input: Any, assert_msg: str = "Expected Tensor with single nonzero value") -> None:
    """Raise RuntimeError unless a tensor is true; it is read at once."""
    check(bool(input), lambda: assert_msg)


def can_cast(from_: gn.dtype, to: gn.dtype) -> bool:
    """Whether torch.can_cast allows a cast, by the kinds of both dtypes."""
    return out.kind(from_) <= out.kind(to)


class TorchVersion(str):
    """A version that is compared with others number by number, given as text or as a tuple.

    >>> version = TorchVersion("2.13.0+gnomon")
    >>> version >= (2, 6), version < "2.9", version == "2.13.0+gnomon"
    (True, False, True)
    """

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return numbers_of(self) < numbers_of(other)

    def __le__(self, other: object) -> bool:
        return numbers_of(self) <= numbers_of(other)

    def __gt__(self, other: object) -> bool:
        return numbers_of(self) > numbers_of(other)

    def __ge__(self, other: object) -> bool:
        return numbers_of(self) >= numbers_of(other)


def numbers_of(version: object) -> tuple[int, ...]:
    """The leading numbers of a version, of text or of a tuple."""
    if isinstance(version, str):
        version = version.partition("+")[0].split(".")
    given = version if isinstance(version, tuple | list) else [version]
    found = (re.match(r"\d+", str(part)) for part in given)
    return tuple(int(part[0]) for part in itertools.takewhile(bool, found) if part)


METHODS = ("equal", "nonzero", "prod", "sort", "squeeze", "std", "sum", "var")
"""Functions whose defaults differ between Gnomon and PyTorch, so that the methods are used."""
CASTS = ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
"""Dtypes in torch._cast_Long and similar functions."""
MEANINGS: dict[str, Any] = {
    **{name: as_method(name) for name in METHODS},
    **ARGUMENT_ORDERS,
    **{f"_cast_{name}": as_method(name.lower()) for name in CASTS},
    "__version__": TorchVersion("2.13.0+gnomon"),
    "__config__": SimpleNamespace(show=lambda: "Gnomon", parallel_info=lambda: "Gnomon"),
    "_assert_async": check_now,
    "_check": check,
    "_standard_gamma": standard_gamma,
    "can_cast": can_cast,
    "meshgrid": meshgrid,
    "ops": Operators("torch.ops", "", lambda name: None),
    "version": SimpleNamespace(__version__="2.13.0+gnomon", cuda=None, hip=None, git_version=""),
}
"""Values of names in torch itself."""


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
    "autograd.function.FunctionCtx": "autograd.Context",
    "distributions.kl._KL_REGISTRY": "distributions.kl.DISTANCES",
    "jit.RecursiveScriptModule": "nn.scripted.ScriptModule",
    "jit.ScriptModule": "nn.scripted.ScriptModule",
    "nn.functional.grouped_mm": "grouped_mm",
    "nn.init._calculate_correct_fan": "nn.init.fan_of",
    "nn.init._calculate_fan_in_and_fan_out": "nn.init.fans",
    "nn.modules.dropout._DropoutNd": "nn.activations.Dropped",
    "nn.modules.linear.NonDynamicallyQuantizableLinear": (
        "nn.linear.NonDynamicallyQuantizableLinear"
    ),
    "nn.modules.module._IncompatibleKeys": "nn.states.Report",
    "nn.modules.transformer._get_activation_fn": "nn.transformer.activation_of",
    **{
        f"optim.optimizer.register_optimizer_step_{x}_hook": (
            f"optim.step_hooks.register_optimizer_step_{x}_hook"
        )
        for x in ("post", "pre")
    },
    "utils.hooks.RemovableHandle": "autograd.graph.Handle",
    "utils.dlpack.to_dlpack": "Tensor.__dlpack__",
}
"""PyTorch's names and Gnomon's names of the same objects."""


def parse_to(*given: Any, **named: Any) -> tuple[Any, Any, bool, Any]:
    """Sort the arguments of `Module.to` into device, dtype, non_blocking and memory_format."""
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
    """A dict's values with their pytree keys, and its keys."""
    key_of = reached("utils.pytree.MappingKey")
    return [(key_of(key), value) for key, value in d.items()], list(d)


def clipped_sigmoid(x: gn.Tensor) -> gn.Tensor:
    """The sigmoid, at least the smallest normal number and at most 1 - eps of its dtype."""
    limits = gn.finfo(x.dtype)
    return x.sigmoid().clamp(limits.tiny, 1.0 - limits.eps)


def is_outside(group: Any) -> bool:
    """Whether this rank is not a member of a group that `new_group` returned."""
    return group == reached("distributed.GroupMember").NON_GROUP_MEMBER


def backend_name(group: Any = None) -> str:
    """Return "gloo", PyTorch's backend for CPUs, for any group of this rank."""
    reached("distributed.get_backend")(group)
    return "gloo"


def answer_no(*_: Any, **__: Any) -> bool:
    """Return False, for questions about features that Gnomon lacks."""
    return False


ANSWERS: dict[str, Any] = dict.fromkeys(
    (
        "_dynamo.utils.has_triton",
        "_dynamo.utils.has_triton_package",
        "_inductor.utils.has_triton_package",
        "_C._are_functorch_transforms_active",
        "_C._get_tracing_state",
        "_jit_internal.is_scripting",
        "_subclasses.fake_tensor.is_fake",
        "profiler.kineto_available",
        "utils._python_dispatch.is_traceable_wrapper_subclass",
        "utils._triton.has_triton",
        "utils._triton.has_triton_package",
    ),
    answer_no,
)
"""Functions that answer whether a feature exists."""
ANSWERS |= {
    **dict.fromkeys(("cpu.is_available", "cpu.is_initialized"), lambda: True),
    **dict.fromkeys(("cpu.set_device", "cpu.synchronize"), lambda device=None: None),
    "cpu.current_device": lambda: "cpu",
    "cpu.current_stream": lambda device=None: None,
    "cpu.device_count": lambda: 1,
    "cpu.stream": nullcontext,
    **{f"_C._has_{x}": False for x in ("cuda", "cudnn", "mkldnn", "mps", "mtia", "xpu")},
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
    **dict.fromkeys(
        (f"distributed.{x}.default_pg_timeout" for x in ("constants", "distributed_c10d")),
        timedelta(minutes=30),
    ),
    "distributions.transforms._clipped_sigmoid": clipped_sigmoid,
    "hub.urlparse": urlparse,
    **{f"nn.attention.flex_attention._{x}_mod_signature": Callable for x in ("mask", "score")},
    "optim.optimizer.ParamsT": Any,
    "optim.optimizer.required": object(),
    "serialization.DEFAULT_PROTOCOL": 2,
    "serialization.MAP_LOCATION": Any,
    "jit.Final": Final,
    "types.Number": int | float | bool,
    "utils._pytree._dict_flatten_with_keys": by_keys,
    # of generators of random numbers on cards, which programs put back around a second forward
    "utils._foreach_utils._group_tensors_by_device_and_dtype": group_tensors,
    "utils.checkpoint.get_device_states": lambda *_: ([], []),
    "utils.checkpoint.set_device_states": lambda *_, **__: None,
    "utils.data._utils.collate.np_str_obj_array_pattern": re.compile("[SaUO]"),
}
NAMESPACES = {
    "_C._nn": SimpleNamespace(_parse_to=parse_to),
    "_dynamo._trace_wrapped_higher_order_op": SimpleNamespace(TransformGetItemToIndex=nullcontext),
}
"""Objects for private modules of PyTorch that packages use."""
HERE = frozenset({"hub"})
"""Modules of torch that are files of this folder."""
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
"""PyTorch's submodules whose contents are in one module of Gnomon."""


def target_of(path: str) -> Any:
    """The object behind a module of torch, by its path below torch; None if there is none."""
    if path in NAMESPACES:
        return NAMESPACES[path]
    if path in HERE:
        return load(f"gnomon.drop_in.{path}")
    return reached(FILES.get(path) or HOMES.get(path, path))
