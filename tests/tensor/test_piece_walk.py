"""Pending graphs taken apart: what becomes a piece, and what its readers compute."""

from __future__ import annotations

import gnomon as gn
from gnomon.settings import current
from gnomon.tensor.borrowing import Survey
from gnomon.tensor.piece_walk import PieceWalk, by_serial


def walked(*tensors: gn.Tensor) -> PieceWalk:
    """The walk over what tensors wait for."""
    seen = Survey([x._storage.node for x in tensors])
    walk = PieceWalk(seen.leaves, current(), apart=True)
    walk.follow(sorted(seen.order, key=by_serial), walk.terms)
    return walk


def kept(*shape: int) -> gn.Tensor:
    """Ones that are computed."""
    made = gn.ones(*shape)
    gn.evaluate(made)
    return made


def test_an_operation_is_a_piece_and_a_view_is_its_readers():
    x = kept(3, 4)
    walk = walked(x.exp().t() * x.t())

    assert [len(reads) for _, reads, *_ in walk.pieces] == [1, 2]


def test_a_slice_of_neighbours_is_part_of_a_value():
    x = kept(3, 4)
    walk = walked(x.exp()[1:].cos())

    (_, (at,), *_) = walk.pieces[1]
    assert walk.owners[at] != at
    assert walk.shifts[at] == 16


def test_numbers_are_values_and_special_ones_are_in_the_code():
    x = kept(3)
    walk = walked(x * 2.0 + 0.3)

    assert len(walk.numbers) == 1
    assert [len(reads) for _, reads, *_ in walk.pieces] == [1, 2]


def test_results_of_one_call_are_one_piece():
    x = kept(5)
    values, places = x.topk(2)
    walk = walked(values, places)

    assert sum(len(nodes) for *_, nodes, _ in walk.pieces) >= 2
    assert len({tuple(reads) for _, reads, *_ in walk.pieces}) == len(walk.pieces)
