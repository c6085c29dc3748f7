"""Deep models over large worlds: the shard pass, and one rank's whole program, by layers and mesh.

Run by hand:

    python -m benchmarks.many_layers [--layers 8,64] [--meshes 'data=64;shard=16'] [--json FILE]

Nothing is run and no parameter has a value. Seconds are those of the processor, so that others on
the machine count less, in a process that has built one layer before. The shard pass by itself is
timed beside the program, which takes the sum of capture, kernels (with the shard pass), memory plan
and virtual clock.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

from gnomon.codegen.calls import is_claimed
from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.distributed.mesh import mesh_of
from gnomon.ir import memo
from gnomon.ir.collector import paused
from gnomon.passes.divide import divide
from gnomon.passes.inline import inline
from gnomon.program.assembly import plan_of
from gnomon.program.virtual_clock import timeline
from gnomon.train.chips import CHIPS
from gnomon.train.forecast import seconds_on
from gnomon.train.rank_program import step_graph
from gnomon.train.recipes import configure

MESHES = "data=64;tensor=8;data=64,tensor=8;shard=16;data=64,shard=16,tensor=8"
SIZES = (
    "model.hidden_size=1024",
    "model.intermediate_size=4096",
    "model.num_attention_heads=16",
    "model.num_key_value_heads=8",
    "model.head_dim=64",
    "model.vocab_size=8192",
    "train.batch_size=1024",
)
COLUMNS = ("shard pass", "capture", "kernels", "memory plan", "clock", "program")
T = TypeVar("T")
Row = dict[str, Any]


def timed(row: Row, what: str, function: Callable[[], T]) -> T:
    """What a function gives; its seconds stand in a row."""
    began = process_time()
    made = function()
    row[what] = process_time() - began
    return made


@paused()
def measured(layers: int, named: str) -> Row:
    """The parts of the way from a model to one rank's program with its memory and its time."""
    mesh, row = mesh_of(named), {"layers": layers, "mesh": named}
    config = configure("tiny", [*SIZES, f"model.num_hidden_layers={layers}"])
    memo.clear()
    graph = timed(row, "capture", lambda: step_graph(config, mesh))
    flat = inline(graph, is_claimed)
    divided = timed(row, "shard pass", lambda: divide(flat))
    memo.clear()
    block = timed(row, "kernels", lambda: kernels_of(graph, context()))
    plan = timed(row, "memory plan", lambda: plan_of(block))
    seconds = seconds_on(CHIPS["h100"], mesh)
    run = timed(row, "clock", lambda: timeline(block.parts, seconds))
    row["program"] = sum(row[name] for name in ("capture", "kernels", "memory plan", "clock"))
    nodes = {"captured": len(graph.nodes), "opened": len(flat.nodes), "divided": len(divided.nodes)}
    figures = {"calls": len(block.parts), "bytes": plan.memory.total, "step": run.makespan}
    return row | nodes | figures


def main() -> None:
    """Measure each depth over each mesh: a table, and the same as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", default="8,64")
    parser.add_argument("--meshes", default=MESHES)
    parser.add_argument("--json", type=Path)
    wanted = parser.parse_args()
    measured(1, "data=2")
    print(f"{'layers':>6}  {'mesh':<26}", *(f"{name:>11}" for name in COLUMNS), f"{'nodes':>8}")
    rows: list[Row] = []
    for mesh in wanted.meshes.split(";"):
        for layers in map(int, wanted.layers.split(",")):
            row = measured(layers, mesh)
            rows.append(row)
            figures = (f"{row[name]:11.2f}" for name in COLUMNS)
            print(f"{layers:>6}  {mesh:<26}", *figures, f"{row['divided']:>8,}", flush=True)
    if wanted.json:
        told = {"python": platform.python_version(), "machine": platform.machine(), "rows": rows}
        wanted.json.write_text(json.dumps(told, indent=2) + "\n")


if __name__ == "__main__":
    main()
