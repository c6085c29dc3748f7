"""A batch's table, and that its members are all computed once, however many threads share them."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.batch import ENTRY, HEAD, PIECE, SYMBOL, Member, batch_code, table
from gnomon.codegen.loops import emit_loops
from gnomon.runtime import cpu
from gnomon.runtime.program import Call, ConstantSlot, InputSlot, Needs, OutputSlot, Program
from tests.schedule.kernels_of import kernels, leaf

pytestmark = pytest.mark.unit


def test_a_table_says_where_the_slots_of_each_member_are():
    words = table([Member(7, PIECE, 2), Member(7, PIECE + 1, 3), Member(9, 0, 1)])
    entries = np.array(words[HEAD:]).reshape(-1, ENTRY)

    assert words[:HEAD] == [3, 2 * PIECE + 2]
    assert entries[:, 0].tolist() == [7, 7, 9]
    assert entries[:, 1].tolist() == [0, PIECE, 2 * PIECE + 1]
    assert entries[:, 3].tolist() == [1, 2, 1]
    assert (np.diff(entries[:, 4]) == [16, 24]).all()


@pytest.mark.parametrize("sizes", [(1,), (3, 200_000, 1, 64), (70_000,) * 5])
def test_every_member_is_computed_in_all_its_pieces(sizes: tuple[int, ...]):
    (kernel,) = kernels(leaf(5) * 2.0 + 1.0)
    code, batch = emit_loops(kernel), batch_code()
    addresses = cpu.load({code.symbol: code.text, SYMBOL: batch.text})
    given = [np.arange(n, dtype=np.float32) for n in sizes]
    made = [np.full(n, np.nan, np.float32) for n in sizes]
    own = [(OutputSlot(k), InputSlot(k), ConstantSlot(n)) for k, n in enumerate(sizes)]
    words = table([Member(addresses[code.symbol], 8 * n, 3) for n in sizes])
    slots = (*map(ConstantSlot, words), *(slot for slots in own for slot in slots))
    program = Program([Call(SYMBOL, slots)], addresses, Needs(len(sizes), len(sizes)))

    program.run([x.ctypes.data for x in given], [x.ctypes.data for x in made])

    for x, y in zip(given, made, strict=True):
        assert (y == x * 2 + 1).all()
