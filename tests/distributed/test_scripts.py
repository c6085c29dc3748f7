"""Scripts for torchrun, with `gnomon` for `torch`, and an example, launched on several ranks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.children import ROOT, environment

SCRIPT = Path(__file__).parent / "scripts" / "gpt.py"


def launched(ranks: int, *words: str) -> str:
    """What a script says on several ranks."""
    command = [sys.executable, "-m", "gnomon", "launch", "-n", str(ranks), "python", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script_for_torchrun_trains_on_two_ranks(tmp_path: Path):
    text = SCRIPT.read_text(encoding="utf-8")
    text = re.sub(r"^import torch$", "import gnomon as torch", text, flags=re.MULTILINE)
    text = re.sub(r"^(import|from) torch\b", r"\1 gnomon", text, flags=re.MULTILINE)
    script = tmp_path / "gpt.py"
    script.write_text(text, encoding="utf-8")

    plain, compiled = launched(2, str(script)), launched(2, str(script), "compile")

    assert plain.startswith("2 ranks: loss ")
    assert compiled == plain


def test_ranks_take_a_turn_around_a_ring():
    assert launched(4, "examples/ring.py").startswith("4 ranks took a turn of 3 steps: ")
