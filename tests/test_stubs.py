"""What type checkers read says what there is: the .pyi files are written from the registry."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys

import pytest

from tests.house import PACKAGE, ROOT

STUBS = runpy.run_path(str(ROOT / "tools" / "stubs.py"))["STUBS"]

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


@pytest.mark.unit
@pytest.mark.parametrize("path", STUBS)
def test_the_stubs_are_what_the_registry_gives(path: str):
    kept = (PACKAGE / path).read_text(encoding="utf-8")

    assert kept == STUBS[path](), "run python tools/stubs.py"


@pytest.fixture
def complaints(tmp_path):
    """What pyright says of a program, by kind."""
    pytest.importorskip("pyright")
    (tmp_path / "user.py").write_text(USER)
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "basic"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    if not run.stdout.startswith("{"):
        pytest.skip("pyright does not run here")
    found: dict[str, list[str]] = {}
    for row in json.loads(run.stdout)["generalDiagnostics"]:
        found.setdefault(row["severity"], []).append(row["message"])
    return found


def test_pyright_knows_functions_methods_operators_and_modules(complaints):
    told = complaints["information"]

    assert len(told) == 5
    assert all(message.endswith('is "Tensor"') for message in told)


def test_pyright_finds_names_that_are_not_there_and_no_other_mistakes(complaints):
    first, second = complaints["error"]

    assert "summ" in first
    assert "sine" in second
