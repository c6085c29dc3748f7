"""TorchTitan's plans beside PyTorch: the model's loss and gradient norm.

That both are the same on every mesh as in one process is in distributed/test_varying.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from tests.distributed.attention_plan import batch_of, loss_of, model_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def test_the_model_of_the_plans_has_torchs_loss_and_gradient_norm():
    found = []
    for package in (gn, torch):
        model = model_of(package)
        loss = loss_of(package, model, *batch_of(package))
        loss.backward()
        grads = [p.grad.numpy().astype(np.float64) for p in model.parameters()]
        found.append((loss.item(), np.sqrt(sum((x**2).sum() for x in grads))))

    assert found[0] == pytest.approx(found[1], rel=1e-5)
