"""Stretches of pieces: cut alike, found again, and of the same bits."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

import gnomon as gn
from gnomon.ir.memo import Recent
from gnomon.ir.provenance import Site, waited
from gnomon.settings import override
from gnomon.tensor import evaluate, piece_stretches, piece_walk, pieces
from gnomon.tensor.piece_stretches import LEAST, MOST, Stretch, stretches
from tests.tensor.test_pieces import bits, calls, drawn, numbers, training, views


def numbers_of_operations(nodes):
    """Numbers in place of kinds, whatever other tests ran before; b: all works have equal parts."""
    return np.array([crc32(f"b{x.op} {x.called}".encode()) for x in nodes], np.uint64)


@pytest.fixture
def copied(monkeypatch):
    """Every structure is run in pieces, each time; the list has a place for each stretch."""
    monkeypatch.setattr(pieces, "STRUCTURES", 0)
    monkeypatch.setattr(pieces, "PASSES", 1 << 60)
    monkeypatch.setattr(piece_walk, "MANY", 1)
    for met in ("_outlines", "_whole", "_latest"):  # by other tests
        monkeypatch.setattr(pieces, met, Recent())
    monkeypatch.setattr(evaluate, "_programs", {})
    monkeypatch.setattr(piece_walk, "_stretches", {})
    for module in (evaluate, pieces):  # no other device, whatever earlier tests took memory of
        monkeypatch.setattr(module, "others", set())
    monkeypatch.setitem(waited, Site(__file__, 1, ""), (1, 0.0))  # where all is on the disk
    monkeypatch.setattr(piece_stretches, "kind_numbers", numbers_of_operations)
    found, add_to = [], Stretch.add_to

    def add(*parts):
        found.append(len(parts))
        add_to(*parts)

    monkeypatch.setattr(Stretch, "add_to", add)
    return found


@pytest.mark.parametrize("work", [training, views, calls, numbers])
def test_what_comes_again_has_the_bits_of_whole_programs(work, copied):
    split = [work() for _ in range(3)]
    with override(without="pieces"):
        whole = work()

    assert copied or work is views, "views of numbers are few"
    assert split == [whole] * 3


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_that_come_again_have_the_bits_of_whole_programs(seed, copied):
    split = [drawn(seed) for _ in range(3)]
    with override(without="pieces"):
        whole = drawn(seed)

    assert split == [whole] * 3


def chain(length: int) -> gn.Tensor:
    """A loop of some operations, as often as is asked for."""
    x = gn.linspace(-1.0, 1.0, 7)
    for k in range(length):
        x = (x * 1.5).tanh() + x[k % 3] * x.flip(0)
    return x


def test_longer_loops_are_made_of_stretches_of_shorter_ones(copied):
    lengths = (9, 10, 11, 12)
    split = [bits(chain(length)) for length in lengths]
    with override(without="pieces"):
        whole = [bits(chain(length)) for length in lengths]

    assert len(copied) >= 2
    assert split == whole


def test_results_of_a_stretch_stay_when_others_go(copied):
    kept = []
    for _ in range(4):
        x = gn.linspace(0.0, 1.0, 5)
        parts = [(x * 1.5 + k).tanh() for k in range(8)]
        gn.evaluate(*parts)
        kept.append(parts[3])
        kept.append(parts[6].exp())
    first, second, *rest = (x.tolist() for x in kept)

    assert copied
    assert rest == [first, second] * 3


def test_nodes_are_cut_into_stretches_of_some_length_that_are_all_of_them():
    x = chain(40)
    node, nodes = x._storage.node, []
    while node.inputs and node.value is None:
        nodes.append(node)
        node = node.inputs[0]
    parts = list(stretches(nodes))

    assert [x for part in parts for x in part] == nodes
    assert all(LEAST <= len(part) <= MOST for part in parts[:-1])
