"""Write gnomon/drop_in/torch_names.txt: PyTorch's public names that Gnomon lacks, by module.

A development tool: PyTorch is asked, in a process of its own (`python tools/torch_names.py`). What
a program may import of private modules is listed here, as other packages use it.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from gnomon.drop_in.names import MEANINGS, SPELLED, target_of
from gnomon.lazy import HOMES

FILE = Path(__file__).parents[1] / "gnomon" / "drop_in" / "torch_names.txt"
Names = dict[str, dict[str, list[str]]]
"""Module -> kind -> names."""
Asked = tuple[Names, list[list[str]]]
"""PyTorch's names, and those of them that are one object's."""
LEFT_OUT = (
    *("torch.bin", "torch.contrib", "torch.testing", "torch.utils.hipify"),
    *("torch.utils.tensorboard", "torch.utils.benchmark.utils.compile"),
    "torch.distributed.elastic.rendezvous.etcd_rendezvous_backend",
)
"""Modules that a walk leaves out: for tests and builds, and those that need other packages."""
LISTED = """
torch testing onnx.symbolic_helper return_types functional version
"""
"""Public modules that a walk does not find, or leaves out, below torch."""
PRIVATE = """
_C _C._distributed_c10d _C._functorch __config__ __future__ _custom_ops _dynamo._trace_wrapped
_dynamo _dynamo.config _dynamo.decorators _dynamo.eval_frame _dynamo.utils _dynamo.exc
_dynamo.external_utils _functorch _functorch.config _functorch.aot_autograd _functorch.apis
_functorch.partitioners _guards _higher_order_ops _higher_order_ops.associative_scan _inductor
_inductor.config _inductor.utils _jit_internal _library _library.custom_ops _linalg_utils _logging
_lowrank _namedtensor_internals _ops _prims_common _refs _subclasses _subclasses.fake_tensor
_tensor _tensor_str _utils _vmap_internals _weights_only_unpickler ao.quantization.fx
distributed._composable distributed._composable.fsdp distributed._composable.replicate
distributed._functional_collectives distributed._shard distributed._shard.checkpoint
distributed._shard.sharded_tensor distributed._shard.sharded_tensor.api
distributed._state_dict_utils distributed._symmetric_memory distributed._tensor
distributed._tensor.api distributed._tensor.experimental distributed._tensor.placement_types
distributed._tools distributed.algorithms._checkpoint
distributed.algorithms._checkpoint.checkpoint_wrapper distributed.algorithms._comm_hooks
distributed.fsdp._common_utils distributed.fsdp._runtime_utils distributed.fsdp._traversal_utils
distributed.fsdp._fully_shard distributed.tensor._dtensor_spec distributed.tensor._utils
distributed.tensor._redistribute distributed.tensor.experimental._attention fx._symbolic_trace
fx._pytree fx.experimental._config utils._config_module utils._contextlib utils._foreach_utils
utils._import_utils utils._mode_utils utils._ordered_set utils._python_dispatch utils._pytree
utils._cxx_pytree utils._stats utils._sympy utils._sympy.functions utils._sympy.numbers
utils._sympy.value_ranges utils._triton utils._typing_utils utils._zip nn.modules._functions
nn.utils._named_member_accessor nn.utils._per_sample_grad nn.parallel._functions
utils.data._utils utils.data._utils.collate utils.data._utils.fetch utils.data._utils.pin_memory
utils.data._utils.signal_handling utils.data._utils.worker
"""
"""Modules that programs import though they are not public: their names, and those that follow."""
SINGLE = """
torch.fx.node.Target torch.fx.node.Argument torch.fx.node.BaseArgumentTypes
torch.types._device torch.types._dtype torch.types._size torch.types._int torch.types._float
torch.types._bool torch.types._layout torch.fx.graph_module._CodeOnlyModule
torch.fx.graph_module._copy_attr torch.fx.graph_module._USER_PRESERVED_ATTRIBUTES_KEY
torch.jit.annotations.BroadcastingList1 torch.jit.annotations.BroadcastingList2
torch.jit.annotations.BroadcastingList3 torch.distributed.rpc.api
torch.onnx.symbolic_helper.parse_args torch.onnx.symbolic_helper._get_tensor_dim_size
torch.utils.data.datapipes.datapipe torch.utils.data._utils.pin_memory.pin_memory
torch.jit.TracerWarning torch._tensor_str._tensor_str torch._tensor_str.PRINT_OPTS
torch._assert torch._shape_as_tensor torch._foreach_add torch._foreach_add_ torch._foreach_mul
torch._foreach_mul_ torch._foreach_div_ torch._foreach_div torch._foreach_norm torch._foreach_sqrt
torch._foreach_sqrt_ torch._foreach_sub torch._foreach_sub_ torch._foreach_lerp_
torch._foreach_zero_ torch._foreach_copy_ torch._foreach_neg torch._foreach_neg_
torch._foreach_addcdiv_ torch._foreach_addcmul_ torch._foreach_pow torch._foreach_maximum_
torch._foreach_clamp_min_ torch._grouped_mm torch._scaled_mm torch._scaled_grouped_mm
torch._int_mm torch._weight_norm torch._fused_sdp_choice torch._prelu_kernel
torch._higher_order_ops torch._weight_norm_interface torch._jit_internal torch._dynamo
torch._inductor torch._functorch torch._logging torch._subclasses torch._efficientzerotensor
torch._is_functional_tensor torch._sync torch._utils torch._tensor
torch.utils._pytree._register_pytree_node torch.utils._pytree._dict_flatten
torch.utils._pytree._dict_unflatten torch.utils._pytree._list_flatten
torch.utils._pytree._list_unflatten torch.utils._pytree._broadcast_to_and_flatten
torch.utils._pytree._get_node_type torch.jit._state torch.jit._trace torch.jit._script
torch.autograd._unsafe_preserve_version_counter torch.fx._lazy_graph_module
torch.fx._symbolic_trace.is_fx_tracing torch._C._log_api_usage_once torch._C._get_tracing_state
torch._C._nn torch._C._functorch torch._C._distributed_c10d torch._C._disabled_torch_function_impl
torch._C._TensorMeta torch._C._TensorBase torch._C._DisableTorchDispatch
torch._C._jit_set_profiling_mode torch._C._jit_set_profiling_executor
torch._C._jit_set_texpr_fuser_enabled torch._C._jit_override_can_fuse_on_cpu
torch._C._jit_override_can_fuse_on_gpu torch._C._cuda_getCurrentRawStream
torch._C._get_privateuse1_backend_name torch._C._functions torch._C._autograd torch._C._profiler
torch._C._jit_set_nvfuser_enabled torch._utils._get_device_index
torch._utils._flatten_dense_tensors torch._utils._unflatten_dense_tensors
torch._utils._rebuild_tensor_v2 torch._utils._rebuild_parameter
torch._utils._get_available_device_type torch._utils.ExceptionWrapper torch._utils._take_tensors
torch._utils._reorder_tensors_as torch.nn.utils._per_sample_grad.call_for_per_sample_grads
torch.autograd.profiler_util._format_time
torch.nn.functional._in_projection_packed torch.nn.functional._in_projection
torch.nn.functional._canonical_mask torch.nn.functional._none_or_dtype
torch.nn.functional._verify_batch_size torch.nn.functional._mha_shape_check
torch.nn.functional._get_softmax_dim torch.nn.modules.utils._pair torch.nn.modules.utils._single
torch.nn.modules.utils._triple torch.nn.modules.utils._quadruple torch.nn.modules.utils._ntuple
torch.nn.modules.utils._reverse_repeat_tuple torch.nn.modules.utils._list_with_default
torch.nn.modules.batchnorm._BatchNorm torch.nn.modules.batchnorm._NormBase
torch.nn.modules.conv._ConvNd torch.nn.modules.conv._ConvTransposeNd
torch.nn.modules.conv._ConvTransposeMixin torch.nn.modules.instancenorm._InstanceNorm
torch.nn.modules.pooling._MaxPoolNd torch.nn.modules.pooling._AvgPoolNd
torch.nn.modules.pooling._AdaptiveAvgPoolNd torch.nn.modules.loss._Loss
torch.nn.modules.loss._WeightedLoss torch.nn.modules.dropout._DropoutNd
torch.nn.modules.module._IncompatibleKeys torch.nn.modules.module._addindent
torch.nn.modules.module._global_forward_hooks torch.nn.modules.module._global_backward_hooks
torch.nn.modules.padding._ConstantPadNd torch.nn.modules.rnn.RNNCellBase
torch.optim.lr_scheduler._LRScheduler torch.optim.optimizer._use_grad_for_differentiable
torch.optim.optimizer._get_value torch.optim.optimizer._default_to_fused_or_foreach
torch.optim.optimizer._dispatch_sqrt torch.optim.optimizer._foreach_doc
torch.optim.optimizer._capturable_doc torch.optim.optimizer._differentiable_doc
torch.optim.optimizer._maximize_doc torch.optim.optimizer._params_doc
torch.optim.optimizer._stack_if_compiling torch.optim.optimizer._view_as_real
torch.optim.optimizer._get_capturable_supported_devices torch.optim.optimizer._to_scalar
torch.optim.optimizer._disable_dynamo_if_unsupported
torch.optim.optimizer._device_dtype_check_for_fused torch.optim.optimizer._get_scalar_dtype
torch.utils._foreach_utils._get_foreach_kernels_supported_devices
torch.utils._foreach_utils._get_fused_kernels_supported_devices
torch.utils._foreach_utils._group_tensors_by_device_and_dtype
torch.utils._foreach_utils._has_foreach_support
torch.utils.data._utils.collate.default_collate_err_msg_format torch.utils.data._utils.pin_memory
torch.utils.data._utils.worker torch.utils.data._utils.MP_STATUS_CHECK_INTERVAL
torch.utils.data.dataloader._BaseDataLoaderIter torch.utils.data.dataloader._DatasetKind
torch.utils.data.dataloader._InfiniteConstantSampler
torch.utils.data.dataloader._MultiProcessingDataLoaderIter
torch.utils.data.dataloader._SingleProcessDataLoaderIter torch.utils.checkpoint._infer_device_type
torch.utils.checkpoint._get_autocast_kwargs
torch.distributed._functional_collectives.AsyncCollectiveTensor
torch.distributed._reduce_scatter_base torch.distributed._all_gather_base
torch.distributed.distributed_c10d._get_default_group
torch.distributed.distributed_c10d._get_default_store torch.distributed.distributed_c10d._world
torch.distributed.distributed_c10d._resolve_process_group
torch.distributed.fsdp._fully_shard._fsdp_common torch.distributed.tensor._random
torch.distributed.fsdp.wrap._or_policy torch.distributed.fsdp.wrap._module_wrap_policy
torch.distributed.fsdp._common_utils._FSDPState
torch.distributed.fsdp._common_utils._get_module_fsdp_state
torch.distributed.utils._sync_module_states torch.distributed.utils._to_kwargs
torch.onnx._internal torch.onnx._globals torch.serialization._get_restore_location
torch.serialization._legacy_save torch.storage._LegacyStorage torch.storage._StorageBase
torch.testing._internal torch._tensor._convert torch._tensor._rebuild_from_type_v2
torch.overrides.TorchFunctionMode torch.autograd.function.FunctionCtx
torch.autograd.function.once_differentiable torch.utils.dlpack.to_dlpack torch._assert_async
torch.utils._pytree.SUPPORTED_NODES torch.distributed.tensor.placement_types._StridedShard
torch.jit.Final torch.jit._overload torch.jit._overload_method torch.jit._script_if_tracing
torch.types.Number torch.nn.attention.flex_attention._DEFAULT_SPARSE_BLOCK_SIZE
torch.nn.utils.stateless._reparametrize_module torch._C._are_functorch_transforms_active
torch._C._get_accelerator torch._C._ExcludeDispatchKeyGuard
torch.fx.experimental.symbolic_shapes.free_unbacked_symbols
torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode
torch.distributed.checkpoint.format_utils._EmptyStateDictLoadPlanner
torch.distributed.fsdp.fully_sharded_data_parallel.ShardingStrategy
torch.distributed.fsdp.fully_sharded_data_parallel.StateDictType
torch.distributed.fsdp.fully_sharded_data_parallel.MixedPrecision
torch.distributed.fsdp.fully_sharded_data_parallel.BackwardPrefetch
torch.distributed.fsdp.fully_sharded_data_parallel.CPUOffload
torch.distributed.fsdp.fully_sharded_data_parallel.FullStateDictConfig
torch.distributed.fsdp.fully_sharded_data_parallel.FullOptimStateDictConfig
torch.distributed.fsdp.fully_sharded_data_parallel.LocalStateDictConfig
torch.distributed.fsdp.fully_sharded_data_parallel.ShardedStateDictConfig
torch.distributed.pipelining.schedules._PipelineScheduleRuntime
torch.distributed.pipelining.schedules._PipelineSchedule torch.library.register_autograd
torch.distributed.optim.zero_redundancy_optimizer.ZeroRedundancyOptimizer
torch.numa.binding.NumaOptions torch.numa.binding.AffinityMode torch.onnx._internal.exporter
torch._dynamo.source torch._dynamo.backends.common.aot_autograd
torch.testing._internal.common_utils.TestCase torch.testing._internal.common_utils.run_tests
torch.utils.viz._cycles torch.multiprocessing.start_processes
torch.distributed._composable.fsdp.fully_shard torch._dynamo._trace_wrapped_higher_order_op
torch._C._distributed_rpc torch.utils.data._utils.HAS_NUMPY
torch.utils.data.datapipes.datapipe._IterDataPipeSerializationWrapper
torch.utils.data.datapipes.datapipe._MapDataPipeSerializationWrapper
torch.utils.data._utils.worker._IterableDatasetStopIteration
torch.utils.data._utils.worker._ResumeIteration torch.utils.data._utils.worker._generate_state
torch.utils.data.dataloader._share_dist_seed torch.utils.data.dataloader._sharding_worker_init_fn
torch.utils.data.dataloader._collate_fn_t torch.utils.data.dataloader._worker_init_fn_t
"""
"""Private names that programs use one by one."""
MARKS = """
torch.utils.data.functional_datapipe
torch.fx.wrap torch.fx.has_side_effect torch._dynamo.allow_in_graph torch.library.register_fake
torch.library.register_kernel torch.library.register_autograd torch.library.register_vmap
torch.library.register_autocast torch.library.register_torch_dispatch torch.library.impl
torch.library.impl_abstract torch.library.define torch.library.get_ctx torch._custom_ops.impl
torch._custom_ops.impl_abstract torch._custom_ops.impl_backward
torch._custom_ops.impl_save_for_backward torch.onnx.register_custom_op_symbolic
torch.onnx.unregister_custom_op_symbolic torch.onnx.symbolic_helper.parse_args
torch.serialization.register_package torch.export.register_dataclass
torch.utils._pytree.register_pytree_node torch.utils._pytree.register_dataclass
torch.utils._pytree.register_constant torch.utils._pytree._register_pytree_node
torch.utils._pytree.register_pytree_flatten_spec torch.fx._pytree.register_pytree_flatten_spec
torch._C._log_api_usage_once torch.distributed.elastic.multiprocessing.errors.record
torch.distributed.register_backend torch.utils.backend_registration.rename_privateuse1_backend
torch._C._jit_set_profiling_mode torch._C._jit_set_profiling_executor
torch._C._jit_set_texpr_fuser_enabled torch._C._jit_override_can_fuse_on_cpu
torch._C._jit_override_can_fuse_on_gpu torch._C._jit_set_nvfuser_enabled
torch._jit_internal._overload torch._jit_internal._overload_method torch._jit_internal.export
torch._jit_internal.ignore torch._jit_internal.unused torch._jit_internal.boolean_dispatch
torch.optim.optimizer._use_grad_for_differentiable torch._logging.set_logs
torch.optim.optimizer._disable_dynamo_if_unsupported torch._dynamo.external_utils.wrap_inline
torch.overrides.enable_reentrant_dispatch torch.autograd.function.once_differentiable
torch.jit._overload torch.jit._overload_method torch.jit._script_if_tracing
torch.distributed.rpc.api._require_initialized
"""
"""Functions that annotate or register: whoever calls one gets back what it was given."""
REGISTERS = ("torch._C.DispatchKeySet", "torch.library.Library")
"""Classes that programs make objects of when they register operators."""
REST = "not written so far"
REASONS = {
    **dict.fromkeys(
        ("torch.ao", "torch.quantization", "torch.nn.q", "torch.nn.intrinsic"),
        "layers are quantized by gn.quant.quantize_, and not by classes of their own",
    ),
    **dict.fromkeys(
        ("torch.cuda", "torch.backends", "torch.mps", "torch.mtia", "torch.xpu"),
        "devices that this build does not have",
    ),
    **dict.fromkeys(("torch._C", "torch._"), "the inside of PyTorch, for annotations"),
    **dict.fromkeys(
        ("torch.jit", "torch.package"),
        "programs are captured by gn.compile, and not traced into modules of Python",
    ),
    "torch.fx": "graphs of gn.fx have no symbolic sizes, and none of PyTorch's passes",
    **dict.fromkeys(("torch.onnx", "torch.library"), "there is no dispatcher to register with"),
    **dict.fromkeys(
        ("torch.distributed.rpc", "torch.distributed.elastic", "torch.distributed.run"),
        "ranks are started by gnomon launch",
    ),
    "torch.sparse": "tensors are dense",
    "torch.utils.data.datapipes": "datasets, samplers and loaders are here, pipes of them are not",
    "torch.utils.benchmark": "times are taken by gnomon bench and gn.profiler",
    "torch.masked.maskedtensor": "masks are arguments of functions",
}
"""Why names are not here, by the beginning of their module."""
PYTHON = {"torch.jit.Final": "typing.Final", "torch.types.Number": "numbers.Number"}
PYTHON |= {f"torch.multiprocessing.{x}": f"multiprocessing.{x}" for x in multiprocessing.__all__}
PYTHON |= {
    f"torch.jit.annotations.{x}": f"typing.{x}"
    for x in ("Any", "Dict", "List", "Optional", "Tuple")
}
"""Names that PyTorch shows of Python's own library."""
FOREIGN = frozenset(
    {
        *("abc", "argparse", "collections", "concurrent", "contextlib", "dataclasses", "datetime"),
        *("enum", "functools", "inspect", "multiprocessing", "numpy", "pathlib", "sympy", "types"),
        *("typing", "typing_extensions", "warnings"),
    }
)
"""Whose names PyTorch's modules hold by importing them."""

ANNOTATING = ("_collections_abc", "collections.abc", "types", "typing")
"""The modules of the types of annotations."""


def kind_of(full: str, value: Any) -> str:
    """The kind under which a name is written; empty for one that is left out."""
    if isinstance(value, ModuleType):
        return ""  # modules of the table have rows of their own
    if full in MARKS.split():
        return "mark"
    if full in SINGLE.split() and type(value).__module__ in ANNOTATING:
        return "class"  # one of several types, to annotate with
    if full in PYTHON:
        return "alias"
    if type(value).__name__ in ("dtype", "layout", "qscheme", "memory_format"):
        return "name"
    if str(getattr(value, "__module__", "")).partition(".")[0] in FOREIGN:
        return ""
    if "BroadcastingList" in full:
        return "class"
    if full in REGISTERS:
        return "register"
    if isinstance(value, type) and issubclass(value, BaseException):
        return "warning" if issubclass(value, Warning) else "error"
    if isinstance(value, type):
        return "class"
    if isinstance(value, str) and Path(value).is_absolute():
        return ""  # a place on this machine
    if isinstance(value, (str, int, float)) and not isinstance(value, FunctionType):
        return "value" if json.dumps(value).count(" ") == 0 else ""
    single = "name" if full in SINGLE.split() else ""
    return "function" if callable(value) else single


def is_torchs(value: Any) -> bool:
    """Whether an object is PyTorch's own, so that all its names are one thing's."""
    return str(getattr(value, "__module__", None) or "torch").startswith("torch")


def names_of(module: ModuleType) -> list[str]:
    """A module's public names."""
    everything = [name for name in dir(module) if not name.startswith("_")]
    listed = getattr(module, "__all__", None)
    return sorted({*everything} if module.__name__ == "torch" or listed is None else {*listed})


def public_modules() -> list[str]:
    """The modules of PyTorch's whose path has no private part."""
    found = pkgutil.walk_packages(torch_itself().__path__, "torch.", onerror=lambda _: None)
    named = [x.name for x in found if "._" not in x.name and not x.name.startswith(LEFT_OUT)]
    return named + ["torch" if x == "torch" else f"torch.{x}" for x in LISTED.split()]


def torch_itself() -> ModuleType:
    """PyTorch, in the process that asks it."""
    return importlib.import_module("torch")


def of_torch() -> Asked:
    """Module -> kind -> names of the PyTorch that is installed here, and names of one object."""
    found: Names = {}
    objects: dict[int, tuple[Any, list[str]]] = {}  # held, so that no number is another's
    warnings.simplefilter("ignore")
    alone = [*SINGLE.split(), *MARKS.split(), *REGISTERS, *PYTHON]
    single = [name.rpartition(".") for name in alone]
    modules = [*public_modules(), *(f"torch.{x}" for x in PRIVATE.split())]
    for name in with_parents([*modules, *(module for module, _, _ in single)]):
        try:
            module = importlib.import_module(name)
        except Exception:  # it needs what is not installed, or a device
            continue
        names = names_of(module) if name in modules else []
        names += [x for home, _, x in single if home == name]
        kinds = found.setdefault(name, {})
        for each in dict.fromkeys(names):
            value = getattr(module, each, None)
            kind = kind_of(f"{name}.{each}", value)
            if kind in ("class", "function") and is_torchs(value):
                objects.setdefault(id(value), (value, []))[1].append(f"{name}.{each}")
            if kind:
                said = f"{each}={json.dumps(value)}" if kind == "value" else each
                said = f"{each}={PYTHON[f'{name}.{each}']}" if kind == "alias" else said
                kinds.setdefault(kind, []).append(said)
    return found, [names for _, names in objects.values() if len(names) > 1]


def with_parents(modules: list[str]) -> list[str]:
    """Modules, and those that they lie in."""
    parts = [name.split(".") for name in modules]
    return list(dict.fromkeys(".".join(x[:k]) for x in parts for k in range(1, len(x) + 1)))


def lacking(found: Asked) -> Names:
    """The names that Gnomon lacks; those of an object that it has elsewhere say where."""
    known, alike = found
    others = {name: names for names in alike for name in names}
    rest: Names = {}
    for module, kinds in known.items():
        path = module.partition(".")[2]
        kept: dict[str, list[str]] = {}
        for kind, names in kinds.items():
            for name in names:
                if not is_here(path, name.partition("=")[0]):
                    there = elsewhere(others.get(f"{module}.{name}", ()))
                    row = ("alias", f"{name}={there}") if there else (kind, name)
                    kept.setdefault(row[0], []).append(row[1])
        if kept or (target_of(path) is None and path not in HOMES):
            rest[module] = kept
    return rest


def elsewhere(names: Sequence[str]) -> str:
    """The shortest of an object's names under which Gnomon has it; empty where there is none."""
    here = [x for x in names if is_here(*x.partition(".")[2].rpartition(".")[::2])]
    return min(here, key=lambda name: (name.count("."), name), default="")


def is_here(path: str, name: str) -> bool:
    """Whether Gnomon has a name of a module, by its path below torch."""
    inner = f"{path}.{name}" if path else name
    found = target_of(path)
    if inner in MEANINGS or inner in SPELLED:
        return True
    return target_of(inner) is not None or (found is not None and hasattr(found, name))


def written(names: Names) -> str:
    """The text of the file."""
    lines = ["# PyTorch's names that Gnomon lacks: tools/torch_names.py writes this file."]
    for module in sorted(names):
        lines.append(f"{module}: {reason_of(module)}")
        lines += [f" {kind} {' '.join(names[module][kind])}" for kind in sorted(names[module])]
    return "\n".join(lines) + "\n"


def reason_of(module: str) -> str:
    """The reason for which names of a module are not here."""
    return next((why for start, why in REASONS.items() if module.startswith(start)), REST)


def asked() -> Asked:
    """What PyTorch has, asked in a process of its own."""
    command = [sys.executable, __file__, "--torch"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


if __name__ == "__main__":
    if "--torch" in sys.argv:
        with redirect_stdout(sys.stderr):  # modules of PyTorch's that print as they are imported
            answer = json.dumps(of_torch())
        print(answer)
    else:
        FILE.write_text(written(lacking(asked())))
