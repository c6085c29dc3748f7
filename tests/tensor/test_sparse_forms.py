"""Programs that ask for sparse tensors get dense ones, which tell what is not zero, and where."""

from __future__ import annotations

import pytest

import gnomon as gn

GRID = [[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]


@pytest.mark.parametrize("dtype", [gn.float32, gn.int64, gn.bool])
def test_places_and_values_are_those_of_pytorchs_sparse_tensors(dtype):
    x = gn.tensor(GRID, dtype=dtype)
    made = x.to_sparse().coalesce()

    assert made.indices().tolist() == [[0, 1, 1], [1, 0, 2]]
    assert made.values().tolist() == gn.tensor([2.0, 3.0, 4.0]).to(dtype).tolist()
    assert made.values().dtype is dtype
    assert made.to_dense().tolist() == x.tolist()
    assert not made.is_sparse


@pytest.mark.parametrize("shape", [(0,), (2, 0), (1,), (2, 2)])
def test_where_all_is_zero_there_are_no_places(shape):
    made = gn.zeros(*shape).to_sparse()

    assert made.indices().shape == (len(shape), 0)
    assert made.values().shape == (0,)


def test_it_is_a_copy_through_which_gradients_flow():
    x = gn.tensor(GRID, requires_grad=True)
    made = x.to_sparse(2)
    with gn.no_grad():
        made.zero_()
    assert x.tolist() == GRID

    x.to_sparse(layout=None).values().sum().backward()

    assert x.grad.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]


def test_a_table_of_places_is_a_buffer_that_programs_loop_over():
    layer = gn.nn.Module()
    layer.register_buffer("heads", gn.tensor([[0, 1], [1, 1]]).bool().to_sparse(), persistent=False)

    assert [(int(i), int(j)) for i, j in layer.heads.indices().T] == [(0, 1), (1, 0), (1, 1)]
