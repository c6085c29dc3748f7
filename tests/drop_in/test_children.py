"""Processes that a script starts know torch by its names, whichever way they start."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from gnomon.drop_in import children
from tests.children import environment

PROGRAM = """
import os, sys
import beside
import torch
import torch.multiprocessing as mp
from torch.multiprocessing.spawn import ProcessRaisedException

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))

def inner(weight):
    with torch.no_grad():
        weight[2] = 3

def train(rank, net, folder):
    assert os.path.samefile(os.getcwd(), folder)
    assert torch.__version__.endswith("gnomon") and sys.argv[1:] == ["--rate", "2"]
    with torch.no_grad():
        net.weight[rank] += beside.rate
    if rank:
        child = mp.get_context("spawn").Process(target=inner, args=(net.weight,))
        child.start()
        child.join()

def fail(rank):
    raise KeyError("no")

if __name__ == "__main__":
    mp.set_start_method(sys.argv[2] if len(sys.argv) > 3 else "spawn", force=True)
    os.chdir("away")
    net = Net()
    net.share_memory()
    mp.spawn(train, (net, os.getcwd()), nprocs=2)
    print(net.weight.tolist())
    try:
        mp.spawn(fail)
    except ProcessRaisedException as error:
        print(str(error).strip().splitlines()[-1], error.error_index)
"""


def test_a_new_interpreter_imports_the_script_again(tmp_path: Path):
    (tmp_path / "away").mkdir()
    (tmp_path / "beside.py").write_text("import torch\nrate = torch.tensor(2.0)\n")
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    command = [sys.executable, "-m", "gnomon", "run", "program.py", "--rate", "2"]

    found = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300
    )

    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout == "[2.0, 2.0, 3.0]\nKeyError: 'no' 0\n"


LAUNCHER = """
import os, subprocess, sys
import torch

if "RANK" not in os.environ:
    for rank in (1, 0):
        command = [sys.executable, "-u", os.path.abspath(sys.argv[0]), "--rate", "2"]
        subprocess.run(command, env={**os.environ, "RANK": str(rank)}, check=True)
    found = subprocess.run([sys.executable, "-c", "print(2)"], capture_output=True, text=True)
    print(found.stdout.strip())
else:
    print(os.environ["RANK"], torch.__version__.partition("+")[2], sys.argv[1:], flush=True)
"""


def test_files_that_a_script_starts_as_commands_find_the_names_too(tmp_path: Path):
    """As launchers of ranks start them."""
    (tmp_path / "program.py").write_text(LAUNCHER)
    command = [sys.executable, "-m", "gnomon", "run", "program.py"]

    found = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300
    )

    assert (found.stderr, found.returncode) == ("", 0)
    assert found.stdout.splitlines() == [f"{k} gnomon ['--rate', '2']" for k in (1, 0)] + ["2"]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ([sys.executable, "a.py", "b.py"], 1),
        ([sys.executable, "-u", Path("a.py")], 2),
        ((sys.executable, "-O", "-B", "a.py"), 3),
        ([sys.executable, "-m", "pip", "a.py"], 0),
        ([sys.executable, "-c", "a.py"], 0),
        ([sys.executable, "-W", "error", "a.py"], 0),
        ([sys.executable, "a.txt"], 0),
        ([sys.executable], 0),
        (["python3.99", "a.py"], 0),
        (["ls", "a.py"], 0),
        ([sys.executable, b"a.py"], 0),
        ("python a.py", 0),
    ],
)
def test_only_python_files_of_this_interpreter_are_run_so(command, file: int):
    made = children.through_gnomon(command)

    if file:
        words = list(map(str, command))
        assert made == [*words[:file], "-m", "gnomon", "run", *words[file:]]
    else:
        assert made is command
