"""Parameters and optimizer state as named arrays, and back (models/stored_parameters.py).

AdamW's moments have the parameter's name with `.exp_avg` and `.exp_avg_sq`, its count `.step`. The
format on disk is defined in checkpoint.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

import gnomon as gn
from gnomon import nn, optim
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE
from gnomon.errors import CheckpointError
from gnomon.models.causal import CausalLM
from gnomon.models.registry import kind_of
from gnomon.models.stored_parameters import (
    OwnPart,
    Stored,
    Tensors,
    entry_as_array,
    load_parameters,
    own_part,
    owned_parts,
    part_of,
    refuse_difference,
    refuse_misfit,
)
from gnomon.tensor.layouts import layout_of, local_of, spread
from gnomon.train.checkpoint import Checkpoint

__all__ = [
    "load_optimizer",
    "model_of",
    "optimizer_arrays",
    "optimizer_of",
    "optimizer_tensors",
    "own_parts",
    "parameter_arrays",
    "parameters_and_buffers",
    "put_back",
]

StateArrays = dict[str, np.ndarray]
KEYS = ("step", "exp_avg", "exp_avg_sq")
"""The names of AdamW's state for each parameter."""


def own_parts(model: nn.Module, optimizer: optim.Optimizer | None) -> dict[str, OwnPart]:
    """The parts of all parameters, buffers and optimizer state on this rank, by name."""
    state = optimizer_entries(model, optimizer) if optimizer else {}
    held = {**parameters_and_buffers(model), **state}
    return {name: own_part(value) for name, value in held.items()}


def parameters_and_buffers(model: nn.Module) -> dict[str, gn.Tensor]:
    """All parameters and buffers by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def put_back(model: nn.Module, optimizer: optim.Optimizer, kept: Mapping[str, np.ndarray]) -> None:
    """Restore a model and its optimizer from copies of the arrays of `own_parts`."""
    with gn.no_grad():
        for name, value in parameters_and_buffers(model).items():
            (local_of(value) if layout_of(value) else value).copy_(gn.from_numpy(kept[name]))
    parameters = dict(model.named_parameters())
    state: dict[int, dict[str, gn.Tensor]] = {}
    for place, name in enumerate(names_in_order(model, optimizer)):
        for key in (key for key in KEYS if f"{name}.{key}" in kept):
            own = gn.from_numpy(kept[f"{name}.{key}"].copy()).to(parameters[name].device)
            layout = layout_of(parameters[name])
            state.setdefault(place, {})[key] = own if key == "step" else spread(own, layout)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def optimizer_tensors(
    model: nn.Module, optimizer: optim.AdamW, mesh: DeviceMesh, rank: int
) -> Tensors:
    """The tensors of the optimizer's state by name, with the parts that a rank owns."""
    entries = optimizer_entries(model, optimizer)
    return {name: owned_parts(value, mesh, rank) for name, value in entries.items()}


def parameter_arrays(model: nn.Module) -> StateArrays:
    """All parameters as arrays by name."""
    return {name: entry_as_array(value.detach()) for name, value in model.named_parameters()}


def optimizer_of(model: nn.Module, groups: Iterable[dict], **options: object) -> optim.AdamW:
    """AdamW over groups of parameters given by name: `{"names": [...], "lr": ...}`."""
    named = dict(model.named_parameters())
    filled = [
        {**{k: v for k, v in group.items() if k != "names"}}
        | {"params": [named[name] for name in group["names"]]}
        for group in groups
    ]
    return optim.AdamW(filled, **options)


def names_in_order(model: nn.Module, optimizer: optim.Optimizer) -> list[str]:
    """The parameter names in the order of the optimizer's groups."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names[id(p)] for group in optimizer.param_groups for p in group["params"]]


def optimizer_arrays(model: nn.Module, optimizer: optim.AdamW) -> StateArrays:
    """The optimizer's state as arrays by name."""
    entries = optimizer_entries(model, optimizer)
    return {name: entry_as_array(value) for name, value in entries.items()}


def optimizer_entries(model: nn.Module, optimizer: optim.Optimizer) -> dict[str, object]:
    """The entries of the optimizer's state by name."""
    state = optimizer.state_dict()["state"]
    return {
        f"{name}.{key}": value
        for place, name in enumerate(names_in_order(model, optimizer))
        for key, value in state.get(place, {}).items()
    }


def load_optimizer(
    model: nn.Module,
    optimizer: optim.AdamW,
    arrays: Stored,
    mesh: DeviceMesh = ALONE,
    rank: int = 0,
) -> None:
    """Load an optimizer's state, in the layouts of the parameters; learning rates are kept."""
    names = names_in_order(model, optimizer)
    state: dict[int, dict[str, gn.Tensor]] = {place: {} for place in range(len(names))}
    places = {name: place for place, name in enumerate(names)}
    parameters = dict(model.named_parameters())
    for entry, array in arrays.items():
        name, _, key = entry.rpartition(".")
        if name not in places or key not in KEYS:
            raise CheckpointError(f"checkpoint: {entry} belongs to no parameter of this model.")
        parameter = parameters[name]
        refuse_misfit(entry, () if key == "step" else tuple(parameter.shape), array)
        state[places[name]][key] = (
            gn.from_numpy(np.array(array[()]))
            if key == "step"
            else spread(part_of(array, parameter, mesh, rank), layout_of(parameter))
        )
    refuse_difference("averages", [f"{name}.{key}" for name in names for key in KEYS], arrays)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def model_of(checkpoint: Checkpoint) -> CausalLM:
    """The model of a checkpoint; its configuration is checked against the number of weights."""
    config, arrays = checkpoint.model, checkpoint.parameters()
    found = sum(array.size for array in arrays.values())
    if found != config.parameters:
        raise CheckpointError(
            f"checkpoint: {checkpoint.folder / 'config.json'} tells of {config.parameters:,} "
            f"parameters: its weights are {found:,}."
        )
    model = kind_of(config).model(config)
    load_parameters(model, arrays)
    return model
