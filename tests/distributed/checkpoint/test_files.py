"""Files follow from names, shapes and dtypes; any mesh writes the same bytes of them."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
import safetensors
from safetensors import numpy as library

from gnomon.distributed.checkpoint.files import index, planned, write_headers, write_parts
from gnomon.distributed.checkpoint.parts import DividedTensor, TensorPart, owned
from gnomon.distributed.device_mesh import DeviceMesh

pytestmark = pytest.mark.unit


def go_on():
    """Nobody asks a writer to stop."""


def tensors(rng):
    """A few arrays of several types and sizes."""
    return {
        "a.weight": rng.standard_normal((6, 10)).astype(np.float32),
        "b.half": rng.standard_normal((3, 5)).astype(ml_dtypes.bfloat16),
        "c.step": np.asarray(3, np.float32),
        "d.empty": np.zeros((0, 4), np.float32),
        "e.count": np.arange(5),
        "f.flag": np.array([True, False, True]),
    }


def spread(arrays, rank, ranks):
    """The share of one of several ranks that all have the arrays."""
    mesh = DeviceMesh.of({"data": ranks})
    return {name: owned(x, x.shape, (), mesh, rank) for name, x in arrays.items()}


def cut(array, rows, columns):
    """Every rank's share of an array that a mesh of rows x columns divides."""
    shares = []
    for r in range(rows):
        for c in range(columns):
            part = np.array_split(np.array_split(array, rows, 0)[r], columns, 1)[c]
            first = sum(len(x) for x in np.array_split(array, rows, 0)[:r])
            left = sum(x.shape[1] for x in np.array_split(array, columns, 1)[:c])
            shares.append((TensorPart((first, left), part),))
    return shares


def write_all(folder, shares, largest=0):
    """Let every rank write its share; the bytes of each file."""
    folder.mkdir()
    for rank, share in enumerate(shares):
        files = planned("model", share, largest)
        if rank == 0:
            write_headers(folder, files)
        write_parts(folder, files, share, go_on)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_library_reads_what_is_written(tmp_path, rng):
    arrays = tensors(rng)

    write_all(tmp_path / "x", [spread(arrays, 0, 1)])

    with safetensors.safe_open(tmp_path / "x" / "model.safetensors", "np") as file:
        assert file.metadata() == {"format": "pt"}
        for name, array in arrays.items():
            found = file.get_tensor(name)
            assert (found.dtype, found.shape) == (array.dtype, array.shape)
            assert found.tobytes() == array.tobytes()


def test_the_header_is_what_the_library_would_write_or_as_good(tmp_path, rng):
    arrays = {f"w{k}": rng.standard_normal((2, 3)).astype(np.float32) for k in range(3)}

    (file,) = planned("model", spread(arrays, 0, 1))

    theirs = library.save(arrays, metadata={"format": "pt"})
    size = int.from_bytes(theirs[:8], "little")
    assert json.loads(file.header[8:]) == json.loads(theirs[8 : 8 + size])
    assert len(file.header) % 8 == 0


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_any_number_of_ranks_writes_the_same_bytes(tmp_path, rng, ranks):
    arrays = tensors(rng)
    alone = write_all(tmp_path / "one", [spread(arrays, 0, 1)], 60)
    together = write_all(tmp_path / "more", [spread(arrays, r, ranks) for r in range(ranks)], 60)

    assert together == alone
    assert len(alone) == 3


@pytest.mark.parametrize("mesh", [(2, 2), (1, 3), (4, 1), (3, 2)])
def test_rectangles_make_the_same_files_and_the_same_sums(tmp_path, rng, mesh):
    array = rng.standard_normal((13, 11)).astype(np.float32)
    whole = spread({"w": array}, 0, 1)
    alone = write_all(tmp_path / "one", [whole])
    shares = [{"w": DividedTensor(array.shape, array.dtype, parts)} for parts in cut(array, *mesh)]

    assert write_all(tmp_path / "cut", shares) == alone
    files = planned("model", whole)
    wanted = write_parts(tmp_path / "one", files, whole, go_on)
    sums = [write_parts(tmp_path / "cut", files, share, go_on)["w"] for share in shares]
    assert (sum(x for x, _ in sums) % (1 << 64), sum(n for _, n in sums)) == wanted["w"]


def test_the_index_names_the_file_of_every_tensor(rng):
    share = spread(tensors(rng), 0, 1)

    found = index(planned("model", share, 60), share)

    assert list(found["weight_map"]) == sorted(share)
    assert set(found["weight_map"].values()) == {
        f"model-0000{k}-of-00003.safetensors" for k in (1, 2, 3)
    }
    assert found["metadata"] == {"total_size": 6 * 10 * 4 + 15 * 2 + 4 + 40 + 3}


def test_a_writer_can_be_told_to_stop(tmp_path, rng):
    def stop():
        raise StopIteration

    share = spread(tensors(rng), 0, 1)
    with pytest.raises(StopIteration):
        write_parts(tmp_path, planned("model", share), share, stop)
