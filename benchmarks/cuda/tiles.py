"""What tiled products share: stages of shared memory, tiles of a block, leaves and their tree.

C[m, n] = A[m, k] B[k, n]. Steps ascend; each leaf is one chain; leaves are added by a perfect
binary tree in float32. Tiles, threads and stages change no bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cuda.writer import Loader, Operand, Writer

PARAMETERS = ("a", "b", "c", "work", "m", "n", "k", "lda", "ldb", "ldc", "leaves")
BAND = 8
"""Rows of tiles that are walked together, so that factors stay in the second cache."""
REGISTERS, SHARED, GLOBAL = "rsg"


@dataclass(frozen=True)
class Tiling:
    """How a product is cut.

    `levels`: where sums of finished subtrees wait, from leaves upwards: in registers ("r"), shared
    memory ("s") or global memory ("g"); none, and all steps must be one leaf. `steps_first`: of A
    and B, whether neighbours in memory are steps. `careful`: sizes are no multiples of a tile's;
    `aligned`: lines begin at multiples of 16 bytes.
    """

    rows: int = 128
    columns: int = 128
    depth: int = 64
    warps: tuple[int, int] = (2, 4)
    stages: int = 3
    levels: str = "rss"
    steps_first: tuple[bool, bool] = (True, False)
    careful: bool = False
    aligned: bool = True

    factor = 2
    """Bytes of a factor."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps[0] * self.warps[1]

    @property
    def operands(self) -> tuple[Operand, Operand]:
        """The tiles of A and B."""
        return (
            Operand(self.rows, self.depth, self.steps_first[0], self.factor),
            Operand(self.columns, self.depth, self.steps_first[1], self.factor),
        )

    @property
    def stage(self) -> int:
        """Bytes of a stage."""
        return sum(x.nbytes for x in self.operands)

    @property
    def level(self) -> int:
        """Bytes of a tile's sums."""
        return 4 * self.rows * self.columns

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        return self.stages * self.stage + self.levels.count(SHARED) * self.level

    @property
    def work(self) -> int:
        """Bytes of global memory of a block."""
        return self.levels.count(GLOBAL) * self.level


class Leaves:
    """The sums of a block's threads, a tile's place, and the tree over leaves."""

    shape: Tiling
    w: Writer
    leaves: str
    sums: list[str]
    kept: dict[int, list[str]]
    """Registers of sums that wait, by level."""
    own: str
    """Where a thread's waiting sums begin in shared memory."""
    held: str
    """Where they begin in global memory."""
    waiters = 0
    """Threads that have sums."""

    def keep(self, count: int, thread: str, work: str) -> None:
        """Have registers for sums, and places for those that wait; `thread` counts from 0."""
        w, shape = self.w, self.shape
        self.sums = [w.new("f32") for _ in range(count)]
        self.kept = {k: [w.new("f32") for _ in self.sums] for k in self.levels(REGISTERS)}
        self.waiters = shape.rows * shape.columns // count
        offset = w.times(thread, 16)
        self.own = w.add(w.b32("mov.u32", "shared"), w.add(offset, shape.stages * shape.stage))
        home = w.b64("mul.wide.u32", w.special("ctaid.x"), shape.work)
        self.held = w.b64("add.u64", w.far(work, offset), home)

    def levels(self, where: str) -> list[int]:
        """The levels that wait there."""
        return [k for k, x in enumerate(self.shape.levels) if x == where]

    def ceil(self, count: str, size: int) -> str:
        """How many tiles cover a count."""
        return self.w.b32("div.u32", self.w.add(count, size - 1), size)

    def place(self, tile: str, rows: str, columns: str) -> tuple[str, str]:
        """The first row and column of a tile, bands of rows column by column."""
        w, shape = self.w, self.shape
        size = w.times(columns, BAND)
        first = w.times(w.b32("div.u32", tile, size), BAND)
        rest = w.b32("rem.u32", tile, size)
        tall = w.b32("min.u32", w.b32("sub.u32", rows, first), BAND)
        row = w.add(first, w.b32("rem.u32", rest, tall))
        column = w.b32("div.u32", rest, tall)
        return w.times(row, shape.rows), w.times(column, shape.columns)

    # the tree

    def tree(self, number: str) -> None:
        """Add finished subtrees of equal size, and keep the sum, or go on when it is the last."""
        w = self.w
        for level in range(len(self.shape.levels)):
            inside = w.b32("and.b32", number, (2 << level) - 1)
            over = f"pop{level}"
            # number counts finished leaves: an odd number of subtrees of this level keeps one
            w.do(f"@{w.pred('setp.eq.u32', inside, 0)} bra {over}")
            w.do(f"@{w.pred('setp.eq.u32', number, self.leaves)} bra done")
            self.push(level)
            w.do("bra leaf")
            w.label(over)
            self.pop(level)
        w.do(f"@{w.pred('setp.ne.u32', number, self.leaves)} bra leaf")
        w.label("done")

    def rows_of(self, level: int) -> list[tuple[str, list[str]]]:
        """Addresses outside registers, with the four sums that lie at each."""
        shape = self.shape
        where = shape.levels[level]
        index = self.levels(where).index(level)
        base = self.own if where == SHARED else self.held
        fours = [self.sums[k : k + 4] for k in range(0, len(self.sums), 4)]
        step = 16 * self.waiters
        return [(f"[{base}+{index * shape.level + k * step}]", x) for k, x in enumerate(fours)]

    def push(self, level: int) -> None:
        """Keep the sums at a level."""
        if level in self.kept:
            for old, new in zip(self.kept[level], self.sums, strict=True):
                self.w.do(f"mov.f32 {old}, {new}")
            return
        space = "shared" if self.shape.levels[level] == SHARED else "global"
        for place, four in self.rows_of(level):
            self.w.do(f"st.{space}.v4.f32 {place}, {{{', '.join(four)}}}")

    def pop(self, level: int) -> None:
        """Add what is kept at a level."""
        w = self.w
        if level in self.kept:
            for old, new in zip(self.kept[level], self.sums, strict=True):
                w.do(f"add.rn.f32 {new}, {old}, {new}")
            return
        space = "shared" if self.shape.levels[level] == SHARED else "global"
        for place, four in self.rows_of(level):
            olds = [w.new("f32") for _ in four]
            w.do(f"ld.{space}.v4.f32 {{{', '.join(olds)}}}, {place}")
            for old, new in zip(olds, four, strict=True):
                w.do(f"add.rn.f32 {new}, {old}, {new}")


class Tiles(Leaves):
    """Writes a kernel, named "product"; what a tile's steps are is said by its subclasses."""

    start = "0f00000000"
    """The first value of each chain."""

    def __init__(self, shape: Tiling, sums: int) -> None:
        self.shape = shape
        self.w = w = Writer("product", PARAMETERS, shape.threads)
        self.a, self.b, self.c, work = (w.pointer(x) for x in PARAMETERS[:4])
        self.m, self.n, self.k, lda, ldb, self.ldc, self.leaves = map(w.number, PARAMETERS[4:])
        self.shared = w.b32("mov.u32", "shared")
        tid = w.special("tid.x")
        self.lane, warp = w.bits(tid, 0, 5), w.b32("shr.u32", tid, 5)
        tall, broad = shape.rows // shape.warps[0], shape.columns // shape.warps[1]
        self.row = w.times(w.b32("div.u32", warp, shape.warps[1]), tall)
        self.column = w.times(w.b32("rem.u32", warp, shape.warps[1]), broad)
        a, b = shape.operands
        careful = {"careful": shape.careful, "aligned": shape.aligned}
        self.loaders = (
            Loader(w, a, self.a, lda, (self.m, self.k), **careful),
            Loader(w, b, self.b, ldb, (self.n, self.k), **careful),
        )
        self.keep(sums, tid, work)

    # said by subclasses

    def first(self, stage: str) -> list[str]:
        """Registers of the first fragments of a stage, read."""
        raise NotImplementedError

    def slab(self, held: list[str], stages: tuple[str, str], slabs: tuple[str, str]) -> None:
        """The steps of a slab; `held` are its first fragments, then those of the next slab."""
        raise NotImplementedError

    def store(self, row: str, column: str) -> None:
        """Write a tile."""
        raise NotImplementedError

    # the whole

    def text(self) -> str:
        """All tiles of this block, one after the other."""
        w, shape = self.w, self.shape
        rows = self.ceil(self.m, shape.rows)
        columns = self.ceil(self.n, shape.columns)
        total, grid = w.times(rows, columns), w.special("nctaid.x")
        slabs = self.ceil(self.k, shape.depth)
        leaf = w.b32("div.u32", w.add(slabs, w.b32("sub.u32", self.leaves, 1)), self.leaves)
        tile = w.special("ctaid.x")
        w.do("bra test")
        w.label("tile")
        row, column = self.place(tile, rows, columns)
        for loader, first in zip(self.loaders, (row, column), strict=True):
            loader.begin(first)
        self.chains(slabs, leaf)
        self.store(row, column)
        w.do("cp.async.wait_all")
        w.do("bar.sync 0")
        w.do(f"add.u32 {tile}, {tile}, {grid}")
        w.label("test")
        w.do(f"@{w.pred('setp.lt.u32', tile, total)} bra tile")
        return w.text()

    def request(self, slab: str, slabs: str, stage: str) -> None:
        """Ask for a slab's tiles, if there is such a slab."""
        w = self.w
        over = f"over{len(w.lines)}"
        w.do(f"@{w.pred('setp.ge.u32', slab, slabs)} bra {over}")
        for loader, more in zip(self.loaders, (0, self.shape.operands[0].nbytes), strict=True):
            loader.load(w.add(stage, more))
        w.label(over)
        w.do("cp.async.commit_group")

    def arrive(self) -> None:
        """Wait for the next slab, and for all threads."""
        self.w.do(f"cp.async.wait_group {self.shape.stages - 2}")
        self.w.do("bar.sync 0")

    def turn(self, stage: str) -> None:
        """The next stage of shared memory."""
        w, shape = self.w, self.shape
        w.do(f"add.u32 {stage}, {stage}, {shape.stage}")
        end = w.add(self.shared, shape.stages * shape.stage)
        w.do(f"@{w.pred('setp.eq.u32', stage, end)} mov.u32 {stage}, {self.shared}")

    def chains(self, slabs: str, leaf: str) -> None:
        """All leaves, and their tree."""
        w, shape = self.w, self.shape
        goal = w.b32("mov.u32", self.shared)
        for k in range(shape.stages - 1):
            self.request(w.b32("mov.u32", k), slabs, goal)
            self.turn(goal)
        self.arrive()
        source, slab = w.b32("mov.u32", self.shared), w.b32("mov.u32", shape.stages - 1)
        number, left = w.b32("mov.u32", 0), w.new("b32")
        held = self.first(source)
        w.label("leaf")
        w.do(f"mov.u32 {left}, {leaf}")
        for each in self.sums:
            w.do(f"mov.f32 {each}, {self.start}")
        w.label("slab")
        self.slab(held, (source, goal), (slab, slabs))
        w.do(f"sub.u32 {left}, {left}, 1")
        w.do(f"@{w.pred('setp.ne.u32', left, 0)} bra slab")
        w.do(f"add.u32 {number}, {number}, 1")
        self.tree(number)
