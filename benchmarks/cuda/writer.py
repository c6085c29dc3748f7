"""PTX as text: registers by their kind, instructions, labels, loads of tiles into shared memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

KINDS = {"b16": "h", "b32": "r", "b64": "d", "f32": "f", "pred": "p"}


class Writer:
    """Writes one kernel; every result gets a register of its own, which the assembler places."""

    def __init__(self, name: str, parameters: Sequence[str], threads: int) -> None:
        self.name, self.parameters, self.threads = name, parameters, threads
        self.lines: list[str] = []
        self.counts: Counter[str] = Counter()

    def new(self, kind: str) -> str:
        """A register."""
        self.counts[kind] += 1
        return f"%{KINDS[kind]}{self.counts[kind] - 1}"

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text};")

    def label(self, name: str) -> None:
        """A place to go to."""
        self.lines.append(f"{name}:")

    def of(self, kind: str, operation: str, *operands: object) -> str:
        """An instruction's result."""
        result = self.new(kind)
        self.do(f"{operation} {', '.join([result, *map(str, operands)])}")
        return result

    def b32(self, operation: str, *operands: object) -> str:
        """A result of 32 bits."""
        return self.of("b32", operation, *operands)

    def b64(self, operation: str, *operands: object) -> str:
        """A result of 64 bits."""
        return self.of("b64", operation, *operands)

    def pred(self, operation: str, *operands: object) -> str:
        """A condition."""
        return self.of("pred", operation, *operands)

    def add(self, a: object, b: object) -> str:
        """A sum of 32 bits."""
        return str(a) if b == 0 else self.b32("add.u32", a, b)

    def times(self, a: object, b: object) -> str:
        """A product of 32 bits."""
        return self.b32("mul.lo.u32", a, b)

    def bits(self, a: object, low: int, count: int) -> str:
        """Some bits of a number."""
        moved = a if not low else self.b32("shr.u32", a, low)
        return self.b32("and.b32", moved, (1 << count) - 1)

    def far(self, base: str, offset: object, item: int = 1) -> str:
        """An address some items behind another."""
        return self.b64("mad.wide.u32", offset, item, base)

    def parameter(self, name: str) -> str:
        """A parameter of 64 bits."""
        return self.b64("ld.param.u64", f"[{name}]")

    def pointer(self, name: str) -> str:
        """An address of global memory."""
        return self.b64("cvta.to.global.u64", self.parameter(name))

    def number(self, name: str) -> str:
        """A parameter's low 32 bits."""
        return self.b32("cvt.u32.u64", self.parameter(name))

    def special(self, name: str) -> str:
        """A special register's value."""
        return self.b32("mov.u32", f"%{name}")

    def text(self, target: str = "sm_80", version: str = "8.0") -> str:
        """The module."""
        given = ", ".join(f".param .u64 {name}" for name in self.parameters)
        held = " ".join(f".reg .{k} %{KINDS[k]}<{n}>;" for k, n in self.counts.items())
        body = "\n".join(self.lines)
        return (
            f".version {version}\n.target {target}\n.address_size 64\n"
            f".extern .shared .align 1024 .b8 shared[];\n"
            f".visible .entry {self.name}({given}) .maxntid {self.threads}, 1, 1 {{\n"
            f"  {held}\n{body}\n  ret;\n}}\n"
        )


@dataclass(frozen=True)
class Operand:
    """A factor's tile in shared memory: `rows` of the result by `depth` steps.

    `steps_first`: neighbours in memory are steps of one row, else rows of one step. 16 bytes are a
    chunk; chunks of a line are exchanged so that neither copies nor reads meet in a bank.
    `item`: bytes of a number.
    """

    rows: int
    depth: int
    steps_first: bool
    item: int = 2

    @property
    def width(self) -> int:
        """Numbers of a line."""
        return self.depth if self.steps_first else self.rows

    @property
    def line(self) -> int:
        """Bytes of a line."""
        return self.width * self.item

    @property
    def chunks(self) -> int:
        """Chunks of a line."""
        return self.line // 16

    @property
    def nbytes(self) -> int:
        """Bytes of the tile."""
        return self.rows * self.depth * self.item

    @property
    def each(self) -> int:
        """Numbers of a chunk."""
        return 16 // self.item

    def turn(self, w: Writer, line: str) -> str:
        """What the chunks of a line are exchanged by: 8 neighbouring lines meet in no bank."""
        count = min(self.chunks, 8)
        moved = line if count == 8 else w.b32("shr.u32", line, (8 // count).bit_length() - 1)
        return w.b32("and.b32", moved, count - 1)

    def place(self, w: Writer, line: str, chunk: str) -> str:
        """The offset of a chunk in the tile."""
        turned = w.b32("xor.b32", chunk, self.turn(w, line))
        return w.b32("mad.lo.u32", line, self.line, w.b32("shl.b32", turned, 4))


@dataclass
class Loader:
    """Copies an operand's tiles from global memory, chunks shared by all threads.

    `careful`: what lies outside is zero; `aligned`: lines begin at multiples of 16 bytes, else
    numbers come one by one.
    """

    w: Writer
    operand: Operand
    base: str
    """The operand's first number."""
    stride: str
    """Numbers from a line to the next."""
    limits: tuple[str, str]
    """Rows and steps that exist."""
    careful: bool = False
    aligned: bool = True

    def __post_init__(self) -> None:
        w, operand = self.w, self.operand
        self.count = operand.nbytes // 16 // w.threads
        self.step = w.threads // operand.chunks
        assert self.count * w.threads * 16 == operand.nbytes, "tiles: threads share no chunks."
        assert self.step * operand.chunks == w.threads, "tiles: a line is longer than threads."
        tid = w.special("tid.x")
        self.line = w.b32("div.u32", tid, operand.chunks)
        self.chunk = w.b32("rem.u32", tid, operand.chunks)
        if self.step % 8:
            lines = [w.add(self.line, k * self.step) for k in range(self.count)]
            self.goals = [(operand.place(w, line, self.chunk), 0) for line in lines]
        else:
            goal = operand.place(w, self.line, self.chunk)
            self.goals = [(goal, k * self.step * operand.line) for k in range(self.count)]
        self.skip = w.b64("mul.wide.u32", self.stride, self.step * operand.item)

    def begin(self, row: str) -> None:
        """Turn to the tiles of some rows, at step 0."""
        w, operand = self.w, self.operand
        first = w.b32("mad.lo.u32", self.chunk, operand.each, 0 if operand.steps_first else row)
        line = w.add(row, self.line) if operand.steps_first else self.line
        at = w.far(w.b64("mad.wide.u32", line, self.stride, 0), first)
        address = w.b64("add.u64", w.b64("shl.b64", at, operand.item.bit_length() - 1), self.base)
        if not hasattr(self, "at"):
            self.at, self.first, self.own = (w.new(k) for k in ("b64", "b32", "b32"))
        w.do(f"mov.u64 {self.at}, {address}")
        w.do(f"mov.u32 {self.first}, {first}")
        w.do(f"mov.u32 {self.own}, {line}")

    def load(self, stage: str) -> None:
        """Ask for the tile at hand, to a stage of shared memory, and turn to the next."""
        w, operand = self.w, self.operand
        rows, steps = self.limits
        across, along = (steps, rows) if operand.steps_first else (rows, steps)
        address = self.at
        for k, (goal, more) in enumerate(self.goals):
            place = w.add(stage, goal)
            line = w.add(self.own, k * self.step) if self.careful else ""
            if not self.careful:
                w.do(f"cp.async.cg.shared.global.L2::128B [{place}+{more}], [{address}], 16")
            elif self.aligned:
                inside = w.pred("setp.lt.u32", line, along)
                both = w.pred("setp.lt.and.u32", self.first, across, inside)
                size = w.b32("selp.u32", 16, 0, both)
                w.do(f"cp.async.cg.shared.global [{place}+{more}], [{address}], 16, {size}")
            else:
                self.gather(f"{place}+{more}", address, line, (across, along))
            if k + 1 < self.count:
                address = w.b64("add.u64", address, self.skip)
        self.advance()

    def advance(self) -> None:
        """Turn to the next tile."""
        w, operand = self.w, self.operand
        if operand.steps_first:
            w.do(f"add.u64 {self.at}, {self.at}, {operand.depth * operand.item}")
            w.do(f"add.u32 {self.first}, {self.first}, {operand.depth}")
            return
        w.do(f"mad.wide.u32 {self.at}, {self.stride}, {operand.depth * operand.item}, {self.at}")
        w.do(f"add.u32 {self.own}, {self.own}, {operand.depth}")

    def gather(self, place: str, address: str, line: str, limits: tuple[str, str]) -> None:
        """A chunk number by number, through registers."""
        w, item = self.w, self.operand.item
        inside = w.pred("setp.lt.u32", line, limits[1])
        kind = "b16" if item == 2 else "b32"
        found = []
        for k in range(self.operand.each):
            both = w.pred("setp.lt.and.u32", w.add(self.first, k), limits[0], inside)
            found.append(w.of(kind, f"mov.{kind}", 0))
            w.do(f"@{both} ld.global.{kind} {found[-1]}, [{address}+{k * item}]")
        if item == 2:
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [w.b32("mov.b32", f"{{{a}, {b}}}") for a, b in pairs]
        w.do(f"st.shared.v4.b32 [{place}], {{{', '.join(found)}}}")
