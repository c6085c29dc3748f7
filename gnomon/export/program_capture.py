"""Convert exported programs to the methods of a program file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.capture import precompiled
from gnomon.capture.compile_options import asked
from gnomon.capture.jit import Compiled
from gnomon.capture.program_methods import (
    HeldTensors,
    InputShapes,
    MethodCall,
    ProgramMethod,
    arguments_of,
    method_of,
)
from gnomon.capture.program_writer import write_program
from gnomon.compiler.sized_tables import MethodSizes, bounded
from gnomon.errors import TraceError
from gnomon.export.captured import (
    DynamicSize,
    copy_tensors,
    key_of,
    names_of_state,
    on_symbols,
    resized,
)
from gnomon.ir.sizes import MOST, is_symbolic
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.pytree import flatten
from gnomon.tensor.tensor import Tensor
from gnomon.utils.pytree import tree_flatten

if TYPE_CHECKING:
    from gnomon.capture.sized_captures import SizedCapture
    from gnomon.export.exported_program import ExportedProgram
    from gnomon.nn.module import Module

__all__ = ["captured_methods", "save_programs"]


def save_programs(
    methods: Mapping[str, ExportedProgram],
    path: Any,
    targets: Sequence[str] = ("avx2", "avx512"),
    *,
    notes: bytes = b"",
) -> str:
    """Write a program file with several methods and return its digest.

    Methods of one module, or of modules that share a tensor, share what they read and write.
    targets: the processors that the file runs on, of "avx2", "avx512" and "neon". notes: bytes that
    `load_program(path).notes` returns.

    Raises TraceError if a method does more than compute results and write its own tensors.
    """
    tensors = HeldTensors()
    made = [x for name, each in methods.items() for x in captured_methods(name, each, tensors)]
    return write_program(Path(path), made, tensors, targets, notes)


def captured_methods(
    name: str, program: ExportedProgram, tensors: HeldTensors
) -> Iterator[ProgramMethod]:
    """Yield the method of an exported program, and one for a dynamic size of 1.

    Raises TraceError if it does more than compute results and write its own tensors.
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
    """The method of an exported program, with dynamic sizes or with size 1 at some axes."""
    module, (args, kwargs) = program.module(), program.example_inputs or ((), {})
    call = ExampleCall(name, module, (args, kwargs), ones)
    key, guard, made, sizes, shapes = call.for_sizes(program, vary) if vary else call.fixed()
    precompiled.refuse(name, guard, made, keeps_state=True)
    leaves = zip(program._signature.names, tree_flatten((args, kwargs))[0], strict=True)
    words = dict(enumerate(word for word, leaf in leaves if isinstance(leaf, Tensor)))
    given = arguments_of(words, call.arguments)
    return method_of(
        MethodCall(name, key[0], given, shapes, sizes), made, tensors, names_of_state(module)
    )


Captured = tuple[Any, Any, Any, MethodSizes | None, InputShapes]
"""The signature of a call, its guard, program, dynamic sizes and shapes."""


class ExampleCall:
    """A module's call with example arguments, to be captured."""

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
            return copy_tensors(module(*args, **kwargs))

        self._giving = giving

    def _fresh(self, dynamic: bool) -> Compiled:
        """A new compiled function of the call without captures."""
        return Compiled(self._giving, self.name, asked({"dynamic": dynamic}, {}), breaks=False)

    def fixed(self) -> Captured:
        """Capture the call at the example's sizes."""
        compiled = self._fresh(False)
        with no_grad():
            key, given = key_of(compiled, self.tree, self.arguments)
            found = precompiled.captured(compiled, key, given)
        if not found:
            raise TraceError(f"save: {self.name} depends on a number that calls read anew.")
        return key, *found[0], None, self.shapes

    def for_sizes(self, program: ExportedProgram, vary: Sequence[DynamicSize]) -> Captured:
        """Capture the call with dynamic sizes."""
        with no_grad():
            fresh = partial(self._fresh, True)
            key, capture = on_symbols(fresh, self.tree, self.arguments, vary)
        sizes, shapes = sizes_of(self.name, program, capture, self.shapes)
        return key, capture.guard, capture.source, sizes, shapes


def sizes_of(
    name: str, program: ExportedProgram, capture: SizedCapture, shapes: InputShapes
) -> tuple[MethodSizes, InputShapes]:
    """The dynamic sizes of a call, and its arguments' shapes in terms of them."""
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
