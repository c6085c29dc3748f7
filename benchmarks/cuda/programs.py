"""Runs a bundle's programs on a card, a launch for each call; results against the CPU's."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cuda.driver import Driver, DriverError, Kernel

GUARD = 256
"""Bytes around every buffer that must stay as they are."""
POISON = 0x7D
SHAPES = {1: (1, 1), 97: (1, 97), 8192: (64, 128)}
"""Threads -> blocks and their threads."""
MANY, BLOCK = 1056, 128
"""Blocks and their threads where speed is measured, if scratch memory for all is no more than"""
MOST_SCRATCH = 16 << 30


@dataclass
class Memory:
    """A buffer between two guards."""

    driver: Driver
    nbytes: int

    def __post_init__(self) -> None:
        self.whole = self.driver.allocate(self.nbytes + 2 * GUARD)
        self.address = self.whole + GUARD
        self.driver.fill(self.whole, POISON, self.nbytes + 2 * GUARD)

    def is_intact(self) -> bool:
        """Whether nobody wrote over the guards."""
        ends = (self.whole, self.address + self.nbytes)
        return all((self.driver.get(at, GUARD) == POISON).all() for at in ends)

    def free(self) -> None:
        """Give it back."""
        self.driver.free(self.whole)


class Run:
    """One program's buffers on a card, and the steps over them."""

    def __init__(
        self, driver: Driver, program: dict[str, Any], inputs: list[np.ndarray], threads: int
    ) -> None:
        self.driver, self.program, self.threads = driver, program, threads
        self.inputs = [Memory(driver, x.nbytes) for x in inputs]
        self.given = inputs
        self.results = [Memory(driver, max(n, 8)) for n in (*program["sizes"], 8)]
        self.arena = Memory(driver, program["arena"])
        self.stride = stride_of(program)
        self.scratch = Memory(driver, self.stride * threads)
        calls = [step for step in program["steps"] if step[0] == "Call"]
        self.table = Memory(driver, 8 * sum(len(step[2]) for step in calls))
        self.rows: dict[int, bytes] = {}
        """The tables of calls that lie on the card, by address."""
        self.shape = SHAPES.get(threads, (threads // BLOCK, BLOCK))
        self.registers = [0] * program["registers"]
        self.reset()

    def reset(self) -> None:
        """Inputs as they were, and no report."""
        for place, array in zip(self.inputs, self.given, strict=True):
            self.driver.put(place.address, array)
        self.driver.fill(self.results[-1].address, 0, 8)

    def free(self) -> None:
        """Give all memory back."""
        for memory in (*self.inputs, *self.results, self.arena, self.scratch, self.table):
            memory.free()

    def value(self, slot: list[Any]) -> int:
        """An address on the card, or a number."""
        match slot:
            case ["ArenaSlot", offset]:
                return self.arena.address + offset
            case ["InputSlot", index, offset]:
                return self.inputs[index].address + offset
            case ["OutputSlot", index, offset]:
                return self.results[index].address + offset
            case ["ConstantSlot", value]:
                return value
            case ["RegisterSlot", index, offset]:
                return self.registers[index] + offset
        raise ValueError(f"A card has no {slot}.")

    def calls(self) -> Iterator[tuple[str, list[int]]]:
        """The kernels in the order in which they run, with what they are given."""
        steps, at = self.program["steps"], 0
        while at < len(steps):
            step, at = steps[at], at + 1
            match step:
                case ["Call", symbol, slots, _]:
                    yield symbol, [self.value(slot) for slot in slots]
                case ["Branch", condition, otherwise, _]:
                    if not self.driver.get(self.value(condition), 1)[0]:
                        at = otherwise
                case ["Skip", otherwise, slot, _]:
                    if not self.value(slot):
                        at = otherwise
                case ["Set", register, slot, _]:
                    self.registers[register] = self.value(slot)
                case ["Bind", *_]:
                    pass  # slots are read at each call here
                case _:
                    raise ValueError(f"A card has no step {step}.")

    def launch(self, kernels: dict[str, Kernel]) -> None:
        """Run all steps; each call's table lies behind those before it."""
        at = self.table.address
        end = at + self.table.nbytes
        for symbol, values in self.calls():
            row = np.array([v & (2**64 - 1) for v in values], np.uint64)
            if at + row.nbytes > end:  # a loop comes here again
                self.driver.synchronize()
                at = self.table.address
            if self.rows.get(at) != row.tobytes():
                self.rows[at] = row.tobytes()
                self.driver.put(at, row)
            given = [at, self.scratch.address, self.stride]
            self.driver.launch(kernels[symbol], *self.shape_of(symbol), given)
            at += row.nbytes

    def shape_of(self, symbol: str) -> tuple[int, int]:
        """Blocks and their threads, of which a kernel's own thread may be several."""
        width = self.program["widths"].get(symbol, 1)
        if width == 1 or self.threads not in SHAPES:
            return self.shape
        return self.threads, width

    def verdict(self) -> dict[str, Any]:
        """Which results differ from the CPU's, and whether all guards stand."""
        wrong = []
        for k, digest in enumerate(self.program["hashes"]):
            size = self.program["sizes"][k]
            raw = self.driver.get(self.results[k].address, size)
            if sha256(raw.tobytes()).hexdigest() != digest:
                wrong.append(k)
        guarded = (*self.inputs, *self.results, self.arena, self.scratch, self.table)
        found: dict[str, Any] = {"differ": wrong, "results": len(self.program["hashes"])}
        if not all(memory.is_intact() for memory in guarded):
            found["guards"] = "overwritten"
        if report := int(self.driver.get(self.results[-1].address, 8).view(np.int64)[0]):
            found["report"] = report
        return found


def stride_of(program: dict[str, Any]) -> int:
    """The bytes of one thread's scratch memory."""
    return -(-program["scratch"] // 256) * 256


def assembled(driver: Driver, texts: dict[str, str]) -> tuple[dict[str, Kernel], dict[str, Any]]:
    """All kernels, assembled by the driver on all cores, and how long that took."""
    seconds: dict[str, float] = {}
    failed: dict[str, str] = {}

    def load(symbol: str) -> Kernel | None:
        driver.call("cuCtxSetCurrent", driver.context)
        began = time.perf_counter()
        try:
            kernel = driver.function(driver.load(texts[symbol]), "launch")
        except DriverError as cause:
            failed[symbol] = str(cause)
            return None
        seconds[symbol] = time.perf_counter() - began
        return kernel

    began = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = dict(zip(texts, pool.map(load, texts), strict=True))
    kernels = {name: kernel for name, kernel in found.items() if kernel}
    report = {
        "kernels": len(kernels),
        "failed": failed,
        "seconds": time.perf_counter() - began,
        "longest": max(seconds.values(), default=0.0),
        "each": sum(seconds.values()) / max(len(seconds), 1),
        "registers": max((k.registers for k in kernels.values()), default=0),
        "with local memory": sum(k.local_bytes > 0 for k in kernels.values()),
    }
    return kernels, report


def read(folder: Path) -> tuple[dict[str, Any], Any]:
    """The programs of a bundle and their inputs."""
    return json.loads((folder / "programs.json").read_text()), np.load(folder / "inputs.npz")


def given(program: dict[str, Any], arrays: Any) -> list[np.ndarray]:
    """A program's inputs: from the file, or drawn alike on both machines."""
    if program["drawn"]:
        return drawn(program["drawn"])
    return [arrays[f"{program['name']}/{k}"] for k in range(len(program["inputs"]))]


def drawn(shapes: list[list[int]]) -> list[np.ndarray]:
    """Numbers of float32 that are made of integers, so that no library decides about bits."""
    r = np.random.default_rng(0)
    made = (r.integers(-(1 << 20), 1 << 20, shape) / (1 << 19) for shape in shapes)
    return [x.astype(np.float32) for x in made]


def programs(driver: Driver, folder: Path, until: float, rows: dict[str, Any]) -> dict[str, Any]:
    """Each program with each number of threads: results against the CPU's, and seconds.

    What is not begun by `until` (time.monotonic) is named as left. An error of a kernel ends the
    driver's context, so that the rest is "broken off": run again, with the rows that are there.
    """
    content, arrays = read(folder)
    kernels, report = assembled(driver, content["kernels"])
    found = {"assembler": report, "left out": content["left out"], "programs": rows}
    both = content["programs"] + content["strided"]
    small = [program for program in both if not program["drawn"]]
    for threads in sorted(SHAPES, reverse=True):
        for program in small:
            name = f"{program['name']}, {threads} threads"
            if "differ" in rows.get(name, {}) or "error" in rows.get(name, {}):
                continue
            if time.monotonic() > until:
                rows[name] = {"left": "no time"}
                continue
            try:
                rows[name] = tried(Run(driver, program, given(program, arrays), threads), kernels)
            except (DriverError, KeyError) as cause:
                rows[name] = {"error": repr(cause)}
                return found | {"broken off": name}
    return found


def tried(run: Run, kernels: dict[str, Kernel]) -> dict[str, Any]:
    """One program's verdict and seconds."""
    run.launch(kernels)
    run.driver.synchronize()
    found = run.verdict()
    run.reset()
    found["seconds"] = run.driver.seconds(partial(run.launch, kernels))
    again = run.verdict()
    found["twice the same"] = again["differ"] == found["differ"]
    run.free()
    return found


def speeds(driver: Driver, folder: Path, until: float, of: str = "programs") -> dict[str, Any]:
    """Large programs: bits, seconds, and bytes a second of operands and results.

    of: those whose threads have stretches, or "strided".
    """
    content, arrays = read(folder)
    large = [program for program in content[of] if program["drawn"]]
    symbols = {step[1] for program in large for step in program["steps"] if step[0] == "Call"}
    kernels, _ = assembled(driver, {name: content["kernels"][name] for name in symbols})
    rows: dict[str, Any] = {}
    for program in large:
        if time.monotonic() > until:
            rows[program["name"]] = {"left": "no time"}
            continue
        # a team has one stretch of scratch memory
        width = min(program["widths"].values(), default=1)
        blocks = max(1, min(MANY, MOST_SCRATCH // (BLOCK // width * stride_of(program))))
        run = Run(driver, program, given(program, arrays), blocks * BLOCK)
        row = tried(run, kernels) | {"threads": run.threads}
        moved = sum(program["inputs"]) + sum(program["sizes"])
        rows[program["name"]] = row | {"bytes a second": moved / row["seconds"]}
    return rows
