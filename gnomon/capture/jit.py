"""gn.compile: a function captured once per signature and replayed as one program.

A replay checks guards and makes one native call. Results that still want gradients become one
region of the graph outside instead, whose gradient is derived as any region's. How a function is
captured is in gnomon/capture/tracing.py; which Python values it depends on, in guards.py beside it.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from gnomon.capture.compiled_objects import (
    IN_STEPS,
    CompiledObject,
    CompiledReports,
    check_result,
    suspends,
)
from gnomon.capture.signature import signature_of, structure_of_call
from gnomon.errors import TraceError
from gnomon.ir.provenance import user_site
from gnomon.lazy import (
    aliasing,
    call_objects,
    compile_options,
    effects,
    endings,
    guards,
    held_numbers,
    number_places,
    paths,
    recompile_reasons,
    replay,
    segments,
    show,
    size_families,
    sized_captures,
    sized_trees,
    storage_names,
    tracing,
    trees,
    varying,
)
from gnomon.runtime import events
from gnomon.tensor.creation import get_default_dtype
from gnomon.tensor.state import grads, inference, is_capturing, narrow, state, strict
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.traced_numbers import StandInRefused

if TYPE_CHECKING:
    from gnomon.capture.compile_options import CompileOptions
    from gnomon.capture.guards import Guard
    from gnomon.capture.paths import Path
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.sized_captures import SizedAttempt
    from gnomon.capture.tracing import Capture
    from gnomon.capture.trees import NewAnswer, Tree
    from gnomon.capture.varying import VaryingNumbers

    Run = Callable[[Sequence[Tensor]], Any]
    Taken = tuple[Run, Callable[..., None]]
    """A program's first run, and what takes back that its function was captured."""


MANY = 8
"""The number of programs of one signature that causes a warning."""
SIGNATURE = 4
"""Parts of a program's key: the call, its tensors, modes, shared memory; parts of memory follow."""

KEPT_PROGRAMS = 64
"""Captures of one signature that are kept."""
KEPT_REASONS = 256
"""Captures of one function of which is kept why they were needed."""


class Compiled(CompiledObject, CompiledReports):
    """A function that is captured once per signature and replayed."""

    eager = False  # for a while all of them may run as they were written

    def __init__(
        self, function: Callable, name: str, options: CompileOptions, breaks: bool = True
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function, self.name, self.options = function, name, options
        self.breaks = breaks
        """Whether Python may look at values inside."""
        self.programs: dict[tuple, list[tuple[Guard, CapturedProgram | Tree]]] = {}
        self.varying: VaryingNumbers | None = None
        """The knowledge of varying numbers among arguments, after the first capture."""
        self.by_content: dict[type, frozenset[str] | None] = {}
        """Classes of which calls have other objects each time, and the attributes that count."""
        self.uncompiled: dict[tuple, str] = {}
        """Signatures whose ways are too many, and why: there the function runs as it is."""
        self.locks: dict[tuple, threading.RLock] = {}
        self.lock = threading.Lock()
        self.size_families = size_families.SizeFamilies(options)
        self.in_whole: dict[tuple, frozenset[int]] = {}
        """Signatures of which memory is written that has two names: the arguments that show it."""
        self.captures = 0
        self.recompiled: list[str] = []
        ALL.add(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, by the program of this call's signature."""
        if is_capturing() or self.eager:
            return self.function(*args, **kwargs)
        key, arguments = self._key(args, kwargs)
        program = self._find(key, arguments)
        if program is None:
            return self._first(key, arguments)
        try:
            return program.run(arguments)
        except trees.NewAnswer as new:
            met = new
        return self._first(key, arguments, met)

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple, list[Tensor]]:
        """The signature of a call, and its tensors."""
        tree, arguments = structure_of_call(args, kwargs, self.by_content)
        if self.varying is not None and self.varying.lifted:
            tree, arguments = self.varying.lift(tree, arguments)
        modes = (grads.get(), inference.get(), narrow.get(), get_default_dtype())
        key = (tree, tuple(map(signature_of, arguments)), modes, aliasing.groups(arguments))
        if self.in_whole and key in self.in_whole:
            key = (*key, aliasing.parts(arguments, self.in_whole[key]))
        return key, arguments

    def _first(self, key: tuple, arguments: Sequence[Tensor], met: NewAnswer | None = None) -> Any:
        """Run a call that may need a capture: capture the function, or undo a failed capture."""
        if key in self.uncompiled:
            return self._called(self.function, key, arguments)
        self.varying = self.varying or varying.VaryingNumbers()
        if met is None and call_objects.learn_classes(self.by_content, key, {**self.programs}):
            return self._called(self, key, arguments)
        if met is None and self._may_lift() and self.varying.learn(key[0]):
            self.varying.reasons = recompile_reasons.reasons(key, {**self.programs})
            return self._called(self, key, arguments)
        with self.lock:
            lock = self.locks.setdefault(key, threading.RLock())
        with lock:
            program, undo = self._find(key, arguments) if met is None else met.settled(), None
            run = None if program is None else program.run
            if run is None:
                run, undo = self._sized(key, arguments, met)
            if run is None:
                for guard, _ in self.programs.get(key, ())[-1:] if met is None else ():
                    self.varying.learn_places(guard)
                try:
                    run, undo = self._capture(key, arguments, met)
                except StandInRefused:
                    self.varying.give_up()
                    return self._called(self, key, arguments)
        try:
            return run(arguments)
        except trees.NewAnswer as new:
            met = new
        except BaseException:
            if undo is not None:
                undo(has_run=True)
            raise
        return self._first(key, arguments, met)

    def _sized(
        self, key: tuple, arguments: Sequence[Tensor], met: NewAnswer | None
    ) -> Taken | tuple[None, None]:
        """Run a call by a capture on symbolic sizes, known or new; (None, None) without one."""
        family, sizes = self.size_families.family(key)
        if family is None or (met is not None and not met.is_size):
            return None, None
        found = family.program(sizes, arguments) if met is None else None
        if found is not None:
            self.programs[key] = [*self.programs.get(key, ()), found][-KEPT_PROGRAMS:]
            for gone in family.filled_in.put(key, None):
                self.programs.pop(gone, None)
            return found[1].run, None
        attempt = family.attempt(sizes, met is not None)
        if attempt is None:
            return None, None
        try:
            return self._captured(key, arguments, met, attempt)
        except sized_captures.DoneOnce:
            raise
        except Exception as cause:
            attempt.failed(self.name, cause)
            return None, None

    def _called(self, function: Callable, key: tuple, arguments: Sequence[Tensor]) -> Any:
        """Run the function uncompiled, for a call of this signature."""
        args, kwargs = call_objects.call_of(arguments)
        return function(*args, **kwargs)

    def _may_lift(self) -> bool:
        """Whether numbers may be passed as placeholders, since a failed capture can be undone."""
        return not any(guard.lost for kept in [*self.programs.values()] for guard, _ in kept)

    def _find(self, key: tuple, arguments: Sequence[Tensor]) -> CapturedProgram | Tree | None:
        """The program of a signature whose guards hold."""
        for guard, program in self.programs.get(key, ()):
            if guard.holds() and program.holds(arguments):
                return program
        return None

    def _capture(
        self, key: tuple, arguments: Sequence[Tensor], met: NewAnswer | None = None
    ) -> Taken:
        """Capture a signature's program; memory written under two names is passed as a whole."""
        try:
            return self._captured(key, arguments, met)
        except aliasing.Apart as apart:
            key = key[:SIGNATURE]
            places = self.in_whole.get(key, frozenset()) | apart.places
            self.in_whole[key] = places
            return self._capture((*key, aliasing.parts(arguments, places)), arguments)

    def _captured(
        self,
        key: tuple,
        arguments: Sequence[Tensor],
        met: NewAnswer | None,
        sized: SizedAttempt | None = None,
    ) -> Taken:
        """Run the function on placeholders and store the capture, or undo a refused one."""
        reasons, start = self._note_reasons(key, met) if self.programs else "", monotonic_ns()
        capture, places = tracing.Capture(arguments), [*self.varying.places.values()]
        guard = guards.guard_of(self.function, key[0], places)
        reachable = guard.tensors()
        capture.known = {x._storage for x in reachable}
        capture.objects = aliasing.by_id(reachable)
        capture.lasting = {x._storage for x in guard.lasting}
        is_asked = guard.has_kept or bool(call_objects.objects_of(arguments))
        capture.places_met = (guard.met, guard.met(arguments)) if is_asked else None
        wholes = self.in_whole.get(key[:SIGNATURE], ())
        stand_ins = aliasing.stand_ins(capture, arguments, wholes)
        if sized is not None:
            sized.begin(capture, stand_ins, arguments)
        capture.names = storage_names.names_of(self.function, key[0], stand_ins, guard.modules)
        path = self._path(capture, arguments, met if sized is None else None)
        undo = functools.partial(endings.undo, capture, guard, guard.stood(), arguments)
        running = capture.running()
        try:
            with strict(), running, capture.checking():
                program = self._traced(key[0], stand_ins, path, guard)
            if sized is not None:
                program = sized.settled(guard, program, path)
        except BaseException as error:
            if state.recorder is capture:  # Ctrl-C came before the block's end had begun
                running.leave()
            undo()
            if sized is not None:
                self.recompiled = self.recompiled[:-1]
                sized.refuse_second_run(self.name, guard, path, error)
            raise
        if reasons and events.heard():
            end, name = monotonic_ns(), f"recompile: {reasons}"
            events.announce("compile", name=name, start=start, end=end, sites=(user_site(),))
        self.captures += 1
        self.varying.settle_places(capture, guard.numbers, not (path.is_torn or guard.lost))
        if capture.constants_needed:
            self.varying.keep_constant(key[0], arguments, capture.constants_needed)
            path.is_torn = True
        self._keep(key, (guard, program), path, met, sized)
        if sized is None and not (path.is_torn or guard.lost):
            self.size_families.note(key, guard, program, path.steps)
        return (path.ending(program) if path.steps else program.run), undo

    def _path(self, capture: Capture, arguments: Sequence[Tensor], met: NewAnswer | None) -> Path:
        """The path of a call to capture, with its known steps."""
        make = functools.partial(segments.Segment, self.name, self.options)
        if capture.symbols is not None:
            of = capture.symbols, self.name, self.options
            make = functools.partial(sized_trees.segment_of, *of)
        known, tracked = ((), True) if met is None else (met.steps, met.tree.tracked)
        path = paths.Path(capture, arguments, make, known, tracked)
        capture.path, capture.hides_values = path, not self.breaks
        path.varying = self.varying.lines(met) if capture.symbols is None else ()
        return path

    def _keep(
        self,
        key: tuple,
        ending: tuple[Guard, CapturedProgram],
        path: Path,
        met: NewAnswer | None,
        sized: SizedAttempt | None,
    ) -> None:
        """Store a program under its signature, as the end of its path if values were read."""
        guard = ending[0]
        known = [x for x in self.programs.get(key, ()) if guard.lost or not x[0].lost]
        if path.is_torn or (path.steps and met is not None and guard.lost):
            return  # no other call goes this way
        if not path.steps:
            known = [x for x in known if met is None or x[1] is not met.tree]
            self.programs[key] = [*known, ending][-KEPT_PROGRAMS:]
            return
        family = self.size_families.family(key)
        tree = trees.Tree(guard, *family) if met is None else met.tree
        if sized is None:  # a way for many sizes is its family's
            tree.grow(path.steps, ending)
        if met is None:
            self.programs[key] = [*known, (guard, tree)][-KEPT_PROGRAMS:]
        if tree.tell_of_many(self.name):
            self.uncompiled[key] = tree.warning
            del self.programs[key]

    def _traced(
        self, call: Any, stand_ins: Sequence[Tensor], path: Path, guard: Guard
    ) -> CapturedProgram:
        """Run the function on placeholders for its program; its error comes after its effects."""
        capture, arguments = path.capture, path.arguments
        results = [None]
        given = call_objects.standing(arguments, call, stand_ins)
        watched = effects.watching(not self.captures)
        with given as called, watched as seen, number_places.replaced_numbers(capture, guard):
            path.seen = seen
            try:
                results[0] = self.function(*called.args, **called.kwargs)
            except Exception as error:
                if state.refused is not None:
                    raise
                path.error, capture.cut_short = error, True
        varying.check_classes(path, guard, seen)
        if varying.refuses(path, guard, seen):
            raise StandInRefused from path.error
        outcome = call_objects.Outcome(results, called, arguments, guard.walked)
        check_result(self.name, outcome.tree, guards.line_of(seen))
        del results[:], called
        if capture.sizes is not None:
            outcome = outcome.settled(sized_captures.known_sizes)
        if capture.traced_numbers:
            held_numbers.replace_traced_numbers(path)
        capture.end_collectives()
        guard.settle(capture, seen if path.error is None else None, self.name, outcome.tensors)
        guard.lost = guard.lost or (call_objects.KEPT if outcome.is_once else "")
        guard.hand_back(stand_ins, arguments)
        aliasing.check(capture, arguments, bool(guard.lost))
        path.bind_segments()
        program = replay.CapturedProgram(self.name, capture, outcome, arguments)
        program.options = self.options
        if path.error is not None:
            endings.do(program, capture, path)
            raise path.error
        return program

    def _note_reasons(self, key: tuple, met: NewAnswer | None) -> str:
        """Record and return why no captured program fits this call."""
        found, self.varying.reasons = self.varying.reasons if met is None else [str(met)], []
        found = "; ".join(found or recompile_reasons.reasons(key, {**self.programs}))
        text = f"{self.name}, capture {self.captures + 1}: {found}   [{user_site()}]"
        self.recompiled = [*self.recompiled[1 - KEPT_REASONS :], text]
        show.log(1, lambda: f"recompile: {text}")
        if len(self.programs.get(key, ())) == MANY:
            warnings.warn(f"compile: the same arguments need many programs: {text}", stacklevel=4)
        return text


ALL: weakref.WeakSet[Compiled] = weakref.WeakSet()


def forget_locks() -> None:
    """In the child after a fork: release the locks of captures that other threads had begun."""
    for each in list(ALL):
        each.locks, each.lock = {}, threading.Lock()


os.register_at_fork(after_in_child=forget_locks)


def compile(function: Any = None, /, **options: Any) -> Any:
    """Capture a function or module once per signature, and replay it as one program.

    Where Python reads a value (`if loss > best`, `.item()`), the code before it runs, and the
    answer selects the code after it: each path is captured once, and explain() shows them all. With
    `breaks="error"` that is refused, with the line. `mode="max-autotune"` measures tiles and
    fusions of matrix products, once per machine and between calls, so that the first call does not
    wait. All modes give the same bits. `options={"prepack": False}` disables an optimisation, of
    those in docs/debugging.md, for this function. A third size is captured once for all;
    `dynamic=True` does so at the second, False never does (None leaves it to GNOMON_DYNAMIC_SIZES).
    """
    switches = options.pop("options", None) or {}
    compile_options.check_options(options, switches)
    if function is None:
        return functools.partial(compile, **options, options=switches)
    if compile_options.is_idle(options) or getattr(function, "is_left_eager", False):
        return function
    name = getattr(function, "__name__", None) or type(function).__name__
    if suspends(function):
        message = f"compile: {name} is a generator or a coroutine, {IN_STEPS}"
        raise TraceError(f"{message}   [{user_site()}]")
    whole = options.get("breaks") == "error" or bool(options.get("fullgraph"))
    return Compiled(function, name, compile_options.asked(options, switches), not whole)
