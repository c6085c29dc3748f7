"""Any rectangle is read, of no more bytes than it has; what is no file of tensors is refused."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from safetensors import numpy as library

from gnomon.distributed.checkpoint.reader import TensorReader
from gnomon.errors import CheckpointError

pytestmark = pytest.mark.unit
INDEX = "model.safetensors.index.json"


def written(folder, arrays, file="model.safetensors"):
    """The index over a file that the library wrote."""
    library.save_file(arrays, folder / file)
    (folder / INDEX).write_text(json.dumps({"weight_map": dict.fromkeys(arrays, file)}))
    return folder / INDEX


def sums(reader):
    """The right sums."""
    return {name: f"{x.sum():016x}" for name, x in reader.items()}


def test_what_the_library_wrote_is_read(tmp_path, rng):
    arrays = {"a": rng.standard_normal((3, 4)).astype(np.float16), "b": np.asarray(3)}

    found = TensorReader(written(tmp_path, arrays))

    assert sorted(found) == ["a", "b"]
    for name, array in arrays.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name][()].tobytes() == np.asarray(found[name]).tobytes() == array.tobytes()


@pytest.mark.parametrize("mesh", [(2, 2), (4, 1), (1, 4), (3, 2), (1, 1)])
def test_a_rank_reads_its_rectangle_and_no_other_byte(tmp_path, rng, mesh):
    array = rng.standard_normal((24, 36)).astype(np.float32)
    path = written(tmp_path, {"w": array, "other": array * 2})
    rows, columns = 24 // mesh[0], 36 // mesh[1]
    for r in range(mesh[0]):
        for c in range(mesh[1]):
            tensor = TensorReader(path)["w"]
            where = (slice(r * rows, (r + 1) * rows), slice(c * columns, (c + 1) * columns))

            assert np.array_equal(tensor[where], array[where])
            assert tensor.bytes_read == array.nbytes // (mesh[0] * mesh[1])


def test_a_rank_never_holds_the_whole_of_what_is_divided(tmp_path):
    array = np.ones((4096, 1024), np.float32)
    reader = TensorReader(written(tmp_path, {"w": array}))
    tracemalloc.start()
    reader["w"][slice(0, 512), slice(None)]
    reader["w"][slice(None), slice(128, 256)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < array.nbytes // 3
    tracemalloc.start()
    reader.verify(sums(reader))
    assert tracemalloc.get_traced_memory()[1] < 12 << 20
    tracemalloc.stop()


def test_a_flipped_bit_is_found_and_named(tmp_path, rng):
    arrays = {f"w{k}": rng.standard_normal((5, 7)).astype(np.float32) for k in range(3)}
    reader = TensorReader(written(tmp_path, arrays))
    right = sums(reader)
    reader.verify(right)
    path = tmp_path / "model.safetensors"
    content = path.read_bytes()
    for place in range(len(content) - 3 * 140, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        name = f"w{(place - len(content) + 3 * 140) // 140}"

        with pytest.raises(CheckpointError, match=rf"tensor {name} of .*model\.safetensors is not"):
            reader.verify(right)


def test_sums_of_other_tensors_are_refused(tmp_path):
    reader = TensorReader(written(tmp_path, {"a": np.ones(3)}))

    with pytest.raises(CheckpointError, match="names other tensors than have sums"):
        reader.verify({**sums(reader), "b": "0" * 16})


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]},
            "tensors where the header has 12",
        ),
        ({"dtype": "F32", "shape": [6], "data_offsets": [0, 25]}, r"tensor a: \[6\] in 25 bytes"),
        ({"dtype": "C64", "shape": [3], "data_offsets": [0, 24]}, "elements of C64"),
        ({"dtype": "F32", "shape": [-6], "data_offsets": [0, 24]}, "tensor a: Expected `int` >= 0"),
        ({"dtype": "F32", "shape": [6], "data_offsets": [4, 28]}, "byte 0 of its tensors"),
        ([1], "tensor a: Expected `object`"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path, told, said):
    path = written(tmp_path, {"a": np.ones(3)})
    text = json.dumps({"a": told}).encode()
    file = tmp_path / "model.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * 24)

    with pytest.raises(CheckpointError, match=rf"model\.safetensors cannot be read: .*{said}"):
        TensorReader(path)


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, b"\2\0\0\0\0\0\0\0", b"\2\0\0\0\0\0\0\0xx"])
def test_a_file_without_a_header_is_refused(tmp_path, content):
    path = written(tmp_path, {"a": np.ones(3)})
    (tmp_path / "model.safetensors").write_bytes(content)

    with pytest.raises(CheckpointError, match=r"model\.safetensors cannot be read"):
        TensorReader(path)


def test_a_file_that_became_shorter_is_told(tmp_path):
    reader = TensorReader(written(tmp_path, {"a": np.ones(3)}))
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])

    with pytest.raises(
        CheckpointError, match=r"model\.safetensors cannot be read: it ends at byte"
    ):
        reader["a"][()]
