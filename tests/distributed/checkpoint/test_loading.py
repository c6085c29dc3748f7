"""A checkpoint is loaded by any number of ranks in any layout, and checked before it is used."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed.checkpoint as dcp
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import Replicate, Shard, distribute_tensor
from gnomon.errors import CheckpointError, ShapeError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(3)
VALUES = {
    "a": RNG.normal(size=(6, 12)).astype(np.float32),
    "b": RNG.integers(-5, 5, size=(12,)),
    "c": RNG.normal(size=(2, 3, 6)),
}


def over(ranks: int, places: dict[str, list]) -> dict[str, gn.Tensor]:
    """The values, laid over so many ranks."""
    mesh = init_device_mesh("cpu", (ranks,), mesh_dim_names=("ranks",))
    return {x: distribute_tensor(gn.tensor(v), mesh, places[x]) for x, v in VALUES.items()}


def saved(folder: Path) -> None:
    """The values, saved by two ranks."""

    def work(rank: int, ranks: int) -> None:
        laid = over(2, {"a": [Shard(0)], "b": [Replicate()], "c": [Shard(2)]})
        state = {"model": laid, "half": gn.tensor([1 + 2j, 3j]), "narrow": gn.ones(3).bfloat16()}
        dcp.save({**state, "step": 7, "rates": [0.1, 0.2], "empty": {}}, checkpoint_id=folder)

    on_threads(work, 2)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_any_number_of_ranks_in_any_layout_has_the_same_bits(tmp_path: Path, ranks: int):
    saved(tmp_path)

    def work(rank: int, _: int) -> dict:
        model = over(ranks, {"a": [Shard(1)], "b": [Shard(0)], "c": [Replicate()]})
        for each in model.values():
            each.zero_()
        into = {"model": model, "half": gn.zeros(2, dtype=gn.complex64), "step": 0}
        into |= {"narrow": gn.zeros(3, dtype=gn.bfloat16), "rates": None}
        dcp.load(into, checkpoint_id=tmp_path)
        own = into["model"]["a"].to_local()
        part = np.split(VALUES["a"], ranks, 1)[rank]
        assert own.numpy().tobytes() == part.tobytes()
        whole = {name: x.full_tensor().numpy() for name, x in into["model"].items()}
        return {**into, "model": whole}

    for found in on_threads(work, ranks):
        for name, value in VALUES.items():
            assert found["model"][name].tobytes() == value.tobytes()
            assert found["model"][name].dtype == value.dtype
        assert found["half"].tolist() == [1 + 2j, 3j]
        assert found["narrow"].tolist() == [1, 1, 1]
        assert (found["step"], found["rates"]) == (7, [0.1, 0.2])


def test_objects_are_asked_for_their_state(tmp_path: Path):
    class App:
        def __init__(self, model):
            self.model, self.loads = model, 0

        def state_dict(self):
            return {"weights": self.model.state_dict(), "loads": self.loads}

        def load_state_dict(self, state):
            self.model.load_state_dict(state["weights"])
            self.loads = state["loads"] + 1

    first, second = App(gn.nn.Linear(3, 2)), App(gn.nn.Linear(3, 2))
    dcp.save({"app": first}, checkpoint_id=tmp_path)
    into = {"app": second}
    dcp.load(into, checkpoint_id=tmp_path)

    assert into == {"app": second}
    assert second.loads == 1
    assert first.model.weight.equal(second.model.weight)


def test_metadata_tells_of_values(tmp_path: Path):
    saved(tmp_path)
    found = dcp.FileSystemReader(tmp_path).read_metadata().state_dict_metadata

    assert found["model.a"].size == (6, 12)
    assert found["half"].properties.dtype is gn.complex64
    assert found["half"].size == (2,)
    assert isinstance(found["step"], dcp.BytesStorageMetadata)


def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path: Path):
    dcp.save({"x": gn.ones(2), "y": gn.ones(3), "n": 1}, checkpoint_id=tmp_path)
    for into, error, said in [
        ({"x": gn.zeros(2), "z": gn.zeros(1)}, CheckpointError, "Missing key .*: z"),
        ({"x": gn.zeros(2), "y": gn.zeros(4)}, ShapeError, r"saved \(3,\) and current: \(4,\)"),
        ({"x": gn.zeros(2), "n": gn.zeros(1)}, CheckpointError, "n is a tensor here"),
        ({"x": gn.zeros(2), "y": 1}, CheckpointError, "y is no tensor here"),
    ]:
        with pytest.raises((error, CheckpointError), match=said):
            dcp.load(into, checkpoint_id=tmp_path)
        assert into["x"].tolist() == [0, 0]
    into = {"x": gn.zeros(2), "z": gn.zeros(1)}
    dcp.load(into, checkpoint_id=tmp_path, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    assert (into["x"].tolist(), into["z"].tolist()) == ([1, 1], [0])


def spoiled(folder: Path, how: str) -> None:
    """Damage a checkpoint."""
    (tensors,) = folder.glob("*.safetensors")
    (objects,) = folder.glob("*.objects")
    description = folder / "checkpoint.json"
    told = json.loads(description.read_text())
    if how == "partial":
        description.unlink()
    elif how in ("short", "bit", "header"):
        content = bytearray(tensors.read_bytes())
        content[{"short": -1, "bit": -3, "header": 12}[how]] ^= 1
        tensors.write_bytes(content[:-1] if how == "short" else content)
    elif how == "objects":
        objects.write_bytes(objects.read_bytes()[:-1])
    elif how == "gone":
        tensors.unlink()
    elif how == "elsewhere":
        description.write_text(json.dumps({**told, "token": "../../etc/passwd"}))
    elif how == "sums":
        description.write_text(json.dumps({**told, "sums": {"x": "0" * 16}}))
    elif how == "link":
        tensors.rename(folder.parent / "away")
        tensors.symlink_to(folder.parent / "away")
    else:
        description.write_text("[" * 100_000)


@pytest.mark.parametrize(
    "how",
    ["partial", "short", "bit", "header", "objects", "gone", "elsewhere", "sums", "link", "deep"],
)
def test_a_folder_that_changed_is_refused_before_anything_does(tmp_path: Path, how: str):
    folder = tmp_path / "saved"
    dcp.save({"x": gn.ones(5), "n": 1}, checkpoint_id=folder)
    spoiled(folder, how)

    def work(rank: int, ranks: int) -> list[float]:
        into = {"x": gn.zeros(5), "n": 0}
        with pytest.raises(CheckpointError, match="checkpoint: "):
            dcp.load(into, checkpoint_id=folder)
        return [*into["x"].tolist(), into["n"]]

    assert on_threads(work, 2) == [[0] * 6] * 2


def laid_at_random(rng: np.random.Generator, axes: tuple[int, int], x: np.ndarray) -> gn.Tensor:
    """A tensor over a mesh of two axes, each of which divides an axis of it or none."""
    mesh = init_device_mesh("cpu", axes, mesh_dim_names=("outer", "inner"))
    sizes, placements = [*x.shape], []
    for count in axes:
        fits = [k for k, n in enumerate(sizes) if n % count == 0]
        axis = int(rng.choice([-1, *fits]))
        placements.append(Replicate() if axis < 0 else Shard(axis))
        if axis >= 0:
            sizes[axis] //= count
    return distribute_tensor(gn.tensor(x), mesh, placements)


@pytest.mark.parametrize("seed", range(4))
def test_layouts_drawn_at_random(tmp_path: Path, seed: int):
    rng = np.random.default_rng(seed)
    meshes = [(1, 2), (2, 1), (2, 2), (1, 3), (3, 2), (1, 1)]
    first, second = (meshes[k] for k in rng.integers(0, len(meshes), 2))
    values = {
        str(k): rng.integers(0, 100, rng.choice([1, 2, 4, 6, 12], rng.integers(1, 4)))
        for k in range(6)
    }

    def save(rank: int, _: int) -> None:
        mine = np.random.default_rng(seed)
        dcp.save(
            {k: laid_at_random(mine, first, v) for k, v in values.items()}, checkpoint_id=tmp_path
        )

    def load(rank: int, _: int) -> bool:
        mine = np.random.default_rng(seed + 100)
        into = {k: laid_at_random(mine, second, v * 0) for k, v in values.items()}
        dcp.load(into, checkpoint_id=tmp_path)
        return all((x.full_tensor().numpy() == values[k]).all() for k, x in into.items())

    on_threads(save, first[0] * first[1])
    assert all(on_threads(load, second[0] * second[1]))
