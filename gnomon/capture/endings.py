"""Endings: what is left of a capture that ends in an error.

Where the function raises by itself, all that it did before is done, as without a capture. Where the
capture is refused, or its first run fails, tensors stand again where they stood. Nobody is left
with a placeholder. What a capture that succeeds leaves is in replay.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gnomon.capture.inputs import Always, tracked_nodes
from gnomon.ir.node import copy_into
from gnomon.lazy import sized_captures
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.state import note, state
from gnomon.tensor.tensor import Tensor

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard
    from gnomon.capture.paths import Path
    from gnomon.capture.replay import CapturedProgram
    from gnomon.capture.tracing import Capture

__all__ = ["do", "undo"]


def do(program: CapturedProgram, capture: Capture, path: Path) -> None:
    """Run what a function did before it raised, once; values are computed when they are read."""
    capture.raised = True
    with capture.outside():
        if program.graph is not None:
            program.differentiable = True
            state.forced.add(program.graph)
        try:
            path.ending(program)(())
        finally:
            state.forced.discard(program.graph)


def undo(
    capture: Capture, guard: Guard, stood: Any, arguments: Sequence[Tensor], has_run: bool = False
) -> None:
    """Restore tensors that a failed capture wrote; those still referenced get uncomputed values.

    If the program `has_run` and failed, reading one of these raises that error again.
    """
    if capture.raised:
        return
    guard.undo(capture, stood)
    capture.places = {}
    capture.inputs |= {node: Always(tensor) for node, tensor in capture.found.items()}
    left = [s for s in capture.escaped(()) if s.node.arena is capture.arena]
    if not left:
        return
    graph, used = capture.close([s.node for s in left])
    if capture.sizes is not None:
        graph = sized_captures.at_current_sizes(graph)
    given = tracked_nodes([capture.reader(node)(arguments) for node in used])
    known = dict(zip(graph.inputs, given, strict=True))
    for storage, node in zip(left, copy_into(state.arena, graph.outputs, known), strict=True):
        storage.node = node
        note(storage)
    for storage in left if has_run else ():
        with suppress(Exception):
            evaluate([storage.node])
