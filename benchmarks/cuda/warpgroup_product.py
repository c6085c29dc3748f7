"""A product of bf16 or fp16 by wgmma, in the canonical order: text of its kernel, for sm_90a.

One warpgroup asks the copy engine for tiles; two others multiply, and have half of a tile's rows
each. The bits are those of tensor_product.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.cuda.tiles import SHARED, Leaves, Tiling
from benchmarks.cuda.writer import Writer

PARAMETERS = ("a", "b", "c", "work", "m", "n", "k", "ldc", "leaves")
Part = Callable[[tuple[str, str], tuple[str, str]], None]
"""Of a row and a column, a stage and its parity."""
GROUP = 128
"""Threads of a warpgroup."""
BLOCK = 64
"""Numbers of a line of 128 bytes, whose chunks the copy engine turns."""
STEP = 16
SWIZZLE = 1 << 30
"""Chunks of lines of 128 bytes are turned: the upper half of a descriptor."""
TRIES = 1 << 20
EIGHT = 1024 >> 4
"""From eight lines to the next eight."""


@dataclass(frozen=True)
class GroupShape(Tiling):
    """A tiling; A's steps are neighbours. `pair`: two blocks share B's tiles; M is a multiple."""

    stages: int = 3
    steps_first: tuple[bool, bool] = (True, True)
    kind: str = "bf16"
    wide: bool = False
    pair: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 3 * GROUP

    @property
    def item(self) -> int:
        """Bytes of a result."""
        return 4 if self.wide else 2

    @property
    def bars(self) -> int:
        """Where barriers begin: two for each stage."""
        return self.stages * self.stage + self.levels.count(SHARED) * self.level

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        return self.bars + 16 * self.stages

    @property
    def boxes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Lines and numbers of a line that one request brings, of A and of B."""
        part = self.columns // (2 if self.pair else 1)
        return (self.rows, BLOCK), ((part, BLOCK) if self.steps_first[1] else (self.depth, BLOCK))

    def text(self) -> str:
        """The kernel, named "product"."""
        return GroupProduct(self).text()


class GroupProduct(Leaves):
    """Writes one kernel."""

    def __init__(self, shape: GroupShape) -> None:
        assert shape.depth == BLOCK, "warpgroup_product: a stage has 64 steps."
        self.shape: GroupShape = shape
        self.w = w = Writer("product", PARAMETERS, shape.threads)
        self.a, self.b = w.parameter("a"), w.parameter("b")
        self.c, self.work = w.pointer("c"), w.pointer("work")
        self.m, self.n, self.k, self.ldc, self.leaves = map(w.number, PARAMETERS[4:])
        self.shared = w.b32("mov.u32", "shared")
        self.bars = w.add(self.shared, shape.bars)
        self.tid = w.special("tid.x")
        self.rank = w.special("cluster_ctarank") if shape.pair else "0"
        self.tall = shape.rows // 2
        self.blocks = self.tall // 64

    # barriers

    def wait(self, bar: str, phase: str) -> None:
        """Wait until a barrier's phase of a parity is over; what never comes is an error."""
        w = self.w
        name, tries = f"wait{len(w.lines)}", w.b32("mov.u32", 0)
        w.label(name)
        over = w.pred("mbarrier.try_wait.parity.shared::cta.b64", f"[{bar}]", phase)
        w.do(f"@{over} bra {name}_over")
        w.do(f"add.u32 {tries}, {tries}, 1")
        w.do(f"@{w.pred('setp.lt.u32', tries, TRIES)} bra {name}")
        w.do("trap")
        w.label(f"{name}_over")

    def begin(self) -> None:
        """Make barriers ready, and go to a warpgroup's part."""
        w, shape = self.w, self.shape
        w.do(f"@{w.pred('setp.ne.u32', self.tid, 0)} bra ready")
        for k in range(shape.stages):
            for more, count in ((0, 1), (8, 4 if shape.pair else 2)):
                bar = w.add(self.bars, 16 * k + more)
                w.do(f"mbarrier.init.shared::cta.b64 [{bar}], {count}")
        w.do("fence.mbarrier_init.release.cluster")
        w.label("ready")
        self.together()
        w.do(f"@{w.pred('setp.ge.u32', self.tid, GROUP)} bra consumer")

    def together(self) -> None:
        """Wait for all threads, of both blocks of a pair."""
        if self.shape.pair:
            self.w.do("barrier.cluster.arrive.release")
            self.w.do("barrier.cluster.wait.acquire")
        else:
            self.w.do("bar.sync 0")

    def turn(self, stage: str, phase: str) -> None:
        """The next stage; its parity changes after the last."""
        w = self.w
        w.do(f"add.u32 {stage}, {stage}, 1")
        last = w.pred("setp.eq.u32", stage, self.shape.stages)
        w.do(f"@{last} mov.u32 {stage}, 0")
        w.do(f"@{last} xor.b32 {phase}, {phase}, 1")

    def stage(self, stage: str) -> tuple[str, str]:
        """Where a stage's tiles begin, and its barriers."""
        w = self.w
        at = w.b32("mad.lo.u32", stage, self.shape.stage, self.shared)
        return at, w.b32("mad.lo.u32", stage, 16, self.bars)

    # the whole

    def text(self) -> str:
        """All tiles of this block, one after the other, by each warpgroup."""
        w, shape = self.w, self.shape
        tall = shape.rows * (2 if shape.pair else 1)
        sizes = self.ceil(self.m, tall), self.ceil(self.n, shape.columns)
        self.total = w.times(*sizes)
        self.slabs = self.ceil(self.k, shape.depth)
        halved = 1 if shape.pair else 0
        self.first = w.b32("shr.u32", w.special("ctaid.x"), halved)
        self.grid = w.b32("shr.u32", w.special("nctaid.x"), halved)
        self.begin()
        w.do("setmaxnreg.dec.sync.aligned.u32 40")
        w.do(f"@{w.pred('setp.ne.u32', self.tid, 0)} bra end")
        for tensor in (self.a, self.b):
            w.do(f"fence.proxy.tensormap::generic.acquire.gpu [{tensor}], 128")
        self.every(sizes, self.produce, "ask")
        w.do("bra end")
        w.label("consumer")
        w.do("setmaxnreg.inc.sync.aligned.u32 232")
        self.consumer()
        self.every(sizes, self.consume, "tile")
        w.label("end")
        if shape.pair:
            self.together()
        text = w.text("sm_90a", "8.3")
        cluster = f".maxntid {shape.threads}, 1, 1 .reqnctapercluster 2, 1, 1 "
        return text.replace(f".maxntid {shape.threads}, 1, 1 ", cluster) if shape.pair else text

    def every(self, sizes: tuple[str, str], part: Part, name: str) -> None:
        """A part for each of this block's tiles; stages go on from tile to tile."""
        w = self.w
        tile, stage, phase = w.new("b32"), w.b32("mov.u32", 0), w.b32("mov.u32", 0)
        w.do(f"mov.u32 {tile}, {self.first}")
        w.do(f"bra {name}_test")
        w.label(name)
        row, column = self.place(tile, *sizes)
        if self.shape.pair:
            # a place of a pair has twice the rows
            row = w.add(w.times(row, 2), w.times(self.rank, self.shape.rows))
        part((row, column), (stage, phase))
        w.do(f"add.u32 {tile}, {tile}, {self.grid}")
        w.label(f"{name}_test")
        w.do(f"@{w.pred('setp.lt.u32', tile, self.total)} bra {name}")

    # asking for tiles

    def produce(self, place: tuple[str, str], at: tuple[str, str]) -> None:
        """Ask for all slabs of a tile, each as soon as its stage is free."""
        w, shape = self.w, self.shape
        (row, column), (stage, phase) = place, at
        left, step = w.b32("mov.u32", self.slabs), w.b32("mov.u32", 0)
        w.label("ask_slab")
        start, bar = self.stage(stage)
        self.wait(w.add(bar, 8), w.b32("xor.b32", phase, 1))
        w.do(f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [{bar}], {shape.stage}")
        self.request((start, self.a), (step, row), bar, False)
        behind, b = w.add(start, shape.operands[0].nbytes), shape.operands[1]
        part = shape.columns // (2 if shape.pair else 1)
        first = w.times(self.rank, part) if shape.pair else "0"
        own = w.add(column, first)
        if shape.steps_first[1]:
            goal = w.add(behind, w.times(first, b.line)) if shape.pair else behind
            self.request((goal, self.b), (step, own), bar, shape.pair)
        else:
            for k in range(0, part, BLOCK):
                goal = w.add(behind, w.times(w.add(first, k), shape.depth * 2))
                self.request((goal, self.b), (w.add(own, k), step), bar, shape.pair)
        w.do(f"add.u32 {step}, {step}, {shape.depth}")
        self.turn(stage, phase)
        w.do(f"sub.u32 {left}, {left}, 1")
        w.do(f"@{w.pred('setp.ne.u32', left, 0)} bra ask_slab")

    def request(self, what: tuple[str, str], at: tuple[str, str], bar: str, both: bool) -> None:
        """Ask the copy engine for a box; both: for both blocks of a pair."""
        name = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
        ending = ""
        if both:
            name += ".multicast::cluster"
            mask = self.w.of("b16", "mov.b16", 3)
            ending = f", {mask}"
        goal, tensor = what
        self.w.do(f"{name} [{goal}], [{tensor}, {{{at[0]}, {at[1]}}}], [{bar}]{ending}")

    # multiplying

    def consumer(self) -> None:
        """A multiplying thread's numbers."""
        w, shape = self.w, self.shape
        thread = w.b32("sub.u32", self.tid, GROUP)
        self.keep(shape.rows * shape.columns // (2 * GROUP), thread, self.work)
        self.lane = w.bits(thread, 0, 5)
        warp, group = w.bits(thread, 5, 2), w.b32("shr.u32", thread, 7)
        self.leads = w.pred("setp.eq.u32", w.bits(thread, 0, 7), 0)
        self.under = w.times(group, self.tall)
        self.row = w.add(self.under, w.times(warp, 16))
        self.begins = w.times(self.under, shape.operands[0].line)
        self.leaf = w.b32("div.u32", self.slabs, self.leaves)

    def consume(self, place: tuple[str, str], at: tuple[str, str]) -> None:
        """All leaves of a tile, their tree, and its results."""
        w, (stage, phase) = self.w, at
        number, left = w.b32("mov.u32", 0), w.new("b32")
        before = w.b32("mov.u32", self.bars)
        w.label("leaf")
        w.do(f"mov.u32 {left}, {self.leaf}")
        more = w.pred("setp.ne.u32", 0, 0)
        w.label("slab")
        start, bar = self.stage(stage)
        self.wait(bar, phase)
        self.multiply(start, more)
        w.do("wgmma.wait_group.sync.aligned 1")
        self.release(before, more)
        w.do(f"setp.eq.u32 {more}, 0, 0")
        w.do(f"add.u32 {before}, {bar}, 8")
        self.turn(stage, phase)
        w.do(f"sub.u32 {left}, {left}, 1")
        w.do(f"@{w.pred('setp.ne.u32', left, 0)} bra slab")
        w.do("wgmma.wait_group.sync.aligned 0")
        self.release(before, more)
        w.do(f"add.u32 {number}, {number}, 1")
        self.tree(number)
        self.store(*place)

    def release(self, bar: str, when: str) -> None:
        """Say that a stage is read, to both blocks of a pair."""
        w = self.w
        one = w.new("pred")
        w.do(f"and.pred {one}, {when}, {self.leads}")
        if not self.shape.pair:
            w.do(f"@{one} mbarrier.arrive.shared::cta.b64 _, [{bar}]")
            return
        for rank in range(2):
            far = w.b32("mapa.shared::cluster.u32", bar, rank)
            w.do(f"@{one} mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{far}]")

    def descriptor(self, at: str, between: int) -> str:
        """How wgmma reads a tile; between: from 64 columns to the next, if lines are steps."""
        w = self.w
        # in a pair's second block addresses have higher bits, which are other fields here
        low = w.b32("or.b32", w.bits(at, 4, 14), max(between >> 4, 1) << 16)
        return w.b64("mov.b64", f"{{{low}, {w.b32('mov.u32', SWIZZLE | EIGHT)}}}")

    def multiply(self, start: str, more: str) -> None:
        """The steps of a slab; the first of a leaf begin at zero."""
        w, shape = self.w, self.shape
        a = shape.operands[0]
        turned = 0 if shape.steps_first[1] else 1
        right = self.descriptor(w.add(start, a.nbytes), turned * shape.depth * 128)
        step = STEP * 128 if turned else STEP * 2
        lefts = [
            self.descriptor(w.add(w.add(start, self.begins), 64 * i * a.line), 0)
            for i in range(self.blocks)
        ]
        each = len(self.sums) // self.blocks
        kind = f"f32.{shape.kind}.{shape.kind}"
        name = f"wgmma.mma_async.sync.aligned.m64n{shape.columns}k16.{kind}"
        w.do("wgmma.fence.sync.aligned")
        for j in range(shape.depth // STEP):
            opposite = w.b64("add.u64", right, j * step >> 4)
            on = more if j == 0 else w.pred("setp.eq.u32", 0, 0)
            for i, left in enumerate(lefts):
                near = w.b64("add.u64", left, j * STEP * 2 >> 4)
                sums = ", ".join(self.sums[i * each : (i + 1) * each])
                w.do(f"{name} {{{sums}}}, {near}, {opposite}, {on}, 1, 1, 0, {turned}")
        w.do("wgmma.commit_group.sync.aligned")

    # results

    def store(self, row: str, column: str) -> None:
        """Write a tile's rows of this warpgroup."""
        w, shape = self.w, self.shape
        top = w.add(w.add(row, self.row), w.b32("shr.u32", self.lane, 2))
        first = w.add(column, w.b32("shl.b32", w.bits(self.lane, 0, 2), 1))
        each = len(self.sums) // self.blocks
        for i in range(self.blocks):
            for half in range(2):
                line = w.add(top, 64 * i + 8 * half)
                at = w.far(w.b64("mad.wide.u32", line, self.ldc, 0), first)
                address = w.b64("mad.lo.u64", at, shape.item, self.c)
                inside = w.pred("setp.lt.u32", line, self.m) if shape.careful else ""
                for k in range(shape.columns // 8):
                    two = self.sums[i * each + 4 * k + 2 * half :][:2]
                    on = ""
                    if shape.careful:
                        reached = w.add(first, 8 * k)
                        on = f"@{w.pred('setp.lt.and.u32', reached, self.n, inside)} "
                    self.pair(f"[{address}+{8 * k * shape.item}]", two, on)

    def pair(self, place: str, two: list[str], on: str) -> None:
        """Write two neighbours."""
        if self.shape.wide:
            self.w.do(f"{on}st.global.v2.f32 {place}, {{{', '.join(two)}}}")
            return
        both = self.w.b32(f"cvt.rn.{self.shape.kind}x2.f32", two[1], two[0])
        self.w.do(f"{on}st.global.b32 {place}, {both}")
