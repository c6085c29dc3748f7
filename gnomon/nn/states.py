"""state_dict and load_state_dict: what a module holds, by path, and a report of misfits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gnomon.errors import CheckpointError
from gnomon.nn.parameter import Parameter, is_lazy
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.tensor import Tensor


class Report(NamedTuple):
    """The keys that were wanted but not given, and those that were given but not wanted."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"Report(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Stateful:
    """The part of Module that saves and loads."""

    def state_dict(
        self, *, destination: dict | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and saved buffers by path; they share the module's memory."""
        state = {} if destination is None else destination
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in self._not_saved:
                state[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Report:
        """Take values by path; what does not fit is an error, and if strict what is left over."""
        given, wanted, wrong = dict(state_dict), [], []
        for path, place, name in saved_places(self, ""):
            wanted.append(path)
            if path in given:
                wrong += taken(place, name, given[path], path, assign)
        missing = [path for path in wanted if path not in given and not uncounted(state_dict, path)]
        unexpected = [path for path in given if path not in set(wanted)]
        if strict and unexpected:
            wrong.insert(0, f"Unexpected key(s) in state_dict: {listed(unexpected)}.")
        if strict and missing:
            wrong.insert(0, f"Missing key(s) in state_dict: {listed(missing)}.")
        if wrong:
            lines = "\n\t".join(wrong)
            raise CheckpointError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{lines}"
            )
        return Report(missing, unexpected)


def uncounted(state_dict: Mapping[str, Any], path: str) -> bool:
    """Whether a key counts batches, which files of before its time do not have."""
    module, _, name = path.rpartition(".")
    notes = getattr(state_dict, "_metadata", {}).get(module, {})
    return name == "num_batches_tracked" and (notes.get("version") or 0) < 2


def listed(keys: list[str]) -> str:
    """Keys in quotes."""
    return ", ".join(f'"{key}"' for key in keys)


def saved_places(module: Any, prefix: str) -> list[tuple[str, dict, str]]:
    """(path, dict, name) of every value that a module saves."""
    found = [
        (prefix + name, place, name)
        for place in (module._parameters, module._buffers)
        for name, value in place.items()
        if value is not None and name not in module._not_saved
    ]
    for name, inner in module._modules.items():
        if inner is not None:
            found += saved_places(inner, f"{prefix}{name}.")
    return found


def taken(place: dict, name: str, value: Any, path: str, assign: bool) -> list[str]:
    """Store one value; the complaint if it does not fit."""
    kept = place[name]
    if not isinstance(value, Tensor):
        return [f"While copying {path}: expected a Tensor, got {type(value).__name__}."]
    if is_lazy(kept):
        if is_lazy(value):
            return []
        kept.materialize(value.shape)
    if tuple(value.shape) != tuple(kept.shape):
        return [
            f"size mismatch for {path}: copying a param with shape {tuple(value.shape)} from "
            f"checkpoint, the shape in current model is {tuple(kept.shape)}."
        ]
    with no_grad():
        if not assign:
            kept.copy_(value)
        elif isinstance(kept, Parameter):
            place[name] = Parameter(value, kept.requires_grad)
        else:
            place[name] = value
    return []
