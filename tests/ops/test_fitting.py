"""What a user reads whose argument is of no kind that the operation takes."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, OutOfMemory, ShapeError

F = gn.nn.functional
X = [[1.0, 2.0], [3.0, 4.0]]
IMAGE = (1, 2, 4, 4)

KINDS = (
    (lambda x: gn.topk(x, "2"), r"topk: k must be an integer: got '2'\."),
    (lambda x: gn.matmul(x, None), r"matmul: y must be a tensor: got None\."),
    (lambda x: gn.cat(x, "a"), r"cat: (xs|axis) must be .*: got .*\."),
    (lambda x: F.dropout(x, {}), r"dropout: p must be a number: got a dict\."),
    (
        lambda x: gn.transposed_convolution(
            gn.ones(1, 1, 3), gn.ones(1, 1, 2), None, ((0, None),), (4,), ((1,), (1,), 1)
        ),
        r"transposed_convolution: padding must be .*: got \(\(0, None\)\)\.",
    ),
    (lambda x: F.linear(x, "w"), r"linear: weight must be a tensor: got 'w'\."),
    (lambda x: gn.bincount(3), r"bincount: input must be a tensor: got 3\."),
    (lambda x: gn.nn.Linear(2.5, 3), r"shape: sizes are integers: got \(3, 2\.5\)\."),
    (lambda x: gn.nn.Embedding("a", 3, padding_idx=1), "Embedding: num_embeddings must be an int"),
)


@pytest.mark.parametrize(("call", "told"), KINDS, ids=[told.split(":")[0] for _, told in KINDS])
def test_an_argument_of_another_kind_is_named(call, told):
    with pytest.raises(ArgumentError, match=f"^{told}"):
        call(gn.tensor(X))


DOMAINS = (
    (lambda x: F.max_pool2d(x, 0), r"max_pool2d: kernel_size is at least 1: got 0\."),
    (lambda x: F.max_pool2d(x, 2, 0), r"max_pool2d: stride is at least 1: got 0\."),
    (lambda x: F.max_pool2d(x, 2, dilation=0), r"max_pool2d: dilation is at least 1: got 0\."),
    (lambda x: F.avg_pool2d(x, 2, padding=-1), r"avg_pool2d: padding is at least 0: got -1\."),
    (lambda x: F.conv2d(x, x, stride=0), r"conv2d: stride is at least 1: got 0\."),
    (lambda x: F.conv2d(x, x, dilation=0), r"conv2d: dilation is at least 1: got 0\."),
    (lambda x: F.conv2d(x, x, padding=-1), r"conv2d: padding is at least 0: got -1\."),
    (lambda x: F.unfold(x, 0), r"unfold: kernel_size is at least 1: got 0\."),
    (lambda x: gn.adaptive_max_pool(x, (1,) * 9), r"adaptive_max_pool: sizes are \(1, 1, 1"),
    (lambda x: gn.adaptive_avg_pool(x, (1,) * 9), r"adaptive_avg_pool: sizes are \(1, 1, 1"),
    (lambda x: F.adaptive_avg_pool2d(x, 0), r"adaptive_avg_pool2d: output_size is 2 numbers of"),
    (lambda x: F.interpolate(x, scale_factor=-1.0), r"interpolate: scale_factor is one positive"),
    (lambda x: F.interpolate(x, size=0), r"interpolate: size is at least 1: got 0\."),
    (lambda x: gn.multinomial(gn.tensor([float("nan")]), 1), "multinomial: chances are finite and"),
    (lambda x: gn.multinomial(gn.tensor([-1.0, 2.0]), 1), "multinomial: chances are finite and"),
    (lambda x: gn.multinomial(gn.zeros(3), 1), r"multinomial: the chances of a row are all 0\."),
    (lambda x: gn.multinomial(gn.ones(3), 4), r"multinomial: can't draw 4 of 3 positions without"),
    (lambda x: gn.bincount(gn.tensor([-1])), r"bincount: neither numbers nor minlength may be"),
    (lambda x: gn.repeat_interleave(x, gn.tensor([-1])), r"repeat_interleave: repeats are not neg"),
    (lambda x: gn.histc(x, 0), r"histc: needs intervals between finite bounds: got 0 from 0 to 0"),
    (lambda x: gn.arange(0, float("nan")), r"arange: bounds are finite numbers: got 0, nan by 1\."),
    (lambda x: gn.vander(gn.ones(3), 2**40), r"vander: gives 0 to 65536 powers"),
    (lambda x: gn.diagonal(x, 0, 1, 1), r"diagonal: needs two axes: got 1 and 1"),
)


@pytest.mark.parametrize(("call", "told"), DOMAINS, ids=[told[:24] for _, told in DOMAINS])
def test_a_number_outside_its_domain_is_named(call, told):
    with pytest.raises(ArgumentError, match=f"^{told}"):
        gn.evaluate(call(gn.ones(IMAGE)))


GIANTS = (
    (lambda: gn.arange(2**62), ShapeError),
    (lambda: gn.arange(2**40), OutOfMemory),
    (lambda: gn.zeros((2**40,)), OutOfMemory),
    (lambda: gn.rand(2**20, 2**20), OutOfMemory),
    (lambda: gn.eye(2**20), OutOfMemory),
    (lambda: gn.zeros((2**62, 2**62)), ShapeError),
    (lambda: gn.ones(1).expand(2**40, 2**40), ShapeError),
    (lambda: gn.zeros((-3,)), ShapeError),
    (lambda: gn.bincount(gn.tensor([2**63 - 1])), OutOfMemory),
    (lambda: gn.bincount(gn.tensor([1]), minlength=2**62), OutOfMemory),
    (lambda: gn.repeat_interleave(gn.ones(2), gn.tensor([2**62, 2**62])), OutOfMemory),
    (lambda: gn.histc(gn.ones(2), 2**62), OutOfMemory),
    (lambda: gn.combinations(gn.ones(2), 2**40), OutOfMemory),
)


@pytest.mark.parametrize("number", range(len(GIANTS)))
def test_what_no_memory_holds_is_refused_before_it_is_taken(number: int):
    make, kind = GIANTS[number]

    with pytest.raises(kind, match=r"^\w+: "):
        make()


def test_what_can_not_be_computed_stands_in_nobody_elses_way():
    bad = gn.arange(3)[gn.tensor([7])] + 1
    for _ in range(2):
        with pytest.raises(IndexError):
            bad.tolist()
    parameter = gn.nn.Parameter(gn.ones(2))
    optimizer = gn.optim.SGD([parameter], lr=0.5)
    (parameter * 2).sum().backward()

    optimizer.step()

    assert parameter.tolist() == [0.0, 0.0]
    assert bad is not None


def test_what_was_refused_is_not_computed_for_somebody_else():
    with pytest.raises(OutOfMemory, match="Use a smaller size") as held:
        gn.rand(2**20, 2**20)

    (gn.nn.Parameter(gn.ones(2)) * 2).sum().backward()

    assert "drawn" in {entry.name for entry in held.traceback}  # its frame holds the tensor


def test_a_truth_value_is_a_size_of_1():
    x = gn.arange(4)
    for made in (x.view(True, -1), x.unflatten(0, (True, 4)), x.reshape((True, 2, 2))[:, 0]):
        assert [*map(type, made.shape)] == [int] * made.ndim
        assert made.shape[0] == len(made.numpy()) == 1


def test_a_complex_number_is_no_tensor():
    with pytest.raises(ArgumentError, match="kron: y must be a tensor: got 1j"):
        gn.kron(gn.ones(2, 3), 1j)


@pytest.mark.parametrize("call", [lambda x: x.narrow(0, gn.nan, 1), lambda x: x.select(0, gn.nan)])
def test_nan_is_no_place_of_an_axis(call):
    with pytest.raises(ShapeError, match=r"^narrow: 1 elements from nan do not lie in axis 0"):
        call(gn.tensor(X))


def test_complex_numbers_as_operands_and_words():
    with pytest.raises(ArgumentError, match=r"^pad: mode must not be complex: got 1j\."):
        F.pad(gn.ones(2, 5), (1, 1), 1j)
    x = gn.tensor([0.0, 1.0])
    assert gn.isclose(x, 1j).tolist() == gn.isclose(1j, x).tolist() == [False, False]
    assert gn.isclose(x * 1j, 1j).tolist() == [False, True]
    assert gn.isclose(x + 0j, x).tolist() == [True, True]
