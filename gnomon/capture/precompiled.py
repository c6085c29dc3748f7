"""Functions compiled ahead of their calls, for examples of their arguments, and saved in a file.

What a file cannot hold is refused, with the reason: whatever a replay would do beside computing
results of its arguments. Who loads the file is loaded.py; its parts, gnomon/program/artifact.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.capture.inputs import GivenInput
from gnomon.capture.varying import VaryingNumbers
from gnomon.errors import TraceError
from gnomon.ir.provenance import user_site
from gnomon.ops.collectives import MEETINGS
from gnomon.program.artifact import (
    CONTAINERS,
    Definition,
    EntryPoint,
    StateTensor,
    origin,
    write_artifact,
)
from gnomon.program.graphs import GraphWriter
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.pytree import Constant, TreeLeaf, TreeSpec
from gnomon.tensor.tensor import Tensor, array_of
from gnomon.tensor.views import BOUNDARIES

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard
    from gnomon.capture.jit import Compiled
    from gnomon.capture.replay import CapturedProgram
    from gnomon.compiler.tiers import Tiers

__all__ = ["Precompiled"]

VALUES = (type(None), bool, int, float, str)
LARGEST = 1 << 63


class Precompiled:
    """Programs of a function, one for each example of its arguments, to be saved in a file."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled, self.name = compiled, compiled.name
        self._writer, self._tensors = GraphWriter(), StateTensors()
        self._entries: list[EntryPoint] = []
        self._tiers: list[Tiers] = []

    def precompile(self, *args: Any, **kwargs: Any) -> Precompiled:
        """Add a program for arguments like these, without computing anything.

        Raises TraceError where the function does what no file can hold, and says which and why.

        >>> import gnomon as gn
        >>> made = gn.compile(lambda x: x + 1).precompile(gn.ones(2))
        >>> len(made.precompile(gn.ones(3)))
        2
        """
        of = self._compiled
        options = of.options._replace(dynamic=False)  # a file's programs have their sizes
        fresh = type(of)(of.function, of.name, options, breaks=False)
        fresh.varying = VaryingNumbers()
        with no_grad():
            key, arguments = fresh._key(args, kwargs)
            found = captured(fresh, key, arguments)
        if not found:
            raise refused(self.name, "depends on a number that each call reads anew", "Pass it in.")
        guard, program = found[0]
        refuse(self.name, guard, program)
        entry = EntryPoint(
            graph=self._writer.number(program.graph),
            call=row_of(self.name, key[0]),
            kinds=tuple((tuple(x.shape), x.dtype.name) for x in arguments),
            given=tuple((k, read.number) for k, read in program.varying),
            state=tuple(self._tensors.places(program)),
            result=row_of(self.name, program.outcome.tree),
            results=tuple(program.results.places()),
        )
        self._entries.append(entry)
        self._tiers.append(program.tiers)
        return self

    def __len__(self) -> int:
        return len(self._entries)

    def save(self, path: str | PathLike) -> str:
        """Write the programs to a file, with the tensors that they read; gives its digest.

        The values of those tensors are what they are now. `gn.load_compiled` reads the file.

        >>> import gnomon as gn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digest = gn.compile(lambda x: x * 2).precompile(gn.ones(2)).save(f"{folder}/f.gnc")
        ...     gn.load_compiled(f"{folder}/f.gnc", digest)(gn.ones(2)).tolist()
        [2.0, 2.0]
        """
        made = [tiers.wait() for tiers in self._tiers]
        codes = [code for each in made for k in each.kernels for code in k.codes]
        texts = {code.symbol: code.text for code in codes}
        context, lines = self._tiers[0].context, list(map(list, self._writer.sites))
        compiled = context.backend.kernels.compile(list(texts.values()))
        objects = dict(zip(texts, compiled, strict=True))
        return write_artifact(
            Path(path),
            Definition(self.name, self._writer.rows, lines, tuple(self._entries)),
            origin(context.machine, context.settings),
            [replace(each.plan, steps=tuple(each.plan.steps)) for each in made],
            objects,
            self._tensors.content(),
        )


def captured(function: Compiled, key: tuple, arguments: Sequence[Tensor]) -> list[Any]:
    """The guards and programs of one capture, which leaves nothing behind."""
    function.programs.clear()
    _, undo = function._capture(key, arguments)
    undo()
    return [kept for each in function.programs.values() for kept in each]


class StateTensors:
    """The tensors that programs read beside their arguments, each once."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[int, Tensor]] = {}

    def places(self, program: CapturedProgram) -> Iterator[tuple[int, int]]:
        """A program's inputs that are such tensors, and the number of each."""
        for k, tensor in enumerate(program.constant):
            if tensor is not None:
                one = tensor if tensor._view else tensor._storage
                number, _ = self._found.setdefault(id(one), (len(self._found), tensor))
                yield k, number

    def content(self) -> list[StateTensor]:
        """The present values of the tensors."""
        tensors = [tensor for _, tensor in self._found.values()]
        return [StateTensor(x.dtype.name, tuple(x.shape), array_of(x).tobytes()) for x in tensors]


def row_of(name: str, tree: Any) -> Any:
    """The structure of nested tensors as plain data: a tensor's number, a value, a container."""
    if isinstance(tree, TreeLeaf):
        return tree.number
    if isinstance(tree, Constant):
        return ["", plain_value(name, tree.value)]
    kind = tree.kind if isinstance(tree, TreeSpec) else type(tree)
    if CONTAINERS.get(kind.__name__) is not kind:
        raise unkept(name, kind)
    names = [plain_value(name, x.value) for x in tree.names]
    return [tree.kind.__name__, names, [row_of(name, part) for part in tree.parts]]


def plain_value(name: str, value: Any) -> Any:
    """A value that a file can hold."""
    if type(value) not in VALUES or (type(value) is int and not -LARGEST <= value < LARGEST):
        raise unkept(name, type(value))
    return value


def unkept(name: str, kind: type) -> TraceError:
    """The error of a kind of arguments, or of results."""
    remedy = "Pass and give back tensors, numbers, strings, and tuples, lists or dicts of them."
    return refused(name, f"takes or gives back a {kind.__name__}", remedy)


def refused(name: str, why: str, remedy: str, line: object = "") -> TraceError:
    """The error of a function that does what no file can hold."""
    return TraceError(
        f"precompile: {name} {why}, which no file can hold. {remedy}   [{line or user_site()}]"
    )


def refuse(name: str, guard: Guard, program: CapturedProgram, keeps_state: bool = False) -> None:
    """Refuse a program that does more than compute results of its arguments, or write its state."""
    own = program.results.places() is not None
    shared = not own, "gives back memory that it did not make, or twice", "Give back a clone()."
    empty = program.graph is None, "computes nothing of tensors", "Compile what computes."
    for found, why, remedy in (*beyond_results(program, guard.lost, keeps_state), shared, empty):
        if found:
            raise refused(name, why, remedy, line_of(program))
    if not keeps_state and program.tiers.wait().plan.externals:
        raise refused(name, "calls a custom operation", "Call it outside.", line_of(program))


def beyond_results(
    program: CapturedProgram, lost: str, keeps_state: bool = False
) -> Iterator[tuple[Any, str, str]]:
    """Whether a program does each of what is more than computing results; why and what to do."""
    forward = "Precompile what computes forward."
    anew = not all(isinstance(read, GivenInput) for _, read in program.varying)
    meets = any(x.op in MEETINGS or x.op in BOUNDARIES for x in program.graph or ())
    yield program.draws, "draws random numbers", "Call eval() on its modules, or pass them in."
    yield program.outcome.writes, "writes to its arguments", "Give back what is new."
    written = program.given if keeps_state else program.own or program.given
    yield written, "writes to a tensor", "Give back what is new."
    yield program.grads, "sets gradients", forward
    yield program.placed or program.escaped, "leaves tensors somewhere", "Give them back."
    yield program.afterwards, "changes an optimizer", forward
    yield lost, f"does what a replay would not: {lost}", "Do it outside."
    yield anew or program.guards, "reads what each call looks at anew", "Pass it in."
    yield meets, "computes on several ranks", "Precompile what one rank computes."


def line_of(program: CapturedProgram) -> object:
    """The line of what a program writes, or else of what it gives back."""
    made, outputs = len(program.results.nodes), program.graph.outputs if program.graph else ()
    return next((x.sites[0] for x in (*outputs[made:], *outputs) if x.sites), "")
