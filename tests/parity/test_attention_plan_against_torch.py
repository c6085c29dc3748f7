"""TorchTitan's plans beside PyTorch: the model's loss and gradient norm.

That both are one process's on every mesh, to 1e-6 and for the rows here, is in
distributed/test_varying.py: on every mesh they are PyTorch's to 1e-5.
"""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from tests.distributed.attention_plan import MESH_ROWS, ROWS, batch_of, loss_of, model_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("rows", [ROWS, MESH_ROWS])
def test_the_model_of_the_plans_has_torchs_loss_and_gradient_norm(rows: int):
    found = []
    for package in (gn, torch):
        model = model_of(package)
        loss = loss_of(package, model, *batch_of(package, rows))
        loss.backward()
        grads = [p.grad.numpy().astype(np.float64) for p in model.parameters()]
        found.append((loss.item(), np.sqrt(sum((x**2).sum() for x in grads))))

    assert found[0] == pytest.approx(found[1], rel=5e-6)
