"""Sparse tensors beside torch's: values, layouts, texts, gradients, files, from one source."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.drop_in.printing import printed

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings(
        "ignore:(Sparse (CSR|invariant)|torch.sparse.SparseTensor):UserWarning"
    ),
]

DENSE = (
    *("s @ d", "d.t() @ s.t()", "s.matmul(v)", "lib.mv(s, v)", "lib.spmm(s, d)", "lib.mm(s, d)"),
    *("lib.sparse.mm(s, d)", "lib.addmm(m, s, d, beta=0.5, alpha=2)", "lib.sparse.addmm(m, s, d)"),
    *("m + lib.mm(s, d)", "e + s", "e - s", "s.sum()", "lib.sparse.sum(s)", "s.to_dense()"),
    *("lib.sparse.sum(s, (0, 1))", "lib.sparse.sum(s, dtype=lib.float64)", "s.indices()"),
    *("s.values()", "s._values()", "s._indices()", "csr.crow_indices()", "csr.col_indices()"),
    *("csr.values()", "csr @ d", "twice.to_dense()", "twice @ d", "twice.coalesce().values()"),
    *("boxes.to_dense()", "lib.sparse.sum(boxes, (0, 1))", "none @ d", "none.to_dense()"),
    *(
        "wide.to_dense()",
        "(s @ d).relu()",
        "lib.nn.functional.linear(s, d.t())",
        "lib.nn.functional.linear(s, d.t(), m[0])",
        "half.to_dense()",
        "truth.to_dense()",
        "s.to_dense() @ d",
    ),
)
SPARSE = (
    *("s * 2", "3 * s", "s / 4", "-s", "s + s", "s - s * 3", "s.t()", "s.transpose(0, 1)", "s.T"),
    *("s * e", "e * s", "s * s", "s.abs()", "lib.sqrt(s.abs())", "s ** 2", "s.relu()", "s.float()"),
    *("s.double()", "s.to(lib.float64)", "s.clone()", "s.detach()", "s.cpu()", "lib.zeros_like(s)"),
    *("lib.sparse.sum(s, 0)", "lib.sparse.sum(s, dim=1)", "s.sum(-1)", "lib.cat([s, s])"),
    *("lib.cat([s, twice], 1)", "lib.sparse.softmax(s, 1)", "lib.sparse.softmax(s, 0)"),
    *("lib.sparse.log_softmax(s, 1)", "s @ s.t()", "lib.sparse.mm(s.t(), s)", "twice.coalesce()"),
    *("e.to_sparse()", "e.to_sparse(1)", "e.sparse_mask(s)", "none.coalesce()", "none * 2"),
    *(
        "none + none",
        "boxes.coalesce()",
        "boxes * 2",
        "lib.sparse.sum(boxes, 0)",
        "wide.coalesce()",
    ),
    *("lib.sparse.sum(boxes, 2)", "truth.coalesce()", "s.to_sparse()", "csr.to_sparse()"),
    *("lib.sparse_coo_tensor((2, 3))", "lib.sparse.FloatTensor(2, 3)", "lib.sparse.FloatTensor()"),
    *(
        "lib.sparse.softmax(boxes, 2)",
        "s.bool()",
        "s.type(lib.float64)",
        "s.long()",
        "s * lib.tensor(2.0)",
    ),
)
ABOUT = (
    *(
        "s.shape",
        "s.size(1)",
        "s.dim()",
        "s.ndim",
        "s.numel()",
        "s._nnz()",
        "s.is_sparse",
        "len(s)",
    ),
    *("e.is_sparse", "csr.is_sparse", "csr.is_sparse_csr", "s.sparse_dim()", "boxes.sparse_dim()"),
    *("boxes.dense_dim()", "s.is_coalesced()", "twice.is_coalesced()", "s.t().is_coalesced()"),
    *("(s + s).is_coalesced()", "(twice + s).is_coalesced()", "isinstance(s, lib.Tensor)"),
    *("isinstance(s, lib.sparse.FloatTensor)", "isinstance(s, lib.FloatTensor)", "s.is_leaf"),
    *("s.requires_grad", "lib.is_tensor(s)", "s.is_floating_point()", "s.layout == lib.sparse_coo"),
    *("e.layout == lib.strided", "csr.layout == lib.sparse_csr", "s.device.type", "s.is_cuda"),
    *("isinstance(e, lib.sparse.FloatTensor)", "s.dtype is lib.float32", "twice._nnz()"),
    "s.type().partition('.')[2]",
    *("lib.sparse.sum(s, 0).is_coalesced()", "e.to_sparse().is_coalesced()", "none._nnz()"),
)
REFUSED = (
    *("twice.indices()", "twice.values()", "s.exp()", "s.view(6)", "s == s", "s.numpy()", "s + 1"),
    *("s.tolist()", "bool(s)", "lib.softmax(s, 1)", "s @ e", "2 / s", "lib.ones_like(s)"),
    *("lib.sparse_coo_tensor(lib.zeros(2, 3).long(), lib.ones(2), (2, 2))", "s.reshape(-1)"),
    *("lib.sparse_coo_tensor([[0], [1]], [1.0], (2, 2, 2))", "e.copy_(s)", "lib.std(s)"),
)


def names(lib: Any) -> dict[str, Any]:
    """Sparse and dense tensors of either, by name."""
    random = np.random.default_rng(0)

    def of(*shape: int) -> Any:
        return lib.from_numpy(random.standard_normal(shape, np.float32))

    def made(places: Any, values: Any, sizes: Any) -> Any:
        return lib.sparse_coo_tensor(lib.tensor(places), values, sizes)

    s = made([[1, 0, 2, 1], [0, 2, 1, 2]], of(4), (4, 3)).coalesce()
    nothing = lib.zeros(2, 0, dtype=lib.int64)
    return {
        **{"lib": lib, "s": s, "csr": s.to_sparse_csr(), "d": of(3, 5), "v": of(3), "m": of(4, 5)},
        **{"e": of(4, 3), "twice": made([[1, 0, 1, 3, 1], [2, 1, 2, 0, 2]], of(5), (4, 3))},
        "boxes": made([[1, 0, 1], [0, 2, 0]], of(3, 2), (2, 3, 2)),
        "none": made(nothing.tolist(), of(0), (4, 3)),
        "wide": made([[0, 1], [5, 5], [2, 0]], of(2), (2, 6, 3)),
        "half": made([[0, 0], [1, 1]], of(2).to(lib.float16), (1, 2)),
        "truth": made([[0, 0], [1, 1]], lib.tensor([True, True]), (1, 2)),
    }


def both(call: str) -> tuple[Any, Any]:
    """A call of either."""
    return tuple(eval(call, names(lib)) for lib in (gnomon, torch))


@pytest.mark.parametrize("call", DENSE)
def test_dense_results_are_torchs(call: str):
    ours, theirs = both(call)

    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("call", SPARSE)
def test_sparse_results_are_torchs(call: str):
    ours, theirs = both(call)

    assert ours.layout == str(theirs.layout).removeprefix("torch.")
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_array_equal(ours.coalesce().indices(), theirs.coalesce().indices())
    mine, other = ours.coalesce().values(), theirs.coalesce().values()
    np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("call", ABOUT)
def test_attributes_are_torchs(call: str):
    ours, theirs = both(call)

    assert ours == theirs


@pytest.mark.parametrize("call", REFUSED)
def test_what_torch_refuses_is_refused(call: str):
    for lib in (gnomon, torch):
        with pytest.raises((RuntimeError, TypeError)):
            eval(call, names(lib))


TEXTS = ("s", "twice", "csr", "none", "boxes", "s.double()", "s.bool()", "s.int()", "big", "asks")


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_torchs(name: str):
    found = []
    for lib in (gnomon, torch):
        big = lib.sparse_coo_tensor(lib.arange(60).reshape(2, 30), lib.arange(30.0), (60, 60))
        asks = lib.sparse_coo_tensor([[0], [1]], [0.5], (2, 2), requires_grad=True)
        with printed():
            found.append(repr(eval(name, names(lib) | {"big": big, "asks": asks})))

    assert found[0] == found[1]


@pytest.mark.parametrize("is_coalesced", [False, True])
def test_gradients_are_torchs(is_coalesced: bool):
    found = []
    for lib in (gnomon, torch):
        known = names(lib)
        values = known["twice"]._values().requires_grad_()
        d, m = known["d"].requires_grad_(), known["m"].requires_grad_()
        s = lib.sparse_coo_tensor(known["twice"]._indices(), values, (4, 3))
        s = s.coalesce() if is_coalesced else s
        total = (lib.sparse.mm(s * 2, d).sin() + lib.spmm(s, d.cos())).sum()
        total = total + (s.to_dense() ** 2).sum() + lib.sparse.addmm(m, s, d).relu().sum()
        (total + lib.sparse.sum(s, 0).to_dense().exp().sum()).backward()
        found.append([x.grad.numpy() for x in (values, d, m)])

    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_gradients_of_attention_over_edges_are_torchs():
    found = []
    for lib in (gnomon, torch):
        known = names(lib)
        values = known["s"].values().clone().requires_grad_()
        s = lib.sparse_coo_tensor(known["s"].indices(), values, (4, 3))
        lib.sparse.mm(lib.sparse.softmax(s, dim=1), known["d"]).sin().sum().backward()
        found.append(values.grad.numpy())

    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-6)


def test_a_sparse_leaf_has_the_gradient_at_its_positions():
    found = []
    for lib in (gnomon, torch):
        known = names(lib)
        s = known["s"].detach().requires_grad_()
        (lib.sparse.mm(s, known["d"]) ** 2).sum().backward()
        found.append(s.grad.to_dense().numpy())
    there = names(torch)["s"].to_dense().numpy() != 0

    np.testing.assert_allclose(found[0], np.where(there, found[1], 0.0), rtol=1e-5)


class OwnProduct:
    """The functions of a product whose gradient a user writes."""

    @staticmethod
    def made(lib: Any) -> Any:
        class Product(lib.autograd.Function):
            @staticmethod
            def forward(ctx, places, values, sizes, b):
                a = lib.sparse_coo_tensor(places, values, sizes)
                ctx.save_for_backward(a, b)
                return lib.matmul(a, b)

            @staticmethod
            def backward(ctx, gradient):
                a, b = ctx.saved_tensors
                places = a._indices()
                of_values = (gradient @ b.t())[places[0], places[1]]
                return None, of_values, None, a.t().matmul(gradient)

        return Product


def test_functions_that_save_sparse_tensors_have_torchs_gradients():
    found = []
    for lib in (gnomon, torch):
        known = names(lib)
        values, d = known["s"].values().clone().requires_grad_(), known["d"].requires_grad_()
        product = OwnProduct.made(lib).apply(known["s"].indices(), values, (4, 3), d)
        product.sin().sum().backward()
        found.append([values.grad.numpy(), d.grad.numpy()])

    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("name", ["s", "twice", "csr", "boxes", "none"])
def test_files_are_torchs(name: str, zipped: bool):
    for writer, reader in ((torch, gnomon), (gnomon, torch), (gnomon, gnomon)):
        file = io.BytesIO()
        given = names(writer)[name]
        writer.save({"x": given, 1: 2}, file, _use_new_zipfile_serialization=zipped)
        file.seek(0)
        back = reader.load(file)["x"]

        assert str(back.layout).rpartition(".")[2] == str(given.layout).rpartition(".")[2]
        assert back.layout in ("sparse_csr", torch.sparse_csr) or (
            back.is_coalesced() == given.is_coalesced()
        )
        np.testing.assert_array_equal(back.to_dense().numpy(), given.to_dense().numpy())


def test_a_network_with_a_sparse_buffer_learns_as_torchs():
    found = []
    for lib in (gnomon, torch):
        known = names(lib)

        class Layer(lib.nn.Module):
            def __init__(self, graph: Any, table: Any, lib: Any = lib) -> None:
                super().__init__()
                self.register_buffer("graph", graph)
                self.table, self.lib = lib.nn.Parameter(table), lib

            def forward(self) -> Any:
                return self.lib.spmm(self.graph, self.table)

        layer = Layer(known["s"], known["d"]).to("cpu").double()
        optimizer = lib.optim.Adam(layer.parameters(), lr=0.1)
        for _ in range(4):
            optimizer.zero_grad()
            layer().sin().sum().backward()
            optimizer.step()
        other = Layer(known["none"], known["e"][:3] * 0).double()
        assert list(layer.state_dict()) == ["table", "graph"]
        found.append((layer.table.detach().numpy(), layer.graph.dtype == lib.float64))
        del other

    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    assert found[0][1]
    assert found[1][1]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SparseAdam", {"maximize": False}),
        ("SparseAdam", {"maximize": True}),
        ("SGD", {"momentum": 0.0}),
        ("SGD", {"momentum": 0.9}),
    ],
)
def test_a_sparse_embedding_steps_as_torchs(name: str, options: dict):
    random = np.random.default_rng(0)
    start = random.standard_normal((12, 3), np.float32)
    batches = random.integers(0, 12, (20, 5))
    found = []
    for lib in (gnomon, torch):
        layer = lib.nn.Embedding.from_pretrained(lib.from_numpy(start), freeze=False, sparse=True)
        optimizer = getattr(lib.optim, name)(layer.parameters(), lr=0.05, **options)
        for batch in batches:
            optimizer.zero_grad()
            (layer(lib.from_numpy(batch)) ** 2).sin().sum().backward()
            optimizer.step()
        found.append(layer.weight.detach().numpy())

    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-5)
