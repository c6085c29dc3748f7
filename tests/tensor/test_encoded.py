"""Tensors in blocks: views that decode, which programs take by their storage."""

from __future__ import annotations

import copy
import pickle

import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon import nn
from gnomon.errors import ArgumentError, GradientError
from gnomon.tensor.encoded import from_blocks
from gnomon.tensor.views import is_encoded
from tests.quantized import numbers_of, random_blocks, same

RAW = random_blocks("Q4_K", 12, 2)
NUMBERS = numbers_of("Q4_K", RAW)


def weight() -> gn.Tensor:
    """A tensor in blocks."""
    return from_blocks(gn.tensor(RAW), "Q4_K")


def layer() -> nn.Linear:
    """A layer whose weight is in blocks."""
    made = nn.Linear(512, 12)
    made.weight = nn.Parameter(weight(), requires_grad=False)
    return made


def test_it_is_what_it_decodes_to():
    w = weight()

    assert (tuple(w.shape), w.dtype, w.is_leaf, w.requires_grad) == (
        (12, 512),
        gn.float32,
        True,
        False,
    )
    assert w.untyped_storage().nbytes() == RAW.nbytes
    assert (w.numpy() == NUMBERS).all()
    assert w[3, 5].item() == NUMBERS[3, 5]
    assert same(w.clone().add_(1), gn.tensor(NUMBERS) + 1)
    assert repr(w) == repr(gn.tensor(NUMBERS))


def test_it_shows_what_is_written_to_its_blocks():
    blocks = gn.tensor(RAW)
    w, x = from_blocks(blocks, "Q4_K"), gn.ones(1, 512)
    call = gn.compile(lambda x, w: F.linear(x, w))
    assert call(x, w).abs().max() > 0

    blocks.zero_()

    assert not F.linear(x, w).any()
    assert not call(x, w).any()


@pytest.mark.parametrize(
    "write",
    [
        lambda w: w.zero_(),
        lambda w: w.__setitem__(0, 1.0),
        lambda w: w[2:4].add_(1.0),
        lambda w: w.view(-1).fill_(1.0),
        lambda w: w.t().copy_(gn.ones(512, 12)),
        lambda w: gn.add(w, 1.0, out=w),
    ],
)
def test_it_is_not_written_to(write):
    w = weight()

    with pytest.raises(
        ArgumentError, match=r"write: this tensor is stored in blocks .* a clone\(\)"
    ):
        write(w)
    assert (w.numpy() == NUMBERS).all()


def test_it_wants_no_gradient_and_passes_them_on():
    with pytest.raises(GradientError, match=r"stored in blocks .* Use clone\(\)"):
        weight().requires_grad_()
    with pytest.raises(GradientError, match="stored in blocks"):
        nn.Parameter(weight())
    found, expected = gn.randn(3, 512, requires_grad=True), None
    expected = found.detach().requires_grad_()

    F.linear(found, weight()).square().sum().backward()
    F.linear(expected, gn.tensor(NUMBERS)).square().sum().backward()

    assert same(found.grad, expected.grad)


def test_compiled_functions_know_the_format():
    other = random_blocks("Q8_0", 12, 16)
    x, call = gn.randn(2, 512), gn.compile(lambda x, w: F.linear(x, w))
    cases = [
        (weight(), gn.tensor(NUMBERS)),
        (from_blocks(gn.tensor(other), "Q8_0"), gn.tensor(numbers_of("Q8_0", other))),
        (gn.tensor(NUMBERS), gn.tensor(NUMBERS)),
    ]

    for w, numbers in (*cases, *cases[::-1]):
        assert same(call(x, w), F.linear(x, numbers))


def test_a_compiled_layer_follows_its_weight():
    made = layer()
    call, x = gn.compile(made), gn.randn(2, 512)
    assert same(call(x), F.linear(x, gn.tensor(NUMBERS), made.bias))

    other = random_blocks("Q4_K", 12, 2, seed=5)
    made.weight = nn.Parameter(from_blocks(gn.tensor(other), "Q4_K"), requires_grad=False)

    assert same(call(x), F.linear(x, gn.tensor(numbers_of("Q4_K", other)), made.bias))


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_stay_in_blocks(again):
    made, x = layer(), gn.randn(2, 512)

    found = again(made)

    assert is_encoded(found.weight._view)
    assert type(found.weight) is nn.Parameter
    assert found.weight.untyped_storage().data_ptr() != made.weight.untyped_storage().data_ptr()
    assert same(found(x), made(x))


def test_a_state_dict_holds_its_numbers():
    made, plain, x = layer(), nn.Linear(512, 12), gn.randn(2, 512)

    plain.load_state_dict(made.state_dict())

    assert same(plain(x), made(x))
    with pytest.raises(ArgumentError, match="stored in blocks"):
        made.load_state_dict(plain.state_dict())


def test_another_dtype_is_decoded():
    assert same(layer().to(gn.bfloat16).weight, gn.tensor(NUMBERS).to(gn.bfloat16))


def test_its_memory_is_shown_in_no_other_way():
    for show in (lambda w: w.as_strided((2, 2), (1, 1)), lambda w: w.resize_(3, 3)):
        with pytest.raises(
            ArgumentError,
            match=r"as_strided: this tensor is sharded over ranks or stored in blocks",
        ):
            show(weight())
