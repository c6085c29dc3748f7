"""Sums of columns and transposes for a card: PTX of their kernels."""

from __future__ import annotations

from benchmarks.cuda.writer import Writer

CHAIN = 64
"""Terms of a chain of a sum of columns; chains are joined by a perfect binary tree."""
WIDE = 32
"""Columns of a block of sums."""
SIDE = 64
"""Rows and columns of a tile that is transposed."""


def sum_of_columns(rows: int, columns: int, threads: int = 512, ahead: int = 16) -> str:
    """y[columns] = the sum of x[rows, columns] over rows, in the CPU's order.

    Eight threads have a chain's 32 columns, four each; `ahead`: loads that are under way at once.
    The number of chains is a power of two, as are leaves and their blocks on the CPU.
    """
    w = Writer("sum_of_columns", ("x", "y"), threads)
    chains = rows // CHAIN
    each = chains // (threads // 8)
    assert each * (threads // 8) * CHAIN == rows, "moves: threads share no chains."
    assert each & (each - 1) == 0, "moves: chains of a thread are no power of two."
    x, y, shared = w.pointer("x"), w.pointer("y"), w.b32("mov.u32", "shared")
    tid = w.special("tid.x")
    first = w.b32("mad.lo.u32", w.special("ctaid.x"), WIDE, w.b32("shl.b32", w.bits(tid, 0, 3), 2))
    row = w.times(w.b32("shr.u32", tid, 3), each * CHAIN)
    at = w.far(w.b64("mad.wide.u32", row, columns, 0), first)
    address = w.b64("add.u64", w.b64("shl.b64", at, 2), x)
    waiting: list[tuple[int, list[str]]] = []
    for number in range(each):
        level, total = 0, chain(w, address, (columns, ahead), number)
        while waiting and waiting[-1][0] == level:
            older, level = waiting.pop()[1], level + 1
            total = added(w, older, total)
        waiting.append((level, total))
    ((_, total),) = waiting
    for by in (8, 16):
        total = added(w, total, [exchanged(w, v, by) for v in total])
    joined(w, total, (tid, shared, y), threads // 32)
    return w.text()


def chain(w: Writer, address: str, how: tuple[int, int], number: int) -> list[str]:
    """The sum of the next 64 rows of four columns; the address goes on behind them."""
    columns, ahead = how
    total = [w.of("f32", "mov.f32", "0f80000000") for _ in range(4)]
    left = w.b32("mov.u32", CHAIN // ahead)
    w.label(f"chain{number}")
    read = []
    for k in range(ahead):
        four = [w.new("f32") for _ in range(4)]
        w.do(f"ld.global.nc.v4.f32 {{{', '.join(four)}}}, [{address}+{4 * columns * k}]")
        read.append(four)
    for four in read:
        for one, value in zip(total, four, strict=True):
            w.do(f"add.rn.f32 {one}, {one}, {value}")
    w.do(f"add.u64 {address}, {address}, {4 * columns * ahead}")
    w.do(f"sub.u32 {left}, {left}, 1")
    w.do(f"@{w.pred('setp.ne.u32', left, 0)} bra chain{number}")
    return total


def added(w: Writer, older: list[str], newer: list[str]) -> list[str]:
    """Four sums."""
    return [w.of("f32", "add.rn.f32", a, b) for a, b in zip(older, newer, strict=True)]


def exchanged(w: Writer, value: str, by: int) -> str:
    """The value of the thread whose number differs in a bit."""
    return w.of("f32", "shfl.sync.bfly.b32", value, by, 31, -1)


def joined(w: Writer, total: list[str], where: tuple[str, str, str], warps: int) -> None:
    """The tree over warps; the first threads have a column each, and store it."""
    tid, shared, y = where
    slot = w.add(w.times(w.b32("shr.u32", tid, 5), 4 * WIDE), w.times(w.bits(tid, 0, 3), 16))
    first = w.pred("setp.lt.u32", w.bits(tid, 0, 5), 8)
    w.do(f"@{first} st.shared.v4.f32 [{w.add(shared, slot)}], {{{', '.join(total)}}}")
    w.do("bar.sync 0")
    w.do(f"@{w.pred('setp.ge.u32', tid, WIDE)} bra done")
    own = w.add(shared, w.times(tid, 4))
    parts = [w.of("f32", "ld.shared.f32", f"[{own}+{4 * WIDE * k}]") for k in range(warps)]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [w.of("f32", "add.rn.f32", a, b) for a, b in pairs]
    column = w.b32("mad.lo.u32", w.special("ctaid.x"), WIDE, tid)
    w.do(f"st.global.f32 [{w.far(y, column, 4)}], {parts[0]}")
    w.label("done")


def transpose(rows: int, columns: int) -> str:
    """y[columns, rows] = x[rows, columns], of 32 bits, through tiles of 64 x 64."""
    w = Writer("transpose", ("x", "y"), 256)
    x, y, shared = w.pointer("x"), w.pointer("y"), w.b32("mov.u32", "shared")
    tid, block = w.special("tid.x"), w.special("ctaid.x")
    across = columns // SIDE
    top = w.times(w.b32("div.u32", block, across), SIDE)
    left = w.times(w.b32("rem.u32", block, across), SIDE)
    line, four = w.b32("shr.u32", tid, 4), w.b32("shl.b32", w.bits(tid, 0, 4), 2)
    source = place(w, x, (w.add(top, line), columns), w.add(left, four))
    goal = place(w, y, (w.add(left, line), rows), w.add(top, four))
    read = []
    for k in range(4):
        read.append([w.new("b32") for _ in range(4)])
        named = ", ".join(read[-1])
        w.do(f"ld.global.nc.v4.b32 {{{named}}}, [{source}+{4 * 16 * k * columns}]")
    pitch = SIDE + 1
    into = w.add(shared, w.times(w.b32("mad.lo.u32", line, pitch, four), 4))
    out = w.add(shared, w.times(w.b32("mad.lo.u32", four, pitch, line), 4))
    for k, values in enumerate(read):
        for j, value in enumerate(values):
            w.do(f"st.shared.b32 [{into}+{4 * (16 * k * pitch + j)}], {value}")
    w.do("bar.sync 0")
    for k in range(4):
        values = [w.b32("ld.shared.b32", f"[{out}+{4 * (j * pitch + 16 * k)}]") for j in range(4)]
        w.do(f"st.global.v4.b32 [{goal}+{4 * 16 * k * rows}], {{{', '.join(values)}}}")
    return w.text()


def place(w: Writer, base: str, line: tuple[str, int], column: str) -> str:
    """An address of a matrix of 32 bits: a line and its width, and a column."""
    at = w.far(w.b64("mad.wide.u32", line[0], line[1], 0), column)
    return w.b64("add.u64", w.b64("shl.b64", at, 2), base)


TILE_BYTES = 4 * SIDE * (SIDE + 1)
"""Shared memory of a transpose."""
SUM_BYTES = 4 * WIDE * 16
"""Shared memory of a sum of columns, at most."""
