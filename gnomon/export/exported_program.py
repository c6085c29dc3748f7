"""torch.export's programs: a module's call as a graph of functions, with the module's tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

from gnomon.errors import ArgumentError, DtypeError, TraceError
from gnomon.export.captured import DynamicSize
from gnomon.export.graph_signature import (
    ExportGraphSignature,
)
from gnomon.fx.graph import Graph
from gnomon.fx.graph_module import GraphModule, set_at
from gnomon.fx.node import Node
from gnomon.lazy import program_capture
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.serialization.files import load as load_file
from gnomon.serialization.files import save as save_file
from gnomon.tensor.tensor import Tensor
from gnomon.utils.pytree import (
    PyTreeSpec,
    tree_flatten,
    tree_unflatten,
)

__all__ = [
    "CallSignature",
    "CallSpec",
    "ExportedProgram",
    "TensorKind",
    "ValueRanges",
    "load",
    "save",
]

VERSION = 1


class ValueRanges(NamedTuple):
    """The range of a dynamic size, both ends included; None means no limit."""

    lower: int | None
    upper: int | None


class CallSpec(NamedTuple):
    """The tree structures of a call's arguments and results."""

    in_spec: PyTreeSpec
    out_spec: PyTreeSpec


class CallSignature(NamedTuple):
    """The arguments, results and dynamic sizes of a module's call."""

    positional: tuple[str, ...]
    """The names of positional arguments."""
    names: tuple[str, ...]
    """The names of the arguments' leaves."""
    example: tuple[Any, ...]
    """The shape and dtype of each tensor in the example; other values as they are."""
    spec: CallSpec
    sizes: tuple[DynamicSize, ...]
    places: tuple[tuple[int, ...], ...]
    """For each dynamic size, the leaf number of each of its places."""
    ranges: dict[str, ValueRanges]


class ExportedProgram:
    """A module's call as a graph, described by `graph_signature`, with the module's tensors.

    >>> import gnomon as gn
    >>> made = gn.export.export(gn.nn.Linear(2, 1), (gn.ones(3, 2),))
    >>> made.graph_signature.parameters, made.graph_signature.user_inputs
    (('weight', 'bias'), ('input',))
    >>> made.module()(gn.ones(3, 2)).shape
    Size([3, 1])
    """

    dialect = "TRAINING"

    def __init__(
        self,
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Tensor],
        constants: dict[str, Tensor],
        example_inputs: tuple[tuple, dict[str, Any]] | None,
        signature: CallSignature,
    ) -> None:
        self.graph_module, self.graph_signature = graph_module, graph_signature
        self.state_dict, self.constants = state_dict, constants
        self.example_inputs, self._signature = example_inputs, signature

    @property
    def graph(self) -> Graph:
        """The graph; its placeholders are the state, then constants, then the call's arguments."""
        return self.graph_module.graph

    @property
    def range_constraints(self) -> dict[str, ValueRanges]:
        """The ranges of the dynamic sizes, by name."""
        return self._signature.ranges

    @property
    def call_spec(self) -> CallSpec:
        """The tree structures of arguments and results."""
        return self._signature.spec

    @property
    def tensor_constants(self) -> dict[str, Tensor]:
        """The constant tensors by name."""
        return self.constants

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the names and parameters."""
        return ((name, self.state_dict[name]) for name in self.graph_signature.parameters)

    def parameters(self) -> Iterator[Tensor]:
        """Yield the parameters."""
        return (x for _, x in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the names and buffers."""
        return ((name, self._held(name)) for name in self.graph_signature.buffers)

    def buffers(self) -> Iterator[Tensor]:
        """Yield the buffers."""
        return (x for _, x in self.named_buffers())

    def _held(self, name: str) -> Tensor:
        """The tensor of a name in the state or the constants."""
        return self.state_dict[name] if name in self.state_dict else self.constants[name]

    def module(self, check_guards: bool = True) -> Module:
        """Make a module that runs the graph with this program's tensors."""
        graph, known = Graph(), dict[Node, Node]()
        paths = {x.arg.name: x.target for x in self.graph_signature.input_specs if x.target}
        for node in self.graph.nodes:
            if node.op == "placeholder" and node.name in paths:
                known[node] = graph.get_attr(paths[node.name])
            else:
                known[node] = graph.node_copy(node, lambda x: known[x])
        hidden = self.graph_signature.non_persistent_buffers
        constants = self.graph_signature.lifted_tensor_constants
        root = {path: self._held(path) for path in paths.values()}
        made = ExportedModule(root, graph)
        for path, value in root.items():
            set_at(made, path, value)
            if path in hidden or path in constants:
                above, _, last = path.rpartition(".")
                owner = made.get_submodule(above) if above else made
                owner.register_buffer(last, value, persistent=False)
        vars(made)["_signature"] = self._signature if check_guards else None
        vars(made)["_spec"] = self._signature.spec, self._signature.positional
        return made

    def run_decompositions(self, decomp_table: Any = None) -> ExportedProgram:
        """Return the program unchanged: its functions are not decomposed."""
        return self

    def save(self, path: str | PathLike, targets: Sequence[str] = ("avx2", "avx512")) -> str:
        """Write a program file with machine code and weights, which runs without a compiler.

        Returns its digest. targets: the processors, of "avx2", "avx512" and "neon". `load_program`
        reads the file, and so does a copy of gnomon/runtime/program_file.py without Gnomon.

        Errors: TraceError if the call does more than compute results and write its own tensors.

        >>> import gnomon as gn, tempfile
        >>> made = gn.export.export(gn.nn.Linear(2, 1), (gn.ones(3, 2),))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digest = made.save(f"{folder}/linear.gnp", targets=["avx2"])
        ...     gn.export.load_program(f"{folder}/linear.gnp", digest)(gn.ones(3, 2)).shape
        (3, 1)
        """
        return program_capture.save_programs({"forward": self}, path, targets)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to be called, as PyTorch's; call `module()` instead."""
        raise TraceError(
            "ExportedProgram: unable to call ExportedProgram directly. Use `.module()` instead."
        )

    def __str__(self) -> str:
        text = self.graph_module.print_readable(print_output=False)
        body = "".join(f"    {line}\n" for line in text.splitlines())
        signature = "".join(f"    {line}\n" for line in str(self.graph_signature).splitlines())
        ranges = f"Range constraints: {self.range_constraints}"
        return f"ExportedProgram:\n{body}\nGraph signature:\n{signature}\n{ranges}\n"


class ExportedModule(GraphModule):
    """A module that runs an exported graph."""

    def recompile(self) -> Any:
        """Regenerate forward, which takes and returns nested values."""
        made = super().recompile()
        inner = type(self).forward

        def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
            spec, positional = vars(self)["_spec"]
            leaves = leaves_of(spec.in_spec, positional, args, kwargs)
            if vars(self)["_signature"] is not None:
                check_arguments(vars(self)["_signature"], leaves)
            return tree_unflatten(list(inner(self, *leaves)), spec.out_spec)

        type(self).forward = forward
        return made


def leaves_of(
    spec: PyTreeSpec, positional: Sequence[str], args: tuple, kwargs: Mapping[str, Any]
) -> list[Any]:
    """The leaves of a call's arguments, whose structure must be the example's."""
    named = dict(kwargs)
    more = positional[len(args) :]
    args = (*args, *(named.pop(name) for name in more if name in named))
    order = spec.child(1).context
    named = {**{key: named[key] for key in order if key in named}, **named}
    leaves, found = tree_flatten((args, named))
    if found != spec:
        raise ArgumentError(
            f"export: the arguments' structure is not that of the example: got {found}, expected "
            f"{spec}. Call the program as it was exported."
        )
    return leaves


def check_arguments(signature: CallSignature, leaves: Sequence[Any]) -> None:
    """Raise ArgumentError for arguments for which the graph was not recorded."""
    for name, like, value in zip(signature.names, signature.example, leaves, strict=True):
        if isinstance(like, TensorKind) != isinstance(value, Tensor):
            raise ArgumentError(f"export: {name} is {value!r}: the example had {like!r}.")
        if not isinstance(like, TensorKind):
            if like != value and like is not value:
                raise ArgumentError(f"export: {name} is {value!r}: the program is for {like!r}.")
        elif value.dtype is not like.dtype or len(value.shape) != len(like.shape):
            raise ArgumentError(
                f"export: {name} is {value.dtype.name} of {value.ndim} axes: the program is for "
                f"{like.dtype.name} of {len(like.shape)}."
            )
    free = dict[tuple[int, int], str]()
    for size, numbers in zip(signature.sizes, signature.places, strict=True):
        found = [(k, axis) for k, (_, axis) in zip(numbers, size.places, strict=True)]
        free.update(dict.fromkeys(found, size.name))
        check_size(signature, size.name, [(k, axis, leaves[k].shape[axis]) for k, axis in found])
    for k, like in enumerate(signature.example):
        for axis, n in enumerate(like.shape if isinstance(like, TensorKind) else ()):
            if (k, axis) not in free and leaves[k].shape[axis] != n:
                raise ArgumentError(
                    f"export: axis {axis} of {signature.names[k]} has {leaves[k].shape[axis]}: the "
                    f"program is for {n}. Name it in dynamic_shapes."
                )


def check_size(signature: CallSignature, name: str, found: Sequence[tuple[int, int, int]]) -> None:
    """Raise ArgumentError if a dynamic size has several values, or one out of its range."""
    (k, axis, n), limits = found[0], signature.ranges[name]
    for other, place, m in found:
        if m != n:
            raise ArgumentError(
                f"export: {name} is {n} in axis {axis} of {signature.names[k]} and {m} in axis "
                f"{place} of {signature.names[other]}. Give tensors of one size."
            )
    if n < (limits.lower or 0) or (limits.upper is not None and n > limits.upper):
        raise ArgumentError(
            f"export: {name} is {n}: its Dim allows {limits.lower or 0} to {limits.upper}."
        )


class TensorKind(NamedTuple):
    """A tensor's shape and dtype."""

    shape: tuple[int, ...]
    dtype: Any


# files


class Saved:
    """A program without its tensors, as pickled in a file."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: Mapping[str, Any] | None = None,
    opset_version: Any = None,
) -> None:
    """Write a program to a path or an open file."""
    if not isinstance(ep, ExportedProgram):
        raise DtypeError(f"export.save: expected an ExportedProgram: got {type(ep).__name__}.")
    parts = Saved(ep.graph_module, ep.graph_signature, ep.example_inputs, ep._signature)
    own = {name for name, x in ep.state_dict.items() if isinstance(x, Parameter)}
    tensors = {"state": dict(ep.state_dict), "constants": dict(ep.constants), "parameters": own}
    save_file(
        {"gnomon.export": VERSION, "parts": parts, "extra": dict(extra_files or {}), **tensors}, f
    )


def load(
    f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: Any = None
) -> ExportedProgram:
    """Read a program that `save` wrote. Loading runs code from the file: trust its source."""
    found = load_file(f, weights_only=False)
    if not isinstance(found, dict) or found.get("gnomon.export") != VERSION:
        raise ArgumentError("export.load: the file holds no program of this version of Gnomon.")
    if extra_files is not None:
        extra_files |= {name: found["extra"].get(name, "") for name in extra_files}
    module, signature, example, call = found["parts"].parts
    own = found["parameters"]
    state = {
        name: Parameter(x, x.dtype.is_floating_point)
        if name in own and not isinstance(x, Parameter)
        else x
        for name, x in found["state"].items()
    }
    return ExportedProgram(module, signature, state, found["constants"], example, call)
