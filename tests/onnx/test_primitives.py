"""Views, folds, products and lookups in ONNX give what ours give, at sizes that vary too."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import TraceError
from gnomon.ir.node import PRIMITIVES
from gnomon.onnx.loops import CONTROL_RULES
from gnomon.onnx.primitives import RULES, same_size
from tests.onnx.running import exported, operators

pytestmark = pytest.mark.unit

F = gn.nn.functional
OF_RANKS = (
    *("all_gather", "all_reduce", "all_to_all", "exchange_ranks", "fold_ranks", "from_local"),
    *("gather_ranks", "permute_ranks", "place", "reduce_scatter", "send_ranks", "shift_ranks"),
    "to_local",
)
NOT_WRITTEN = {"input", "region", "fold_over", *OF_RANKS}

VIEWS = {
    "permute": lambda x: x.permute(2, 0, 1),
    "reshape": lambda x: x.reshape(x.shape[0], -1),
    "expand": lambda x: x[:, :1].expand(-1, 3, -1) + 0,
    "slices": lambda x: (x[1:, ::2], x[:, -2:], x.flip((0, 2)), x[..., 0]),
    "padding": lambda x: F.pad(x, (1, 2, 0, 1), value=1.5),
    "less than nothing": lambda x: F.pad(x, (-1, 1, 1, -1)),
    "joined": lambda x: gn.cat([x, x * 2], 1),
    "stacked": lambda x: gn.stack([x, x + 1], 0),
    "counted": lambda x: x + gn.arange(x.shape[2]),
    "windows": lambda x: x.unfold(1, 2, 1) * 1,
    "triangle": lambda x: x.tril(),
    "repeated": lambda x: x.repeat(2, 1, 1),
}
FOLDS = {
    "sums": lambda x: (x.sum(), x.sum(0), x.sum((0, 2), keepdim=True)),
    "means": lambda x: (x.mean(1), x.var(2), x.std(0)),
    "extremes": lambda x: (x.amax(1), x.amin((0, 1)), x.argmax(2), x.argmin(0)),
    "products": lambda x: x.prod(1),
    "truths": lambda x: ((x > 0).any(1), (x > 0).all(0)),
    "counts": lambda x: (x > 0).sum(1),
    "norms": lambda x: (x.norm(dim=1), x.logsumexp(2)),
}
RUNNING = {
    "sums": lambda x: (x.cumsum(1), x.cumsum(0)),
    "products": lambda x: x.cumprod(1),
    "extremes": lambda x: (*x.cummax(1), *x.cummin(2)),
}
PRODUCTS = {
    "matrices": lambda x: x @ x.mT,
    "of one matrix": lambda x: x @ gn.ones(x.shape[2], 2),
    "vectors": lambda x: x @ gn.ones(x.shape[2]),
    "letters": lambda x: gn.einsum("abc,dbc->da", x, x),
    "outer": lambda x: gn.einsum("abc,d->abdc", x, gn.arange(3.0)),
}
LOOKUPS = {
    "rows": lambda x: x[gn.tensor([1, 0, 1])],
    "beside": lambda x: x.gather(2, x.argsort(2)),
    "sorted": lambda x: (*x.sort(1), *x.topk(2, 2), *x.sort(0, descending=True)),
    "added": lambda x: gn.zeros(3, *x.shape[1:]).index_add(0, gn.tensor([2, 0]), x[:2]),
    "scattered": lambda x: gn.zeros_like(x).scatter(2, x.argsort(2), x),
    "one hot": lambda x: F.one_hot(x.argmax(2), 9),
}
ALL = {
    f"{kind}: {name}": function
    for kind, table in (
        ("views", VIEWS),
        ("folds", FOLDS),
        ("running", RUNNING),
        ("products", PRODUCTS),
        ("lookups", LOOKUPS),
    )
    for name, function in table.items()
}


def filled(*shape: int) -> gn.Tensor:
    """Numbers that are all different, in no order."""
    size = 1
    for n in shape:
        size *= n
    return ((gn.arange(size) * 7919 % 997).float() / 100 - 4).reshape(shape)


def test_every_primitive_has_a_rule_or_is_listed():
    own = {x for x in PRIMITIVES if type(PRIMITIVES[x]).__module__.startswith("gnomon.ops")}
    assert own <= {*RULES, *CONTROL_RULES, *NOT_WRITTEN}
    assert not NOT_WRITTEN & {*RULES, *CONTROL_RULES}


@pytest.mark.parametrize("name", sorted(ALL))
def test_programs_of_known_sizes(name):
    exported(ALL[name], filled(2, 3, 5))


SIZED = [x for x in sorted(ALL) if x not in ("running: products", "running: extremes")]


@pytest.mark.parametrize("name", SIZED)
def test_programs_of_sizes_that_vary(name):
    others = [(filled(*shape),) for shape in ((2, 4, 6), (3, 3, 5), (7, 2, 4))]
    axes = {"x": {0: "a", 1: "b", 2: "c"}}
    exported(ALL[name], filled(4, 3, 5), others=others, input_names=["x"], dynamic_axes=axes)


@pytest.mark.parametrize("dtype", [gn.int64, gn.int32, gn.uint8, gn.float64])
def test_folds_and_products_of_other_dtypes(dtype):
    x = (gn.arange(12) % 5).reshape(3, 4).to(dtype)
    exported(lambda x: (x.sum(1), x.amax(0), x.cumsum(0), x.T, x.sort(1).values), x)
    exported(lambda x: x @ x.mT, x)


def test_what_is_empty():
    exported(lambda x: (x.sum(0), x.sum(1), gn.cat([x, x]), x.reshape(3, 0)), gn.ones(0, 3))


def test_axes_of_one_element():
    exported(lambda x: (x.squeeze(), x.mean((0, 1)), x @ x.mT, x[0, 0]), filled(1, 1, 1))


def test_gaps_between_elements():
    layer = gn.nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1)
    exported(layer, filled(1, 2, 4), others=[(filled(1, 2, 4) * 2,)])


def test_a_running_extreme_needs_a_known_size():
    with pytest.raises(TraceError, match="onnx: the running argmax of an axis has no counterpart"):
        gn.onnx.export(lambda x: x.cummax(0).values, (filled(3, 4),), dynamic_axes={"x": {0: "n"}})


def test_factorizations_are_refused_by_name():
    with pytest.raises(TraceError, match=r"onnx: linalg.cholesky has no counterpart in ONNX"):
        gn.onnx.export(gn.linalg.cholesky, (gn.eye(2),))


def test_embeddings_are_one_lookup():
    made = exported(gn.nn.Embedding(5, 3), gn.tensor([[0, 4], [2, 2]]))
    assert operators(made) == ["Gather", "Identity"]


def test_sizes_are_alike_only_where_they_are_one_for_all():
    assert same_size(3, 3)
    assert not same_size(3, 4)
