"""PyTorch's switches: what is fixed says how."""

from __future__ import annotations

import pytest

import gnomon as gn


def test_autocast_says_whether_it_is_on_and_in_what():
    assert not gn.is_autocast_enabled()
    with gn.autocast("cpu", gn.float16):
        assert gn.is_autocast_enabled("cpu")
        assert gn.get_autocast_gpu_dtype() is gn.float16
    assert gn.get_autocast_dtype("cpu") is gn.bfloat16


@pytest.mark.parametrize("kind", [gn.DoubleTensor, "torch.DoubleTensor"])
def test_a_constructor_names_the_dtype_of_new_floats(kind):
    try:
        gn.set_default_tensor_type(kind)
        assert gn.get_default_dtype() is gn.float64
    finally:
        gn.set_default_dtype(gn.float32)


def test_what_cannot_be_switched_is_accepted_and_changes_nothing():
    gn.set_num_interop_threads(4)
    gn.set_warn_always(True)

    assert gn.get_num_interop_threads() == 1
    assert gn.set_flush_denormal(True) is False
    assert not gn.is_warn_always_enabled()


def test_a_type_has_a_name():
    assert gn.typename(1) == "int"
    assert gn.typename(gn.nn.Linear(1, 1)) == "gnomon.nn.linear.Linear"
