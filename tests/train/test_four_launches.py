"""A resume is proved by four launches: a reference, its repeat, a resume, and one that must differ.

Each launch is a process, or several ranks; compared are the bytes of the files that hold every
parameter and all of the optimizer's state, and every line of metrics. A resume with a state left
out must be seen to differ, or else the comparison would prove nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from math import prod
from pathlib import Path

import pytest

from gnomon.distributed.mesh import mesh_of
from tests.train.test_hostile_disk import ROOT, SMALL, settings

STEPS, MIDDLE = 4, 2
LEFT_OUT = {
    "the averages and counts of AdamW": "loop.load_optimizer = lambda *a, **k: None",
    "the weights": (
        "loop.load_parameters = lambda *a, **k: loop.kind_of(a[0].config).initialize(a[0], 1)"
    ),
    "the loader's number": (
        "read = loop.batch_at; loop.batch_at = lambda t, s, seed, step: read(t, s, seed, step - 2)"
    ),
    "the place in the schedule": (
        "f = loop.factor_at; loop.factor_at = lambda step, config: f(step - 2, config)"
    ),
}


def launch(folder: Path, steps: int, *words: str, mesh: str = "", broken: str = "pass") -> None:
    """Train to a step in a process of its own, or on a mesh of several."""
    script = folder.with_suffix(".py")
    script.write_text(
        f"from gnomon.train import loop\n{broken}\nfrom gnomon.__main__ import main\nmain()\n"
    )
    python = [sys.executable]
    if mesh:
        ranks = prod(count for _, count in mesh_of(mesh).axes)
        python += ["-m", "gnomon", "launch", "-n", str(ranks)]
        words = (*words, "--mesh", mesh)
    changes = settings(f"run.dir={folder}", f"train.steps={steps}")
    subprocess.run(
        [*python, str(script), "train", *words, *changes],
        cwd=folder.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        timeout=300,
    )


def state_of(folder: Path) -> dict[str, bytes]:
    """The bytes of the last checkpoint's tensors, and of what metrics say of learning."""
    last = folder / "checkpoints" / f"step-{STEPS:08d}"
    found = {x.name: x.read_bytes() for x in last.glob("*.safetensors*")}
    rows = [json.loads(x) for x in (folder / "metrics.jsonl").read_text().splitlines()]
    learned = ("step", "loss", "learning_rate", "gradient_norm", "tokens")
    found["metrics"] = json.dumps([[row[name] for name in learned] for row in rows]).encode()
    return found


def launched(folder: Path, meshes: tuple[str, str, str]) -> dict[str, bytes]:
    """Let a reference, its repeat and a resume take place, each on a mesh, and compare."""
    (folder / "corpus").mkdir()
    for number in range(60):
        lines = [f"def f{n}(x):\n    return x + {n * number % 7}\n\n\n" for n in range(6)]
        (folder / "corpus" / f"file{number}.py").write_text("".join(lines))
    begun = ["tiny", *settings(*SMALL, "train.checkpoint_every=2", "run.seed=3")]
    launch(folder / "reference", STEPS, *begun, mesh=meshes[0])
    launch(folder / "repeat", STEPS, *begun, mesh=meshes[1])
    launch(folder / "half", MIDDLE, *begun, mesh=meshes[1])
    resume(folder / "half", folder / "resumed", mesh=meshes[2])
    reference = state_of(folder / "reference")
    assert len(reference) == 5
    assert state_of(folder / "repeat") == reference
    assert state_of(folder / "resumed") == reference
    return reference


def resume(half: Path, folder: Path, **more: object) -> None:
    """Go on with a copy of a run."""
    launch(shutil.copytree(half, folder), STEPS, "--resume", **more)


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> tuple[Path, dict[str, bytes]]:
    """The folder of three launches that agree, and what they agree on."""
    folder = tmp_path_factory.mktemp("launches")
    return folder, launched(folder, ("", "", ""))


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_a_resume_is_the_reference_and_one_without_a_state_is_not(reference, left_out):
    folder, wanted = reference

    broken = folder / left_out
    resume(folder / "half", broken, broken=LEFT_OUT[left_out])

    found = state_of(broken)
    assert found["model.safetensors"] != wanted["model.safetensors"]
    assert found["metrics"] != wanted["metrics"]


def test_a_run_goes_on_in_another_layout(tmp_path):
    launched(tmp_path, ("", "shard=2", "tensor=2"))


@pytest.mark.long
@pytest.mark.parametrize(
    "meshes",
    [
        ("", "data=2", "data=4"),
        ("data=4", "shard=2", ""),
        ("shard=4", "tensor=2", "data=2,tensor=2"),
        ("data=2,shard=2", "data=2,tensor=2", "shard=2,tensor=2"),
    ],
)
def test_the_same_between_layouts(meshes, tmp_path):
    wanted = launched(tmp_path, meshes)

    resume(tmp_path / "half", tmp_path / "broken", mesh=meshes[1], broken=LEFT_OUT["the weights"])

    assert state_of(tmp_path / "broken") != wanted
