"""Signatures of exported graphs, with one entry per input and output."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

__all__ = [
    "ConstantArgument",
    "ExportGraphSignature",
    "InputKind",
    "InputSpec",
    "OutputKind",
    "OutputSpec",
    "TensorArgument",
]


class TensorArgument(NamedTuple):
    """A tensor, by the name of its node."""

    name: str


class ConstantArgument(NamedTuple):
    """A value other than a tensor, which calls must pass as the example did."""

    name: str
    value: Any


class InputKind(Enum):
    """The kind of an input."""

    USER_INPUT = 1
    PARAMETER = 2
    BUFFER = 3
    CONSTANT_TENSOR = 4


class OutputKind(Enum):
    """The kind of an output."""

    USER_OUTPUT = 1


class InputSpec(namedtuple("InputSpec", "kind arg target persistent", defaults=(None,))):
    """One input: its kind, its node, and the name of the module's tensor, if it is one."""

    __slots__ = ()

    def __str__(self) -> str:
        target = "" if self.target is None else f" target={self.target!r}"
        kept = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{kept}"


class OutputSpec(namedtuple("OutputSpec", "kind arg target", defaults=(None,))):
    """One output."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self.arg.name}: {self.kind.name}"


class ExportGraphSignature:
    """The inputs and outputs of a graph, in order."""

    def __init__(
        self, input_specs: Sequence[InputSpec], output_specs: Sequence[OutputSpec]
    ) -> None:
        self.input_specs, self.output_specs = list(input_specs), list(output_specs)

    def _targets(self, kind: InputKind) -> dict[str, str]:
        """The names of the module's tensors of one kind, by input name."""
        return {x.arg.name: x.target for x in self.input_specs if x.kind is kind and x.target}

    @property
    def inputs_to_parameters(self) -> dict[str, str]:
        """The parameters' names, by input name."""
        return self._targets(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> dict[str, str]:
        """The buffers' names, by input name."""
        return self._targets(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> dict[str, str]:
        """The constants' names, by input name."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters' names."""
        return tuple(self.inputs_to_parameters.values())

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers' names."""
        return tuple(self.inputs_to_buffers.values())

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of buffers that are not in the state dict."""
        kept = (x for x in self.input_specs if x.persistent is False)
        return tuple(x.target for x in kept if x.target)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The constants' names."""
        return tuple(self.inputs_to_lifted_tensor_constants.values())

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the call's tensors, and the values of its other arguments."""
        return tuple(
            name_or_value(x.arg) for x in self.input_specs if x.kind is InputKind.USER_INPUT
        )

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of resulting tensors, and the values of other results."""
        return tuple(name_or_value(x.arg) for x in self.output_specs)

    def __str__(self) -> str:
        inputs, outputs = (map(str, x) for x in (self.input_specs, self.output_specs))
        return "\n".join(("# inputs", *inputs, "", "# outputs", *outputs))


def name_or_value(given: TensorArgument | ConstantArgument) -> Any:
    """The name of a tensor, or the value of a constant."""
    return given.value if isinstance(given, ConstantArgument) else given.name
