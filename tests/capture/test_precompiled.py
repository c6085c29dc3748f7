"""Functions compiled ahead of their calls: what is saved, and what no file can hold."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, TraceError
from gnomon.nn import functional as F
from tests.strategies import same_bits


def saved(tmp_path, function, *examples):
    """A function, saved for some examples and loaded."""
    made = gn.compile(function)
    for example in examples:
        made = made.precompile(*example)
    return gn.load_compiled(tmp_path / "f.gnc", made.save(tmp_path / "f.gnc"))


def test_a_model_gives_its_bits(tmp_path):
    gn.manual_seed(1)
    model = nn.Sequential(nn.Linear(24, 130), nn.GELU(), nn.LayerNorm(130), nn.Linear(130, 7))
    few, many = gn.randn(3, 24), gn.randn(200, 24)

    loaded = saved(tmp_path, model, (few,), (many,))

    with gn.no_grad():
        for x in (few, many, few):
            assert same_bits(loaded(x).numpy(), model(x).numpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x * 2)[:, :0],
        lambda x: (x, x + 1, x + 1),
        lambda x: {"a": [x.sum(), None], 3: (), "b": (1.5, "c", True)},
        lambda x: x.t() * 2,
        lambda x: (x * 2).t(),
        lambda x: gn.zeros(3) + gn.tensor([1.0, 2.0, 3.0]) * x[0],
        lambda x: x.to(gn.bfloat16) @ x.to(gn.bfloat16).t(),
        lambda x: (x > 0, x.argmax(0), x.to(gn.uint8)),
        lambda x: gn.scan(lambda c, row: (c + row, c * row), gn.zeros(3), x),
        lambda x: gn.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1),
        lambda x: gn.while_loop(lambda n: n.sum() < 90, lambda n: (n * 2,), (x.abs() + 1,)),
        lambda x: F.conv2d(x.reshape(1, 1, 4, 3), gn.ones(2, 1, 2, 2)),
        lambda x: gn.ones(0, 3) @ x.t(),
    ],
)
def test_any_structure_of_results_comes_back(tmp_path, function):
    x = gn.randn(4, 3)

    found, wanted = saved(tmp_path, function, (x,))(x), function(x)

    assert_same(found, wanted)


def assert_same(found, wanted):
    """The same structure, values, dtypes and bits."""
    assert type(found) is type(wanted)
    if isinstance(wanted, gn.Tensor):
        assert found.dtype is wanted.dtype
        assert same_bits(found.numpy(), wanted.numpy())
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        assert_same(list(found.values()), list(wanted.values()))
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other)
    else:
        assert found == wanted


def test_python_values_select_a_program(tmp_path):
    def function(x, power=2, *, names):
        return {name: x**power for name in names}

    made = gn.compile(function).precompile(gn.ones(2), names=["a"])
    made.precompile(gn.ones(2), 3, names=["a", "b"]).save(tmp_path / "f.gnc")
    loaded, x = gn.load_compiled(tmp_path / "f.gnc"), gn.tensor([1.0, 2.0])

    assert loaded(x, names=["a"])["a"].tolist() == [1.0, 4.0]
    assert loaded(x, 3, names=["a", "b"])["b"].tolist() == [1.0, 8.0]
    with pytest.raises(ArgumentError):
        loaded(x, 3.0, names=["a", "b"])


def test_what_it_reads_is_saved_once_with_the_values_of_then(tmp_path):
    weight = gn.ones(200, 200)
    made = gn.compile(lambda x: x @ weight)
    made = made.precompile(gn.ones(2, 200)).precompile(gn.ones(3, 200))
    weight *= 3

    made.save(tmp_path / "f.gnc")
    weight *= 5

    assert gn.load_compiled(tmp_path / "f.gnc")(gn.ones(2, 200))[0, 0].item() == 600
    assert weight[0, 0].item() == 15
    assert (tmp_path / "f.gnc").stat().st_size < 2 * 160_000


LEFT: list[gn.Tensor] = []
HELD = gn.ones(3)
HELD.requires_grad_()


def writes(x):
    x += 1
    return x


def writes_outside(x):
    HELD.data.mul_(2)
    return x * 2


def leaves(x):
    LEFT.append(x * 2)
    return x


def goes_back(x):
    with gn.enable_grad():
        (HELD * x).sum().backward()
    return x


def prints(x):
    print("x")
    return x * 2


def branches(x):
    return x if x.sum() > 0 else -x


@gn.library.custom_op("precompiled::twice")
def twice(x: gn.Tensor) -> gn.Tensor:
    """A body that only this process has."""
    return x * 2


@twice.register_fake
def twice_fake(x):
    return gn.empty_like(x)


class Odd(tuple):
    """A container of a user's."""


REFUSED = {
    "writes": (writes, "writes to a tensor"),
    "writes outside": (writes_outside, "writes to a tensor"),
    "leaves": (leaves, "leaves tensors somewhere|would not"),
    "gradients": (goes_back, "sets gradients"),
    "prints": (prints, "does what a replay would not: .*print"),
    "draws": (lambda x: x * gn.rand(3), "draws random numbers"),
    "dropout": (nn.Dropout(0.5), r"draws random numbers.*eval\(\)"),
    "batch norm": (nn.BatchNorm1d(3), "writes to a tensor"),
    "held": (lambda x: (x * 2, HELD), "gives back memory that it did not make"),
    "itself": (lambda x: x, "computes nothing"),
    "part": (lambda x: x[1:], "gives back memory that it did not make"),
    "one memory": (lambda x: (lambda y: (y, y[1:]))(x * 2), "gives back memory .*, or twice"),
    "own operation": (lambda x: twice(x) + 1, "calls a custom operation"),
    "nothing": (lambda x: 3, "computes nothing"),
    "kind": (lambda x: Odd([x * 2]), "takes or gives back a Odd"),
    "object": (lambda x: (x * 2, object()), "takes or gives back a object"),
    "long": (lambda x: (x * 2, 1 << 70), "takes or gives back a int"),
}


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("name", REFUSED)
def test_what_no_file_can_hold_is_refused(name):
    function, why = REFUSED[name]
    x = gn.ones(2, 3) if name == "batch norm" else gn.ones(3)

    with pytest.raises(TraceError, match=f"(?s)^precompile: .*({why})") as refused:
        gn.compile(function).precompile(x)

    assert "test_precompiled.py:" in str(refused.value)
    assert (x.tolist(), HELD.tolist(), HELD.grad) == (gn.ones(*x.shape).tolist(), [1.0] * 3, None)


def test_where_python_looks_at_a_value_is_refused_with_its_line():
    with pytest.raises(TraceError, match=r"test_precompiled\.py:"):
        gn.compile(branches).precompile(gn.ones(3))


def test_arguments_of_other_kinds_are_refused():
    with pytest.raises(TraceError, match=r"precompile: .* takes or gives back a slice"):
        gn.compile(lambda x, k: x[k] * 2).precompile(gn.ones(3), slice(1, 2))
