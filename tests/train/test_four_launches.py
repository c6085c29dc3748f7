"""A resume is proved by four launches: a reference, its repeat, a resume, and one that must differ.

Each launch is a process, or several ranks; compared are the bytes of the files that hold every
parameter and all of the optimizer's state, and every line of metrics. A resume with a state left
out must be seen to differ, or else the comparison would prove nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from gnomon.distributed.mesh import mesh_of
from tests.children import environment
from tests.train.test_hostile_disk import SMALL, settings

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


def launch(folder: Path, steps: int, *words: str, mesh: str = "") -> None:
    """Train to a step in a process of its own, or on a mesh of several."""
    python = [sys.executable, "-m", "gnomon"]
    if mesh:
        ranks = mesh_of(mesh).size()
        python += ["launch", "-n", str(ranks)]
        words = (*words, "--mesh", mesh)
    run([*python, "train", *words, *reaching(folder, steps)], folder.parent)


def reaching(folder: Path, steps: int) -> list[str]:
    """The words that have a run end after so many steps."""
    return settings(f"run.dir={folder}", f"train.steps={steps}")


def run(command: list[str], folder: Path) -> None:
    """A command that ends well."""
    subprocess.run(
        command, cwd=folder, env=environment(), check=True, capture_output=True, timeout=300
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
    launch(folder / "reference", STEPS, *begun(folder), mesh=meshes[0])
    launch(folder / "repeat", STEPS, *begun(folder), mesh=meshes[1])
    launch(folder / "half", MIDDLE, *begun(folder), mesh=meshes[1])
    launch(copied(folder, "resumed"), STEPS, "--resume", mesh=meshes[2])
    reference = state_of(folder / "reference")
    assert len(reference) == 5
    assert state_of(folder / "repeat") == reference
    assert state_of(folder / "resumed") == reference
    return reference


def begun(folder: Path) -> list[str]:
    """The words that begin a run of a small model, on a corpus that is made when it is missing."""
    corpus = folder / "corpus"
    if not corpus.exists():
        corpus.mkdir()
        for number in range(60):
            lines = [f"def f{n}(x):\n    return x + {n * number % 7}\n\n\n" for n in range(6)]
            (corpus / f"file{number}.py").write_text("".join(lines))
    return ["tiny", *settings(*SMALL, "train.checkpoint_every=2", "run.seed=3")]


def copied(folder: Path, name: str) -> Path:
    """A copy of the run that ended in the middle."""
    return shutil.copytree(folder / "half", folder / name)


LEAVING_OUT = """
from gnomon.__main__ import code_of
from gnomon.train import loop
whole = dict(vars(loop))
for left_out, words in {jobs!r}:
    vars(loop).update(whole)
    exec(left_out)
    assert code_of(["train", "--resume", *words]) == 0, left_out
"""


def without(folder: Path, names: Iterable[str]) -> None:
    """Go on with copies of a run, of each of which a state is left out; one process for all."""
    jobs = [(LEFT_OUT[name], reaching(copied(folder, name), STEPS)) for name in names]
    run([sys.executable, "-c", LEAVING_OUT.format(jobs=jobs)], folder)


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> tuple[Path, dict[str, bytes]]:
    """The folder of three launches that agree, and what they agree on."""
    folder = tmp_path_factory.mktemp("launches")
    wanted = launched(folder, ("", "", ""))
    without(folder, LEFT_OUT)
    return folder, wanted


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_a_resume_is_the_reference_and_one_without_a_state_is_not(reference, left_out):
    folder, wanted = reference

    found = state_of(folder / left_out)

    assert found["model.safetensors"] != wanted["model.safetensors"]
    assert found["metrics"] != wanted["metrics"]


def test_a_run_goes_on_in_another_layout(reference, tmp_path):
    launch(tmp_path / "half", MIDDLE, *begun(tmp_path), mesh="shard=2")
    launch(copied(tmp_path, "resumed"), STEPS, "--resume", mesh="tensor=2")

    assert state_of(tmp_path / "resumed") == reference[1]


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

    without(tmp_path, ["the weights"])

    assert state_of(tmp_path / "the weights") != wanted
