"""Deep models over large worlds: the shard pass, and one rank's whole program, by layers.

Run by hand (python benchmarks/many_layers.py [--layers 8,64]). Nothing is run and no parameter has
a value. Seconds are those of the processor, so that others on the machine count less. A second
division finds what the first one learned of equal layers. The whole program takes the sum of
capture, kernels, memory plan and clock.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from typing import TypeVar

from gnomon.codegen.calls import is_claimed
from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.distributed.mesh import mesh_of
from gnomon.ir import memo
from gnomon.passes.divide import divide
from gnomon.passes.inline import inline
from gnomon.program.assembly import plan_of
from gnomon.program.virtual_clock import timeline
from gnomon.train.chips import CHIPS
from gnomon.train.forecast import seconds_on
from gnomon.train.rank_program import step_graph
from gnomon.train.recipes import configure

MESH = "data=64,shard=16,tensor=8"
SIZES = (
    "model.hidden_size=1024",
    "model.intermediate_size=4096",
    "model.num_attention_heads=16",
    "model.num_key_value_heads=8",
    "model.head_dim=64",
    "model.vocab_size=8192",
    "train.batch_size=1024",
)
T = TypeVar("T")


def timed(what: str, function: Callable[[], T]) -> T:
    """What a function gives; its seconds are printed."""
    began = process_time()
    made = function()
    print(f"  {what:<28} {process_time() - began:8.2f} s", flush=True)
    return made


def measure(layers: int) -> None:
    """The parts of the way from a model to one rank's program with its memory and its time."""
    mesh, chip = mesh_of(MESH), CHIPS["h100"]
    config = configure("tiny", [*SIZES, f"model.num_hidden_layers={layers}"])
    memo.clear()
    print(f"{layers} layers, {MESH} ({mesh.size:,} ranks)")
    graph = timed("capture", lambda: step_graph(config, mesh))
    flat = inline(graph, is_claimed)
    timed("shard pass", lambda: divide(flat))
    timed("shard pass again", lambda: divide(flat))
    block = timed("kernels, with the shard pass", lambda: kernels_of(graph, context()))
    plan = timed("memory plan", lambda: plan_of(block))
    run = timed("virtual clock", lambda: timeline(block.parts, seconds_on(chip, mesh)))
    print(f"  {len(graph.nodes):,} nodes captured, {len(flat.nodes):,} divided", end=", ")
    print(f"{len(block.parts):,} calls, {plan.memory.total:,} bytes, {run.makespan:.4f} s a step")


def main(words: list[str]) -> None:
    """Measure each depth that was asked for."""
    for count in (words[1] if words else "8,64").split(","):
        measure(int(count))


if __name__ == "__main__":
    main(sys.argv[1:])
