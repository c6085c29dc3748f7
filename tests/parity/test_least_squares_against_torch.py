"""Least squares tell what PyTorch's drivers tell, of single matrices, batches and vectors."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

SHAPES = [
    ((5, 3), (5, 2)),
    ((5, 3), (5,)),
    ((3, 5), (3, 2)),
    ((4, 4), (4, 1)),
    ((2, 5, 3), (2, 5, 2)),
    ((2, 5, 3), (2, 5)),
]


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_drivers(rng, driver: str | None, left, right):
    a, b = rng.standard_normal(left), rng.standard_normal(right)
    mine = gn.linalg.lstsq(gn.tensor(a), gn.tensor(b), driver=driver)
    its = torch.linalg.lstsq(torch.tensor(a), torch.tensor(b), driver=driver)

    assert mine._fields == ("solution", "residuals", "rank", "singular_values")
    for ours, theirs in zip(mine, its, strict=True):
        assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("driver", ["gelsd", "gelss"])
def test_a_matrix_of_lower_rank_has_no_residuals(driver: str):
    a, b = np.outer([1.0, 2.0, 3.0], [1.0, 1.0]), np.array([[1.0], [0.0], [2.0]])
    mine = gn.linalg.lstsq(gn.tensor(a), gn.tensor(b), driver=driver)
    its = torch.linalg.lstsq(torch.tensor(a), torch.tensor(b), driver=driver)

    assert (mine.residuals.shape, mine.rank.item()) == (tuple(its.residuals.shape), 1)
    np.testing.assert_allclose(mine.solution.numpy(), its.solution.numpy(), rtol=1e-9)


def test_a_driver_that_is_none_is_refused():
    with pytest.raises(ValueError, match="should be one of gels, gelsy, gelsd, gelss"):
        gn.linalg.lstsq(gn.ones(3, 2), gn.ones(3, 1), driver="qr")
