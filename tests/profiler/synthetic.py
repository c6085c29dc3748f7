"""Profiles made up for tests: a model of some layers that takes some steps on some threads.

Not a test. Nothing runs: times follow from a seed, everything else from the sizes asked for.
"""

from __future__ import annotations

import numpy as np

from gnomon.profiler.model import (
    BufferRecord,
    Decision,
    Event,
    Line,
    MachineLimits,
    OpRecord,
    Profile,
    Record,
)

FILE = "/home/somebody/model.py"
SOURCE = '''\
"""A model that was made up."""

import gnomon as gn
from gnomon import nn


class Block(nn.Module):
    def forward(self, x):
        h = self.norm(x)
        q, k, v = self.qkv(h).chunk(3, dim=-1)
        y = attention(q, k, v)
        x = x + self.out(y)
        return x + self.down(gn.relu(self.up(x)) ** 2)  # </script><b>"quoted"</b> & more


def step(model, optimizer, batch):
    loss = model(batch).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
'''
KINDS = (
    ("rms_norm", 9, "norm", 40_000, 120_000),
    ("contract", 10, "qkv", 9_000_000, 300_000),
    ("attention", 11, "", 3_000_000, 260_000),
    ("contract_add", 12, "out", 3_100_000, 200_000),
    ("contract_relu", 13, "up", 12_000_000, 380_000),
)
"""Name, line, module, flops and bytes of what every layer runs."""

CODE = """\
; {name}
declare void @part_shared(ptr)
define void @{symbol}(ptr %buffers, i64 %thread, i64 %threads, ptr %scratch) nounwind {{
entry:
  %v0 = load ptr, ptr %buffers, align 8
  %v1 = fmul <16 x float> %a, %b
  store <16 x float> %v1, ptr %v0, align 4
  ret void
}}
"""


def made_up(layers: int = 4, steps: int = 2, threads: int = 2, seed: int = 0) -> Profile:
    """A profile of steps of a model: forward, backward, optimizer, with all that can happen."""
    records = records_of(layers)
    machine = MachineLimits("made-up", threads, 2e11, 3e10)
    profile = Profile(machine, records, sources={FILE: SOURCE})
    for record in records.values():
        profile.code[record.symbol] = CODE.format(name=record.name, symbol=record.symbol)
    profile.code["part_shared"] = "define void @part_shared(ptr %x) {\n  ret void\n}\n"
    profile.threads = {0: "main", 1: "worker 1"}
    profile.graphs["step"] = graph_of(records)
    random = np.random.default_rng(seed)
    clock = compiled(profile)
    for number in range(steps):
        clock = stepped(profile, number, clock, random)
    profile.events.sort(key=lambda event: event.start)
    return profile


def records_of(layers: int) -> dict[int, Record]:
    """Calls of the forward of all layers, then of their backward, then of the optimizer."""
    records: dict[int, Record] = {}
    for phase in ("forward", "backward"):
        order = range(layers) if phase == "forward" else reversed(range(layers))
        for layer in order:
            for name, number, module, flops, nbytes in KINDS:
                path = f"layers.{layer}.{module}".rstrip(".")
                line = Line(FILE, number, "forward", path, phase)
                times = 1 if phase == "forward" else 2
                name_here = name if phase == "forward" else f"{name}_grad"
                add(records, name_here, line, times * flops, times * nbytes)
    last = Line(FILE, 19, "step", "", "optimizer")
    add(records, "step_adamw", last, 800_000, 2_400_000)
    return records


def add(records: dict[int, Record], name: str, line: Line, flops: int, nbytes: int) -> None:
    """One more call; a fused name has two operations, the second on the line before."""
    before = Line(line.file, line.line - 1, line.function, line.module, line.phase)
    first, _, second = name.removesuffix("_grad").partition("_")
    ops = [OpRecord(first, (line,), flops=flops)]
    if second:
        ops.append(
            OpRecord(second, (before,), recomputed=line.phase == "backward", flops=flops // 9)
        )
    half, number = nbytes // 2, len(records) + 1
    buffers = (
        BufferRecord(f"v{number}", "output", "float32", (4, 64, half // 1024), half),
        BufferRecord("x", "input", "float32", (4, 64, half // 1024), half),
    )
    decisions = ()
    if "contract" in name:
        refused = "read by two kernels" if line.phase == "backward" else ""
        sides = "reads" if refused else "both"
        decisions = (
            Decision(
                *("relu", nbytes, nbytes // 2, refused, "epilogue", name, line, before),
                seconds=(2e-3, 1e-3),
            ),
            Decision("add", 64, 32, refused, "join", "mul", line, before, sides, 2),
        )
    lines = (line, before) if second else (line,)
    records[number] = Record(
        number,
        name,
        f"k_{name}",
        "step",
        lines,
        tuple(ops),
        buffers,
        flops,
        nbytes,
        decisions=decisions,
    )


def graph_of(records: dict[int, Record]) -> str:
    """Something like a printed program: a line per call, its source line at the end."""
    rows = ["tokens: int64[4, 64]"]
    for record in records.values():
        line = record.lines[0]
        text = f"v{record.id} = {record.name}(v{max(0, record.id - 1)})"
        rows.append(f"{text:60}# {line.file}:{line.line} in {line.module}")
    return "\n".join(rows) + "\n"


def compiled(profile: Profile) -> int:
    """Passes that take a millisecond each; when they are done."""
    clock = 0
    for name, nodes in (("inline", 800), ("simplify", 640), ("partition", 640), ("llvm", 0)):
        took = 900_000 if name != "llvm" else 8_000_000
        args = {"before": 2 * nodes, "after": nodes} if nodes else {}
        profile.events.append(Event("compile", name, clock, clock + took, args=args))
        clock += took + 10_000
    again = "recompile: step, capture 2: tensor 0: shape is (4,), was (3,)"
    line = Line(FILE, 18, "step")
    profile.events.append(Event("compile", again, clock, clock + 5_000, lines=(line,)))
    return clock + 100_000


def stepped(profile: Profile, number: int, clock: int, random: np.random.Generator) -> int:
    """The events of one step; when it is done."""
    began, threads = clock, profile.machine.threads
    for record in profile.records.values():
        line = record.lines[0]
        nbytes = record.nbytes // 2
        buffer = number * len(profile.records) + record.id
        profile.events.append(
            Event(
                "alloc",
                record.name,
                clock,
                clock,
                nbytes=nbytes,
                lines=(line,),
                args={"buffer": buffer},
            )
        )
        took = int(1e9 * max(record.flops / 8e10, record.nbytes / 2e10) * random.uniform(0.8, 1.6))
        for thread in range(threads):
            end = clock + took - int(random.uniform(0, 0.1) * took)
            event = Event("kernel", record.name, clock, end, thread, record.id)
            profile.events.append(event)
        clock += took + 200
        if line.phase != "forward":
            freed = number * len(profile.records) + len(profile.records) - record.id
            profile.events.append(
                Event("free", record.name, clock, clock, args={"buffer": max(freed, 1)})
            )
    profile.events.append(Event("comm", "all_reduce", clock, clock + 30_000, 0, nbytes=4096))
    clock += 31_000
    where = (Line(FILE, 20, "step", "", "forward"),)
    profile.events.append(Event("forced", "item", clock, clock + 2_000, 0, lines=where))
    profile.events.append(Event("step", f"step {number}", began, clock + 3_000, 0))
    return clock + 20_000
