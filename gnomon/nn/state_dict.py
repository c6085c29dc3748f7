"""A module's values by name, out and in: PyTorch's keys, and a report of what does not fit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from gnomon.errors import ShapeError
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.creation import as_tensor
from gnomon.tensor.tensor import Tensor


class IncompatibleKeys(NamedTuple):
    """The keys that a load did not find, and those that it did not know."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Loadable:
    """What Module inherits: state_dict and load_state_dict."""

    def _own_values(self) -> dict[str, Tensor]:
        """Parameters and saved buffers of this module alone."""
        held = {k: v for k, v in self._parameters.items() if v is not None}
        buffers = self._buffers.items()
        held.update((k, v) for k, v in buffers if v is not None and k not in self._transient)
        return held

    def state_dict(
        self, *, destination: dict | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """All parameters and saved buffers by path; they share memory with the module."""
        found = OrderedDict() if destination is None else destination
        for name, value in self._own_values().items():
            found[prefix + name] = value if keep_vars else value.detach()
        for name, module in self.named_children():
            module.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into parameters and buffers by path.

        With strict, every key must match; sizes must match in any case. Nothing changes on error.
        """
        targets = self._targets()
        missing = [key for key in targets if key not in state_dict]
        unexpected = [key for key in state_dict if key not in targets]
        problems = [
            f"size mismatch for {key}: the checkpoint's is {tuple(state_dict[key].shape)}, "
            f"the module's {tuple(value.shape)}."
            for key, value in targets.items()
            if key in state_dict and tuple(state_dict[key].shape) != tuple(value.shape)
        ]
        if strict:
            problems = report("Unexpected", unexpected) + report("Missing", missing) + problems
        if problems:
            name = type(self).__name__
            raise ShapeError(f"load_state_dict: {name} does not fit:\n\t" + "\n\t".join(problems))
        with no_grad():
            for key in targets.keys() & state_dict.keys():
                targets[key].copy_(as_tensor(state_dict[key]))
        return IncompatibleKeys(missing, unexpected)

    def _targets(self) -> dict[str, Tensor]:
        """Every value that a load may fill, by path."""
        return self.state_dict(keep_vars=True)


def report(what: str, keys: list[str]) -> list[str]:
    """A line that lists keys, or none."""
    return [f"{what} key(s) in state_dict: {', '.join(map(repr, keys))}."] if keys else []
