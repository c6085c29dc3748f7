"""Products of 16-bit factors by the tensor cores of a card: TensorWriter.

Tiles, copies and the tree of partial sums are those of tiled.py; the chain of a chunk differs. An
instruction (mma.sync.m16n8k16) takes sixteen steps of a tile of 16 × 8 sums, which a warp has
together; a chain has them in ascending order, from 0.0. It adds sixteen exact products to a sum and
cuts the result (benchmarks/cuda/tensor_core.py has the model), so that these sums have numerics of
their own; a step that does not exist is a product of zeros, which changes none.

A buffer has `DEEP` steps of 16 bits a value, as they are in memory: lines along the steps where
those are neighbours there, else along rows or columns. Fragments are loaded by ldmatrix, which
reads lines of either kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gnomon.codegen.emitter import LANES, Emitter, LLVMModule, literal
from gnomon.codegen.kernels.order import chunk_length
from gnomon.codegen.kernels.product import Epilogue, MatmulSpec, count, walk
from gnomon.codegen.kernels.staging import QUAD, Side, Stage
from gnomon.codegen.kernels.strides import offset
from gnomon.codegen.kernels.sum_stack import SumStack
from gnomon.codegen.kernels.tiled import TiledWriter
from gnomon.codegen.machine import Machine
from gnomon.codegen.shares import TEAM, WorkTeam
from gnomon.ir.sizes import hint, is_symbolic

__all__ = ["MMA", "TensorWriter", "takes_tensor_cores", "tensor_tile"]

MMA = "mma"
"""The instruction by which a machine says that it has tensor cores of the model."""
FACTORS = ("bfloat", "half")
DEEP = 32
"""Steps of K in a buffer."""
STEP = 16
"""Steps of K, and rows of A, that an instruction takes."""
ITEM = 2
"""Bytes of a factor."""
OCTET = 8
"""Factors that are copied at a time, and columns of B that an instruction takes."""
THREADS, WARPS = TEAM * LANES, TEAM * LANES // 32
TILES = (128, 128), (64, 64)
FLAT_TILE = STEP, 128
ENOUGH = 128
"""Tiles from which on all multiprocessors of a large card have one."""
QUARTET = "<4 x i32>"
"""Eight factors."""
Places = Sequence[tuple[int, int]]
"""Rows and columns of sums, from a thread's first one."""


def takes_tensor_cores(spec: MatmulSpec, machine: Machine) -> bool:
    """Whether a machine computes a product by tensor cores."""
    return MMA in machine.instructions and spec.scalar in FACTORS


def tensor_tile(spec: MatmulSpec) -> tuple[int, int]:
    """The rows and columns of a team's tile: large ones if there are enough of them."""
    batches, rows, columns = (hint(count(x)) for x in (spec.batch, spec.rows, spec.columns))
    if rows <= STEP:
        return FLAT_TILE
    for high, wide in TILES[:-1]:
        if batches * -(-rows // high) * -(-columns // wide) >= ENOUGH:
            return high, wide
    return TILES[-1]


@dataclass(frozen=True)
class TensorSide(Side):
    """An operand whose buffer has lines of 16-bit values: along the steps, or along indices.

    octets: whether eight neighbours of a line are neighbours in memory, at multiples of eight.
    """

    octets: bool = False

    @property
    def line(self) -> int:
        """The values of a line."""
        return DEEP if self.along else self.indices

    @property
    def pitch(self) -> int:
        """The bytes from one line to the next: an odd number of octets, in different banks."""
        return (self.line + OCTET) * ITEM

    @property
    def lines(self) -> int:
        """The lines of a buffer."""
        return self.indices if self.along else DEEP

    @property
    def end(self) -> int:
        """The byte of a buffer at which it ends."""
        return self.start + self.lines * self.pitch

    def place(self, e: Emitter, index: str, step: str) -> str:
        """The byte of an operand's buffer that has an index at a step."""
        line, inside = (index, step) if self.along else (step, index)
        return e.add(e.mul(line, self.pitch), e.mul(inside, ITEM))

    def further(self, indices: int, steps: int) -> int:
        """The bytes between two places of a buffer."""
        line, inside = (indices, steps) if self.along else (steps, indices)
        return line * self.pitch + inside * ITEM


class TileSums(SumStack):
    """A stack of whole tiles of sums, row by row; a thread's own are those of its fragments.

    own: the byte of a tile at which its first one is.
    """

    def __init__(self, e: Emitter, team: WorkTeam, columns: int, own: str, places: Places) -> None:
        super().__init__(e, team, "float", len(places))
        self.own = own
        self.bytes = [(row * columns + column) * self.item for row, column in places]
        """From a thread's first sum to each of its own."""

    def load(self, slot: str, number: str | int) -> str:
        """Load one of the thread's sums."""
        return self.e.load(self.e.offset(slot, self.bytes[int(number)]), self.kind, self.item)

    def keep(self, sums: Sequence[str], depth: str) -> None:
        """Store the thread's sums into a slot."""
        e, slot = self.e, self.slot(depth)
        for far, value in zip(self.bytes, sums, strict=True):
            e.store(value, e.offset(slot, far), self.kind, self.item)


class TensorWriter(TiledWriter):
    """Writer of a product by tiles of tensor cores."""

    deep, is_short = DEEP, False
    sides: tuple[TensorSide, TensorSide]

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        spec: MatmulSpec,
        machine: Machine,
        epilogue: Epilogue | None = None,
    ) -> None:
        super().__init__(module, name, spec, machine, epilogue)
        flat = self.rows == STEP
        self.warps = (1, WARPS) if flat else (2, WARPS // 2)
        self.parts = self.rows // self.warps[0], self.columns // self.warps[1]
        """Rows and columns of a warp."""
        e, member = self.e, self.team.member
        warp = e.value(f"lshr i64 {member}, 1")
        self.warp_lane = e.add(e.mul(e.value(f"and i64 {member}, 1"), LANES), "%lane")
        across = e.value(f"urem i64 {warp}, {self.warps[1]}")
        along = e.value(f"udiv i64 {warp}, {self.warps[1]}")
        self.warp_corner = e.mul(along, self.parts[0]), e.mul(across, self.parts[1])

    @property
    def empty(self) -> list[tuple[str, str]]:
        """The sums at the beginning of a chain."""
        return [("float", literal(0.0, "float"))] * (self.high * self.wide)

    def make_sides(self) -> tuple[TensorSide, TensorSide]:
        """The places of both operands in a buffer, and how they are copied."""
        a, b = (
            TensorSide(x.name, x.axes, x.indices, x.along, 0, ITEM) for x in super().make_sides()
        )
        a, b = (replace(x, octets=self.has_octets(x)) for x in (a, b))
        return a, replace(b, start=a.end)

    def has_octets(self, side: Side) -> bool:
        """Whether eight neighbours of a buffer's line are neighbours in memory, at multiples of 8.

        Their addresses are multiples of sixteen bytes where the operand's own is.
        """
        spec, name = self.spec, side.name
        groups = {"steps": spec.steps, "indices": side.axes, "batch": spec.batch}
        walks = {key: walk(axes, name) for key, axes in groups.items()}
        line = walks.pop("steps" if side.along else "indices")
        strides = [stride for dims in walks.values() for _, stride in dims]
        lengths = [chunk_length(spec.letters)] if side.along else [line[0][0]]
        numbers = [*strides, *lengths, spec.starts["ab".index(name)]]
        whole = all(not is_symbolic(x) and x % OCTET == 0 for x in numbers)
        return whole and len(line) == 1 and line[0][1] == 1

    def make_stack(self) -> SumStack:
        """The stack of partial sums: a tile of them in each slot."""
        e, places = self.e, []
        for i in range(0, self.parts[0], STEP):
            for j in range(0, self.parts[1], OCTET):
                places += [(i + OCTET * half, j + k) for half in (0, 1) for k in (0, 1)]
        row = e.add(self.warp_corner[0], e.value(f"lshr i64 {self.warp_lane}, 2"))
        pair = e.value(f"and i64 {self.warp_lane}, 3")
        column = e.add(self.warp_corner[1], e.mul(pair, 2))
        own = e.mul(e.add(e.mul(row, self.columns), column), self.spec.item)
        return TileSums(e, self.team, self.columns, own, places)

    # copies

    def fetch_side(self, side: Side, base: str, first: str, stage: Stage) -> list[str]:
        """Load a thread's part of an operand."""
        assert isinstance(side, TensorSide)
        if not side.octets:
            return super().fetch_side(side, base, first, stage)
        return self.fetch_octets(side, base, first, stage)

    def octets(self, side: TensorSide) -> list[tuple[str, str]]:
        """The index of a tile and the step of a buffer at which a thread's octets begin."""
        e, each = self.e, side.line // OCTET
        thread, total = e.add(e.mul(self.team.member, LANES), "%lane"), side.lines * each
        if total < THREADS:  # some threads copy what others copy too
            thread = e.value(f"and i64 {thread}, {total - 1}")
        found = []
        for k in range(0, total, THREADS):
            line, octet = e.divided(e.add(thread, k), each)
            inside = e.mul(octet, OCTET)
            found.append((line, inside) if side.along else (inside, line))
        return found

    def fetch_octets(self, side: TensorSide, base: str, first: str, stage: Stage) -> list[str]:
        """Load a thread's octets of an operand: by one load each if its memory is aligned."""
        e, places, exist = self.e, [], []
        across, along = (walk(axes, side.name) for axes in (side.axes, self.spec.steps))
        ends = (1, OCTET) if side.along else (OCTET, 1)
        last = e.sub(str(count(side.axes)), ends[0])
        for index, step in self.octets(side):
            number = e.add(stage.first, e.least(step, e.sub(stage.exist, ends[1])))
            row = e.least(e.add(first, index), last)
            place = e.add(offset(e, row, across), offset(e, number, along))
            places.append(e.offset(base, e.mul(place, ITEM)))
            exist.append(e.value(f"icmp slt i64 {step}, {stage.exist}"))
        low = e.value(f"and i64 {e.value(f'ptrtoint ptr {base} to i64')}, {QUAD - 1}")
        single = e.value(f"zext i1 {e.value(f'icmp ne i64 {low}, 0')} to i64")
        blank = [(QUARTET, "zeroinitializer")] * len(places)
        whole = e.loop(
            single, 1, 1, lambda _, *x: [e.load(p, QUARTET, QUAD) for p in places], blank
        )
        values = e.loop(
            0,
            single,
            1,
            lambda _, *x: [self.gathered(p) for p in places],
            [(QUARTET, v) for v in whole],
        )
        if not self.is_ragged:
            return values
        pairs = zip(exist, values, strict=True)
        return [
            e.value(f"select i1 {on}, {QUARTET} {value}, {QUARTET} zeroinitializer")
            for on, value in pairs
        ]

    def gathered(self, place: str) -> str:
        """Load eight factors one by one."""
        e, made = self.e, "poison"
        for k in range(OCTET):
            one = e.load(e.offset(place, k * ITEM), "i16", ITEM)
            made = e.value(f"insertelement <{OCTET} x i16> {made}, i16 {one}, i32 {k}")
        return e.value(f"bitcast <{OCTET} x i16> {made} to {QUARTET}")

    def put(self, values: list[list[str]], buffer: str) -> None:
        """Store a thread's part of both operands into a buffer."""
        e = self.e
        for side, mine in zip(self.sides, values, strict=True):
            goal = e.offset(self.shared, e.add(buffer, side.start))
            if side.octets:
                for (index, step), value in zip(self.octets(side), mine, strict=True):
                    e.store(value, e.offset(goal, side.place(e, index, step)), QUARTET, QUAD)
                continue
            parts = iter(mine)
            for step in self.numbers(side):
                for index in self.indices(side):
                    place = e.offset(goal, side.place(e, index, step))
                    e.store(self.narrowed(next(parts)), place, "i16", ITEM)

    def narrowed(self, value: str) -> str:
        """A factor's 16 bits, from the float that it is."""
        e = self.e
        if self.spec.scalar == "half":
            return e.value(f"bitcast half {e.value(f'fptrunc float {value} to half')} to i16")
        bits = e.value(f"lshr i32 {e.value(f'bitcast float {value} to i32')}, 16")
        return e.value(f"trunc i32 {bits} to i16")

    # products

    def addresses(self, buffer: str, piece: str) -> tuple[str, str]:
        """The addresses of the lines that the thread gives to ldmatrix first, of A and of B."""
        e, lane = self.e, self.warp_lane
        low, third = e.value(f"and i64 {lane}, 7"), e.value(f"and i64 {lane}, 8")
        fourth = e.mul(e.value(f"lshr i64 {lane}, 4"), OCTET)
        found = []
        # four matrices of 8 × 8: A's next one has further rows, B's further steps
        for side, corner, (more, deeper) in zip(
            self.sides, self.warp_corner, ((third, fourth), (fourth, third)), strict=True
        ):
            if side.along:
                more = e.add(more, low)
            else:
                deeper = e.add(deeper, low)
            place = side.place(e, e.add(corner, more), deeper)
            address = e.offset(self.shared, e.add(e.add(buffer, side.start), place))
            found.append(e.value(f"addrspacecast ptr {address} to ptr addrspace(3)"))
        return found[0], found[1]

    def matrices(self, side: TensorSide, place: str, indices: int, step: int) -> list[str]:
        """Load the registers of four matrices: sixteen indices at sixteen steps."""
        e = self.e
        name = "x4" if side.along else "x4.trans"
        far = side.further(indices, step)
        at = e.value(f"getelementptr i8, ptr addrspace(3) {place}, i64 {far}")
        full = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.{name}.b16.p3"
        kind = "{i32, i32, i32, i32}"
        made = e.call(kind, full, ("ptr addrspace(3)", at))
        return [e.value(f"extractvalue {kind} {made}, {k}") for k in range(4)]

    def multiply(self, places: tuple[str, str], sums: Sequence[str]) -> list[str]:
        """Emit the products of a buffer's steps."""
        made, (a, b) = list(sums), self.sides
        wide = self.parts[1] // OCTET
        short = type(self.chunk) is int and self.chunk <= STEP
        for step in range(0, STEP if short else DEEP, STEP):
            rows = [self.matrices(a, places[0], i, step) for i in range(0, self.parts[0], STEP)]
            for j in range(0, wide, 2):
                four = self.matrices(b, places[1], j * OCTET, step)
                for i, left in enumerate(rows):
                    for k in range(2):
                        at = 4 * (i * wide + j + k)
                        right = four[2 * k : 2 * k + 2]
                        made[at : at + 4] = self.mma(left, right, made[at : at + 4])
        return made

    def mma(self, left: list[str], right: list[str], sums: list[str]) -> list[str]:
        """Emit one instruction of the tensor cores; gives its sums."""
        e, kind = self.e, "{float, float, float, float}"
        name, factor = "llvm.nvvm.mma.m16n8k16.row.col.bf16", "i32"
        factors = left + right
        if self.spec.scalar == "half":
            name, factor = "llvm.nvvm.mma.m16n8k16.row.col.f32.f32", "<2 x half>"
            factors = [e.value(f"bitcast i32 {x} to <2 x half>") for x in factors]
        given = [*((factor, x) for x in factors), *(("float", x) for x in sums)]
        made = e.call(kind, name, *given)
        return [e.value(f"extractvalue {kind} {made}, {k}") for k in range(4)]

    # results

    def finish(self, batch: str, row: str, column: str) -> None:
        """Emit the loops over a thread's finished sums, which others have put there."""
        self.team.meet()
        super().finish(batch, row, column)

    def finished(self, slot: str, row: str, column: str) -> str:
        """Load a finished sum, some rows and whole vectors of columns behind the thread's first."""
        e = self.e
        line = e.mul(e.add(row, self.corner[0]), self.columns)
        number = e.add(line, e.add(e.add(column, self.corner[1]), "%lane"))
        return e.load(e.offset("%scratch", e.mul(number, self.spec.item)), "float", self.spec.item)
