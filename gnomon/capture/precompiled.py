"""Functions compiled ahead of their calls, for examples of their arguments, and saved in a file.

The file is a program file (docs/program-files.md): a method for each example, with notes for
loaded.py, which loads it. What a file cannot hold is refused, with the reason: whatever a replay
would do beside computing results of its arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnomon.capture.inputs import GivenInput
from gnomon.capture.program_methods import (
    HeldTensors,
    MethodCall,
    ProgramMethod,
    arguments_of,
    method_of,
    refused,
)
from gnomon.capture.program_writer import write_program
from gnomon.capture.storage_names import names_of, of_arguments
from gnomon.capture.varying import VaryingNumbers
from gnomon.ir.node import Graph, Node
from gnomon.ops.collectives import MEETINGS
from gnomon.program.communication import graphs_in
from gnomon.program.graphs import GraphWriter
from gnomon.program.program_notes import MethodNotes, ProgramNotes, sources
from gnomon.runtime import device
from gnomon.settings import current, override
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.views import BOUNDARIES

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard
    from gnomon.capture.jit import Compiled
    from gnomon.capture.replay import CapturedProgram

__all__ = ["Precompiled", "targets_here"]

BESIDE = {"neon": ("neon",)}
"""The processors that a file is for, by the kind of the one that writes it."""
X86 = ("avx2", "avx512")


def targets_here() -> tuple[str, ...]:
    """The names of the processors with this machine's architecture."""
    return BESIDE.get(device.target().name, X86)


class Precompiled:
    """Programs of a function, one for each example of its arguments, to be saved in a file."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled, self.name = compiled, compiled.name
        self._writer, self._tensors = GraphWriter(), HeldTensors()
        self._methods: list[ProgramMethod] = []
        self._graphs: list[int] = []
        self._settings = current()

    def precompile(self, *args: Any, **kwargs: Any) -> Precompiled:
        """Add a program for arguments like these, without computing anything.

        Raises TraceError where the function does what no file can hold, and says which and why.

        >>> import gnomon as gn
        >>> made = gn.compile(lambda x: x + 1).precompile(gn.ones(2))
        >>> len(made.precompile(gn.ones(3)))
        2
        """
        of = self._compiled
        options = of.options._replace(dynamic=False)  # a method has its sizes
        fresh = type(of)(of.function, of.name, options, breaks=False)
        fresh.varying = VaryingNumbers()
        with no_grad():
            key, arguments = fresh._key(args, kwargs)
            found = captured(fresh, key, arguments)
        if not found:
            raise refused(self.name, "depends on a number that each call reads anew", "Pass it in.")
        guard, program = found[0]
        refuse(self.name, guard, program)
        given = arguments_of(dict(of_arguments(of.function, key[0])), arguments)
        shapes = tuple(tuple(x.shape) for x in arguments)
        call = MethodCall(self.name, key[0], given, shapes)
        modules = [of.function] if hasattr(of.function, "named_parameters") else []
        names = names_of(of.function, key[0], arguments, modules)
        method = method_of(call, program, self._tensors, names)
        self._graphs.append(self._writer.number(method.graph))
        self._methods.append(method)
        return self

    def __len__(self) -> int:
        return len(self._methods)

    def save(self, path: str | PathLike, targets: Sequence[str] = ()) -> str:
        """Write a program file with the tensors that the programs read; gives its digest.

        The values of those tensors are what they are now. targets: the processors, of "avx2",
        "avx512" and "neon"; by default those of this machine's kind. `gn.load_compiled` reads the
        file, and so does `gn.export.load_program`, without Gnomon too.

        >>> import gnomon as gn, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digest = gn.compile(lambda x: x * 2).precompile(gn.ones(2)).save(f"{folder}/f.gnp")
        ...     gn.load_compiled(f"{folder}/f.gnp", digest)(gn.ones(2)).tolist()
        [2.0, 2.0]
        """
        settings = self._settings.of_programs()
        notes = ProgramNotes(
            self.name,
            sources(),
            settings._asdict(),
            self._writer.rows,
            list(map(list, self._writer.sites)),
            tuple(
                MethodNotes(graph, each.lasting)
                for graph, each in zip(self._graphs, self._methods, strict=True)
            ),
        )
        chosen = targets or targets_here()
        with override(**self._settings._asdict()):
            methods, tensors = self._methods, self._tensors
            return write_program(Path(path), methods, tensors, chosen, notes.encoded())


def captured(function: Compiled, key: tuple, arguments: Sequence[Tensor]) -> list[Any]:
    """The guards and programs of one capture, whose effects are undone."""
    function.programs.clear()
    _, undo = function._capture(key, arguments)
    undo()
    return [kept for each in function.programs.values() for kept in each]


def refuse(name: str, guard: Guard, program: CapturedProgram, keeps_state: bool = False) -> None:
    """Refuse a program that does more than compute results of its arguments, or write its state."""
    own = program.results.places() is not None
    shared = not own, "gives back memory that it did not make, or twice", "Give back a clone()."
    empty = program.graph is None, "computes nothing of tensors", "Compile what computes."
    for found, why, remedy in (*beyond_results(program, guard.lost, keeps_state), shared, empty):
        if found:
            raise refused(name, why, remedy, line_of(program))
    outside = next((x for x in nodes_within(program.graph) if x.op == "external"), None)
    if outside is not None:
        raise refused(name, "calls a custom operation", "Call it outside.", *outside.sites[:1])


def beyond_results(
    program: CapturedProgram, lost: str, keeps_state: bool = False
) -> Iterator[tuple[Any, str, str]]:
    """Whether a program has each kind of effect, with the reason and the remedy for it."""
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


def nodes_within(graph: Graph | None) -> Iterator[Node]:
    """The nodes of a graph and of graphs inside."""
    for node in graph or ():
        yield node
        for inner in graphs_in(node):
            yield from nodes_within(inner)


def line_of(program: CapturedProgram) -> object:
    """The line of what a program writes or returns, for messages."""
    made, outputs = len(program.results.nodes), program.graph.outputs if program.graph else ()
    return next((x.sites[0] for x in (*outputs[made:], *outputs) if x.sites), "")
