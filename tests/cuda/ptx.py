"""An interpreter of the PTX that LLVM emits for our kernels: all threads of a launch at once.

A register is an array of bits, one row for each thread. Threads that stand at the same basic block
run it together, those at the earliest block first, which is where branches meet again. Floats round
once for each instruction, so that results are bits to compare. What no kernel uses is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tests.cuda.matrices import mma, mma_kind, parts_of_lines
from tests.cuda.opcodes import TYPES, bits, function_of, typed
from tests.cuda.warps import WARP, Traffic, Warps

REFUSED = re.compile(r"\.approx|\.ftz(?!\.f32)")
MEETINGS = ("shfl.sync", "vote.sync", "bar.warp.sync", "bar.sync", "mma.sync", "ldmatrix.sync")
"""Instructions that wait for other threads."""
WHOLE_WARP = "-1"
"""The members of a warp."""
DONE = 1 << 30
"""The number of the block at which a thread stands that has returned."""


class Fault(Exception):
    """An access outside of the memory that was allocated, or one that is not aligned."""


class Memory:
    """The memory of a card: bytes at addresses that the host does not have."""

    BASE = 0x7_0000_0000
    GRAIN = 64

    def __init__(self, nbytes: int = 64 << 20) -> None:
        self.bytes = np.zeros(nbytes, np.uint8)
        self.live = np.zeros(nbytes // self.GRAIN, bool)
        """Which stretches belong to a block."""
        self.blocks: dict[int, int] = {}
        self._next = self.GRAIN

    def allocate(self, nbytes: int) -> int | None:
        """The address of a new block behind a gap; None where there is no memory left."""
        size = -(-max(nbytes, 1) // self.GRAIN) * self.GRAIN
        start = self._free_stretch(size)
        if start is None:
            return None
        self.live[start // self.GRAIN : (start + size) // self.GRAIN] = True
        self._next = max(self._next, start + size + self.GRAIN)
        self.bytes[start : start + size] = 0x7D
        self.blocks[self.BASE + start] = size
        return self.BASE + start

    def _free_stretch(self, size: int) -> int | None:
        """The first byte of so many that nobody has."""
        if self._next + size + self.GRAIN <= len(self.bytes):
            return self._next
        edges = np.flatnonzero(np.diff(self.live, prepend=True, append=True))
        for first, end in edges.reshape(-1, 2):
            if (end - first - 2) * self.GRAIN >= size:
                return int(first + 1) * self.GRAIN
        return None

    def free(self, address: int) -> bool:
        """Give a block back; whether there was one."""
        size = self.blocks.pop(address, 0)
        start = address - self.BASE
        self.live[start // self.GRAIN : (start + size) // self.GRAIN] = False
        return size > 0

    def view(self, address: int, nbytes: int) -> np.ndarray:
        """Bytes of blocks, for the host's copies."""
        start = address - self.BASE
        first, last = start // self.GRAIN, (start + max(nbytes, 1) - 1) // self.GRAIN
        if start < 0 or last >= len(self.live) or not self.live[first : last + 1].all():
            raise Fault(f"{nbytes} bytes at {address:#x}")
        return self.bytes[start : start + nbytes]

    def places(self, addresses: np.ndarray, size: int) -> np.ndarray:
        """The indices of elements of a size, which all lie in blocks and are aligned."""
        starts = addresses.view(np.int64) - self.BASE
        wrong = (starts < 0) | (starts >= len(self.bytes)) | (starts % size != 0)
        if not wrong.any():
            wrong = ~self.live[starts // self.GRAIN]
        if wrong.any():
            raise Fault(f"{size} bytes at {int(addresses[wrong][0]):#x}")
        return starts // size


@dataclass
class BasicBlock:
    """Instructions without branches between them, and where to go after."""

    instructions: list[tuple[Callable[..., None], str | None, bool]] = field(default_factory=list)
    branch: tuple[str, str | None, bool] | None = None
    """A label, the predicate that decides, and whether it has to be false."""
    returns: bool = False
    meets: str | None = None
    """Whom the first instruction waits for: the members that a register names, or "" all."""


class Kernel:
    """The entry of a PTX text, taken apart."""

    def __init__(self, text: str) -> None:
        if found := REFUSED.search(text):
            raise AssertionError(f"ptx: {found[0]} in a kernel")
        match = re.search(r"\.entry (\w+)\((.*?)\)\s*(?:\.\w+ [\d, ]+\s*)*\{(.*?)\n\}", text, re.S)
        assert match, "ptx: no entry"
        self.parameters = re.findall(r"\.param [^,]*?(\w+)(?:,|$|\n)", match[2] + "\n")
        self.constants = dict(map(constant, CONSTANT.finditer(text)))
        self.local = {name: int(size) for name, size in LOCAL.findall(text)}
        """Memory of each thread's own: bytes by name."""
        self.shared = {name: int(size) for name, size in SHARED.findall(text)}
        """Memory that the threads of a block share: bytes by name."""
        self.blocks, self.labels = [BasicBlock()], {}
        self.has_barriers = "bar.sync" in match[3]
        whole = ""
        for line in match[3].splitlines():
            whole += line.split("//")[0].strip()
            if not whole or whole[0] in ".{}" or whole[-1] in ";:":
                self._add(whole)
                whole = ""

    def _add(self, line: str) -> None:
        """Take in a line of the text."""
        if label := re.fullmatch(r"(\$?\w+):", line):
            self.blocks.append(BasicBlock())
            self.labels[label[1]] = len(self.blocks) - 1
            return
        if not line or line[0] in ".{}":
            return
        found = re.fullmatch(r"(?:@(!?)(%\w+)\s+)?([\w.:]+)\s*(.*);", line)
        assert found, f"ptx: not understood: {line}"
        negated, predicate, name = bool(found[1]), found[2], found[3]
        words = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s]+", found[4])
        block = self.blocks[-1]
        if name.startswith("bra"):
            block.branch = words[0], predicate, negated
            self.blocks.append(BasicBlock())
        elif name == "ret":
            assert predicate is None, f"ptx: {line}"
            block.returns = True
            self.blocks.append(BasicBlock())
        else:
            if name.startswith(MEETINGS):
                assert predicate is None, f"ptx: {line}"
                self.blocks.append(BasicBlock(meets=members(name, words)))
                block = self.blocks[-1]
            block.instructions.append((instruction(name, words), predicate, negated))

    def run(
        self,
        memory: Memory,
        arguments: Sequence[int],
        blocks: int,
        threads: int,
        order: np.random.Generator | None = None,
    ) -> Traffic:
        """Run all threads of all blocks, in any order if one is given; gives what they touched."""
        made = Threads(self, memory, arguments, blocks, threads)
        made.run(order)
        return made.traffic


def members(name: str, words: Sequence[str]) -> str:
    """Whom an instruction waits for: a register with bits of a warp's threads, or "" a block."""
    if name.startswith(("mma.", "ldmatrix.")):
        return WHOLE_WARP
    return "" if name == "bar.sync" else words[-1]


class Threads:
    """The threads of a launch: their registers and where they stand."""

    def __init__(
        self, kernel: Kernel, memory: Memory, arguments: Sequence[int], blocks: int, threads: int
    ) -> None:
        self.kernel, self.memory, self.count = kernel, memory, blocks * threads
        numbers = np.arange(self.count, dtype=np.uint32)
        self.warps, self.traffic = Warps(blocks, threads), Traffic()
        alike = partial_full(self.count)
        self.registers: dict[str, np.ndarray] = {
            "%tid.x": numbers % np.uint32(threads),
            "%ctaid.x": numbers // np.uint32(threads),
            "%ntid.x": alike(threads, np.uint32),
            "%nctaid.x": alike(blocks, np.uint32),
        }
        self.parameters = dict(zip(kernel.parameters, arguments, strict=True))
        self.symbols = {name: self._stored(data) for name, data in kernel.constants.items()}
        self._take_apart(kernel.local, numbers)
        self._take_apart(kernel.shared, numbers // np.uint32(threads))

    def _take_apart(self, sizes: Mapping[str, int], owners: np.ndarray) -> None:
        """Memory that each owner has of its own, with bytes that no kernel expects."""
        for name, size in sizes.items():
            each = -(-size // self.memory.GRAIN) * self.memory.GRAIN
            own = self._stored(np.full(each * (int(owners[-1]) + 1), 0x7D, np.uint8))
            self.registers[name] = np.uint64(own) + np.uint64(each) * owners.astype(np.uint64)
            self.symbols[name] = own

    def _stored(self, data: np.ndarray) -> int:
        """The address of a constant table."""
        address = self.memory.allocate(data.nbytes)
        assert address is not None, "ptx: no memory for constants"
        self.memory.view(address, data.nbytes)[:] = data
        return address

    def run(self, order: np.random.Generator | None = None) -> None:
        """Run until all have returned: who is furthest behind first, or anyone."""
        at = np.zeros(self.count, np.int64)
        while (at != DONE).any():
            numbers = np.unique(at[at != DONE]).tolist() if order else [int(at.min())]
            if order:
                order.shuffle(numbers)
            elif not self._ready(numbers[0], at).any():
                numbers = np.unique(at[at != DONE]).tolist()
            number = next((n for n in numbers if self._ready(n, at).any()), None)
            if number is None:
                raise Fault("threads wait for each other")
            here = self._ready(number, at)
            if order:
                meets = self.kernel.blocks[number].meets
                members = self.read(meets, "u32") if meets else None
                here = self.warps.some(here, members, meets is None, order)
            self._block(number, at, here, bool((here | (at == DONE)).all()))
        for address in self.symbols.values():
            self.memory.free(address)

    def _ready(self, number: int, at: np.ndarray) -> np.ndarray:
        """The threads at a block that need not wait for others to come there."""
        meets, here = self.kernel.blocks[number].meets, at == number
        return self.warps.ready(meets, here, self.read(meets, "u32") if meets else None)

    def _block(self, number: int, at: np.ndarray, here: np.ndarray, together: bool) -> None:
        """Run a block for the threads that are here; whether all that live are."""
        block = self.kernel.blocks[number]
        everywhere = together and bool(here.all())
        for step, predicate, negated in block.instructions:
            mask = None if everywhere else here
            if predicate is not None:
                mask = here & (self.registers[predicate] != negated)
                if not mask.any():
                    continue
            step(self, mask)
        if block.returns:
            at[here] = DONE
            return
        at[here] = number + 1
        if block.branch:
            label, predicate, negated = block.branch
            taken = here if predicate is None else here & (self.registers[predicate] != negated)
            at[taken] = self.kernel.labels[label]

    # operands

    def read(self, word: str, kind: str) -> np.ndarray:
        """An operand of every thread, as a type's numbers."""
        found = self.registers.get(word)
        if found is None:
            found = literal(word, kind, self.symbols.get(word))
            found = np.broadcast_to(found, (self.count,))
        return typed(found, kind)

    def write(self, word: str, value: np.ndarray, mask: np.ndarray | None) -> None:
        """Set a register where the mask holds."""
        value = bits(value)
        if mask is not None:  # registers may share arrays: none is written to
            there = self.registers.get(word)
            known = there is not None and there.dtype == value.dtype
            value = np.where(mask, value, there if known else value.dtype.type(0))
        self.registers[word] = np.ascontiguousarray(value)

    def touched(
        self, name: str, more: Sequence[str], addresses: np.ndarray, size: int, on: Any
    ) -> np.ndarray:
        """The indices of elements that are read or written, which are counted."""
        places = self.memory.places(addresses[on], size)
        if more[0] == "global":
            self.traffic.add(name, addresses[on], size, self.warps.numbers[on])
        return places

    def address(self, word: str) -> np.ndarray:
        """The addresses that an operand in brackets names."""
        base, _, offset = word.strip("[]").partition("+")
        return self.read(base, "u64") + np.uint64(int(offset or 0) & (2**64 - 1))


def partial_full(count: int) -> Callable[[int, type], np.ndarray]:
    """Makes arrays of one number."""
    return lambda value, kind: np.full(count, value, kind)


def literal(word: str, kind: str, symbol: int | None) -> np.ndarray:
    """A number in the text, or the address of a table, as bits."""
    if symbol is not None:
        return np.array(symbol, np.uint64)
    if word[:2] in ("0f", "0d"):
        return np.array(int(word[2:], 16), np.uint32 if word[1] == "f" else np.uint64)
    size = np.dtype(TYPES[kind]).itemsize
    return np.array(int(word.rstrip("U"), 0) & ((1 << 8 * size) - 1), f"u{size}")


LOCAL = re.compile(r"\.local \.align \d+ \.b8\s+(\w+)\[(\d+)\];")
"""Memory on a thread's stack."""
SHARED = re.compile(r"\.shared \.align \d+ \.b8\s+(\w+)\[(\d+)\];")
"""Memory of a block of threads."""
CONSTANT = re.compile(r"\.global \.align \d+ \.(b\d+) (\w+)\[\d+\] = \{([^}]*)\}", re.S)
"""A table of constants beside the entry."""


def constant(found: re.Match[str]) -> tuple[str, np.ndarray]:
    """The name of a table, and its bytes."""
    values = [int(x, 0) for x in found[3].replace("\n", " ").split(",")]
    return found[2], np.array(values, TYPES[found[1]]).view(np.uint8)


# instructions


def instruction(name: str, words: Sequence[str]) -> Callable[[Threads, np.ndarray | None], None]:
    """What an instruction does to threads."""
    op, *more = name.split(".")
    if op in ("ld", "st"):
        return (loads if op == "ld" else stores)(more, words)
    if op == "mov":
        return moves(more[-1], words)
    if op == "cvta":
        return computes(lambda a: a, words, ("u64",), "u64")
    if op == "bar":
        return lambda threads, mask: None
    if op in ("shfl", "vote"):
        return (shuffles if op == "shfl" else votes)(more[1], words)
    if op in ("mma", "ldmatrix"):
        return (multiplies if op == "mma" else loads_matrices)(more, words)
    function, kinds, result = function_of(op, tuple(more))
    return computes(function, words, kinds, result)


def computes(
    function: Callable[..., np.ndarray], words: Sequence[str], kinds: Sequence[str], result: str
) -> Callable[[Threads, np.ndarray | None], None]:
    """An instruction that makes one value of others."""
    goal, *operands = words
    assert len(operands) == len(kinds), f"ptx: {words} for {kinds}"
    pairs, made = tuple(zip(operands, kinds, strict=True)), TYPES[result]

    def step(threads: Threads, mask: np.ndarray | None) -> None:
        with np.errstate(all="ignore"):
            value = function(*[threads.read(word, kind) for word, kind in pairs])
        threads.write(goal, value.astype(made, copy=False), mask)

    return step


def shuffles(how: str, words: Sequence[str]) -> Callable[[Threads, np.ndarray | None], None]:
    """shfl: a number of another thread of the warp."""
    goal, value, by, clamp, _ = words

    def step(threads: Threads, mask: np.ndarray | None) -> None:
        found = threads.warps.sources(how, threads.read(by, "s32"), threads.read(clamp, "s32"))
        threads.write(goal.partition("|")[0], threads.read(value, "u32")[found], mask)

    return step


def votes(how: str, words: Sequence[str]) -> Callable[[Threads, np.ndarray | None], None]:
    """vote: a bit of each thread of the warp that takes part."""
    assert how == "ballot", f"ptx: vote.sync.{how} is not known"
    goal, value, members = words

    def step(threads: Threads, mask: np.ndarray | None) -> None:
        on = threads.read(value, "pred") & (True if mask is None else mask)
        words = threads.warps.words(on)[threads.warps.numbers] & threads.read(members, "u32")
        threads.write(goal, words.astype(np.uint32), mask)

    return step


def multiplies(more: Sequence[str], words: Sequence[str]) -> Callable[..., None]:
    """mma: a product of small matrices, whose parts a warp's threads have."""
    kind, (goals, *given) = mma_kind(tuple(more)), map(listed, words)

    def step(threads: Threads, mask: np.ndarray | None) -> None:
        on = np.ones(threads.count, bool) if mask is None else mask
        a, b, c = (np.stack([threads.read(x, "u32")[on] for x in words], 1) for words in given)
        by_warp = [x.reshape(-1, WARP, x.shape[1]) for x in (a, b, c)]
        sums = mma(kind, by_warp[0], by_warp[1], by_warp[2].view(np.float32))
        for word, made in zip(goals, sums.reshape(-1, 4).T, strict=True):
            value = np.zeros(threads.count, np.float32)
            value[on] = made
            threads.write(word, value, mask)

    return step


def loads_matrices(more: Sequence[str], words: Sequence[str]) -> Callable[..., None]:
    """ldmatrix: matrices of 8 x 8 from shared memory, whose lines a warp's threads name."""
    turned, goals, place = "trans" in more, listed(words[0]), words[1]
    assert [*more[:4], *more[-2:]] == ["sync", "aligned", "m8n8", "x4", "shared", "b16"], more

    def step(threads: Threads, mask: np.ndarray | None) -> None:
        on = np.ones(threads.count, bool) if mask is None else mask
        addresses = threads.address(place)[on]
        threads.memory.places(addresses, 16)
        halves = threads.memory.bytes.view(np.uint16)
        for k, word in enumerate(goals):
            rows = addresses.reshape(-1, WARP)
            value = np.zeros(threads.count, np.uint32)
            value[on] = parts_of_lines(
                rows, k, turned, lambda at: halves[threads.memory.places(at.ravel(), 2)]
            ).ravel()
            threads.write(word, value, mask)

    return step


def moves(kind: str, words: Sequence[str]) -> Callable[[Threads, np.ndarray | None], None]:
    """mov: a value, or the parts of one, or one of its parts."""
    goal, source = words
    if goal.startswith("{"):
        parts = listed(goal)
        width = np.dtype(TYPES[kind]).itemsize // len(parts)

        def apart(threads: Threads, mask: np.ndarray | None) -> None:
            whole = np.ascontiguousarray(threads.read(source, kind))
            rows = whole.view(f"u{width}").reshape(-1, len(parts))
            for word, row in zip(parts, rows.T, strict=True):
                threads.write(word, row.copy(), mask)

        return apart
    if source.startswith("{"):
        parts = listed(source)
        width = np.dtype(TYPES[kind]).itemsize // len(parts)

        def together(threads: Threads, mask: np.ndarray | None) -> None:
            rows = np.stack([threads.read(word, f"u{8 * width}") for word in parts], 1)
            value = rows.view(f"u{np.dtype(TYPES[kind]).itemsize}")[:, 0]
            threads.write(goal, value, mask)

        return together
    return computes(lambda a: a, words, (kind,), kind)


def listed(word: str) -> list[str]:
    """The registers in braces."""
    return word.strip("{} ").replace(" ", "").split(",")


def loads(more: Sequence[str], words: Sequence[str]) -> Callable[..., None]:
    """ld: from a parameter, or from memory, one element or several."""
    kind, (goal, place) = more[-1], words
    if more[0] == "param":
        return lambda threads, mask: threads.write(
            goal,
            np.full(threads.count, threads.parameters[place.strip("[]")], np.uint64),
            mask,
        )
    parts, made = listed(goal), TYPES[kind]
    size = np.dtype(made).itemsize

    def step(threads: Threads, mask: np.ndarray | None) -> None:
        on = slice(None) if mask is None else mask
        found = threads.touched("read", more, threads.address(place), size * len(parts), on)
        elements = threads.memory.bytes.view(bits_of(size))
        for k, word in enumerate(parts):
            value = np.zeros(threads.count, bits_of(size))
            value[on] = elements[found * len(parts) + k]
            # a register is wider than a short number, whose sign it takes
            short = kind[0] == "s" and size < 4
            threads.write(word, value.view(made).astype(np.int32) if short else value, mask)

    return step


def stores(more: Sequence[str], words: Sequence[str]) -> Callable[..., None]:
    """st: to memory, one element or several."""
    kind, (place, source) = more[-1], words
    parts, size = listed(source), np.dtype(TYPES[kind]).itemsize

    def step(threads: Threads, mask: np.ndarray | None) -> None:
        on = slice(None) if mask is None else mask
        found = threads.touched("written", more, threads.address(place), size * len(parts), on)
        elements = threads.memory.bytes.view(bits_of(size))
        for k, word in enumerate(parts):
            elements[found * len(parts) + k] = bits(threads.read(word, kind))[on]

    return step


@cache
def bits_of(size: int) -> Any:
    """The dtype of so many bytes without a meaning."""
    return np.dtype(f"u{size}")
