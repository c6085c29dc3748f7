"""gn.compile: a function captured once per signature and replayed as one program.

A replay checks guards and makes one native call. Results that still want gradients become one
region of the graph outside instead, whose gradient is derived as any region's. How a function is
captured is in gnomon/tensor/capture.py; which Python values it depends on, in guards.py beside it.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from gnomon.ir.provenance import user_site
from gnomon.ir.show import log
from gnomon.late import Late
from gnomon.runtime import events
from gnomon.tensor.capture import Capture, names_of
from gnomon.tensor.guards import (
    Guard,
    flatten,
    guard_of,
    signature_of,
    structure_of_call,
    unflatten,
)
from gnomon.tensor.state import state, storage_of
from gnomon.tensor.tensor import Tensor, View, raw

if TYPE_CHECKING:
    from os import PathLike

    from gnomon.records import Record
    from gnomon.tensor.replay import Program

listing = Late("gnomon.listing")
taken = Late("gnomon.tensor.options")
records = Late("gnomon.records")
replay = Late("gnomon.tensor.replay")
why = Late("gnomon.tensor.reasons")

MANY = 8
"""So many programs of one signature are worth a warning."""

KEPT_PROGRAMS = 64
"""Captures of one signature that are kept."""

KEPT_REASONS = 256
"""Captures of one function of which is kept why they were needed."""

AUTOTUNE = 10.0
"""Seconds for measuring products, in the modes that ask for it."""


class Compiled:
    """A function that is captured once per signature and replayed."""

    def __init__(self, function: Callable, name: str, seconds: float, without: str) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.name, self.seconds, self.without = function, name, seconds, without
        self.programs: dict[tuple, list[tuple[Guard, Program]]] = {}
        self.turns: dict[tuple, threading.RLock] = {}
        self.lock = threading.Lock()
        self.captures = 0
        self.recompiled: list[str] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, by the program of this call's signature."""
        if state.capture is not None:
            return self.function(*args, **kwargs)
        tree, arguments = structure_of_call(args, kwargs)
        key = (tree, tuple(map(signature_of, arguments)), state.grad)
        program = self._find(key)
        if program is None:
            with self.lock:
                turn = self.turns.setdefault(key, threading.RLock())
            with turn:
                program = self._find(key) or self._capture(key, arguments)
        return program.run(arguments)

    def _find(self, key: tuple) -> Program | None:
        """The program of a signature whose guards hold."""
        for guard, program in self.programs.get(key, ()):
            if guard.holds() and program.holds():
                return program
        return None

    def _capture(self, key: tuple, arguments: Sequence[Tensor]) -> Program:
        """Run the function on placeholders and keep what it did."""
        told, start = self._note_reasons(key) if self.programs else "", monotonic_ns()
        capture, guard = Capture(arguments), guard_of(self.function, key[0])
        stand_ins = [stand_in(capture, k, t) for k, t in enumerate(arguments)]
        capture.names = names_of(self.function, key[0], stand_ins, guard.modules)
        with capture.running():
            args, kwargs = unflatten(key[0], stand_ins)
            found: list[Tensor] = []
            tree = flatten(self.function(*args, **kwargs), found)
            del args, kwargs
            guard.settle(capture)
            program: Program = replay.Program(self.name, capture, tree, found)
            program.seconds, program.without = self.seconds, self.without
        if told and events.heard():
            end, name = monotonic_ns(), f"recompile: {told}"
            events.announce("compile", name=name, start=start, end=end, sites=(user_site(),))
        self.captures += 1
        self.programs[key] = [*self.programs.get(key, ()), (guard, program)][-KEPT_PROGRAMS:]
        return program

    def _note_reasons(self, key: tuple) -> str:
        """Keep why none of the programs fits this call, and say it."""
        found = "; ".join(why.reasons(key, self.programs))
        told = f"{self.name}, capture {self.captures + 1}: {found}   [{user_site()}]"
        self.recompiled = [*self.recompiled[1 - KEPT_REASONS :], told]
        log(1, lambda: f"recompile: {told}")
        if len(self.programs.get(key, ())) == MANY:
            warnings.warn(f"compile: the same arguments need many programs: {told}", stacklevel=4)
        return told

    def why_recompiled(self) -> list[str]:
        """For each capture but the first, what was new about the call, and its line.

        >>> double = compile(lambda x: x * 2)
        >>> results = [double(Tensor([1.0] * n)).shape for n in (3, 4)]
        >>> double.why_recompiled()[0].partition("   [")[0]
        '<lambda>, capture 2: tensor 0: shape is (4,), was (3,)'
        """
        return list(self.recompiled)

    @property
    def compiles(self) -> int:
        """How many of its programs needed machine code that was not there yet.

        Programs of further shapes share code, so that these are fewer than captures.

        >>> double = compile(lambda x: x.exp() * 2)
        >>> results = [double(Tensor([1.0] * n)).shape for n in (3, 4, 5, 6)]
        >>> double.captures, double.compiles <= 2
        (4, True)
        """
        return sum(program.executable.fresh > 0 for program in self._all())

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else functools.partial(self, owner)

    def __getattr__(self, name: str) -> Any:
        if name in ("function", "programs"):
            raise AttributeError(name)
        return getattr(self.function, name)

    def kernels(self) -> list[Record]:
        """The records of every program so far, a kernel's call each: lines, operations, buffers.

        >>> double = compile(lambda x: x * 2)
        >>> double(Tensor([1.0, 2.0])).tolist()
        [2.0, 4.0]
        >>> [op.name for op in double.kernels()[0].ops]
        ['mul']
        """
        return [record for p in self._all() for record in p.executable.records]

    def save_records(self, path: str | PathLike) -> None:
        """Write what kernels() gives as JSON; docs/records.schema.json describes it."""
        records.save(path, self.kernels())

    def explain(self) -> str:
        """What was captured: per signature the kernels, their lines, work, shapes, and memory."""
        told = []
        for program in self._all():
            given = listing.counted(len(program.graph.inputs), "input")
            made = listing.counted(len(program.graph.outputs), "output")
            tier, text = program.tiers.told, program.executable.explain()
            told.append(f"{program.name}, {given}, {made}{tier}: {text}")
        return "\n".join(told)

    def explain_gemm(self) -> str:
        """How matrix products are cut, what was measured for it, and the seconds that it took."""
        return "\n".join(p.tiers.wait().explain_gemm() for p in self._all())

    def explain_fusions(self) -> str:
        """What matrix products compute in their own calls, what loops store, and why."""
        return "\n".join(p.tiers.wait().explain_fusions() for p in self._all())

    def _all(self) -> list[Program]:
        """Every program that computes something."""
        return [p for each in self.programs.values() for _, p in each if p.graph is not None]


def stand_in(capture: Capture, number: int, tensor: Tensor) -> Tensor:
    """What the function sees of an argument while it is captured."""

    def read(arguments: Sequence[Tensor]) -> Tensor:
        return arguments[number]

    if tensor._view is None:
        capture.reads.setdefault(tensor._storage, read)
        return tensor
    # a view is passed by value: which part of its storage it shows is not part of the program
    made = tensor.__class__.__new__(tensor.__class__)
    storage = storage_of(raw(tensor), tensor.requires_grad and not tensor._requires)
    made._storage, made._requires = storage, tensor._requires
    made._rare = tensor._rare if tensor._requires else None
    made._view = None if tensor.requires_grad else View((), None, True)
    capture.reads[storage] = read
    # what gathers there belongs to the argument
    capture.arguments[number] = made
    return made


def compile(function: Any = None, /, **options: Any) -> Any:
    """Capture a function or module once per signature, and replay it as one program.

    Branching on a tensor's value is an error that names the line: use gn.where, gn.cond,
    gn.while_loop or gn.scan. `mode="max-autotune"` measures how matrix products are best cut and
    what they compute beside, once per machine and between calls: the first waits for nothing. All
    modes give the same bits. `options={"prepack": False}` leaves out an optimisation, of those in
    docs/debugging.md, where the function computes all by itself.
    """
    switches = options.pop("options", None) or {}
    taken.check(options, switches)
    if function is None:
        return functools.partial(compile, **options, options=switches)
    if options.get("disable"):
        return function
    name = getattr(function, "__name__", None) or type(function).__name__
    seconds = AUTOTUNE if str(options.get("mode")).startswith("max-autotune") else 0.0
    return Compiled(function, name, seconds, ",".join(x for x in switches if not switches[x]))
