"""Capture a function's graph for export: its inputs, state and results.

The graph is exported and not compiled here. Sizes that may differ from the example's are symbols
(gnomon/ir/sizes.py), found as compiled functions find them: by calls with other sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gnomon.capture import precompiled
from gnomon.capture.compile_options import asked
from gnomon.capture.jit import Compiled
from gnomon.capture.replay import CapturedProgram
from gnomon.capture.storage_names import inside, of_arguments
from gnomon.capture.varying import VaryingNumbers
from gnomon.errors import ArgumentError, TraceError
from gnomon.ir.node import Graph, Node
from gnomon.ir.sizes import LEAST, MOST, ShapeEnv
from gnomon.nn.module import Module
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.pytree import TreeSpec, dense_parts, flatten, unflatten
from gnomon.tensor.state import Storage
from gnomon.tensor.tensor import Paired, Tensor, array_of, from_array

if TYPE_CHECKING:
    from gnomon.capture.sized_captures import SizedCapture

__all__ = ["CapturedGraph", "DynamicSize", "GraphArgument", "GraphState", "captured_graph"]


class GraphArgument(NamedTuple):
    """A tensor argument; each size is a number or the name of a dynamic size.

    node: None if nothing is computed from it.
    """

    name: str
    tensor: Tensor
    sizes: tuple[int | str, ...]
    node: Node | None


class GraphState(NamedTuple):
    """A tensor that the function reads beside its arguments."""

    name: str
    tensor: Tensor
    node: Node


class DynamicSize(NamedTuple):
    """A named size that may differ between calls, and the (argument, axis) pairs that have it."""

    name: str
    places: tuple[tuple[int, int], ...]


class CapturedGraph(NamedTuple):
    """A function's captured graph.

    results: the output of each tensor that the function returns, in the order of its tree. env: the
    symbols of sizes, if some are dynamic; symbols: their names in order.
    """

    name: str
    graph: Graph
    arguments: tuple[GraphArgument, ...]
    state: tuple[GraphState, ...]
    results: tuple[Node, ...]
    tree: Any
    env: ShapeEnv | None
    symbols: tuple[str, ...]


def captured_graph(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    sizes: Sequence[DynamicSize] = (),
) -> CapturedGraph:
    """Capture the graph of a function called with example arguments.

    Raises TraceError, with the place, if the function does more than compute results from its
    arguments.
    """
    name = name_of(function)

    def giving(*args: Any, **kwargs: Any) -> Any:
        return copy_tensors(function(*args, **kwargs))

    given: list[Tensor] = []
    tree = flatten((tuple(args), dict(kwargs)), given)
    if any(issubclass(kind, Paired) for kind in containers(tree)):
        raise refused(name, "takes complex numbers", "Pass view_as_real() of them.")
    fresh = partial(Compiled, giving, name, asked({"dynamic": bool(sizes)}, {}), breaks=False)
    with no_grad():
        if not sizes:
            compiled = fresh()
            key, arguments = key_of(compiled, tree, given)
            found = precompiled.captured(compiled, key, arguments)
            if not found:
                raise refused(name, "depends on a number that calls read anew", "Pass it in.")
            guard, program = found[0]
            return described(ExportedCall(function, key[0], program, guard.lost), given)
        key, made = on_symbols(fresh, tree, given, sizes)
    flat = [(k, axis) for k, x in enumerate(given) for axis in range(x.ndim)]
    names = {place: size.name for size in sizes for place in size.places}
    symbols = tuple(names[flat[k]] for k in made.symbols.places)
    found = ExportedCall(function, key[0], made.source, made.guard.lost)
    return described(found, given, sizes, made.symbols.env, symbols)


def containers(tree: Any) -> Iterator[type]:
    """Yield the container classes in a tree."""
    if isinstance(tree, TreeSpec):
        yield tree.kind
        for part in tree.parts:
            yield from containers(part)


def key_of(compiled: Compiled, tree: Any, given: Sequence[Tensor]) -> tuple[tuple, list[Tensor]]:
    """The signature of a call, and its tensors."""
    compiled.varying = compiled.varying or VaryingNumbers()
    args, kwargs = unflatten(tree, given)
    return compiled._key(args, kwargs)


def copy_tensors(value: Any) -> Any:
    """A nested value whose tensors are copies."""
    found: list[Tensor] = []
    tree = flatten(value, found)
    return unflatten(tree, [x.clone() for x in found])


def samples(given: Sequence[Tensor], sizes: Sequence[DynamicSize], step: int) -> list[list[Tensor]]:
    """Two variants of the arguments, with dynamic sizes that differ from all other sizes.

    The sizes are near the example's, above or below it by the sign of `step`. Elements are
    repeated, so that indices stay in range.
    """
    varying = {place for size in sizes for place in size.places}
    taken = {n for k, x in enumerate(given) for a, n in enumerate(x.shape) if (k, a) not in varying}
    found = []
    for _ in range(2):
        made = [list(x.shape) for x in given]
        for size in sizes:
            argument, axis = size.places[0]
            start = max(given[argument].shape[axis], LEAST)
            up, down = range(start, start + MOST), range(start - 1, LEAST - 1, -1)
            tried = up if step > 0 else down
            n = next((n for n in tried if n not in taken), None)
            if n is None:
                raise ArgumentError(f"export: no smaller size {size.name} than {start} to try.")
            taken.add(n)
            for argument, axis in size.places:
                made[argument][axis] = n
        found.append([resized(x, shape) for x, shape in zip(given, made, strict=True)])
    return found


def resized(x: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor of another shape, with its elements repeated or cut along each axis."""
    array = array_of(x)
    for axis, n in enumerate(shape):
        if n != array.shape[axis]:
            array = np.take(array, np.arange(n) % max(array.shape[axis], 1), axis)
    return from_array(np.ascontiguousarray(array))


def on_symbols(
    fresh: Callable[[], Compiled], tree: Any, given: Sequence[Tensor], sizes: Sequence[DynamicSize]
) -> tuple[tuple, SizedCapture]:
    """The signature of a call and a capture with symbolic sizes."""
    try:
        return capture_two_sizes(fresh(), tree, given, sizes, 1)
    except Exception as error:
        met = error
    try:  # more than in the example may be too much for it
        return capture_two_sizes(fresh(), tree, given, sizes, -1)
    except Exception:
        raise met from None


def capture_two_sizes(
    compiled: Compiled,
    tree: Any,
    given: Sequence[Tensor],
    sizes: Sequence[DynamicSize],
    step: int,
) -> tuple[tuple, SizedCapture]:
    """Capture calls at two sizes above or below the example's; return signature and capture."""
    first, second = samples(given, sizes, step)
    precompiled.captured(compiled, *key_of(compiled, tree, first))
    key, arguments = key_of(compiled, tree, second)
    _, undo = compiled._sized(key, arguments, None)
    if undo is not None:
        undo()
    family, _ = compiled.size_families.family(key)
    made = family.made[-1] if family and family.made else None
    if made is None:
        names = ", ".join(x.name for x in sizes)
        raise refused(
            compiled.name,
            f"does not compute alike for all sizes of {names}",
            "Export it for fixed sizes, or see GNOMON_DEBUG=1 for the line that decides.",
        )
    return key, made


class ExportedCall(NamedTuple):
    """A captured call: function, signature, program, and what a replay would lose."""

    function: Callable[..., Any]
    call: Any
    program: CapturedProgram
    lost: str


def described(
    found: ExportedCall,
    given: Sequence[Tensor],
    sizes: Sequence[DynamicSize] = (),
    env: ShapeEnv | None = None,
    symbols: tuple[str, ...] = (),
) -> CapturedGraph:
    """A capture's graph with the names of its inputs."""
    own, program = name_of(found.function), found.program
    refuse_effects(own, program, found.lost)
    words = dict(of_arguments(found.function, found.call))
    varying = {place: size.name for size in sizes for place in size.places}
    nodes: dict[int, Node] = {}
    state, names = [], names_of_state(found.function)
    numbers = {k: read.number for k, read in program.varying}
    for k, (node, tensor) in enumerate(zip(program.graph.inputs, program.constant, strict=True)):
        if k in numbers:
            nodes[numbers[k]] = node
        else:
            name = names.get(tensor._storage, f"constant_{k}")
            state.append(GraphState(name, tensor, node))
    shapes = [
        tuple(varying.get((k, axis), n) for axis, n in enumerate(x.shape))
        for k, x in enumerate(given)
    ]
    arguments = [GraphArgument(words[k], x, shapes[k], nodes.get(k)) for k, x in enumerate(given)]
    outputs, places = program.graph.outputs, program.results.places()
    tree = program.outcome.tree
    results = tuple(outputs[places[number]] for number, _ in inside("", tree))
    return CapturedGraph(
        own, program.graph, tuple(arguments), tuple(state), results, tree, env, symbols
    )


def name_of(function: Any) -> str:
    """The name of a function, or of a module's class."""
    return getattr(function, "__name__", None) or type(function).__name__


def names_of_state(function: Any) -> dict[Storage, str]:
    """The first names of a module's parameters and buffers, by storage."""
    found: dict[Storage, str] = {}
    if isinstance(function, Module):
        for name, x in (*function.named_parameters(), *function.named_buffers()):
            for part in dense_parts(x)[0]:
                found.setdefault(part._storage, name)
    return found


def refused(name: str, why: str, remedy: str, line: object = "") -> TraceError:
    """The TraceError of a function that cannot be exported."""
    return TraceError(f"export: {name} {why}. {remedy}" + (f"   [{line}]" if line else ""))


def refuse_effects(name: str, program: CapturedProgram, lost: str) -> None:
    """Raise TraceError if a program does more than compute results from its arguments."""
    empty = program.graph is None, "computes nothing of tensors", "Export what computes."
    for found, why, remedy in (*precompiled.beyond_results(program, lost), empty):
        if found:
            remedy = remedy.replace("Precompile", "Export")
            raise refused(name, why, remedy, precompiled.line_of(program))
