"""Replays: which inputs are looked up again, what results are, and what they lie over."""

from __future__ import annotations

import gnomon as gn
from gnomon.ir.node import leaf_kind
from gnomon.runtime.buffer import Allocator, DeviceBuffer


def the_program(compiled):
    """The one captured program of a compiled function."""
    ((entry,),) = compiled.programs.values()
    return entry[1]


def test_inputs_from_outside_are_found_once_and_arguments_every_time():
    weight = gn.ones(3)
    compiled = gn.compile(lambda x: x * weight + 1.0)

    assert compiled(gn.tensor([1.0, 2.0, 3.0])).tolist() == [2.0, 3.0, 4.0]
    weight.mul_(2.0)
    assert compiled(gn.tensor([1.0, 2.0, 3.0])).tolist() == [3.0, 5.0, 7.0]

    program = the_program(compiled)
    assert [t._storage for t in program.constant if t is not None] == [weight._storage]
    assert len(program.varying) == 1


def test_results_have_their_values_and_the_lines_that_made_them():
    compiled = gn.compile(lambda x: (x + 1.0, x * 2.0))

    compiled(gn.zeros(2))
    nodes = [t._storage.node for t in compiled(gn.ones(2))]

    assert [node.op for node in nodes] == ["input", "input"]
    assert all(node.value is not None and node.sites for node in nodes)
    assert nodes[0].kind == leaf_kind((2,), gn.float32)[0]


def test_pending_arguments_and_views_are_computed_first():
    compiled = gn.compile(lambda x, y: x + y)
    rows = gn.tensor([[1.0, 2.0], [3.0, 4.0]])

    assert compiled(rows[1], rows[0].exp() * 0.0).tolist() == [3.0, 4.0]


def test_a_value_that_somebody_still_holds_is_not_written_over():
    total = gn.zeros(2)

    @gn.compile
    def add(x):
        total.add_(x)
        return total * 2.0

    one, kept = gn.ones(2), []
    for turn in range(1, 4):
        twice = add(one)
        kept.append(total.clone())
        assert (twice / 2.0).tolist() == total.tolist() == [float(turn)] * 2
    assert [k.tolist()[0] for k in kept] == [1.0, 2.0, 3.0]


def test_a_block_that_has_just_come_back_is_counted_once():
    source = Allocator()
    first = DeviceBuffer(1000, source)
    before, address = source.use(), first.address

    del first
    again = DeviceBuffer(1000, source)

    assert (again.address, source.use()) == (address, before)
    other = DeviceBuffer(5000, source)
    assert source.use().allocated == before.allocated + other._size


def test_a_table_that_every_call_writes_has_a_version_for_each():
    @gn.compile
    def put(table, row, place):
        table.index_copy_(0, place, row)

    table, rows = gn.zeros(4, 2), gn.arange(8, dtype=gn.float32).reshape(4, 2)
    versions = []
    for k in range(4):
        put(table, rows[k : k + 1] + 0, gn.tensor([k]))
        versions.append(table._version)

    assert versions == [versions[0] + k for k in range(4)]
    assert table.tolist() == rows.tolist()


def test_a_value_that_a_gradient_reads_stays_when_a_call_writes_over_it():
    double = gn.compile(lambda x: x.mul_(2.0))
    weight, table = gn.ones(3, requires_grad=True), gn.ones(3)
    for _ in range(3):
        double(table)

    loss = (weight * table).sum()
    double(table)
    loss.backward()

    assert (weight.grad.tolist(), table.tolist()) == ([8.0] * 3, [16.0] * 3)
