"""Norms beside their formulas; running statistics move in training and rule at rest."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError

X = np.random.default_rng(0).standard_normal((6, 4, 5))


def standard(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """x with mean 0 and variance 1 over axes."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_layers_and_groups_and_samples_are_brought_to_a_standard():
    x = gn.tensor(X)

    layer = nn.LayerNorm([4, 5], dtype=gn.float64)(x)
    instance = nn.InstanceNorm1d(4)(x)
    group = nn.GroupNorm(2, 4, dtype=gn.float64)(x).detach().numpy().reshape(6, 2, 10)

    np.testing.assert_allclose(layer.detach().numpy(), standard(X, (1, 2)), rtol=1e-9)
    np.testing.assert_allclose(instance.numpy(), standard(X, (2,)), rtol=1e-9)
    np.testing.assert_allclose(group, standard(X.reshape(6, 2, 10), (2,)), rtol=1e-9)


def test_rms_norm_divides_by_the_root_of_the_mean_square():
    made = nn.RMSNorm(5, eps=0.1, dtype=gn.float64)(gn.tensor(X)).detach().numpy()

    np.testing.assert_allclose(made, X / np.sqrt((X**2).mean(-1, keepdims=True) + 0.1), rtol=1e-12)


def test_batch_norm_follows_the_batches_it_trains_on():
    norm = nn.BatchNorm1d(4, momentum=0.25, dtype=gn.float64)

    made = norm(gn.tensor(X))

    np.testing.assert_allclose(made.detach().numpy(), standard(X, (0, 2)), rtol=1e-9)
    variance = X.var((0, 2), ddof=1)
    np.testing.assert_allclose(norm.running_mean.numpy(), 0.25 * X.mean((0, 2)), rtol=1e-12)
    np.testing.assert_allclose(norm.running_var.numpy(), 0.75 + 0.25 * variance, rtol=1e-12)
    assert norm.num_batches_tracked.item() == 1


def test_batch_norm_at_rest_uses_what_it_followed():
    norm = nn.BatchNorm1d(4, dtype=gn.float64).eval()

    made = norm(gn.tensor(X)).detach().numpy()

    np.testing.assert_allclose(made, X / np.sqrt(1 + 1e-5), rtol=1e-12)
    assert norm.num_batches_tracked.item() == 0


def test_without_momentum_the_statistics_are_plain_averages():
    norm = nn.BatchNorm1d(4, momentum=None, dtype=gn.float64)

    for factor in (1.0, 3.0):
        norm(gn.tensor(X * factor))

    np.testing.assert_allclose(norm.running_mean.numpy(), 2 * X.mean((0, 2)), rtol=1e-12)


def test_inputs_of_another_rank_are_refused():
    with pytest.raises(ArgumentError, match=r"expected 4D input \(got 3D input\)"):
        nn.BatchNorm2d(4)(gn.tensor(X))
    with pytest.raises(ArgumentError, match="divisible by num_groups"):
        nn.GroupNorm(3, 4)


def test_norms_may_scale_without_a_shift():
    for layer in (
        nn.GroupNorm(1, 2, bias=False),
        nn.BatchNorm1d(2, bias=False),
        nn.InstanceNorm1d(2, affine=True, bias=False),
        nn.SyncBatchNorm(2, bias=False),
    ):
        assert layer.weight.shape == (2,)
        assert layer.bias is None
        assert layer(gn.ones(3, 2, 4)).tolist() == gn.zeros(3, 2, 4).tolist()


def test_instance_norm_takes_one_sample_without_a_batch():
    x = gn.tensor([[1.0, 5.0], [2.0, 2.0]])

    made = nn.InstanceNorm1d(2)(x)

    np.testing.assert_allclose(made.numpy(), [[-1.0, 1.0], [0.0, 0.0]], atol=1e-5)
    assert nn.InstanceNorm2d(2)(gn.ones(2, 3, 4)).shape == (2, 3, 4)


@pytest.mark.parametrize(
    ("module", "value"),
    [
        (nn.RMSNorm(4), 1.0),
        (nn.RMSNorm(4, elementwise_affine=False), None),
        (nn.GroupNorm(2, 4), 1.0),
        (nn.GroupNorm(2, 4, affine=False), None),
        (nn.LayerNorm(4), 1.0),
        (nn.PReLU(4, init=0.5), 0.5),
    ],
    ids=repr,
)
def test_parameters_are_reset(module: nn.Module, value: float | None):
    for p in module.parameters():
        p.data.fill_(7.0)

    module.reset_parameters()

    assert [p.tolist() for p in module.parameters()] == (
        [] if value is None else [[value] * 4, *([[0.0] * 4] * (len([*module.parameters()]) - 1))]
    )


@pytest.mark.parametrize("momentum", [0.5, None])
def test_instance_norm_counts_no_batches_and_without_momentum_keeps_its_statistics(momentum):
    layer = nn.InstanceNorm1d(1, momentum=momentum, track_running_stats=True)
    layer(gn.tensor([[[1.0, 5.0]]]))

    assert layer.num_batches_tracked.item() == 0
    assert layer.running_mean.tolist() == [0.0 if momentum is None else 1.5]
