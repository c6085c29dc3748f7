"""Program files: methods with their machine code and weights, run without a compiler.

This file needs Python on Linux and numpy, and nothing else: copy it to where programs run.

    load_program("model.gnp")["decode"](tokens)     # numpy's arrays; what methods write is kept

A file holds machine code: load none that you would not run. What is beside the code is checked
before any of it runs, so that a damaged file is refused. docs/program-files.md has the format.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import signal
import struct
import sys
import threading
import weakref
import zlib
from collections.abc import Sequence
from hashlib import sha256
from math import prod
from typing import Any

import numpy as np

__all__ = ["ProgramFileError", "ShippedMethod", "ShippedProgram", "load_program"]

MAGIC, FORMAT, ABI = b"GNOMONPF", 2, 1
HEAD = struct.Struct("<8sIIQQ32s")
"""Magic, format, ABI, bytes, sections; the digest of these, of a digest of 0, and of the table."""
ROW = struct.Struct("<IIQQQ32s")
"""A section: kind, target, place, bytes, bytes when unpacked (0: not packed), digest of bytes."""
PAGE, LINE, MOST, RUNS = 4096, 64, 1 << 46, 16
WRITTEN, ZEROS = 1, 2
"""Tensors that methods write: with first values in the file, and with zeros."""
DESCRIPTION, WEIGHTS, CODE, PLAN, NOTES = range(1, 6)
TARGETS = {"avx2": 1, "avx512": 2, "neon": 3}
FLAGS = {
    "avx512": ("x86_64", "avx512f avx512cd avx512bw avx512dq avx512vl avx2 fma f16c bmi2 movbe"),
    "avx2": ("x86_64", "avx2 fma f16c bmi1 bmi2 abm movbe"),
    "neon": ("aarch64", "asimd fphp asimdhp atomics"),
}
"""Targets, the best first: the machine and the features, as Linux names them."""
LIBRARY = frozenset(
    {"clock_gettime", "memcpy", "memmove", "memset", "pthread_cond_broadcast", "pthread_cond_wait"}
    | {"pthread_mutex_lock", "pthread_mutex_unlock", "sched_yield"}
)
"""Functions of the C library that code may call."""
DTYPES = {f"{kind}{n}": f"{kind}{n}" for kind in ("int", "uint") for n in (8, 16, 32, 64)}
DTYPES |= {f"float{n}": f"float{n}" for n in (16, 32, 64)} | {"bool": "bool", "bfloat16": "uint16"}
DTYPES |= dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), "uint8")
"""Dtypes, and numpy's; those that numpy has not are their bits."""
NESTS = {"list": list, "tuple": tuple}

# the ABI: a run's block in words, an entry of a table in words, a pool's block in bytes
SCRATCH_START, THREADS, BASES, FIRST_BASE = 6, 7, 13, 2
"""The bases: nothing, the arena, then inputs, outputs, scalars, registers."""
FUNCTION, FIRST_SLOT, KIND, TARGET = 0, 1, 3, 4
CALL, BRANCH, SKIP, SET, BIND = range(5)
MUTEX, CONDITION, CONTROL_BYTES = 512, 768, 1024
IDLE_LOOKS, YIELD_AFTER, LOOKS, BRIEF = 384, 448, 2_500, 256


class ProgramFileError(ValueError, RuntimeError):
    """A program file that cannot be loaded, or a call that its methods cannot serve."""


class ForeignProgramError(ProgramFileError):
    """A program file of another format, or for other processors."""


WRONG = (ValueError, TypeError, LookupError, RuntimeError, OverflowError, MemoryError, zlib.error)
"""The exceptions that reading an invalid file may raise."""


def need(holds: Any, why: str, kind: type[ProgramFileError] = ProgramFileError) -> None:
    """Raise an error for a file if a condition does not hold."""
    if not holds:
        raise kind(why)


class Words:
    """Reader of numbers and names in a section, checked against its end."""

    def __init__(self, content: memoryview) -> None:
        need(len(content) % 8 == 0, "a section is cut short")
        self.words, self.at = np.frombuffer(content, "<i8"), 0

    def row(self, count: int) -> np.ndarray:
        """Read a fixed count of numbers."""
        need(0 <= count <= len(self.words) - self.at, "a section is too short for its parts")
        self.at += count
        return self.words[self.at - count : self.at]

    def number(self, least: int = 0, most: int = MOST) -> int:
        """Read an integer, and check its bounds."""
        found, self.at = self.words.item(self.at), self.at + 1
        need(least <= found <= most, f"a number is {found}, and not between {least} and {most}")
        return found

    def numbers(self, least: int = 0, most: int = MOST) -> list[int]:
        """Read a count, then numbers within bounds."""
        return [self.number(least, most) for _ in range(self.number(0, len(self.words)))]

    def pairs(self, first: int, second: int) -> list[tuple[int, int]]:
        """Read a count, then pairs of numbers below two limits."""
        count = self.number(0, len(self.words))
        return [(self.number(0, first - 1), self.number(0, second - 1)) for _ in range(count)]

    def text(self) -> str:
        """Read a name: the number of its bytes, then the bytes."""
        count = self.number(0, 1 << 20)
        return self.row(-(-count // 8)).tobytes()[:count].decode()


class ArrayKind:
    """A dtype and sizes; a size of -1 - k is the call's number k."""

    def __init__(self, words: Words, numbers: int = 0) -> None:
        self.name = words.text()
        need(self.name in DTYPES, f"no dtype {self.name!r}")
        self.dtype = np.dtype(DTYPES[self.name])
        self.sizes = words.numbers(-numbers)

    def shape(self, numbers: Sequence[int] = ()) -> tuple[int, ...]:
        """The sizes for a call's numbers."""
        return tuple([n if n >= 0 else numbers[-1 - n] for n in self.sizes])

    def nbytes(self, numbers: Sequence[int] = ()) -> int:
        """The bytes; refused if no machine could hold them."""
        found = prod(self.shape(numbers)) * self.dtype.itemsize
        need(0 <= found <= MOST, "a tensor has more bytes than a machine")
        return found

    def form(self, array: np.ndarray, numbers: Sequence[int] = ()) -> np.ndarray:
        """Bytes as an array."""
        content = array.reshape(-1).view(np.uint8)[: self.nbytes(numbers)]
        return content.view(self.dtype).reshape(self.shape(numbers))

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(str(n) if n >= 0 else f's{-1 - n}' for n in self.sizes)}]"


def aligned(nbytes: int, new: Any = np.empty) -> np.ndarray:
    """Allocate memory that begins at a cache line."""
    whole = new(nbytes + LINE, np.uint8)
    start = -whole.ctypes.data % LINE
    return whole[start : start + nbytes]


def address(array: np.ndarray) -> int:
    """The address of an array."""
    return array.ctypes.data


class ThreadTeam:
    """The caller and worker threads that run programs."""

    def __init__(self, threads: int, code: ProgramCode) -> None:
        self.library, self.code, self.process = ctypes.CDLL(None), code, os.getpid()
        self.control = aligned(CONTROL_BYTES)
        self.control[:] = 0
        cores, words = len(os.sched_getaffinity(0)), self.control.view(np.int64)
        threads, waits = threads or cores, (0, 0) if threads > cores else (LOOKS, BRIEF)
        words[IDLE_LOOKS // 8], words[YIELD_AFTER // 8] = waits
        at = address(self.control)
        self.library.pthread_mutex_init(ctypes.c_void_p(at + MUTEX), None)
        self.library.pthread_cond_init(ctypes.c_void_p(at + CONDITION), None)
        self.starts, self.handles = np.array([[at, k] for k in range(threads)], np.int64), []
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for start in self.starts[1:]:
                handle = ctypes.c_void_p()
                place, worker = ctypes.c_void_p(address(start)), ctypes.c_void_p(code.worker)
                if self.library.pthread_create(ctypes.byref(handle), None, worker, place):
                    break
                self.handles.append(handle)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.threads, self.stride, self.scratch = len(self.handles) + 1, 0, aligned(0)

    def grow(self, stride: int) -> None:
        """Provide scratch memory for each thread."""
        if stride > self.stride:
            self.stride, self.scratch = stride, aligned(stride * self.threads)

    def stop(self) -> None:
        """End the threads, if this process started them."""
        if self.handles and self.process == os.getpid():
            self.code.post(address(self.control), None)
            while self.handles:
                self.library.pthread_join(self.handles.pop(), None)


class ProgramCode:
    """Machine code in read-only memory, and its three functions for programs."""

    def __init__(self, content: memoryview, words: Words) -> None:
        library, self.size = ctypes.CDLL(None, use_errno=True), len(content)
        imports = [
            (words.text(), words.number(0, self.size - 8)) for _ in range(words.number(0, 64))
        ]
        places = [words.number(0, self.size - 1) for _ in range(3)]
        self.memory = mmap.mmap(-1, self.size)
        self.memory[:] = content
        for name, at in imports:
            need(name in LIBRARY, f"its code asks for {name!r}")
            found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            self.memory[at : at + 8] = struct.pack("<Q", found)
        self.base = address(np.frombuffer(self.memory, np.uint8))
        start, end = ctypes.c_void_p(self.base), ctypes.c_void_p(self.base + self.size)
        if library.mprotect(start, ctypes.c_size_t(self.size), mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "the system runs no code that is loaded")
        if platform.machine() == "aarch64":
            ctypes.CDLL("libgcc_s.so.1")["__clear_cache"](start, end)
        run, post, self.worker = (self.base + at for at in places)
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(run)
        self.post = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(post)


class MethodPlan:
    """A method's steps for one target, with its latest runs by sizes."""

    def __init__(self, words: Words, method: ShippedMethod, code: ProgramCode) -> None:
        counts = [words.number(0, 1 << 20) for _ in range(4)]
        self.inputs, outputs, scalars, self.registers = counts
        self.fresh, self.kept = words.number(0, 1 << 20), words.number(0, 1 << 20)
        self.numbers = [words.number() for _ in range(3 + self.fresh + self.kept)]
        expected = [method.inputs, self.fresh + 1 + self.kept, self.kept]
        need(counts[:3] == expected, "a plan is not that of its method")
        self.places = [words.number(0, self.fresh + self.inputs - 1) for _ in method.made]
        self.over = words.pairs(self.fresh, self.inputs)
        steps, slots = words.number(0, 1 << 24), words.number(0, 1 << 24)
        self.calls = words.row(5 * steps).reshape(-1, 5).copy()
        self.bindings = words.row(2 * slots).reshape(-1, 2).copy()
        functions = words.numbers(0, slots - 1)
        self.varying = words.numbers(0, slots - 1)
        self.row_of: list[int] = []
        if method.symbols:
            width = method.count + len(self.numbers) + len(self.varying)
            self.row_of = words.numbers()
            self.multiples = words.row(len(method.symbols) * width).reshape(-1, width)
            self.rows = words.row(words.number(1, MOST) * width).reshape(-1, width)
            ends = prod(b - a + 1 for a, b in method.bounds), len(self.rows)
            need(ends[0] == len(self.row_of) and max(self.row_of) <= ends[1], "a size has no row")
        self.given = FIRST_BASE + self.inputs + outputs + scalars
        self._check(code.size, self.bindings[functions])
        self.calls[self.calls[:, KIND] == CALL, FUNCTION] += code.base
        self.bindings[functions, 1] += code.base
        self.runs: dict[tuple, SizedRun] = {}

    def _check(self, size: int, functions: np.ndarray) -> None:
        """Refuse steps that call, read or jump out of bounds."""
        calls, base = self.calls, self.bindings[:, 0]
        kind, at, goal, end = calls[:, KIND], calls[:, FIRST_SLOT], calls[:, TARGET], 8 * len(base)
        function, bases = calls[:, FUNCTION], 8 * (self.given + self.registers)
        called, fills = kind == CALL, (kind == SET) | (kind == BIND)
        reads = 8 * ((kind == BRANCH) | (kind == SKIP) | (kind == SET))
        last = np.where(kind == BIND, end, np.where(kind == SET, bases - 8, len(calls)))
        first = np.where(kind == SET, 8 * self.given, 0)
        need(((kind >= CALL) & (kind <= BIND)).all(), "a step is of no kind")
        need((~called | ((function >= 0) & (function < size))).all(), "a step calls nothing")
        need((called | ((goal >= first) & (goal <= last))).all(), "a step goes nowhere")
        need((~fills | (goal % 8 == 0)).all(), "a step goes nowhere")
        need(((at >= 0) & (at % 8 == 0) & (at + reads <= end)).all(), "a step has no slots")
        need(((base >= 0) & (base % 8 == 0) & (base < bases)).all(), "a slot has no base")
        place = functions[:, 1]
        need(((functions[:, 0] == 0) & (place >= 0) & (place < size)).all(), "a slot calls nothing")

    def at(self, method: ShippedMethod, own: tuple[int, ...]) -> SizedRun | None:
        """The run at some sizes; None if the method was not exported for them."""
        found = self.runs.pop(own, None)
        if found is None:
            words, end = self.numbers, method.count + len(self.numbers)
            if own:
                place = 0
                for n, (a, b) in zip(own, method.bounds, strict=True):
                    place = place * (b - a + 1) + n - a
                if not self.row_of[place]:
                    return None
                row = self.rows[self.row_of[place] - 1]
                words = (row + np.array(own, np.int64) @ self.multiples).tolist()
            found = SizedRun(self, method, words[:end], words[end:])
        self.runs[own] = found
        if len(self.runs) > RUNS:
            del self.runs[next(iter(self.runs))]
        return found


class SizedRun:
    """The tables and the memory of a method's runs at some sizes."""

    def __init__(self, plan: MethodPlan, method: ShippedMethod, words: list, offsets: list) -> None:
        sizes, numbers = words[: method.count], words[method.count :]
        arena, scratch, alone, *rest = numbers
        need(min(numbers) >= 0 and max(numbers) <= MOST, "a plan has more bytes than a machine")
        self.sizes, self.alone, self.numbers = rest[: plan.fresh], bool(alone), sizes
        self.kept, self.panels = rest[plan.fresh :], None
        for place, kind in zip(plan.places, method.made, strict=True):
            most = self.sizes[place] if place < plan.fresh else kind.nbytes(sizes)
            need(kind.nbytes(sizes) <= most, "a result does not fit")
        self.bindings = plan.bindings.copy()
        self.bindings[plan.varying, 1] = offsets
        base, more = self.bindings.T
        need((((more >= 0) & (more <= arena)) | (base != 8)).all(), "a slot is out of the arena")
        slots_at = 8 * (plan.given + plan.registers)
        scratch_at = -(-(slots_at + 8 * len(base)) // LINE) * LINE
        self.stride, self.memory = -(-(scratch_at + scratch) // LINE) * LINE, arena
        self.block = np.zeros(BASES + plan.given, np.int64)
        self.block[: SCRATCH_START + 1] = (
            *(address(plan.calls), len(plan.calls), address(self.bindings), len(base)),
            *(plan.given, slots_at, scratch_at),
        )


class ShippedMethod:
    """A method of a shipped program, called with arrays like those of its export."""

    def __init__(self, words: Words, program: ShippedProgram) -> None:
        self.program, self.name, self.plan, self.alike = program, words.text(), None, []
        count, symbols, tensors = words.number(0, 1 << 16), words.number(0, 64), program.kinds
        self.arguments = [(words.text(), ArrayKind(words, symbols)) for _ in range(count)]
        self.symbols = words.pairs(count, 64)
        self.bounds = [(words.number(), words.number()) for _ in self.symbols]
        need(all(a <= b for a, b in self.bounds), "a size has no value")
        placed = all(axis < len(self.arguments[k][1].sizes) for k, axis in self.symbols)
        need(placed and len(self.symbols) == symbols, "a size is nowhere")
        self.call, self.result = json.loads(words.text()), json.loads(words.text())
        self.count = words.number(0, 1 << 20)
        self.made = [ArrayKind(words, self.count) for _ in range(words.number(0, 1 << 20))]
        self.results = words.numbers(-count, len(self.made) - 1)
        self.inputs = words.number(0, 1 << 20)
        self.read = words.pairs(self.inputs, count)
        self.held = words.pairs(self.inputs, len(tensors))
        self.writes = words.pairs(len(self.made), len(tensors))
        places = sorted(k for k, _ in (*self.read, *self.held))
        need(places == [*range(self.inputs)], "an input is missing, or there twice")
        need(program.first.keys() >= {x for _, x in self.writes}, "a constant is written")
        need(all(self.made[k].sizes == tensors[x].sizes for k, x in self.writes), "no fit")
        filled(self.call, [*range(count)])  # fails where it is no structure of so many
        filled(self.result, self.results)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The method's results, as numpy's arrays."""
        met = []
        for each in self.alike:
            try:
                return each._called(args, kwargs)
            except ProgramFileError as error:
                met.append(error)
        raise met[0]

    def _called(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """The results, if the call is like the exported one."""
        found: dict[int, Any] = {}
        if not matched(self.call, (args, kwargs), found):
            raise self._unlike("the call is nested otherwise or has other values")
        return filled(self.result, self.computed([found[k] for k in range(len(self.arguments))]))

    def computed(self, values: Sequence[Any]) -> list[np.ndarray]:
        """The tensors of the results for those of the arguments."""
        given = [self._array(k, x) for k, x in enumerate(values)]
        own = tuple([given[k].shape[axis] for k, axis in self.symbols])
        for array, (name, kind) in zip(given, self.arguments, strict=True):
            if array.shape != kind.shape(own):
                raise self._unlike(f"{name} is {array.dtype}{list(array.shape)}")
        within = all(a <= n <= b for n, (a, b) in zip(own, self.bounds, strict=True))
        with self.program.lock:
            run = self.plan.at(self, own) if within else None
            if run is None:
                raise self._unlike(f"sizes are {own}")
            made = self._run(run, given)
        return [made[k] if k >= 0 else given[-1 - k] for k in self.results]

    def _unlike(self, why: str) -> ProgramFileError:
        """The error of a call that is not like the exported one."""
        kinds = ", ".join(f"{name} {kind}" for name, kind in self.arguments)
        sizes = "".join(f", s{k} of {a} to {b}" for k, (a, b) in enumerate(self.bounds))
        return ProgramFileError(f"{self.name}: {why}: it was exported for {kinds}{sizes}.")

    def _array(self, number: int, value: Any) -> np.ndarray:
        """An argument as a contiguous array that begins at a cache line."""
        name, kind = self.arguments[number]
        array = np.asarray(value)
        if array.dtype.name == kind.name and array.dtype != kind.dtype:
            array = array.view(kind.dtype)
        if array.dtype != kind.dtype or array.ndim != len(kind.sizes):
            raise self._unlike(f"{name} is {array.dtype}{list(array.shape)}")
        if array.flags.c_contiguous and address(array) % LINE == 0:
            return array
        copied = aligned(array.nbytes).view(array.dtype).reshape(array.shape)
        copied[...] = array
        return copied

    def _run(self, run: SizedRun, given: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs of a run; state is updated after the run succeeded, or not at all."""
        plan, tensors = self.plan, self.program.tensors
        read = {k: given[x] for k, x in self.read} | {k: tensors[x] for k, x in self.held}
        inputs = [read[k] for k in range(self.inputs)]
        made, places = [None] * plan.fresh, {x: k for k, x in self.held}
        for output, x in self.writes:  # in the place of what is read, if the plan allows it
            if (plan.places[output], places.get(x)) in plan.over:
                made[plan.places[output]] = tensors[x]
        made = [aligned(n) if x is None else x for x, n in zip(made, run.sizes, strict=True)]
        report, panels = np.zeros(1, np.int64), run.panels or [aligned(n) for n in run.kept]
        stale = [int(run.panels is None)] * len(panels)
        self.program.start(run, [*inputs, *made, report, *panels], stale)
        if report[0]:
            raise IndexError(f"{self.name}: a position is outside its axis.")
        run.panels = panels
        found, alive = [*made, *inputs], {id(x) for x in (*inputs, *tensors)}
        outputs = [
            kind.form(x.copy() if id(x) in alive else x, run.numbers)
            for x, kind in zip(map(found.__getitem__, plan.places), self.made, strict=True)
        ]
        for output, x in self.writes:
            if found[plan.places[output]] is not tensors[x]:
                tensors[x][...] = outputs[output]
        return outputs


def matched(tree: Any, value: Any, found: dict[int, Any]) -> bool:
    """Whether a value has a structure; its tensors are stored by number."""
    if type(tree) is int:
        found[tree] = value
        return True
    if len(tree) == 2:
        return type(value) is type(tree[1]) and value == tree[1]
    kind, names, parts = tree
    if type(value).__name__ != kind or (kind == "dict" and value.keys() != set(names)):
        return False
    inside = [value[name] for name in names] if kind == "dict" else value
    return len(inside) == len(parts) and all(map(matched, parts, inside, [found] * len(parts)))


def filled(tree: Any, tensors: list) -> Any:
    """A structure filled with its tensors."""
    if type(tree) is int:
        need(0 <= tree < len(tensors), "a structure names a tensor that is not there")
        return tensors[tree]
    if len(tree) == 2:
        return tree[1]
    kind, names, parts = tree
    inside = [filled(part, tensors) for part in parts]
    return dict(zip(names, inside, strict=True)) if kind == "dict" else NESTS[kind](inside)


class ShippedProgram:
    """A program file's methods, and the tensors that they read and write (`state`, by name)."""

    def __init__(self, found: dict[tuple, tuple], threads: int, targets: Sequence[str]) -> None:
        self.lock, self.threads, self.team = threading.Lock(), threads, None
        self.target = best_target({target for kind, target in found if kind == CODE}, targets)
        self.notes, here = bytes(found.get((NOTES, 0), [b""])[0]), TARGETS[self.target]
        need((PLAN, here) in found and (DESCRIPTION, 0) in found, "a section is missing")
        words = Words(unpacked(*found[DESCRIPTION, 0]))
        weights = np.frombuffer(found.get((WEIGHTS, 0), [b""])[0], np.uint8)
        self.kinds, self.tensors, self.first, self.state = [], [], {}, {}
        for _ in range(words.number(0, 1 << 24)):
            name, kind, written = words.text(), ArrayKind(words), words.number(0, ZEROS)
            at, n = words.number(0, len(weights)), kind.nbytes()
            need(at % LINE == 0 and (written == ZEROS or at + n <= len(weights)), "no weights")
            value = 0 if written == ZEROS else kind.form(weights[at:])
            if written:
                self.first[len(self.kinds)] = first = value
                self.state[name] = value = kind.form(aligned(n, np.zeros))
                if written == WRITTEN:
                    value[...] = first
            self.kinds.append(kind)
            self.tensors.append(value)
        made = [ShippedMethod(words, self) for _ in range(words.number(1, 1 << 16))]
        self.methods: dict[str, ShippedMethod] = {}
        for x in made:  # those of one name are for other calls
            self.methods.setdefault(x.name, x).alike.append(x)
        words = Words(unpacked(*found[PLAN, here]))
        self.code = ProgramCode(unpacked(*found[CODE, here]), words)
        for method in made:
            method.plan = MethodPlan(words, method, self.code)
            if not method.symbols:
                method.plan.at(method, ())

    def reset(self) -> None:
        """Restore the first values of the tensors that methods write."""
        for k, first in self.first.items():
            self.tensors[k][...] = first

    def __getitem__(self, name: str) -> ShippedMethod:
        return self.methods[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The results of the only method, or of `forward`."""
        name = next(iter(self.methods)) if len(self.methods) == 1 else "forward"
        return self[name](*args, **kwargs)

    def start(self, run: SizedRun, buffers: list[np.ndarray], scalars: list[int]) -> None:
        """Run a method, on all threads if that is faster."""
        team = self.team
        if team is None or team.process != os.getpid():
            team = self.team = ThreadTeam(self.threads, self.code)
            weakref.finalize(self, team.stop)
        team.grow(run.stride)
        if type(run.memory) is int:
            run.memory = aligned(run.memory)
        run.block[THREADS:] = (
            *(1 if run.alone else team.threads, address(team.control), address(team.scratch)),
            *(team.stride, 0, 0, 0, address(run.memory), *map(address, buffers), *scalars),
        )
        self.code.run(address(run.block))


def unpacked(content: memoryview, size: int) -> memoryview:
    """A decompressed section; a size of 0 says that it is not compressed."""
    reader = zlib.decompressobj(-15)
    found = memoryview(reader.decompress(content, size + 1) if size else content)
    need(not size or (reader.eof and len(found) == size), "a section holds other than it says")
    return found


def best_target(there: set[int], targets: Sequence[str]) -> str:
    """The best target of a file that this machine supports, if not one of `targets`."""
    machine, system = platform.machine(), sys.platform
    need(system == "linux", f"its code is for Linux, not for {system}", ForeignProgramError)
    if not targets:
        with open("/proc/cpuinfo", "rb", buffering=0) as file:
            lines = file.read(1 << 13).decode().splitlines()
        has = next((x.partition(":")[2].split() for x in lines if x[:5] in ("flags", "Featu")), ())
        targets = [t for t, (m, n) in FLAGS.items() if m == machine and {*n.split()} <= {*has}]
    found = [target for target in targets if TARGETS.get(target) in there]
    need(found, f"its code is for other processors than this {machine}", ForeignProgramError)
    return found[0]


def sections_of(content: memoryview) -> tuple[dict[tuple, tuple], str]:
    """The sections of a file by kind and target, with their bytes when decompressed; its digest."""
    need(content[:8] == MAGIC and len(content) >= HEAD.size, "it is no program file")
    _, version, abi, size, count, digest = HEAD.unpack_from(content)
    other, known = f"it has format {version}, and this loader reads 1 to {FORMAT}", (1, FORMAT)
    other = other if version not in known else f"its code has ABI {abi}, and this loader has {ABI}"
    need(version in known and abi == ABI, other, ForeignProgramError)
    need(size == len(content), f"it has {len(content)} bytes of {size}: it was cut short")
    end = HEAD.size + count * ROW.size
    need(count < 1 << 16 and end <= size, "its table of sections is cut short")
    table = HEAD.pack(MAGIC, version, abi, size, count, bytes(32)) + content[HEAD.size : end]
    need(sha256(table).digest() == digest, "its table of sections was damaged")
    found = dict[tuple, tuple]()
    for k in range(count):
        kind, target, at, n, whole, own = ROW.unpack_from(content, HEAD.size + k * ROW.size)
        fits = at >= end and at + n <= size and at % (PAGE if kind == WEIGHTS else LINE) == 0
        need(fits and (kind, target) not in found, "a section is out of the file, or there twice")
        end = at + n
        need(kind == WEIGHTS or sha256(content[at:end]).digest() == own, f"section {k} was damaged")
        found[kind, target] = content[at:end], whole
    return found, digest.hex()


def load_program(
    path: Any, digest: str = "", threads: int = 0, targets: Sequence[str] = ()
) -> ShippedProgram:
    """The program of a file; its weights are mapped, and read when they are needed.

    digest: the one that `save` returned, to load nothing else. threads: by default as many as
    cores. targets: code to choose from, the best first; by default what the processor supports.
    """
    need(sys.byteorder == "little", "load_program: this machine is big-endian")
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if status.st_size else b""
    try:
        own = status.st_uid in (0, os.getuid()) and not status.st_mode & 0o022
        need(own, "others can write it, and machine code must come from you alone")
        sections, own = sections_of(memoryview(mapped))
        need(not digest or digest.lower() == own, f"its digest is {own}, not {digest[:64]}")
        return ShippedProgram(sections, threads, targets)
    except WRONG as wrong:
        kind = type(wrong) if isinstance(wrong, ProgramFileError) else ProgramFileError
        raise kind(f"load_program: {path}: {str(wrong).rstrip('.')}.") from None
