"""Parameters and optimizer state as named arrays, and back.

Names are Hugging Face's; AdamW's two averages add `.exp_avg` and `.exp_avg_sq`, its count `.step`.
How arrays lie on the disk is checkpoint.py's business.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

import gnomon as gn
from gnomon import nn, optim
from gnomon.errors import CheckpointError
from gnomon.models.qwen3 import Qwen3ForCausalLM
from gnomon.train.checkpoint import Checkpoint

__all__ = [
    "load_optimizer",
    "load_parameters",
    "model_of",
    "optimizer_arrays",
    "optimizer_of",
    "parameter_arrays",
]

Arrays = dict[str, np.ndarray]


def parameter_arrays(model: nn.Module) -> Arrays:
    """Every parameter by name."""
    return {name: value.detach().numpy() for name, value in model.named_parameters()}


def load_parameters(model: nn.Module, arrays: Mapping[str, np.ndarray]) -> None:
    """Fill a model; every name and shape must be there and nothing else."""
    wanted = dict(model.named_parameters())
    refuse_difference("parameters", wanted, arrays)
    with gn.no_grad():
        for name, parameter in wanted.items():
            if tuple(parameter.shape) != arrays[name].shape:
                raise CheckpointError(
                    f"checkpoint: {name} must be {tuple(parameter.shape)}: "
                    f"got {arrays[name].shape}. The model was another one."
                )
            parameter.copy_(gn.from_numpy(arrays[name].copy()))


def optimizer_of(model: nn.Module, groups: Iterable[dict], **options: object) -> optim.AdamW:
    """AdamW over groups of parameters given by name: `{"names": [...], "lr": ...}`."""
    named = dict(model.named_parameters())
    filled = [
        {**{k: v for k, v in group.items() if k != "names"}}
        | {"params": [named[name] for name in group["names"]]}
        for group in groups
    ]
    return optim.AdamW(filled, **options)


def names_in_order(model: nn.Module, optimizer: optim.AdamW) -> list[str]:
    """Parameter names in the order in which the optimizer counts them."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names[id(p)] for group in optimizer.param_groups for p in group["params"]]


def optimizer_arrays(model: nn.Module, optimizer: optim.AdamW) -> Arrays:
    """Every array of the optimizer's state by name."""
    state = optimizer.state_dict()["state"]
    return {
        f"{name}.{key}": array_of(value)
        for place, name in enumerate(names_in_order(model, optimizer))
        for key, value in state.get(place, {}).items()
    }


def array_of(value: object) -> np.ndarray:
    """A state entry as an array; counts may be plain numbers."""
    return value.numpy() if isinstance(value, gn.Tensor) else np.asarray(value, np.float32)


def load_optimizer(
    model: nn.Module, optimizer: optim.AdamW, arrays: Mapping[str, np.ndarray]
) -> None:
    """Fill an optimizer's state; the learning rates stay what they are."""
    names = names_in_order(model, optimizer)
    state: dict[int, dict[str, gn.Tensor]] = {place: {} for place in range(len(names))}
    places = {name: place for place, name in enumerate(names)}
    for entry, array in arrays.items():
        name, _, key = entry.rpartition(".")
        if name not in places:
            raise CheckpointError(f"checkpoint: {entry} belongs to no parameter of this model.")
        state[places[name]][key] = gn.from_numpy(array.copy())
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def refuse_difference(what: str, wanted: Iterable[str], found: Iterable[str]) -> None:
    """Stop when two sets of names differ."""
    missing, strange = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing or strange:
        raise CheckpointError(
            f"checkpoint: {what} differ: missing {missing[:3]}, unknown {strange[:3]}. "
            "The model was another one."
        )


def model_of(checkpoint: Checkpoint) -> Qwen3ForCausalLM:
    """The model that a checkpoint holds."""
    model = Qwen3ForCausalLM(checkpoint.model)
    load_parameters(model, checkpoint.parameters())
    return model
