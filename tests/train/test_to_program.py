"""From a run to a GGUF file in blocks, to a program file, to what it says."""

from __future__ import annotations

import io
import sys

import gnomon as gn
from gnomon.commands import called
from gnomon.export import load_program

SIZES = {"hidden_size": 256, "intermediate_size": 256, "head_dim": 128, "vocab_size": 300}
RUN = {"steps": 2, "batch_size": 2, "evaluate_every": 0}


def said(monkeypatch, capsys, place, *words):
    """The text that follows a line, by a file."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("def f1\n"))
    words = ("--temperature", "0", "--max-new-tokens", "6", *words)
    assert called(["complete", str(place), *words]) == 0
    return capsys.readouterr().out


def test_a_run_of_a_recipe_becomes_a_program_that_talks(
    folder, cached, tmp_path, monkeypatch, capsys
):
    run, packed, program = tmp_path / "run", tmp_path / "x.gguf", tmp_path / "x.gnp"
    changes = {f"model.{name}": value for name, value in SIZES.items()}
    changes |= {f"train.{name}": value for name, value in RUN.items()}
    changes |= {"run.dir": run, "corpus.folder": folder, "sample.max_new_tokens": 1}
    changes |= {"evaluation.quick_windows": 1, "corpus.held_out_percent": 10}
    sets = [word for name, value in changes.items() for word in ("--set", f"{name}={value}")]
    assert called(["train", "tiny", *sets]) == 0
    assert called(["gguf", str(run), str(packed)]) == 0
    types = {x.type for x in gn.gguf.load(packed).tensors.values() if len(x.shape) == 2}
    assert types == {"Q4_K", "Q6_K"}
    assert called(["program", str(packed), str(program), "--context", "48"]) == 0
    assert "x.gnp: " in capsys.readouterr().out

    loaded = load_program(program)
    blocks = [kind for kind in loaded.kinds if kind.name == "uint8"]
    assert len(blocks) >= 15  # matrices lie in the file as GGUF has them
    assert len(loaded.state) == 4
    assert all(x.shape[2] == 48 for x in loaded.state.values())
    assert said(monkeypatch, capsys, program) == said(monkeypatch, capsys, packed)
