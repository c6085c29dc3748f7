"""Ranks write their shares into the same files; every element must belong to one of them."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from gnomon.distributed.checkpoint.parts import DividedTensor
from gnomon.errors import CheckpointError
from gnomon.train.checkpoint import fingerprint, verified
from gnomon.train.checkpoint_contents import aside_of, publish, write_share
from tests.train.saving import arrays_at, contents, save

pytestmark = pytest.mark.unit


def go_on():
    """Nobody asks a writer to stop."""


def written(run, step, arrays, ranks):
    """A checkpoint that so many ranks wrote one after the other, each its share."""
    aside = aside_of(run, step, "0" * 32)
    saved = [contents(step, arrays, (rank, ranks)) for rank in range(ranks)]
    shares = [write_share(aside, x, rank == 0, go_on) for rank, x in enumerate(saved)]
    publish(aside, saved[0], shares, 2)
    return run / "checkpoints" / f"step-{step:08d}"


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_checkpoint_does_not_tell_how_many_ranks_wrote_it(tmp_path, rng, ranks):
    arrays = arrays_at(7, rng)
    (tmp_path / "more").mkdir()
    (tmp_path / "one").mkdir()

    folder = written(tmp_path / "more", 7, arrays, ranks)
    alone = save(tmp_path / "one", contents(7, arrays), 2)

    assert fingerprint(verified(folder).parameters()) == fingerprint(arrays["model"])
    assert {x.name: x.read_bytes() for x in folder.iterdir()} == {
        x.name: x.read_bytes() for x in alone.iterdir()
    }


@pytest.mark.parametrize(("ranks", "said"), [(0, "wrote 0"), (2, "wrote 24")])
def test_elements_that_nobody_or_two_ranks_own_are_refused(tmp_path, rng, ranks, said):
    aside, saved = aside_of(tmp_path, 7, "0" * 32), contents(7, arrays_at(7, rng))
    nothing = DividedTensor((3, 4), np.dtype(np.float32))
    if not ranks:
        model = {**saved.tensors["model"], "w3": nothing}
        saved = dataclasses.replace(saved, tensors={**saved.tensors, "model": model})
    shares = [write_share(aside, saved, True, go_on) for _ in range(max(ranks, 1))]
    if ranks:
        for share in shares:
            share["model"] = {"w3": share["model"]["w3"]}

    name, count = ("w3", 12) if not ranks else ("w0", 3)
    said = said if not ranks else "wrote 0"
    with pytest.raises(CheckpointError, match=rf"{name} has {count} elements: its ranks {said}"):
        publish(aside, saved, shares, 2)
    assert [x.name for x in aside.parent.iterdir()] == [aside.name]


def test_the_manifest_has_a_sum_of_every_tensor_and_a_digest_of_every_other_file(tmp_path, rng):
    arrays = arrays_at(7, rng)

    folder = save(tmp_path, contents(7, arrays), 2)

    told = json.loads((folder / "trainer.json").read_bytes())
    assert {k: sorted(x) for k, x in told["sums"].items()} == {
        k: sorted(x) for k, x in arrays.items()
    }
    assert {*told["sha256"], *told["headers"]} == {x.name for x in folder.iterdir()}
    assert told["format"] == 2
