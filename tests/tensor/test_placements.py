"""Placements are layouts without names; only tensors that lie over ranks are asked for them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, LayoutError
from gnomon.ops.placements import REPLICATED, Partial, Split
from gnomon.tensor.layouts import spread
from gnomon.tensor.placements import layout_by, mesh_of, placements_of

pytestmark = pytest.mark.unit

MESH = SimpleNamespace(ndim=2, axes=(("dp", 2), ("tp", 3)))


def test_a_placement_for_each_axis_of_a_mesh_is_a_layout():
    layout = layout_by(MESH, [Split(-1), Partial("max")], 3)

    assert layout == (("dp", 2, Split(2)), ("tp", 3, Partial("max")))
    assert placements_of(layout) == (Split(2), Partial("max"))
    assert placements_of(layout_by(MESH, None, 1)) == (REPLICATED, REPLICATED)


def test_placements_have_pytorchs_names():
    split, pending = Split(1), Partial("sum")

    assert split.dim == 1
    assert split.is_shard()
    assert split.is_shard(1)
    assert not split.is_shard(0)
    assert pending == Partial()
    assert pending.reduce_op == "sum"
    assert pending.is_partial("sum")
    assert not pending.is_partial("max")
    assert REPLICATED.is_replicate()


def test_what_says_no_layout_is_refused():
    with pytest.raises(ArgumentError, match="expected one for each of 2 axes"):
        layout_by(MESH, [Split(0)], 2)
    with pytest.raises(LayoutError, match="of a tensor of 1 axes"):
        layout_by(MESH, [Split(1), REPLICATED], 1)
    with pytest.raises(LayoutError, match="Replicate or Partial: got 0"):
        layout_by(MESH, [0, REPLICATED], 1)  # type: ignore[list-item]
    with pytest.raises(LayoutError, match="no mesh of this rank has the axes"):
        mesh_of((("nowhere", 2, Split(0)),))


def test_only_tensors_over_ranks_have_these_attributes():
    whole = spread(gn.ones(2), (("alone", 1, Split(0)),))

    assert whole.placements == (Split(0),)
    assert whole.full_tensor().tolist() == [1.0, 1.0]
    assert not hasattr(gn.ones(2), "placements")
    assert repr(whole) == "DTensor(Tensor([1., 1.]), alone=S(0))"
