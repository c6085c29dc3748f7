"""Attributes that a user gives a tensor: kept by copies, and seen by compiled functions."""

from __future__ import annotations

import copy
import pickle

import pytest

import gnomon as gn


def tagged(tag: object) -> gn.Tensor:
    x = gn.ones(2)
    x.tag = tag
    return x


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_have_them(again):
    assert again(tagged("a")).tag == "a"
    assert not hasattr(tagged("a") + 1, "tag")


def test_a_compiled_function_sees_those_of_its_arguments():
    @gn.compile
    def scaled(x: gn.Tensor, rest: list) -> gn.Tensor:
        return x * (2.0 if getattr(x, "tag", None) == "a" else 3.0) + getattr(rest[0], "tag", 0)

    for x, y, wanted in (
        (tagged("a"), gn.ones(2), 2),
        (gn.ones(2), gn.ones(2), 3),
        (tagged("b"), tagged(1), 4),
        (tagged("a"), tagged(2), 4),
        (tagged("a"), gn.ones(2), 2),
    ):
        assert scaled(x, [y]).tolist() == [wanted, wanted]


def test_a_compiled_function_writes_them():
    @gn.compile
    def step(x: gn.Tensor) -> gn.Tensor:
        y = x + 1
        y.tag, x.seen = ("after", x.tag), y
        return y

    for tag in "xyx":
        x = tagged(tag)
        y = step(x)

        assert y.tag == ("after", tag)
        assert x.seen is y
        assert y.tolist() == [2, 2]


def test_versions_count_writes_to_the_storage():
    x = gn.ones(2)
    before = x._version
    x[:1].add_(1)

    assert x._version == before + 1


def test_the_gradient_has_pytorchs_other_name():
    x = gn.ones(2, requires_grad=True)
    x._grad = gn.ones(2)

    assert x.grad is x._grad
    assert gn.nn.utils.clip_grad_norm_(x, 1.0).item() == pytest.approx(2**0.5)
