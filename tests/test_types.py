"""What pyright says of a user's program, and of the layers that have no complaint left."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house import PACKAGE, ROOT

CLEAN = ("errors.py", "late.py", "settings.py", "dtypes.py", "ir")
"""What has no complaint, under the settings of pyproject.toml; a list that only grows."""

USER = """
import gnomon as gn
import gnomon.nn.functional as F
from gnomon import nn, optim

x = gn.randn(2, 3)
reveal_type(gn.sin(x).sum(dim=0))
reveal_type(2 * x @ x.T - 1)
reveal_type(x.softmax(dim=-1).mean(axis=0, keepdims=True).reshape(3, -1))
reveal_type(gn.add(x, 1).add_(other=2).topk(2).values)
reveal_type(F.relu(F.linear(x, x)))
class Net(nn.Module):
    pass


model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optim.AdamW(model.parameters(), lr=gn.finfo(gn.float32).eps)
x.summ()
gn.sine(x)
"""


def complaints(folder: Path, *files: Path) -> dict[str, list[str]]:
    """What pyright says in a folder or of some files there, by kind."""
    pytest.importorskip("pyright", reason="needs pyright: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run([*command, *map(str, files)], cwd=folder, capture_output=True, text=True)
    if not run.stdout.startswith("{"):
        pytest.skip("pyright needs node, which it fetches when it first runs: neither is here")
    found: dict[str, list[str]] = {"error": [], "information": []}
    rows: list[dict[str, Any]] = json.loads(run.stdout)["generalDiagnostics"]
    for row in rows:
        found.setdefault(row["severity"], []).append(row["message"])
    return found


def test_a_users_program_has_types_and_its_mistakes_are_found(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "basic"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))

    found = complaints(tmp_path)
    first, second = found["error"]

    assert "summ" in first
    assert "sine" in second
    assert len(found["information"]) == 5
    assert all(message.endswith('is "Tensor"') for message in found["information"])


def test_the_lowest_layers_have_no_complaint():
    assert complaints(ROOT, *(PACKAGE / name for name in CLEAN))["error"] == []
