"""Scripts that import torch run as they stand, and say at their end what they missed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gnomon.__main__ import code_of
from gnomon.drop_in import run_module, run_script
from gnomon.errors import ConfigError
from gnomon.settings import override

pytestmark = pytest.mark.unit

WHOLE = """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.modules.conv import Conv2d
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

assert sys.argv[1:] == ["--rate", "0.1"] and __name__ == "__main__"
assert torch.__name__ == "torch" and torch.version.cuda is None
assert Conv2d is nn.Conv2d
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = optim.SGD(net.parameters(), lr=float(sys.argv[2]))
schedule = StepLR(optimizer, 2)
x = torch.randn(8, 3)
losses = []
for batch in list(DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)) * 4:
    optimizer.zero_grad()
    loss = F.mse_loss(net(batch[0]), batch[1])
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
schedule.step()
assert losses[-1] < losses[0]
print("done", torch.nonzero(torch.tensor([0, 1])).shape, torch.meshgrid(x[0], x[0])[0].shape)
"""


def script(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


def test_a_script_runs_as_it_stands(tmp_path: Path, capfd: pytest.CaptureFixture):
    path, before = script(tmp_path, WHOLE), sys.modules.get("torch")

    code = run_script(path, ["--rate", "0.1"])

    told = capfd.readouterr()
    assert (code, told.err) == (0, "")
    assert told.out == "done torch.Size([1, 1]) torch.Size([3, 3])\n"
    assert sys.modules.get("torch") is before


def test_what_it_missed_stands_at_its_end_with_its_line(tmp_path, capfd):
    path = script(
        tmp_path,
        """
        import torch
        if torch.cuda.is_available():
            raise SystemExit(3)
        try:
            import torch.hub.nothing
        except ImportError:
            print("went on")
        torch.frobnicate(1)
        """,
    )

    code = run_script(path)

    told = capfd.readouterr()
    assert (code, told.out) == (1, "went on\n")
    assert "runpy" not in told.err
    assert "AttributeError: module 'torch' has no attribute 'frobnicate' in Gnomon" in told.err
    rows = [line.split() for line in told.err.splitlines() if "program.py:" in line]
    assert ["not", "in", "Gnomon", "torch.frobnicate", "program.py:9"] in rows
    assert ["not", "in", "Gnomon", "torch.hub.nothing", "program.py:6"] in rows
    assert ["here,", "does", "nothing", "torch.cuda.is_available", "program.py:3"] in rows


def test_a_line_that_waits_for_many_programs_is_told(tmp_path, capfd):
    path = script(
        tmp_path,
        """
        import torch
        x = torch.ones(1, 3)
        for k in range(20):
            x = torch.cat([x, torch.ones(1, 3)])
            (x.cos() * k).sum().item()
        torch.ones(2).exp().sum().item()
        """,
    )

    with override(cache=False, dynamic_sizes=False):
        assert run_script(path) == 0
    rows = [line.split() for line in capfd.readouterr().err.splitlines() if "slow" in line]

    (row,) = rows
    assert row[2:5] == ["programs", "compiled", "in"]
    assert int(row[1]) > 16
    assert row[-1] == "program.py:6"


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [("raise SystemExit", 0, ""), ("exit(7)", 7, ""), ("import sys; sys.exit('no')", 1, "no\n")],
)
def test_exit_codes_are_the_scripts(tmp_path, capfd, ending: str, code: int, said: str):
    assert run_script(script(tmp_path, ending)) == code
    assert capfd.readouterr().err == said


def test_files_beside_the_script_are_found(tmp_path, capfd):
    (tmp_path / "layers_beside.py").write_text("import torch\nones = torch.ones(2)\n")
    path = script(tmp_path, "from layers_beside import ones\nprint(ones.sum().item())")
    searched = list(sys.path)

    assert run_script(path) == 0
    assert capfd.readouterr().out == "2.0\n"
    assert sys.path == searched
    sys.modules.pop("layers_beside")


def test_a_script_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"run: there is no script 'gone.py'"):
        run_script("gone.py")


@pytest.mark.parametrize(
    "words",
    [["--lr", "3", "-v", "x"], ["--help"], ["x", "-h", "--", "--version"]],
    ids=" ".join,
)
def test_the_command_passes_arguments_on(tmp_path, words: list[str]):
    path = script(tmp_path, "import sys, torch; print(sys.argv[1:]); exit(int(torch.tensor(5)))")
    command = [sys.executable, "-m", "gnomon", "run", str(path), *words]

    found = subprocess.run(command, capture_output=True, text=True)

    assert (found.returncode, found.stdout) == (5, f"{words}\n")


@pytest.mark.parametrize(("given", "seen"), [(None, "0"), ("1", "1")])
def test_a_script_has_no_card_unless_it_is_asked_for(tmp_path, monkeypatch, capsys, given, seen):
    monkeypatch.delenv("GNOMON_CUDA", raising=False)
    if given:
        monkeypatch.setenv("GNOMON_CUDA", given)
    (tmp_path / "script.py").write_text("import os; print(os.environ['GNOMON_CUDA'])")

    assert run_script(tmp_path / "script.py") == 0
    assert capsys.readouterr().out == f"{seen}\n"
    assert os.environ.get("GNOMON_CUDA") == given


def package(folder: Path, text: str) -> None:
    """Write a package whose __main__ has a text, and a module beside it."""
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "sizes.py").write_text("import torch\nROWS = torch.zeros(3)\n")
    (folder / "__main__.py").write_text(textwrap.dedent(text))


def test_a_package_runs_as_python_runs_one(tmp_path, capfd, monkeypatch):
    package(
        tmp_path / "whole_program",
        """
        import sys
        from whole_program.sizes import ROWS
        from . import sizes
        print(__name__, sys.argv[0].endswith("__main__.py"), sys.argv[1:], ROWS, sizes.ROWS is ROWS)
        raise SystemExit(4)
        """,
    )
    monkeypatch.chdir(tmp_path)

    assert code_of(["run", "-m", "whole_program", "-m", "--help"]) == 4
    assert capfd.readouterr() == (
        "__main__ True ['-m', '--help'] tensor([0., 0., 0.]) True\n",
        "",
    )
    assert "torch" not in sys.modules


def test_an_error_of_a_module_is_shown_from_its_first_line_on(tmp_path, capfd, monkeypatch):
    package(
        tmp_path / "wrong_program", "import torch\n\n\ndef f():\n    raise ValueError(1)\n\n\nf()\n"
    )
    monkeypatch.chdir(tmp_path)

    assert run_module("wrong_program") == 1
    told = capfd.readouterr().err
    assert "runpy" not in told
    assert "script.py" not in told
    assert told.count("wrong_program/__main__.py") == 2
    assert run_module("no_such_module") == 1
    assert "ImportError: No module named no_such_module" in capfd.readouterr().err
