"""torch.distributed.checkpoint.state_dict: states of models and optimizers by names of parameters.

Names are those of the plain model, whatever wraps it, and an optimizer's state has them in place of
numbers: a model that is divided in another way finds its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.distributed.checkpoint.ranks import Ranks
from gnomon.distributed.sharded_states import by_parts
from gnomon.errors import ArgumentError, CheckpointError
from gnomon.nn.converted import emptied
from gnomon.nn.module import Module
from gnomon.optim.optimizer import Optimizer
from gnomon.tensor.layouts import value_layout, whole_of
from gnomon.tensor.tensor import Paired, Tensor

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "numbered_state",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]

WRAPPED = ("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
"""The names under which a wrapper has its model."""
Optimizers = Optimizer | Iterable[Optimizer]


@dataclass
class StateDictOptions:
    """Options of state dicts: whole tensors instead of this rank's parts, and exclusions."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    """With full_state_dict: only the first rank gets the values."""
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    """Take what the first rank was given, on all ranks."""
    flatten_optimizer_state_dict: bool = False


def plain_names(model: Module) -> dict[str, str]:
    """The names in the wrapped model's state, by the names in a model's state.

    >>> plain_names(Module())
    {}
    """
    return {name: plain_name(model, name) for name in parts_of(model)}


def parts_of(model: Module) -> dict[str, Any]:
    """The state of a model with this rank's parts, whatever a wrapper returns."""
    before = by_parts.set(True)
    try:
        return model.state_dict()
    finally:
        by_parts.reset(before)


def plain_name(model: Module, name: str) -> str:
    """A parameter's name without the parts of wrappers."""
    kept, place, path = [], model, name.split(".")
    for part in path:
        modules: Mapping[str, Any] = getattr(place, "_modules", {})
        alone = len(modules) == 1 and not place._parameters and not place._buffers
        if not (alone and part in WRAPPED):
            kept.append(part)
        place = modules.get(part)
    return ".".join(kept)


def gather_value(value: Any) -> Any:
    """A value gathered on every rank; in nested dicts too."""
    if isinstance(value, dict):
        return {key: gather_value(x) for key, x in value.items()}
    if isinstance(value, (Tensor, Paired)):
        return whole_of(value).detach() if value_layout(value) else value
    return value


def given_out(made: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """A state, converted as the options say."""
    if not options.full_state_dict:
        return made
    found = gather_value(made)
    return {} if options.cpu_offload and Ranks().rank else found


def taken_in(given: dict[str, Any], options: StateDictOptions) -> dict[str, Any]:
    """The state to load: with broadcast_from_rank0 the first rank's, else this rank's."""
    return Ranks().tell(given)[0] if options.broadcast_from_rank0 else given


def get_model_state_dict(
    model: Module, *, submodules: None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """A model's state."""
    refuse_submodules("get_model_state_dict", submodules)
    chosen, names = options or StateDictOptions(), plain_names(model)
    frozen = {
        plain_name(model, name) for name, p in model.named_parameters() if not p.requires_grad
    }
    left = frozen if chosen.ignore_frozen_params else set()
    parts = parts_of(model).items()
    state = {names[name]: value for name, value in parts if names[name] not in left}
    return given_out(state, chosen)


def set_model_state_dict(
    model: Module,
    model_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> Any:
    """Load a state that get_model_state_dict gave; what was missing and what was too much.

    What the model has on the meta device, and the state has values of, gets memory.
    """
    chosen = options or StateDictOptions()
    given = taken_in(model_state_dict, chosen)
    own = {name: key for key, name in plain_names(model).items()}
    renamed = {own.get(name, name): value for name, value in given.items()}
    for path, module in model.named_modules():
        give_memory(module, path, renamed)
    return model.load_state_dict(renamed, strict=chosen.strict)


def give_memory(module: Module, path: str, state: Mapping[str, Any]) -> None:
    """Replace a module's meta tensors by empty memory, for values in a state."""
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        if value is not None and value.is_meta and f"{path}.{name}".lstrip(".") in state:
            value.data = emptied(value, "cpu")


def get_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: None = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:
    """The state of optimizers by names; of one without a step, the initial state."""
    refuse_submodules("get_optimizer_state_dict", submodules)
    chosen = options or StateDictOptions()
    made: dict[str, Any] = {"state": {}, "param_groups": []}
    for optimizer in listed(optimizers):
        init_optimizer_state(optimizer)
        names, own = names_of(model, optimizer), optimizer.state_dict()
        made["state"] |= {names[number]: entry for number, entry in own["state"].items()}
        made["param_groups"] += [
            {**group, "params": [names[number] for number in group["params"]]}
            for group in own["param_groups"]
        ]
    state = given_out(made, chosen)
    return flattened(state) if state and chosen.flatten_optimizer_state_dict else state


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizers,
    optim_state_dict: dict[str, Any],
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load the state of optimizers by names."""
    chosen = options or StateDictOptions()
    given = taken_in(optim_state_dict, chosen)
    for optimizer in listed(optimizers):
        optimizer.load_state_dict(numbered_state(model, optimizer, given))


def numbered_state(model: Module, optimizer: Optimizer, given: dict[str, Any]) -> dict[str, Any]:
    """A state by names, converted to the numbers of the optimizer's parameters."""
    names = names_of(model, optimizer)
    found = deepened(given, names.values()) if "state" not in given else given
    entries = {k: found["state"][name] for k, name in names.items() if name in found["state"]}
    groups = [
        {**group_of(found["param_groups"], names[own["params"][0]]), "params": own["params"]}
        for own in numbered(optimizer)
    ]
    return {"state": entries, "param_groups": groups}


def get_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    submodules: None = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The states of a model and of its optimizers."""
    named = {"submodules": submodules, "options": options}
    found = get_model_state_dict(model, **named)
    return found, get_optimizer_state_dict(model, optimizers, **named)


def set_state_dict(
    model: Module,
    optimizers: Optimizers,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of a model and of its optimizers."""
    found = set_model_state_dict(model, model_state_dict, options=options)
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return found


def listed(optimizers: Optimizers) -> list[Optimizer]:
    """One optimizer or several, as a list."""
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def init_optimizer_state(optimizer: Optimizer) -> None:
    """Initialize the state of each parameter that a step would change."""
    for group in optimizer.param_groups:
        optimizer._begin_all(group, [p for p in group["params"] if p.requires_grad])


def numbered(optimizer: Optimizer) -> list[dict[str, Any]]:
    """An optimizer's groups, with numbers in place of parameters."""
    return optimizer.state_dict()["param_groups"]


def names_of(model: Module, optimizer: Optimizer) -> dict[int, str]:
    """The plain name of each of an optimizer's parameters, by its number."""
    names = {id(p): plain_name(model, name) for name, p in model.named_parameters()}
    found: dict[int, str] = {}
    for group, numbers in zip(optimizer.param_groups, numbered(optimizer), strict=True):
        for p, number in zip(group["params"], numbers["params"], strict=True):
            if id(p) not in names:
                raise ArgumentError(
                    "get_optimizer_state_dict: expected parameters of the model: the optimizer has "
                    f"another of shape {tuple(p.shape)}. Give the model that it trains."
                )
            found[number] = names[id(p)]
    return found


def group_of(groups: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    """The group that a parameter is in."""
    for group in groups:
        if name in group["params"]:
            return {key: value for key, value in group.items() if key != "params"}
    raise CheckpointError(f"set_optimizer_state_dict: no group of the state has {name}.")


def flattened(state: dict[str, Any]) -> dict[str, Any]:
    """An optimizer's state as one flat dict: state.NAME.ENTRY, param_groups.NAME.OPTION."""
    made = {
        f"state.{name}.{key}": value
        for name, entry in state["state"].items()
        for key, value in entry.items()
    }
    for group in state["param_groups"]:
        for name in group["params"]:
            made |= {f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"}
    return made


def deepened(flat: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The nested state of a flat dict; each parameter is a group."""
    state, groups = {}, []
    for name in names:
        state[name] = below(flat, f"state.{name}.")
        groups.append({**below(flat, f"param_groups.{name}."), "params": [name]})
    return {"state": {k: v for k, v in state.items() if v}, "param_groups": groups}


def below(flat: dict[str, Any], start: str) -> dict[str, Any]:
    """The values whose keys begin with `start` and one more part."""
    cut = {key[len(start) :]: value for key, value in flat.items() if key.startswith(start)}
    return {key: value for key, value in cut.items() if "." not in key}


def refuse_submodules(name: str, submodules: object) -> None:
    """Refuse the state of some submodules alone."""
    if submodules is not None:
        raise ArgumentError(f"{name}: expected no submodules: got some. Pick names of the state.")
