"""Initial values have the mean, the width and the bounds of their distributions."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.nn import init

WIDE = (200, 150)


def drawn(name: str, *rest: object, **options: object) -> np.ndarray:
    """What an initializer puts into a matrix."""
    gn.manual_seed(0)
    return getattr(init, name)(gn.empty(*WIDE), *rest, **options).numpy()


@pytest.mark.parametrize(
    ("name", "std", "bound"),
    [
        ("xavier_uniform_", np.sqrt(2 / 350), np.sqrt(6 / 350)),
        ("xavier_normal_", np.sqrt(2 / 350), None),
        ("kaiming_uniform_", np.sqrt(2 / 150), np.sqrt(6 / 150)),
        ("kaiming_normal_", np.sqrt(2 / 150), None),
        ("normal_", 1.0, None),
        ("uniform_", np.sqrt(1 / 12), 1.0),
    ],
)
def test_widths_follow_the_fans(name: str, std: float, bound: float | None):
    values = drawn(name)

    np.testing.assert_allclose(values.std(), std, rtol=0.02)
    if bound is not None:
        assert np.abs(values).max() <= bound


def test_a_truncated_normal_stays_inside_and_keeps_its_shape():
    values = drawn("trunc_normal_", mean=0.5, std=1.0, a=-0.5, b=1.5)

    assert values.min() >= -0.5
    assert values.max() <= 1.5
    np.testing.assert_allclose(values.mean(), 0.5, atol=0.01)
    np.testing.assert_allclose(values.std(), 0.5396, rtol=0.02)


def test_an_orthogonal_matrix_has_rows_at_right_angles():
    weight = init.orthogonal_(gn.empty(4, 6, dtype=gn.float64))

    np.testing.assert_allclose((weight @ weight.T).numpy(), np.eye(4), atol=1e-12)


def test_fixed_values():
    assert init.constant_(gn.empty(2), 0.3).tolist() == pytest.approx([0.3, 0.3])
    assert init.eye_(gn.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.dirac_(gn.empty(1, 1, 3)).tolist() == [[[0, 1, 0]]]
    share = (init.sparse_(gn.empty(40, 5), 0.25) == 0).float().mean(dim=0)
    assert share.tolist() == [0.25] * 5


def test_the_seed_decides_the_values():
    assert (drawn("normal_") == drawn("normal_")).all()


def test_vectors_have_no_fans():
    with pytest.raises(ArgumentError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(gn.empty(3))


def test_gains_are_known_by_name():
    assert init.calculate_gain("leaky_relu", 0.0) == np.sqrt(2)
    with pytest.raises(ArgumentError, match="Unsupported nonlinearity"):
        init.calculate_gain("wave")


def test_older_names_mean_the_same():
    for name in ("uniform", "normal", "constant", "xavier_normal", "kaiming_uniform", "orthogonal"):
        assert getattr(init, name) is getattr(init, f"{name}_")


def test_a_fan_is_asked_for_by_its_name():
    weight = gn.empty(5, 3, 2)

    assert init.fan_of(weight, "fan_in") == 6
    assert init.fan_of(weight, "FAN_OUT") == 10
    with pytest.raises(ArgumentError, match="Mode both not supported"):
        init.fan_of(weight, "both")
