"""Runs the kernels of a program on a processor that is not there, through QEMU, one after another.

Not a test. One program of C holds the table of calls; kernels are linked to it, and buffers lie in
one file, before and after. Threads take turns, which is legal because a kernel never waits.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.ir.node import Graph, Node
from gnomon.program.kernel import Kernel
from gnomon.runtime import device, worker
from gnomon.settings import override

COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64-static"
THREADS = 2
LINE = 64

DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void kernel(int64_t *, int64_t, int64_t, void *);
%(declared)s
static kernel *kernels[] = {%(symbols)s};
static int64_t calls[] = {%(calls)s};

int main(int count, char **names) {
    char *arena = aligned_alloc(64, %(bytes)d), *scratch = aligned_alloc(64, %(scratch)d);
    int64_t slots[1024];
    FILE *file = fopen(names[1], "rb");
    if (fread(arena, 1, %(bytes)d, file) != %(bytes)d) return 1;
    for (int64_t *call = calls; *call >= 0; call += 2 + 2 * call[1]) {
        for (int64_t k = 0; k < call[1]; k++)
            slots[k] = call[3 + 2 * k] + (call[2 + 2 * k] ? (int64_t)arena : 0);
        for (int64_t thread = 0; thread < %(threads)d; thread++) {
            memset(scratch, 255, %(scratch)d);
            kernels[*call](slots, thread, %(threads)d, scratch);
        }
    }
    file = fopen(names[2], "wb");
    return fwrite(arena, 1, %(bytes)d, file) != %(bytes)d || fclose(file);
}
"""


def is_there() -> bool:
    """Whether a compiler and an emulator of ARM's are installed."""
    return all(shutil.which(name) for name in (COMPILER, EMULATOR))


@dataclass
class Arena:
    """Where values lie in the file of buffers."""

    size: int = LINE
    places: dict[Node, int] = field(default_factory=dict)

    def place(self, node: Node) -> int:
        """Where a value begins; each has lines of its own."""
        if node not in self.places:
            self.places[node] = self.size
            self.size += -(-(node.size * node.dtype.itemsize + 1) // LINE) * LINE
        return self.places[node]


def call_of(kernel: Kernel, arena: Arena, first_check: int) -> list[tuple[int, int]]:
    """What a kernel is given: 1 and a place in the arena, or 0 and a number."""
    slots = [(1, arena.place(node) + start) for node, start in kernel.places]
    slots += [] if kernel.size is None else [(0, kernel.size)]
    slots += [(1, 0), (0, first_check)] if kernel.checks else []
    return [*slots, *((0, number) for number in kernel.numbers)]


def run(graph: Graph, arrays: Sequence[np.ndarray], folder: Path) -> list[np.ndarray]:
    """A graph's outputs by kernels of ARM's."""
    with override(without="batch,overlay"):
        block = kernels_of(graph, context())
    kernels, arena = tuple(block.kernels()), Arena()
    places = [arena.place(x) for x in (*block.graph.inputs, *block.graph.outputs)]
    symbols = list(dict.fromkeys(k.code.symbol for k in kernels))
    calls: list[int] = []
    for kernel in kernels:
        slots = call_of(kernel, arena, 1)
        flat = (number for slot in slots for number in slot)
        calls += [symbols.index(kernel.code.symbol), len(slots), *flat]
    memory = np.full(arena.size, 0xFF, np.uint8)
    memory[:LINE] = 0
    for place, array in zip(places, arrays, strict=False):
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        memory[place : place + raw.size] = raw
    driver = DRIVER % {
        "declared": "\n".join(f"kernel {symbol};" for symbol in symbols),
        "symbols": ", ".join(symbols),
        "calls": ", ".join(map(str, [*calls, -1])),
        "bytes": arena.size,
        "scratch": (max(k.code.scratch for k in kernels) // LINE + 2) * LINE,
        "threads": THREADS,
    }
    texts = {code.symbol: code.text for kernel in kernels for code in kernel.codes}
    memory = emulated(driver, texts, memory, folder)
    assert not memory[:8].any(), "emulated: a position was reported."
    return [value_of(memory, arena.places[x], x) for x in block.graph.outputs]


def value_of(memory: np.ndarray, place: int, node: Node) -> np.ndarray:
    """A value in the arena."""
    raw = memory[place : place + node.size * node.dtype.itemsize]
    return raw.view(node.dtype.numpy).reshape(node.shape)


def emulated(driver: str, texts: dict[str, str], memory: np.ndarray, folder: Path) -> np.ndarray:
    """The file of buffers after all calls."""
    target = device.foreign("neon")
    goal = (target.triple, target.cpu, target.features)
    names = [folder / f"{number}.o" for number in range(len(texts))]
    for name, text in zip(names, texts.values(), strict=True):
        name.write_bytes(worker.compile_text(text, *goal, 1, 0))
    source, program = folder / "driver.c", folder / "driver"
    source.write_text(driver)
    before, after = folder / "before", folder / "after"
    before.write_bytes(memory.tobytes())
    linked = [COMPILER, "-static", "-O1", "-o", program, source, *names]
    for command in (linked, [EMULATOR, "-cpu", "max", program, before, after]):
        subprocess.run(list(map(str, command)), check=True, timeout=300)
    return np.frombuffer(after.read_bytes(), np.uint8)
