"""Products of few rows by teams: vectors of threads share the chunks of a sum.

A team has all rows and sixteen columns, so that a product of few rows has many teams. The eight
vectors of its threads compute eight chunks at a time, each a chain in registers, and put them into
shared memory; then each vector has a row, and adds its chunks in canonical order (order.py). No
operand is staged: what a thread reads, its neighbours read with it, or it reads itself soon.
"""

from __future__ import annotations

from dataclasses import replace

from gnomon.codegen.emitter import KERNEL, LANES, LLVMModule, literal
from gnomon.codegen.kernels.order import chunk_length
from gnomon.codegen.kernels.product import Epilogue, MatmulSpec, VectorPlace, count, walk
from gnomon.codegen.kernels.steps import choose_single, note_pairs
from gnomon.codegen.kernels.strides import offset
from gnomon.codegen.kernels.sum_stack import SumStack, deepest
from gnomon.codegen.kernels.tally import additions
from gnomon.codegen.kernels.tile_chain import multiply_add, shared_memory
from gnomon.codegen.kernels.tiled import store_sum
from gnomon.codegen.kernels.units import Source, widened
from gnomon.codegen.machine import Machine
from gnomon.codegen.shares import SHARES, TEAM, WorkTeam

__all__ = ["SplitWriter"]

UNROLL = 8
"""Steps that are loaded before the first is multiplied: a sector of memory, in float32."""


class SplitWriter:
    """Writer of a product of few rows; its tile is all rows, rounded up, by sixteen columns."""

    def __init__(
        self,
        module: LLVMModule,
        name: str,
        spec: MatmulSpec,
        machine: Machine,
        epilogue: Epilogue | None = None,
    ) -> None:
        e = self.e = module.function(name, KERNEL)
        note_pairs(e, spec.scalar, spec.letters, spec.run)
        self.spec, self.epilogue, self.high = spec, epilogue, spec.tile[0]
        self.shares, self.step = SHARES[machine.shares[0]], choose_single(machine, spec.scalar)
        self.team = WorkTeam(e, self.shares, TEAM)
        self.stack = SumStack(e, self.team, spec.sums, 1)
        self.chunk = chunk_length(spec.letters)
        self.shared = shared_memory(e, TEAM * self.high * LANES * spec.item)

    def write(self) -> int:
        """Write the kernel; the bytes of scratch that a team needs."""
        e, spec = self.e, self.spec
        rows, columns, batches = (count(x) for x in (spec.rows, spec.columns, spec.batch))
        if rows > 0 and columns > 0 and batches > 0:
            tiles = -(-columns // LANES)

            def task(number: str) -> None:
                batch, tile = e.divided(number, tiles)
                self.tile(batch, e.mul(tile, LANES))

            self.shares.tasks(e, tiles * batches, task)
        e.ret()
        return self.stack.slot_bytes * deepest(spec.letters)

    def tile(self, batch: str, column: str) -> None:
        """Emit the sums of sixteen columns, and what is made of them."""
        kind = self.spec.sums
        if not count(self.spec.steps):
            self.stack.keep(["0" if kind == "i32" else literal(0.0, kind)], "0")
        else:
            self.sum_up(batch, column)
        self.finish(batch, column)

    def sum_up(self, batch: str, column: str) -> None:
        """Emit the rounds of eight chunks."""
        e, spec = self.e, self.spec
        chunks = count(spec.steps) // self.chunk
        last = e.sub(str(count(spec.columns)), 1)
        own = e.least(e.add(column, "%lane"), last)
        rows = [e.least(str(k), e.sub(str(count(spec.rows)), 1)) for k in range(self.high)]
        a = [self.address("a", batch, row) for row in rows]
        b = self.address("b", batch, own)
        zero = "0" if spec.sums == "i32" else literal(-0.0, spec.sums)
        empty = [(spec.sums, zero)] * self.high

        def together(first: str, depth: str) -> list[str]:
            number = e.add(first, self.team.member)
            some = e.value(f"zext i1 {e.value(f'icmp slt i64 {number}, {chunks}')} to i64")
            start = e.mul(number, self.chunk)
            sums = e.loop(0, some, 1, lambda _, *x: self.chain(a, b, start, x), empty)
            for row, value in enumerate(sums):
                e.store(value, self.place(self.team.member, str(row)), spec.sums, spec.item)
            self.team.meet()
            there = e.least(e.sub(str(chunks), first), TEAM)
            (depth,) = e.loop(
                0, there, 1, lambda k, n: self.push(k, e.add(first, k), n), [("i64", depth)]
            )
            self.team.meet()
            return [depth]

        e.loop(0, chunks, TEAM, together, [("i64", "0")])

    def address(self, operand: str, batch: str, index: str) -> str:
        """The address of an operand's row, or column, in a batch."""
        e, spec = self.e, self.spec
        axes = spec.rows if operand == "a" else spec.columns
        place = str(spec.starts["ab".index(operand)])
        for number, dims in ((batch, spec.batch), (index, axes)):
            place = e.add(place, offset(e, number, walk(dims, operand)))
        base = e.buffer(getattr(spec.slots, operand))
        return e.offset(base, e.mul(place, spec.item_of(operand)))

    def chain(self, a: list[str], b: str, start: str, sums: tuple[str, ...]) -> list[str]:
        """Emit the chain of a chunk from its first step on."""
        e, spec = self.e, self.spec

        def some(step: str, *sums: str) -> list[str]:
            made, loaded = list(sums), []
            for k in range(UNROLL):
                number = e.add(step, k)
                exists = e.value(f"icmp slt i64 {number}, {self.chunk}")
                at = e.add(start, e.least(number, e.sub(str(self.chunk), 1)))
                right = self.value("b", b, at, exists)
                loaded.append(([self.value("a", row, at, exists) for row in a], right))
            for k in range(UNROLL):
                left, right = loaded[k ^ 1 if self.step.paired else k]
                for row, value in enumerate(left):
                    terms = (value, right, made[row])
                    made[row] = multiply_add(e, self.step, spec.sums, terms)
            return made

        return e.loop(0, self.chunk, UNROLL, some, [(spec.sums, x) for x in sums])

    def value(self, operand: str, row: str, step: str, exists: str) -> str:
        """Load an operand at a step, or a zero at one that does not exist.

        The product of such zeros is -0.0, which changes no sum.
        """
        e, spec = self.e, self.spec
        source, kind = Source(spec.held(operand)), spec.sums
        place = e.mul(offset(e, step, walk(spec.steps, operand)), source.item)
        value = widened(e, source, e.load(e.offset(row, place), source.memory, source.item), LANES)
        zero = "0" if kind == "i32" else literal(-0.0 if operand == "a" else 0.0, kind)
        return e.value(f"select i1 {exists}, {kind} {value}, {kind} {zero}")

    def place(self, chunk: str, row: str) -> str:
        """The address of the thread's column of a chunk's row in shared memory."""
        e = self.e
        number = e.add(e.mul(chunk, self.high), row)
        flat = e.add(e.mul(number, LANES), "%lane")
        return e.offset(self.shared, e.mul(flat, self.spec.item))

    def push(self, chunk: str, number: str, depth: str) -> list[str]:
        """Push a chunk's sum of the thread's row, and add what is due; gives the stack's depth."""
        e, spec = self.e, self.spec
        row = e.least(self.team.member, self.high - 1)
        value = e.load(self.place(chunk, row), spec.sums, spec.item)
        pops = additions(e, spec.letters, number)
        made = self.stack.add_older([value], "0", (depth, pops))
        self.stack.keep(made, e.sub(depth, pops))
        return [e.add(e.sub(depth, pops), 1)]

    def finish(self, batch: str, column: str) -> None:
        """Emit what is made of the sums of the thread's row."""
        e, spec, row = self.e, self.spec, self.team.member
        on = e.value(f"icmp slt i64 %lane, {e.sub(str(count(spec.columns)), column)}")
        place = VectorPlace("%buffers", batch, row, column, None)

        def one() -> None:
            value = self.stack.load(self.stack.slot("0"), 0)
            if self.epilogue:
                self.epilogue(e, replace(place, mask=on), value)
            else:
                e.when(on, lambda: store_sum(e, spec, place, value))

        e.when(e.value(f"icmp slt i64 {row}, {count(spec.rows)}"), one)
