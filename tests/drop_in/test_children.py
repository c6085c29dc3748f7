"""Processes that a script starts know torch by its names, whichever way they start."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

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
