"""One run of a script that a bisection asks for, in a process of its own.

    python -m gnomon.bisect.child REPORT CASE NAME NUMBER SCRIPT [ARGUMENTS]

It writes what the script gave to gn.testing.witness(), how often each optimisation was applied, and
the seconds. The graph that was compiled at one application, and what its program was first run on
(zeros where it never ran), are kept as a case.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from gnomon.bisect.case import save_case
from gnomon.compiler.build import compiling
from gnomon.drop_in.script import run_script
from gnomon.ir.node import Graph
from gnomon.runtime import events
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import applications

__all__ = ["RunReport", "main"]


class RunReport(msgspec.Struct):
    """The record of a run."""

    witnesses: list[tuple[str, float]]
    """Hash and norm of what was given to each call of witness()."""
    counts: dict[str, int]
    """Applications of each optimisation."""
    seconds: float


class WitnessRecorder:
    """Notes witnesses, and keeps one compiled graph with what its program runs on."""

    def __init__(self, case: str, name: str, number: int) -> None:
        self.case, self.asked = case, (name, number)
        self.witnesses: list[tuple[str, float]] = []
        self.graph: Graph | None = None

    def applied(self, name: str, number: int) -> None:
        """Note the graph that is compiled at the application that is asked for."""
        if (name, number) == self.asked:
            self.graph = compiling.get()
            self.keep_unrun()

    def keep_unrun(self) -> None:
        """Save the graph with zeros as inputs: the fault may be that it does not compile."""
        kinds = [(x.shape, x.dtype.numpy) for x in self.graph.inputs] if self.graph else []
        if self.graph is not None and all(type(n) is int for shape, _ in kinds for n in shape):
            save_case(self.case, self.graph, [np.zeros(*kind) for kind in kinds])

    def heard(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Note a witness, or keep the first run of the program that is asked for."""
        if kind == "witness":
            self.witnesses.append((fields["hash"], fields["norm"]))
        elif kind == "made" and self.graph is not None:
            self.ran(fields["caller"].source, fields["given"])

    def ran(self, source: Graph, given: Sequence[DeviceBuffer]) -> None:
        """Keep the case, if it is the program that is asked for."""
        if self.graph is not None and source.key == self.graph.key:
            pairs = zip(given, self.graph.inputs, strict=True)
            arrays = [x.array(like).copy() for x, like in pairs]
            save_case(self.case, self.graph, arrays)
            self.graph = None


def main() -> int:
    """Run the script; its exit code."""
    report, case, name, number, script, *arguments = sys.argv[1:]
    recorder = WitnessRecorder(case, name, int(number))
    applications.watcher = recorder.applied
    events.subscribe(recorder.heard)
    began = perf_counter()
    code = run_script(script, arguments)
    made = RunReport(recorder.witnesses, dict(applications.counts), perf_counter() - began)
    with open(report, "wb") as file:
        file.write(msgspec.json.encode(made))
    return code


if __name__ == "__main__":
    sys.exit(main())
