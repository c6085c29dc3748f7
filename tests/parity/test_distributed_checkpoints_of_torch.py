"""Folders that torch.distributed.checkpoint wrote are read with the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed.checkpoint as mine

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
its = pytest.importorskip("torch.distributed.checkpoint")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def test_models_and_optimizers(tmp_path: Path):
    layer = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(layer.parameters())
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    state = {"model": layer.state_dict(), "optim": optimizer.state_dict(), "step": 7}
    state |= {"rates": [0.1, 0.2], "parts": [{"a": torch.arange(3)}], "name": "x"}
    its.save(state, checkpoint_id=tmp_path)

    model = gn.nn.Linear(3, 2)
    mine_optimizer = gn.optim.AdamW(model.parameters())
    model(gn.ones(1, 3)).sum().backward()
    mine_optimizer.step()
    into = {"model": model.state_dict(), "optim": mine_optimizer.state_dict(), "step": 0}
    into |= {"rates": None, "parts": [{"a": gn.zeros(3, dtype=gn.int64)}], "name": ""}
    for group in into["optim"]["param_groups"]:
        known = state["optim"]["param_groups"][0]
        for key in [key for key in group if key not in known]:
            del group[key]
    mine.load(into, checkpoint_id=tmp_path)

    assert (into["step"], into["rates"], into["name"]) == (7, [0.1, 0.2], "x")
    assert into["parts"][0]["a"].tolist() == [0, 1, 2]
    assert into["optim"]["param_groups"][0]["betas"] == (0.9, 0.999)
    for name, value in layer.state_dict().items():
        assert into["model"][name].numpy().tobytes() == value.numpy().tobytes()
    for number, entry in state["optim"]["state"].items():
        for key, value in entry.items():
            found = into["optim"]["state"][number][key]
            assert found.numpy().tobytes() == value.numpy().tobytes()


@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "bfloat16", "int8", "uint8", "bool", "complex64", "complex128"]
)
def test_dtypes(tmp_path: Path, dtype: str):
    values = np.arange(6).reshape(2, 3)
    saved = torch.tensor(values).to(getattr(torch, dtype))
    its.save({"x": saved, "scalar": saved[1, 1].clone()}, checkpoint_id=tmp_path)
    kind = getattr(gn, dtype)
    into = {"x": gn.zeros(2, 3, dtype=kind), "scalar": gn.zeros((), dtype=kind)}
    mine.load(into, checkpoint_id=tmp_path)

    assert into["x"].tolist() == saved.tolist()
    assert into["scalar"].tolist() == saved[1, 1].tolist()
