"""What pyright says of a user's program, and of the layers that have no complaint."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.house import PACKAGE, ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
CLEAN = ("errors.py", "lazy.py", "settings.py", "dtypes.py")
"""What has no complaint beside the strict folders of pyproject.toml; a list that only grows."""
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


@gn.compile(dynamic=True)
def doubled(x: gn.Tensor, times: int = 1) -> gn.Tensor:
    return 2 * x


reveal_type(doubled(x, 2))
reveal_type(gn.compile(nn.Linear(2, 3)).weight.detach())


model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optim.AdamW(model.parameters(), lr=gn.finfo(gn.float32).eps)
x.summ()
gn.sine(x)
doubled("x")
"""


def complaints(folder: Path, *files: Path) -> list[dict[str, Any]]:
    """What pyright says in a folder or of some files there."""
    pytest.importorskip("pyright", reason="needs pyright: pip install -e '.[dev]'")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run(
        [*command, *map(str, files)], cwd=folder, capture_output=True, text=True, timeout=300
    )
    if not run.stdout.startswith("{"):
        pytest.skip("pyright needs node, which it fetches when it first runs: neither is here")
    rows: list[dict[str, Any]] = json.loads(run.stdout)["generalDiagnostics"]
    return rows


def of_kind(rows: list[dict[str, Any]], severity: str) -> list[str]:
    """What is said with a severity."""
    return [row["message"] for row in rows if row["severity"] == severity]


def test_a_users_program_has_types_and_its_mistakes_are_found(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    settings = {"extraPaths": [str(ROOT)], "typeCheckingMode": "basic"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))

    found = complaints(tmp_path)
    first, second, third = of_kind(found, "error")
    shown = of_kind(found, "information")

    assert "summ" in first
    assert "sine" in second
    assert 'cannot be assigned to parameter "x"' in third
    assert len(shown) == 7
    assert all(message.endswith('is "Tensor"') for message in shown)


def test_strict_folders_have_no_complaint():
    strict = [ROOT / name for name in SETTINGS["strict"]]
    rows = complaints(ROOT, *strict, *(PACKAGE / name for name in CLEAN))

    assert of_kind(rows, "error") == []


def test_what_strict_alone_refuses_is_found_in_a_strict_folder(tmp_path):
    for folder in ("strict", "basic"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "wrong.py").write_text("def twice(x):\n    return x + x\n")
    settings = {**SETTINGS, "include": ["strict", "basic"], "strict": ["strict"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))

    rows = complaints(tmp_path)

    assert {Path(row["file"]).parent.name for row in rows} == {"strict"}
    assert 'Type annotation is missing for parameter "x"' in of_kind(rows, "error")
