"""FullyShardedDataParallel, PyTorch's wrapper of before fully_shard, over it.

Each wrapper is a unit of fully_shard's, and its parameters stay what they are: tensors that lie
over the ranks. Settings of when values are gathered or let go do nothing, as no value depends on
them; what would change values is refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from gnomon.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    numbered_state,
)
from gnomon.distributed.collectives import broadcast
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.fully_sharding import default_mesh, fully_shard
from gnomon.distributed.mixed_precision import (
    MixedPrecision,
    cast_buffers,
    cast_floats,
    keep_precision,
    policy_of,
)
from gnomon.distributed.sharded_states import (
    OptimStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
    convert_values,
    settings_of,
)
from gnomon.distributed.wrapping import Policy, WrapperModule, WrapPolicy, apply_policy
from gnomon.errors import ArgumentError
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.nn.utils.gradients import clip_grad_norm_
from gnomon.optim.optimizer import Optimizer
from gnomon.runtime.comm.environment import environment
from gnomon.runtime.comm.groups import ProcessGroup
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.layouts import value_layout, whole_of
from gnomon.tensor.tensor import Tensor

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullyShardedDataParallel",
    "ShardingStrategy",
]

INNER = "_fsdp_wrapped_module"
_summoned: ContextVar[bool] = ContextVar("summoned", default=False)
"""Whether parameters are shown whole, and under the names of the plain module."""


class ShardingStrategy(Enum):
    """The ranks over which a parameter is sharded: all, none, or those of one machine."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


class BackwardPrefetch(Enum):
    """PyTorch's moments to gather the next unit; ignored, since programs order transfers."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class CPUOffload:
    """PyTorch's option to store parameters in main memory, where they always are."""

    offload_params: bool = False


class FullyShardedDataParallel(WrapperModule):
    """A module with parameters sharded over ranks, and wrappers inside of it by a policy.

    Parameters keep their shapes and names, whatever `use_orig_params` says. `device_id`,
    `cpu_offload`, `backward_prefetch`, `forward_prefetch` and `limit_all_gathers` have no effect.

    Shapes: input (*s) -> (*t)

    >>> import gnomon as gn
    >>> model = FullyShardedDataParallel(gn.nn.Linear(3, 2))
    >>> model(gn.ones(4, 3)).shape, list(model.state_dict())
    (Size([4, 2]), ['weight', 'bias'])
    >>> gn.distributed.destroy_process_group()
    """

    inner = INNER

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Policy | WrapPolicy | None = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: Any = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Module | Parameter] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        precision = mixed_precision or MixedPrecision()
        policy = policy_of(precision)
        if auto_wrap_policy is not None and policy.param_dtype is not None:
            keep_precision(module, tuple(precision._module_classes_to_ignore))
        cast_buffers(module, precision.buffer_dtype)
        if param_init_fn is not None:
            raise ArgumentError(
                "FullyShardedDataParallel: expected no param_init_fn: got a function. Parameters "
                "have values here: initialise them before."
            )
        mesh = device_mesh or mesh_of(process_group, sharding_strategy)
        ignored = [*(ignored_modules or ()), *(ignored_states or ())]
        modules = [m for each in ignored if isinstance(each, Module) for m in each.modules()]
        left = {p for m in modules for p in m.parameters(recurse=False)}
        left |= {p for p in ignored if isinstance(p, Parameter)}
        if sync_module_states:
            spread_from_first(module, mesh, left)
        if auto_wrap_policy is not None:
            given = {"device_mesh": mesh, "ignored_states": [*modules, *left]}
            given["mixed_precision"] = mixed_precision
            apply_policy(module, auto_wrap_policy, FullyShardedDataParallel, modules, given)
        super().__init__(module)
        self._register_state_dict_hook(collected)
        fully_shard(module, mesh=mesh, ignored_params=left, mp_policy=policy)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._is_root = False
        self._is_root, self._settings = True, StateDictSettings()
        self._input_dtype = policy.param_dtype if precision.cast_root_forward_inputs else None

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """The module's result."""
        if self._is_root:
            inputs, named = cast_floats((inputs, named), self._input_dtype)
        return self._modules[INNER](*inputs, **named)

    def check_is_root(self) -> bool:
        """Whether no other wrapper contains this one."""
        return self._is_root

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a module, itself among them."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        return [m for m in found if m._is_root or not root_only]

    def named_parameters(self, *given: Any, **named: Any) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths; in summon_full_params without the wrappers' names."""
        for name, value in super().named_parameters(*given, **named):
            yield (name.replace(f"{INNER}.", "") if _summoned.get() else name), value

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale all gradients to a norm over all ranks of at most max_norm; returns the norm."""
        return clip_grad_norm_(list(self.parameters()), max_norm, norm_type)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Do nothing: every backward pass reduces its gradients, with equal sums."""
        yield

    def register_comm_hook(self, state: object, hook: Callable) -> None:
        """Refuse: programs determine their own messages."""
        raise ArgumentError(
            "register_comm_hook: expected nothing: got a function. Ranks fold in one order, which "
            "gives one process's bits; change gradients between backward() and step()."
        )

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """A context with parameters as plain, whole tensors; changes persist if `writeback`."""
        if rank0_only and writeback:
            raise NotImplementedError(
                "summon_full_params: changes of one rank are not those of all. Say writeback=False."
            )
        found = module.parameters() if recurse else own_parameters(module)
        kept = [(p, p.data, p.grad) for p in found if value_layout(p)]
        for p, part, grad in kept:
            p.data = whole_of(part).detach().clone()
            p.grad = whole_of(grad).detach() if with_grads and grad is not None else None
        before = _summoned.set(True)
        try:
            yield
        finally:
            _summoned.reset(before)
            for p, part, grad in kept:
                now, p.grad = p.data, None
                p.data, p.grad = part, grad
                if writeback:
                    with no_grad():
                        p.copy_(now)

    # states

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Set the type of state dicts of all wrappers in a module; returns the previous one."""
        made = settings_of(state_dict_type, state_dict_config, optim_state_dict_config)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = replace(made)
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """The type of state dicts of the wrappers in a module."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        return found[0]._settings if found else StateDictSettings()

    @staticmethod
    @contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """A context in which the wrappers in a module return state dicts of a type."""
        configs = state_dict_config, optim_state_dict_config
        before = FullyShardedDataParallel.set_state_dict_type(module, state_dict_type, *configs)
        try:
            yield
        finally:
            for each in FullyShardedDataParallel.fsdp_modules(module):
                each._settings = before

    @staticmethod
    def optim_state_dict(
        model: Module,
        optim: Optimizer,
        optim_state_dict: dict[str, Any] | None = None,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """An optimizer's state by names of parameters: whole values, or parts, as is set."""
        refuse_state("optim_state_dict", optim_state_dict)
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        alone = getattr(settings.optim_state_dict_config, "rank0_only", False)
        options = StateDictOptions(full_state_dict=full, cpu_offload=alone)
        return get_optimizer_state_dict(model, optim, options=options)

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: Optimizer,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """A state by names as the optimizer's load_state_dict takes it; load_directly loads it."""
        made = numbered_state(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Optimizer, optim_input: object = None, rank0_only: bool = True
    ) -> dict[str, Any]:
        """An optimizer's state by names, of whole values, on the first rank or on all."""
        options = StateDictOptions(full_state_dict=True, cpu_offload=rank0_only)
        return get_optimizer_state_dict(model, optim, options=options)


def refuse_state(name: str, state: object) -> None:
    """Refuse a state that is not the optimizer's own."""
    if state is not None:
        raise ArgumentError(f"{name}: expected the optimizer alone: got a state beside it.")


def mesh_of(group: ProcessGroup | None, strategy: ShardingStrategy | None) -> DeviceMesh:
    """The mesh for a strategy over the ranks of a group, by default all."""
    if isinstance(group, tuple):
        raise ArgumentError(
            "FullyShardedDataParallel: expected one process_group: got several. Give device_mesh= "
            "of two axes: replicas, then parts."
        )
    mesh = default_mesh() if group is None else DeviceMesh("cpu", list(group.ranks))
    parts = mesh.size()
    if strategy is ShardingStrategy.NO_SHARD:
        parts = 1
    elif strategy in HYBRID:
        parts = min(environment().local_size, parts)
    if mesh.size() % parts:
        raise ArgumentError(
            f"FullyShardedDataParallel: {strategy}: {parts} ranks of a machine do not divide "
            f"{mesh.size()}. Give device_mesh= of two axes: replicas, then parts."
        )
    if parts == mesh.size():
        return mesh
    return DeviceMesh("cpu", mesh.ranks.reshape(-1, parts))


def spread_from_first(module: Module, mesh: DeviceMesh, left: Collection[Parameter]) -> None:
    """Give all ranks of a mesh the first one's parameters and buffers."""
    for value in (*module.parameters(), *module.buffers()):
        if value not in left and not value_layout(value):
            for k in range(mesh.ndim):
                broadcast(value.detach(), group=mesh.get_group(k), group_src=0)


def own_parameters(module: Module) -> Iterator[Parameter]:
    """The parameters of a module that no wrapper inside of it has."""
    inner = {
        id(p)
        for m in FullyShardedDataParallel.fsdp_modules(module)
        if m is not module
        for p in m.parameters()
    }
    return (p for p in module.parameters() if id(p) not in inner)


def collected(
    module: FullyShardedDataParallel, state: dict[str, Any], prefix: str, notes: object
) -> None:
    """Convert the values of a state dict as the module's settings say."""
    convert_values(state, module._settings, prefix)
