"""torch.export.export: record a module's call as a graph, and verify it against the module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, DtypeError, TraceError
from gnomon.export.captured import DynamicSize, resized
from gnomon.export.dynamic import names_of, sizes_of
from gnomon.export.exported_program import (
    CallSignature,
    CallSpec,
    ExportedProgram,
    TensorKind,
    ValueRanges,
)
from gnomon.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from gnomon.export.recording import RecordedGraph, copies, recorded
from gnomon.export.symbols import general_rows, with_symbols
from gnomon.fx.graph_module import GraphModule
from gnomon.fx.node import Node
from gnomon.ir.sizes import LEAST, MOST
from gnomon.nn.module import Module
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.func import functional_call
from gnomon.tensor.pytree import flatten
from gnomon.tensor.random import get_rng_state, set_rng_state
from gnomon.tensor.tensor import Tensor, array_of
from gnomon.utils.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten

__all__ = ["export"]

SPAN = 12
"""The number of sizes above the example's from which recordings are chosen."""
CLOSE = 1e-3
"""The tolerance of the graph's results, relative and absolute."""


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Export a module's call, recorded with example arguments.

    dynamic_shapes: the sizes that may differ between calls, as `Dim`s by argument and axis. The
    options after it are PyTorch's and have no effect.

    Errors: TraceError if the call reads values of tensors, or is not one graph of functions for all
    sizes.
    """
    if not isinstance(mod, Module):
        raise ArgumentError(
            f"export: expected `mod` to be an instance of nn.Module: got {type(mod).__name__}."
        )
    if not isinstance(args, tuple):
        raise DtypeError(f"export: expected args to be a tuple: got {type(args).__name__}.")
    named = dict(kwargs or {})
    sizes = sizes_of(mod, args, named, dynamic_shapes)
    call = ModuleExample(mod, args, named)
    ranges = ranges_of(dynamic_shapes, sizes)
    record = call.record_for(sizes, ranges) if sizes else call.record()
    program = program_of(call, record, sizes, ranges)
    call.verify(program, sizes)
    return program


class ModuleExample:
    """A module's call with example arguments, to be recorded."""

    def __init__(self, module: Module, args: tuple, kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.name = type(module).__name__
        self.leaves, self.tree = tree_flatten((args, kwargs))
        self.positional = names_of(module, args)
        paths = [path for path, _ in tree_flatten_with_path((args, kwargs))[0]]
        self.names = [self.named(path) for path in paths]
        self.given: list[Tensor] = []
        flatten((args, kwargs), self.given)
        self.state = {
            name: (f"{kind}_{name.replace('.', '_')}", x)
            for kind, found in (
                ("p", module.named_parameters(remove_duplicate=False)),
                ("b", module.named_buffers(remove_duplicate=False)),
            )
            for name, x in found
        }

    def named(self, path: tuple) -> str:
        """The name of an argument's leaf, from its path of keys."""
        first = self.positional[path[1].idx] if path[0].idx == 0 else str(path[1].key)
        rest = (keystr((key,)).strip("[].'\"") for key in path[2:])
        return "_".join((first, *rest))

    def record(self, given: Sequence[Tensor] | None = None) -> RecordedGraph:
        """Record the call, with `given` in place of the example's tensors if not None."""
        leaves = self.with_tensors(given or self.given)
        return recorded(self.module, self.state, self.names, (leaves, self.tree))

    def with_tensors(self, given: Sequence[Tensor]) -> list[Any]:
        """The leaves of the arguments, with other tensors."""
        numbers = {id(x): k for k, x in enumerate(self.given)}
        return [given[numbers[id(x)]] if isinstance(x, Tensor) else x for x in self.leaves]

    def places(self, sizes: Sequence[DynamicSize]) -> list[tuple[int, ...]]:
        """For each dynamic size, the leaf number of each of its places."""
        found = {id(x): k for k, x in reversed([*enumerate(self.leaves)])}
        return [tuple(found[id(self.given[k])] for k, _ in size.places) for size in sizes]

    def sized(self, sizes: Sequence[DynamicSize], row: Sequence[int]) -> list[Tensor]:
        """The example's tensors, resized to given dynamic sizes."""
        shapes = [list(x.shape) for x in self.given]
        for size, n in zip(sizes, row, strict=True):
            for number, axis in size.places:
                shapes[number][axis] = n
        return [resized(x, shape) for x, shape in zip(self.given, shapes, strict=True)]

    def rows(
        self, sizes: Sequence[DynamicSize], ranges: Mapping[str, ValueRanges], up: bool
    ) -> list[tuple[int, ...]]:
        """Choose dynamic sizes for several recordings, above the example's or up to it."""
        places = {place for size in sizes for place in size.places}
        taken = {
            n
            for k, x in enumerate(self.given)
            for axis, n in enumerate(x.shape)
            if (k, axis) not in places
        }
        pools = []
        for size in sizes:
            number, axis = size.places[0]
            base, (low, high) = self.given[number].shape[axis], ranges[size.name]
            least = max(low or 0, LEAST, base + 1 if up else 0)
            pools.append(range(least, min(high or MOST, least + SPAN if up else base) + 1))
        found = general_rows(pools, taken)
        if found is None:
            raise ArgumentError(
                "export: too few sizes to try for " + ", ".join(s.name for s in sizes) + ". Give "
                "each Dim a wider range, or an example of another size."
            )
        return found

    def record_for(
        self, sizes: Sequence[DynamicSize], ranges: Mapping[str, ValueRanges]
    ) -> RecordedGraph:
        """Record the call with dynamic sizes."""
        try:
            return self.record_rows(sizes, self.rows(sizes, ranges, True))
        except Exception as error:
            met = error
        try:  # more than in the example may be too much for it
            return self.record_rows(sizes, self.rows(sizes, ranges, False))
        except Exception:
            raise met from None

    def record_rows(
        self, sizes: Sequence[DynamicSize], rows: Sequence[tuple[int, ...]]
    ) -> RecordedGraph:
        """Record the call at several sizes and combine the recordings into one."""
        records = [self.record(self.sized(sizes, row)) for row in rows]
        self.last = rows[-1]
        return with_symbols(records, sizes, rows, self.name)

    def verify(self, program: ExportedProgram, sizes: Sequence[DynamicSize]) -> None:
        """Raise TraceError if the graph and the module differ at other values or sizes."""
        runs = [self.given, [changed_values(x) for x in self.given]]
        runs += [self.sized(sizes, self.last)] if sizes else []
        for given in runs:
            leaves = self.with_tensors(given)
            before = get_rng_state()
            theirs = self.outcome(leaves)
            set_rng_state(before)
            ours = outcome_of(program, leaves)
            set_rng_state(before)
            for mine, other in zip(ours, theirs, strict=True):
                if not is_near(mine, other):
                    raise TraceError(
                        f"export: {self.name} computes something that is no call of a function of "
                        "tensors, or depends on the values. Move it out of the module."
                    )

    def outcome(self, leaves: Sequence[Any]) -> list[Any]:
        """The module's results and its state after the call."""
        with no_grad():
            state = {name: x.detach().clone() for name, (_, x) in self.state.items()}
            args, kwargs = tree_unflatten(list(copies(leaves)), self.tree)
            made = functional_call(self.module, state, args, kwargs, tie_weights=False)
            return [*tree_flatten(made)[0], *state.values()]


def outcome_of(program: ExportedProgram, leaves: Sequence[Any]) -> list[Any]:
    """The graph's results and the state after the call."""
    with no_grad():
        held = {
            x.arg.name: program._held(x.target).detach().clone()
            for x in program.graph_signature.input_specs
            if x.target
        }
        results = program.graph_module(*held.values(), *copies(leaves))
        constants = program.graph_signature.inputs_to_lifted_tensor_constants
        return [*results, *(x for name, x in held.items() if name not in constants)]


def changed_values(x: Tensor) -> Tensor:
    """A floating-point tensor, flipped and scaled; others unchanged."""
    if not x.dtype.is_floating_point:
        return x
    flipped = x.detach().flip(*range(x.ndim)) if x.ndim else x.detach()
    return flipped * 0.875


def is_near(mine: Any, other: Any) -> bool:
    """Whether two results are equal, or close if they are tensors."""
    if not isinstance(mine, Tensor) or not isinstance(other, Tensor):
        return mine is other or bool(mine == other)
    if tuple(mine.shape) != tuple(other.shape) or mine.dtype is not other.dtype:
        return False
    first, second = (np.asarray(array_of(x.detach()), np.float64) for x in (mine, other))
    return bool(np.allclose(first, second, CLOSE, CLOSE, equal_nan=True))


def ranges_of(shapes: Any, sizes: Sequence[DynamicSize]) -> dict[str, ValueRanges]:
    """The ranges of dynamic sizes, by name."""
    leaves = tree_flatten(shapes)[0] if sizes else []
    dims = {getattr(x, "name", ""): x for x in leaves}
    return {
        s.name: ValueRanges(
            getattr(dims.get(s.name), "min", None), getattr(dims.get(s.name), "max", None)
        )
        for s in sizes
    }


def program_of(
    call: ModuleExample,
    record: RecordedGraph,
    sizes: Sequence[DynamicSize],
    ranges: dict[str, ValueRanges],
) -> ExportedProgram:
    """Make a program of a recorded call."""
    state = call.module.state_dict()
    own = {name for name, (kind, _) in call.state.items() if kind.startswith("p_")}
    inputs = []
    for node, (name, _) in zip(record.state, call.state.items(), strict=True):
        kind = InputKind.PARAMETER if name in own else InputKind.BUFFER
        kept = None if name in own else name in state
        inputs.append(InputSpec(kind, TensorArgument(node.name), name, kept))
    inputs += [
        InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(name), name.removeprefix("c_"))
        for name in record.constants
    ]
    for node, value in zip(record.leaves, call.leaves, strict=True):
        inputs.append(InputSpec(InputKind.USER_INPUT, argument(node, node, value), None))
    outputs = [
        OutputSpec(OutputKind.USER_OUTPUT, argument(x, x if isinstance(x, Node) else None, x))
        for x in record.outputs
    ]
    spec = CallSpec(call.tree, record.tree)
    example = tuple(
        TensorKind(tuple(x.shape), x.dtype) if isinstance(x, Tensor) else x for x in call.leaves
    )
    names, places = tuple(x.name for x in record.leaves), tuple(call.places(sizes))
    signature = CallSignature(
        tuple(call.positional), names, example, spec, tuple(sizes), places, ranges
    )
    held = {name: x for name, (_, x) in call.state.items()}
    hidden = {name: x for name, x in held.items() if name not in state}
    hidden |= {name.removeprefix("c_"): x for name, x in record.constants.items()}
    kept = {name: held.get(name, x) for name, x in state.items()}
    return ExportedProgram(
        GraphModule(Module(), record.graph),
        ExportGraphSignature(inputs, outputs),
        kept,
        hidden,
        (call.args, call.kwargs),
        signature,
    )


def argument(node: Any, tensor: Node | None, value: Any) -> TensorArgument | ConstantArgument:
    """The signature entry of a tensor or of a constant."""
    if tensor is not None and "tensor_meta" in tensor.meta:
        return TensorArgument(tensor.name)
    return ConstantArgument(tensor.name if tensor is not None else "", value)
