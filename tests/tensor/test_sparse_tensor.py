"""Sparse tensors as objects: made, refused, copied, pickled, owned by modules, compiled."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, CheckpointError, ShapeError

PLACES = [[0, 1, 1, 0], [2, 0, 2, 2]]
VALUES = [3.0, 4.0, 5.0, 6.0]
GRID = [[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]]


def made(requires_grad: bool = False) -> gn.Tensor:
    return gn.sparse_coo_tensor(PLACES, VALUES, (2, 3), requires_grad=requires_grad)


def graph(random: np.random.Generator, n: int, count: int) -> gn.Tensor:
    places = gn.tensor(random.integers(0, n, (2, count)))
    return gn.sparse_coo_tensor(places, gn.tensor(random.random(count, np.float32)), (n, n))


def test_values_at_one_position_are_summed():
    assert made().to_dense().tolist() == GRID
    assert made().coalesce().indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert made().coalesce().values().tolist() == [9.0, 4.0, 5.0]
    assert made()._nnz() == 4


def test_it_is_a_tensor_and_no_dense_one():
    s = made()
    assert isinstance(s, gn.Tensor)
    assert isinstance(s, gn.sparse.FloatTensor)
    assert not isinstance(s, (gn.FloatTensor, gn.sparse.DoubleTensor))
    assert not isinstance(gn.ones(2), gn.sparse.FloatTensor)
    assert (s.is_sparse, s.layout, gn.ones(2).layout) == (True, gn.sparse_coo, gn.strided)


@pytest.mark.parametrize(
    ("places", "values", "size"),
    [
        ([0, 1], [1.0, 2.0], (2,)),
        ([[0, 1]], [1.0], (2,)),
        ([[0, 1]], 1.0, (2,)),
        ([[0, 1]], [1.0, 2.0], (2, 2)),
        ([[0, 1]], [[1.0], [2.0]], (2, 3)),
    ],
)
def test_parts_that_do_not_fit_are_refused(places, values, size):
    with pytest.raises(ShapeError, match=r"^sparse_coo_tensor: "):
        gn.sparse_coo_tensor(places, values, size)


@pytest.mark.parametrize(
    "call",
    [
        *(lambda s: s.exp(), lambda s: gn.exp(s), lambda s: s.view(6), lambda s: s + 1),
        *(lambda s: s == s, lambda s: 2 / s, lambda s: s.numpy(), lambda s: np.asarray(s)),
        *(lambda s: gn.nn.functional.normalize(s), lambda s: s[0], lambda s: list(s)),
        *(lambda s: gn.stack([s, s]), lambda s: gn.where(s, 1, 2), lambda s: bool(s)),
        *(lambda s: gn.ones(2, 3).copy_(s), lambda s: s.copy_(gn.ones(2, 3)), lambda s: s.item()),
        *(lambda s: s.transpose(0, 1).relu() + s.sigmoid(), lambda s: gn.tensor(s)),
        *(lambda s: s._storage, lambda s: gn.cat([s, gn.ones(2, 3)]), lambda s: s.mul_(gn.ones(3))),
    ],
)
def test_what_it_does_not_have_is_refused_by_name(call):
    with pytest.raises(ArgumentError, match=r"does not fit.*Call \.to_dense\(\) first\.$"):
        call(made())


@pytest.mark.parametrize("name", ["nnz", "_nothing", "__dlpack_of_nobody__"])
def test_names_of_nobody_are_not_there(name):
    assert not hasattr(made(), name)


def test_parameters_are_dense():
    with pytest.raises(ArgumentError, match="Register it as a buffer"):
        gn.nn.Parameter(made())


def test_layouts_of_nobody_are_refused():
    with pytest.raises(ArgumentError, match="no layout 'sparse_bsr'"):
        gn.ones(2, 2).to_sparse(layout="sparse_bsr")
    with pytest.raises(ShapeError, match="to_sparse_csr: needs a matrix"):
        gn.ones(2, 2, 2).to_sparse_csr()


def test_positions_of_a_tensor_with_repeated_ones_are_refused():
    for name in ("indices", "values"):
        with pytest.raises(ArgumentError, match=rf"{name}: .* Call \.coalesce\(\) first\.$"):
            getattr(made(), name)()


@pytest.mark.parametrize("dtype", [gn.float32, gn.int64, gn.bool])
def test_of_a_dense_tensor_and_back(dtype):
    x = gn.tensor(GRID, dtype=dtype)
    s = x.to_sparse()
    assert s.is_coalesced()
    assert s.values().dtype is dtype
    assert s.to_dense().tolist() == x.tolist()
    assert s.to_sparse_csr().to_sparse().to_dense().tolist() == x.tolist()


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (1,), (2, 2)])
def test_where_all_is_zero_there_are_no_positions(shape):
    s = gn.zeros(*shape).to_sparse()
    assert s.coalesce().indices().shape == (len(shape), 0)
    assert s.values().shape == (0,)
    assert s.to_dense().shape == shape
    again = gn.sparse_coo_tensor(s.indices(), s.values(), shape).coalesce()
    assert again.to_dense().tolist() == gn.zeros(*shape).tolist()


def test_gradients_flow_through_both_ways():
    x = gn.tensor(GRID, requires_grad=True)
    x.to_sparse().values().sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    values = gn.tensor(VALUES, requires_grad=True)
    (gn.sparse_coo_tensor(PLACES, values, (2, 3)).to_dense() ** 2).sum().backward()
    assert values.grad.tolist() == [18.0, 8.0, 10.0, 18.0]


def test_a_leaf_has_a_gradient_at_its_positions_and_leaves_the_values_alone():
    values = gn.tensor(VALUES)
    s = gn.sparse_coo_tensor(PLACES, values, (2, 3)).requires_grad_()
    (s @ gn.ones(3, 1)).sum().backward()
    assert s.grad._values().tolist() == [1.0] * 4
    assert (s.is_leaf, s.requires_grad, values.requires_grad) == (True, True, False)
    s.grad = None
    assert s.grad is None
    assert not s.data.requires_grad
    assert not s.detach().requires_grad


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_and_pickles(again):
    s = again(made())
    assert s.to_dense().tolist() == GRID
    assert not s.is_coalesced()
    assert isinstance(s, gn.Tensor)


def test_a_table_of_positions_is_a_buffer_that_programs_loop_over():
    layer = gn.nn.Module()
    layer.register_buffer("heads", gn.tensor([[0, 1], [1, 1]]).bool().to_sparse(), persistent=False)
    assert [(int(i), int(j)) for i, j in layer.heads.indices().T] == [(0, 1), (1, 0), (1, 1)]


class Layer(gn.nn.Module):
    def __init__(self, random: np.random.Generator, adjacency=None, is_buffer=False) -> None:
        super().__init__()
        self.weight = gn.nn.Parameter(gn.tensor(random.random((5, 3), np.float32)))
        if is_buffer:
            self.register_buffer("adjacency", adjacency)
        else:
            self.adjacency = adjacency

    def forward(self, x, adjacency=None):
        return gn.spmm(self.adjacency if adjacency is None else adjacency, x @ self.weight).relu()


def agree(layer, call, x, s, *given):
    """Whether a layer's results and gradients are those of dense factors."""
    found = []
    for y in (call(x, *given), (s.to_dense() @ (x @ layer.weight)).relu()):
        y.sum().backward()
        found.append((y.detach().numpy(), layer.weight.grad.numpy()))
        layer.weight.grad = None
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_buffers_move_load_and_change_dtype():
    random = np.random.default_rng(0)
    layer = Layer(random, graph(random, 4, 7), True)
    kept = layer.state_dict()
    assert list(kept) == ["weight", "adjacency"]
    other = Layer(random, graph(random, 4, 3), True)
    assert not any(other.load_state_dict(kept))
    assert other.adjacency.to_dense().tolist() == layer.adjacency.to_dense().tolist()
    assert layer.to("cpu").double().adjacency.dtype is gn.float64
    with pytest.raises(CheckpointError, match="size mismatch for adjacency"):
        Layer(random, graph(random, 5, 3), True).load_state_dict(kept)


@pytest.mark.parametrize("is_buffer", [False, True])
def test_compiled_modules_hold_one_that_may_be_replaced(is_buffer):
    random = np.random.default_rng(0)
    layer = Layer(random, graph(random, 4, 7), is_buffer)
    call = gn.compile(layer)
    for count in (None, None, 7, 8, 0):
        if count is not None:
            layer.adjacency = graph(random, 4, count)
        x = gn.tensor(random.random((4, 5), np.float32))
        agree(layer, call, x, layer.adjacency)


def test_compiled_modules_take_ones_of_any_size():
    random = np.random.default_rng(0)
    layer = Layer(random)
    call = gn.compile(layer)
    for n, count in ((4, 7), (4, 9), (4, 9), (6, 12), (7, 13), (8, 14), (4, 0)):
        s = graph(random, n, count)
        agree(layer, call, gn.tensor(random.random((n, 5), np.float32)), s, s)


def test_compiled_functions_give_ones():
    s = made()
    double = gn.compile(lambda x: (x * 2, s.t() * x.sum()))
    for _ in range(3):
        both = double(gn.ones(2))
        assert both[1].layout == "sparse_coo"
        assert both[1].to_dense().tolist() == (gn.tensor(GRID).T * 2).tolist()


def test_csr_of_parts_and_of_others():
    s = gn.sparse_csr_tensor([0, 1, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0])
    assert s.shape == (3, 3)
    assert (s.is_sparse, s.is_sparse_csr, s.layout) == (False, True, gn.sparse_csr)
    assert s.to_dense().tolist() == [[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [4.0, 5.0, 0.0]]
    assert s.crow_indices().tolist() == [0, 1, 1, 3]
    assert (s @ gn.ones(3)).tolist() == [3.0, 0.0, 9.0]
    assert gn.sparse_csr_tensor([0, 0], [], [], (1, 2)).to_dense().tolist() == [[0.0, 0.0]]


def test_texts_say_positions_values_and_layout():
    assert repr(made()) == (
        "Tensor(indices=Tensor([[0, 1, 1, 0],\n"
        "                       [2, 0, 2, 2]]),\n"
        "       values=Tensor([3., 4., 5., 6.]),\n"
        "       size=(2, 3), nnz=4, layout=gnomon.sparse_coo)"
    )
