"""Chances of classes in clusters add up to one, and a target's is among them."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError


def test_chances_add_up_and_a_targets_is_among_them():
    layer = nn.AdaptiveLogSoftmaxWithLoss(6, 11, [3, 7], div_value=2.0, head_bias=True)
    x, target = gn.arange(24.0).sin().reshape(4, 6), gn.tensor([0, 10, 5, 3])

    output, loss = layer(x, target)

    logs = layer.log_prob(x)
    np.testing.assert_allclose(logs.exp().sum(-1).tolist(), 1, rtol=1e-6)
    assert output.tolist() == [logs[k, t].item() for k, t in enumerate(target.tolist())]
    assert loss.item() == pytest.approx(-output.mean().item())
    assert layer.predict(x).tolist() == logs.argmax(-1).tolist()
    assert layer(x[1], target[1])[0].item() == pytest.approx(output[1].item())


def test_drawing_anew_changes_every_parameter_and_cutoffs_ascend():
    layer = nn.AdaptiveLogSoftmaxWithLoss(6, 11, [3, 7], div_value=2.0)
    before = [p.tolist() for p in layer.parameters()]

    layer.reset_parameters()

    assert all(a != p.tolist() for a, p in zip(before, layer.parameters(), strict=True))
    with pytest.raises(ArgumentError, match="cutoffs ascend between 1 and n_classes - 1"):
        nn.AdaptiveLogSoftmaxWithLoss(6, 11, [7, 3])
