"""Exported programs as graphs for a program file: what they read, write and give back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.capture import precompiled
from gnomon.capture.compile_options import asked
from gnomon.capture.inputs import whole
from gnomon.capture.jit import Compiled
from gnomon.errors import TraceError
from gnomon.export.captured import DynamicSize, apart, key_of, on_symbols, resized
from gnomon.export.sized_tables import MethodSizes, bounded
from gnomon.ir.node import Graph
from gnomon.ir.sizes import MOST, is_symbolic
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.pytree import flatten
from gnomon.tensor.tensor import Tensor, array_of, pair_of
from gnomon.utils.pytree import tree_flatten

if TYPE_CHECKING:
    from gnomon.capture.sized_captures import SizedCapture
    from gnomon.export.exported_program import ExportedProgram
    from gnomon.nn.module import Module

__all__ = ["HeldTensor", "HeldTensors", "ProgramMethod", "captured_methods"]

InputPlaces = tuple[tuple[int, int], ...]


class ProgramMethod(NamedTuple):
    """A method: its graph, and where inputs come from and outputs go.

    given, held: inputs of the graph, each with an argument or a tensor of the file. results: for
    each tensor that is given back an output, or an argument as -1 - k. writes: outputs, each with
    the tensor of the file whose value it becomes. lasting: inputs that may be kept in panels.
    """

    name: str
    graph: Graph
    arguments: tuple[tuple[str, Tensor], ...]
    call: Any
    result: Any
    results: tuple[int, ...]
    given: InputPlaces
    held: InputPlaces
    writes: InputPlaces
    lasting: tuple[int, ...]
    sizes: MethodSizes | None
    shapes: tuple[tuple[Any, ...], ...]
    """Of arguments; a size that varies is -1 less its number."""


class HeldTensor(NamedTuple):
    """A tensor of the file: its name, its bytes and whether methods write it."""

    name: str
    tensor: Tensor
    content: bytes
    written: bool


class HeldTensors:
    """The tensors that methods read beside their arguments, each once, whoever reads it."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._found: list[tuple[str, Tensor]] = []
        self.written: set[int] = set()

    def number(self, name: str, tensor: Tensor) -> int:
        """A tensor's number."""
        one = tensor if tensor._view else tensor._storage
        number = self._numbers.setdefault(id(one), len(self._found))
        if number == len(self._found):
            self._found.append((name, tensor))
        return number

    def content(self) -> list[HeldTensor]:
        """All of them, with their values now."""
        return [
            HeldTensor(name, x, array_of(x).tobytes(), k in self.written)
            for k, (name, x) in enumerate(self._found)
        ]


def captured_methods(
    name: str, program: ExportedProgram, tensors: HeldTensors
) -> Iterator[ProgramMethod]:
    """The method of an exported program, and one for a size of 1, which is no size that varies.

    Raises TraceError where it does more than compute results and write its own tensors.
    """
    vary = program._signature.sizes
    yield captured_method(name, program, tensors, vary)
    if len(vary) == 1 and (program.range_constraints[vary[0].name].lower or 0) <= 1:
        yield captured_method(name, program, tensors, (), vary[0].places)


def captured_method(
    name: str,
    program: ExportedProgram,
    tensors: HeldTensors,
    vary: Sequence[DynamicSize] = (),
    ones: Sequence[tuple[int, int]] = (),
) -> ProgramMethod:
    """The method of an exported program, for sizes that vary, or with a size of 1 at some axes."""
    module, (args, kwargs) = program.module(), program.example_inputs or ((), {})
    call = ExampleCall(name, module, (args, kwargs), ones)
    key, guard, made, sizes, shapes = call.for_sizes(program, vary) if vary else call.fixed()
    precompiled.refuse(name, guard, made, keeps_state=True)
    names = {
        pair_of(x)._storage: path
        for path, x in (*module.named_parameters(), *module.named_buffers())
    }
    leaves = zip(program._signature.names, tree_flatten((args, kwargs))[0], strict=True)
    words = [word for word, leaf in leaves if isinstance(leaf, Tensor)]
    held = tuple(
        (k, tensors.number(names.get(x._storage, f"constant_{k}"), x))
        for k, x in enumerate(made.constant)
        if x is not None
    )
    count = len(made.results.nodes)
    writes = tuple(
        (count + k, tensors.number(names.get(storage, f"constant_{k}"), whole(storage)))
        for k, storage in enumerate(made.own)
    )
    tensors.written.update(x for _, x in writes)
    return ProgramMethod(
        name,
        made.graph,
        tuple(zip(words, call.arguments, strict=True)),
        precompiled.row_of(name, key[0]),
        precompiled.row_of(name, made.outcome.tree),
        tuple(made.results.places()),
        tuple((k, read.number) for k, read in made.varying),
        held,
        writes,
        made.lasting,
        sizes,
        shapes,
    )


InputShapes = tuple[tuple[int, ...], ...]
Captured = tuple[Any, Any, Any, MethodSizes | None, InputShapes]
"""The signature of a call, its guard, its program, its sizes that vary, its shapes."""


class ExampleCall:
    """A module's call for an example, to be captured."""

    def __init__(
        self, name: str, module: Module, given: tuple, ones: Sequence[tuple[int, int]]
    ) -> None:
        self.name, self.arguments = name, list[Tensor]()
        self.tree = flatten(given, self.arguments)
        for k, axis in ones:
            shape = list(self.arguments[k].shape)
            shape[axis] = 1
            self.arguments[k] = resized(self.arguments[k], shape)
        self.shapes = tuple(tuple(x.shape) for x in self.arguments)

        def giving(*args: Any, **kwargs: Any) -> Any:
            return apart(module(*args, **kwargs))

        self._giving = giving

    def _fresh(self, dynamic: bool) -> Compiled:
        """The call as a function that has captured nothing."""
        return Compiled(self._giving, self.name, asked({"dynamic": dynamic}, {}), breaks=False)

    def fixed(self) -> Captured:
        """The capture for the example's sizes."""
        compiled = self._fresh(False)
        with no_grad():
            key, given = key_of(compiled, self.tree, self.arguments)
            found = precompiled.captured(compiled, key, given)
        if not found:
            raise TraceError(f"save: {self.name} depends on a number that calls read anew.")
        return key, *found[0], None, self.shapes

    def for_sizes(self, program: ExportedProgram, vary: Sequence[DynamicSize]) -> Captured:
        """The capture for sizes that vary."""
        with no_grad():
            fresh = partial(self._fresh, True)
            key, capture = on_symbols(fresh, self.tree, self.arguments, vary)
        sizes, shapes = sizes_of(self.name, program, capture, self.shapes)
        return key, capture.guard, capture.source, sizes, shapes


def sizes_of(
    name: str, program: ExportedProgram, capture: SizedCapture, shapes: InputShapes
) -> tuple[MethodSizes, InputShapes]:
    """The sizes of a call that vary, and the shapes of its arguments."""
    symbols, signature = capture.symbols, program._signature
    flat = [(k, axis) for k, shape in enumerate(shapes) for axis in range(len(shape))]
    names = {place: size.name for size in signature.sizes for place in size.places}
    limits = [signature.ranges[names[flat[k]]] for k in symbols.places]
    numbers = {symbols.sizes[k]: -1 - n for n, k in enumerate(symbols.places)}
    found = iter([numbers[x] if is_symbolic(x) else x for x in symbols.sizes])
    sizes = MethodSizes(
        symbols.env,
        symbols.own(symbols.now),
        tuple(flat[k] for k in symbols.places),
        tuple((x.lower or 0, MOST if x.upper is None else x.upper) for x in limits),
    )
    return bounded(name, sizes), tuple(tuple(next(found) for _ in shape) for shape in shapes)
