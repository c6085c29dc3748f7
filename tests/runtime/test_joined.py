"""Programs one after another in one native call."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.ir.node import Arena, Graph
from gnomon.lazy import build
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.joined import JoinedPrograms, joined_rows


def doubled_and_less():
    """Two programs of four floats: twice the input, and the input less one."""
    made = []
    for compute in (lambda x: x * 2.0, lambda x: x - 1.0):
        arena = Arena()
        x = arena.input((4,), gn.float32)
        made.append(build.build(Graph([x], [compute(x)])))
    return made


def buffers(count: int) -> list[DeviceBuffer]:
    """New memory for four floats each."""
    return [DeviceBuffer(16) for _ in range(count)]


def test_programs_run_in_order_on_each_others_results():
    first, second = doubled_and_less()
    x, y, z, report = DeviceBuffer.of(np.arange(4, dtype=np.float32)), *buffers(3)
    table = JoinedPrograms()
    table.add(first.rows(), [x.address], [y.address, report.address])
    table.add(second.rows(), [y.address], [z.address, report.address])
    table.run()

    assert z.numpy(np.float32).tolist() == [-1, 1, 3, 5]
    assert not table.rows, "what was run is left out of the next table"


def test_rows_of_several_are_rows_of_one():
    first, second = doubled_and_less()
    x, block, report = (
        DeviceBuffer.of(np.arange(4, dtype=np.float32)),
        DeviceBuffer(128),
        *buffers(1),
    )
    # the addresses are that of the input, of a block for both results, and of the report
    parts = [(first.rows(), [(0, 0), (1, 0), (2, 0)]), (second.rows(), [(1, 0), (1, 64), (2, 0)])]
    table = JoinedPrograms()
    table.add(joined_rows(parts), [x.address], [block.address, report.address])
    table.run()

    assert block.numpy(np.float32)[16:20].tolist() == [-1, 1, 3, 5]


def test_a_program_with_loops_has_no_rows():
    count = gn.tensor(3)
    (made,) = gn.while_loop(lambda k: k < 5, lambda k: (k + 1,), (count,))
    assert made.item() == 5
    arena = Arena()
    x = arena.input((4,), gn.float32)
    plain = build.build(Graph([x], [x * 2.0]))

    assert plain.rows() is not None
    assert plain.rows().needs.registers == 0
