"""detect_anomaly names what made a NaN gradient."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import NanError
from gnomon.tensor.nans import looked_for


def test_the_line_whose_gradient_is_nan_is_named():
    x = gn.tensor([0.0], requires_grad=True)

    with (
        pytest.raises(NanError, match=r"made a NaN.*test_anomaly\.py"),
        gn.autograd.detect_anomaly(),
    ):
        (x * x.sqrt()).sum().backward()
    assert not looked_for()


def test_what_is_pending_is_computed_inside():
    kept = []

    with pytest.raises(NanError, match="log"), gn.autograd.set_detect_anomaly(True):
        kept.append(gn.tensor([-1.0]).log() + 1)


def test_it_can_be_left_out():
    x = gn.tensor([0.0], requires_grad=True)

    with gn.autograd.detect_anomaly(check_nan=False):
        (x * x.sqrt()).sum().backward()
    assert x.grad.isnan().tolist() == [True]
