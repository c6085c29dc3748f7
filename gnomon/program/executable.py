"""A program that can run: a plan, machine code, and the lines that asked for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from copy import copy
from ctypes import addressof, c_int64
from operator import attrgetter
from time import monotonic_ns, perf_counter
from typing import TYPE_CHECKING

from gnomon.errors import DeviceError, IndexOutOfBounds
from gnomon.ir.node import Graph, asked_by
from gnomon.ir.provenance import Site
from gnomon.ir.show import log, since
from gnomon.lazy import communication, listing, loosen, memory_check, records
from gnomon.program.entries import ExternalEntry
from gnomon.program.outside import outside
from gnomon.program.run_times import timed
from gnomon.program.saved import SavedProgram
from gnomon.runtime import events, perf_map
from gnomon.runtime.buffer import DeviceBuffer, others, size_class
from gnomon.runtime.cache import digest
from gnomon.runtime.comm import here
from gnomon.runtime.joined import ProgramRows, table_rows
from gnomon.runtime.program import Call
from gnomon.settings import current

if TYPE_CHECKING:
    import numpy as np

    from gnomon.program.blocks import ProgramBlock
    from gnomon.program.context import CompileContext
    from gnomon.program.kernel import Kernel
    from gnomon.program.records import Record
    from gnomon.runtime.backend import Handles
    from gnomon.runtime.comm.base import Link

__all__ = ["Executable", "Lines", "Pairs", "lines_of"]


SILENT = nullcontext()
NAMED = 3
"""The number of source lines that a program's text names."""
address_of = attrgetter("address")

Pairs = tuple[tuple[int, int], ...]
"""Outputs, each with the input that it is written over."""
Panels = tuple[Sequence[DeviceBuffer], Sequence[bool]]
"""Memory for panels, and which of them must be packed."""
Remake = Callable[[Graph], "ProgramBlock"]
"""A function that runs the passes on a program's graph once more."""


class Executable:
    """A compiled graph; immutable, so that any number of threads may run it."""

    def __init__(
        self,
        source: Graph | Callable[[], Graph],
        plan: SavedProgram,
        handles: Handles,
        context: CompileContext,
        remake: Remake,
        block: ProgramBlock | None = None,
        tables: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        self.name, self._remake, self._block = "", remake, block
        self._records: tuple[Record, ...] | None = None
        self._digest: str | None = None
        self.fresh = 0
        """The number of kernels compiled for it: no earlier program had their code."""
        self._source, self.plan, self.memory = source, plan, plan.memory
        self.lines: Lines = lines_of(source) if isinstance(source, Graph) else ()
        self._sizes, self._returns = plan.sizes, plan.returns
        self._settings, self.backend = context.settings, context.backend
        self._memory = self.backend.memory
        self._blocks = list(map(size_class, plan.sizes))
        self._over, self.kept = frozenset(plan.over), plan.kept
        self.meshes, self._numbers = plan.meshes, plan.numbers
        self.moves = plan.moves
        self._entries = tuple(map(ExternalEntry, plan.externals))
        self.exchange = communication.exchange_of(plan.moves) if plan.moves else ""
        """What it moves between ranks, and that in short: the same on all of them."""
        count = len(plan.sizes)
        self._places = [k if fresh else count + k for fresh, k in plan.returns]
        self._plain = self._places == list(range(count))
        self._latest: tuple[Pairs, list[int], list[tuple[int, int, int]]] = ((), [], [])
        """What calls wrote over lately, most of them alike, and where their results go."""
        self._need = plan.needs.arena + sum(plan.sizes)
        self.program = self.backend.program(plan.steps, handles, plan.needs, tables)
        if context.settings.perf_map:
            named = [kernel for k in self.kernels for kernel in (k, *k.members)]
            parts = {part.symbol: f"{k.name}.part" for k in named for part in k.code.parts}
            perf_map.add(parts | {k.code.symbol: k.name for k in named}, handles)

    @property
    def source(self) -> Graph:
        """The graph that it computes; bound to sizes when first read, if they were symbolic."""
        if not isinstance(self._source, Graph):
            self._source = self._source()
        return self._source

    def explain(self) -> str:
        """The program as text: a line per kernel with the line that asked for it, sums, memory."""
        return listing.listing(self.kernels, self.memory)

    def explain_fusions(self) -> str:
        """The fusions: what products compute in their own calls, what loops store, and why."""
        found = listing.fusions(list(self.block.decisions()))
        kept = loosen.kept_leaves(self.block.graph) if self._settings.numerics == "fast" else []
        return "\n".join([found, *kept])

    def results(self) -> list[tuple[int, tuple[Site, ...]]]:
        """The bytes and the source lines of each result that a run makes."""
        pairs = zip(self._returns, self.source.outputs, strict=True)
        found = {k: x.sites for (fresh, k), x in pairs if fresh}
        return [(size, found.get(k, ())) for k, size in enumerate(self._sizes)]

    def may_overwrite(self, output: int, given: int) -> bool:
        """Whether an output may reuse the memory of an input that the caller gives up."""
        fresh, result = self._returns[output]
        return fresh and (result, given) in self._over

    def overwriting(self, pairs: Pairs) -> Pairs:
        """The pairs of an output and the input it replaces that may share a buffer.

        A result that replaces several inputs shares with the first of them.
        """
        found: dict[int, tuple[int, int]] = {}
        for pair in pairs:
            if self.may_overwrite(*pair):
                found.setdefault(self._returns[pair[0]][1], pair)
        return tuple(found.values())

    def run(
        self,
        inputs: Sequence[DeviceBuffer],
        over: Pairs = (),
        panels: Panels | None = None,
    ) -> list[DeviceBuffer]:
        """Run on row-major inputs; returns new buffers, or an input's own where it is a result.

        `over` are outputs, each with the input whose buffer it takes. A position that is found to
        be wrong before the first of them is made leaves inputs as they are. `panels`: memory for
        prepacked weights, and whether they must be packed.
        """
        if others and any(x.memory is not self._memory for x in inputs):
            self._refuse_devices(inputs)
        if self._memory.may_be_full(self._need):
            self._check_memory(over)
        made = self._made(inputs, over)
        if events.heard():
            given = {x.address for x in inputs}
            fresh = [None if x.address in given else x.address for x in made]
            at = monotonic_ns()
            events.announce("made", caller=self, given=inputs, addresses=fresh, at=at)
        report = c_int64(0)
        outputs = [*map(address_of, made), addressof(report)]
        stale: Sequence[bool] = ()
        if self.kept:
            places, stale = panels or (
                [DeviceBuffer(each.nbytes, self._memory) for each in self.kept],
                [True] * len(self.kept),
            )
            outputs += map(address_of, places)
        run = self._run_aloud if current().debug else self.program.run
        given = [*map(address_of, inputs)]
        if self.meshes or self._numbers or self._entries:
            met = (*self._groups(given), *self._entries)
            run(given, outputs, (*map(address_of, met), *stale), self)
            for each in met:
                each.check()
        else:
            run(given, outputs, stale, self)
        if report.value:
            self._refuse(report.value - 1, inputs)
        return made if self._plain else list(map([*made, *inputs].__getitem__, self._places))

    def rows(self) -> ProgramRows | None:
        """The program as rows of a longer table; None if a run is more than its native call."""
        tables, more = self.program.tables, (self.kept, self.meshes, self._numbers, self._entries)
        plain = self._plain and tables is not None and not any(more)
        return table_rows(*tables, self.plan.needs) if plain else None

    def _groups(self, given: list[int]) -> list[Link]:
        """The links along the mesh axes; appends the addresses of rank numbers to `given`."""
        given += [addressof(here.link_along(mesh).number) for mesh in self._numbers]
        groups = [here.link_along(mesh) for mesh in self.meshes]
        for mesh, group in zip(self.meshes, groups, strict=True):
            group.enter(self)
            if self.exchange and self.exchange not in group.agreed:
                communication.agree(group, mesh, self)
        if events.heard():
            events.announce("groups", groups={x.name: x.ranks for x in groups})
        return groups

    def _made(self, inputs: Sequence[DeviceBuffer], over: Pairs) -> list[DeviceBuffer]:
        """The results' buffers: new ones, or those of inputs that they overwrite."""
        if not over:
            return self._memory.blocks(self._sizes, self._blocks)
        known, places, fresh = self._latest
        if known is not over:
            taken = {self._returns[output][1]: given for output, given in over}
            rows = enumerate(zip(self._sizes, self._blocks, strict=True))
            fresh = [(k, *row) for k, row in rows if k not in taken]
            places = [taken.get(k, 0) for k in range(len(self._sizes))]
            self._latest = over, places, fresh
        made = list(map(inputs.__getitem__, places))
        for k, nbytes, size in fresh:
            made[k] = self._memory.block(nbytes, size)
        return made

    def _run_aloud(
        self, inputs: list[int], outputs: list[int], scalars: list[bool], caller: Executable
    ) -> None:
        """Run, and announce the time."""
        start = perf_counter()
        with timed(self) if current().debug > 1 else SILENT:
            self.program.run(inputs, outputs, scalars, caller=caller)
        message = f"run: {len(self.program.steps)} kernels, {self.memory.total} bytes{since(start)}"
        log(1, lambda: message)

    def _check_memory(self, over: Pairs) -> None:
        """Refuse to run if memory does not suffice; results in inputs' buffers need none."""
        spared = sum(self._sizes[self._returns[output][1]] for output, _ in over)
        taken, limit = self._memory.use().allocated, self._memory.limit
        memory_check.check(self.block, self.title, self._need - spared, taken, limit)

    def under(self, graph: Graph | Callable[[], Graph], lines: Lines, name: str = "") -> Executable:
        """A copy of this executable for an equal graph, with that graph's source lines and name."""
        twin = copy(self)
        twin._source, twin.lines, twin.name = graph, lines, name
        twin._records = twin._digest = None
        twin._block = self._block if lines == self.lines else None
        return twin

    @property
    def block(self) -> ProgramBlock:
        """The program after all passes; recomputed if from disk or an equal program."""
        if self._block is None:
            self._block = self._remake(self.source)
        return self._block

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The calls of the program, each with the lines that asked for it."""
        return tuple(self.block.kernels())

    def collective(self, number: int, precise: bool = True) -> str:
        """A transfer's description with its source line; `precise`: found by running the passes."""
        found = next(x for x in self.moves if x.number == number)
        if precise or self._block is not None:
            return f"{found}{communication.line_of(self.kernels, number)}"
        return f"{found}{communication.line_at(self.source, found.asked)}"

    @property
    def title(self) -> str:
        """The program's name: the operation, and a digest of its source, settings and lines."""
        if self._digest is None:
            asked = f"{self._settings.of_programs()} {self.lines}"
            self._digest = digest(self.source.key, asked)[:12]
        return f"{self.name or 'eager'} {self._digest}"

    @property
    def records(self) -> tuple[Record, ...]:
        """The calls of the program as plain data."""
        if self._records is None:
            self._records = records.records_of(self.block, self.program.steps, self.title)
        return self._records

    def __str__(self) -> str:
        """The program's name, and the first lines that asked for its kernels."""
        lines = [*dict.fromkeys(str(site) for kernel in self.kernels for site in kernel.sites)]
        more = [f"{len(lines) - NAMED} more"] if len(lines) > NAMED else []
        return f"{self.title} ({', '.join(lines[:NAMED] + more) or 'an unknown line'})"

    def step_title(self, number: int) -> str:
        """The kernel of a step that is a call, and the lines that asked for it."""
        kernel = self.kernels[sum(isinstance(x, Call) for x in self.program.steps[:number])]
        return f"{kernel.name} of {', '.join(map(str, kernel.sites)) or 'an unknown line'}"

    def _refuse_devices(self, inputs: Sequence[DeviceBuffer]) -> None:
        """Raise for inputs in another device's memory."""
        own, pairs = self.backend.name, zip(inputs, self.source.inputs, strict=False)
        x, leaf = next((x, leaf) for x, leaf in pairs if x.memory is not self._memory)
        raise DeviceError(
            f"{self.name or 'evaluate'}: the program is for device {own}: got {leaf} on "
            f"{x.memory.device}. Move it with to({own!r})."
        )

    def _refuse(self, number: int, inputs: Sequence[DeviceBuffer]) -> None:
        """Raise the error for a position that a kernel found outside of its axis."""
        leaves = self.source.inputs
        which = outside(self.source, lambda k: inputs[k].array(leaves[k]))
        kernel = [k for k in self.kernels for _ in range(k.checks)][number]
        lines = ", ".join(map(str, kernel.sites)) or "an unknown line"
        raise IndexOutOfBounds(
            f"{kernel.name}: a position is outside its axis{which}. Check the indices of {lines}."
        )


Lines = tuple[tuple, ...]
"""The user lines of a graph's nodes and of graphs inside: not part of what is compiled."""


def lines_of(graph: Graph) -> Lines:
    """The lines of every node, in order."""
    return tuple(map(asked_by, graph.nodes))
