"""What is written is read, by gguf-py too; a file that it wrote is written again with its bytes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.gguf.writing import LaterArray
from tests.gguf.test_decoding import GOLDEN

pytestmark = pytest.mark.unit

READER = """\
import sys, gguf
for x in gguf.GGUFReader(sys.argv[1]).tensors:
    found = gguf.dequantize(x.data, x.tensor_type)
    print(x.name, x.tensor_type.name, *found.shape, found.tobytes().hex())
"""


def test_a_file_of_gguf_py_has_the_same_bytes_again(tmp_path):
    for name in ("blocks.gguf", "quantized.gguf"):
        file = gn.gguf.load(GOLDEN / name)

        gn.gguf.save(tmp_path / name, file.tensors, file.metadata)

        assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()


def test_quantized_tensors_make_gguf_pys_file(tmp_path):
    tensors = gn.gguf.load(GOLDEN / "quantized.gguf").tensors
    numbers = gn.from_numpy(tensors["numbers"].numpy().copy())
    types = {name: tensor.type.lower() for name, tensor in tensors.items()}

    gn.gguf.save(
        tmp_path / "x.gguf",
        dict.fromkeys(tensors, numbers),
        {"general.architecture": "test"},
        types=types,
    )

    assert (tmp_path / "x.gguf").read_bytes() == (GOLDEN / "quantized.gguf").read_bytes()


def saved(path, metadata=None, tensors=None, **words):
    """A file, written and read."""
    gn.gguf.save(path / "x.gguf", tensors or {}, metadata, **words)
    return gn.gguf.load(path / "x.gguf")


def test_values_are_written_in_the_types_that_hold_them(tmp_path):
    values = {"a": 1, "b": -1, "c": 2**40, "d": -(2**40), "e": 0.5, "f": 1e300, "g": True}
    values |= {"h": np.uint16(7), "i": "text", "j": np.float64(0.1)}

    found = saved(tmp_path, values).metadata

    assert dict(found) == values
    kinds = [type(found[key]) for key in "abcdefghj"]
    assert kinds == [
        *(np.uint32, np.int32, np.uint64, np.int64, np.float32, np.float64, bool),
        *(np.uint16, np.float64),
    ]


def test_lists_become_arrays_of_one_type(tmp_path):
    values = {"a": [1, 2], "b": [1, 2**40], "c": [0.5, 1], "d": [True], "e": ["x", "é"], "f": []}
    values |= {"g": np.array([1, 2], np.uint8), "h": [[1], [0.5]], "i": (np.arange(2), ["x"])}

    found = saved(tmp_path, values).metadata

    dtypes = {key: found[key].dtype.name for key in "abcdg"}
    assert dtypes == {"a": "int32", "b": "int64", "c": "float32", "d": "bool", "g": "uint8"}
    assert (found["e"], found["f"]) == (["x", "é"], [])
    assert [x.tolist() for x in found["h"]] == [[1], [0.5]]
    assert [list(x) for x in found["i"]] == [[0, 1], ["x"]]


def test_tensors_of_every_plain_type_come_back(tmp_path):
    kinds = ("float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64")
    tensors = {kind: gn.arange(6).reshape(2, 3).to(getattr(gn, kind)) for kind in kinds}
    tensors |= {"turned": np.arange(6.0).reshape(2, 3).T, "one": np.float32([3]).reshape(())}
    tensors["none"] = gn.zeros(0, 4)

    found = saved(tmp_path, {}, tensors).tensors

    for name, tensor in tensors.items():
        assert found[name].shape == tuple(tensor.shape)
        assert np.array_equal(found[name].numpy(), np.asarray(tensor))


def test_a_parameter_is_written_and_blocks_are_quantized_anew(tmp_path):
    weight = gn.nn.Parameter(gn.randn(3, 64))
    first = saved(tmp_path, {}, {"w": weight}, types={"w": "Q8_0"}).tensors["w"]

    second = saved(tmp_path, {}, {"w": first}, types={"w": "F16"}).tensors["w"]

    assert second.type == "F16"
    assert np.array_equal(second.numpy(), first.numpy().astype(np.float16))


def test_the_alignment_is_the_one_that_metadata_names(tmp_path):
    tensors = {"a": np.float32([1]), "b": np.float32([2])}

    file = saved(tmp_path, {"general.alignment": 4}, tensors)

    assert (tmp_path / "x.gguf").read_bytes().endswith(np.float32([1, 2]).tobytes())
    assert file.tensors["b"].numpy() == 2


WRONG = {
    "tensor 'w' has dtype uint8": {"tensors": {"w": np.zeros(2, np.uint8)}},
    "tensor 'w' has dtype complex64": {"tensors": {"w": gn.zeros(2, dtype=gn.complex64)}},
    "'w' is list": {"tensors": {"w": [1.0]}},
    "tensor 'w' has 5 axes": {"tensors": {"w": np.zeros((1,) * 5)}},
    r"tensor 'w' of shape \(2, 31\) has rows that are no blocks of 32 as Q8_0": {
        "tensors": {"w": np.zeros((2, 31))},
        "types": {"w": "Q8_0"},
    },
    "tensor 'w' cannot be written as 'Q3_K'": {
        "tensors": {"w": np.zeros((2, 256))},
        "types": {"w": "Q3_K"},
    },
    "tensor 'w' cannot be written as 'F8'": {
        "tensors": {"w": np.zeros(2)},
        "types": {"w": "F8"},
    },
    "tensor 'w' cannot be written as 'I8'": {
        "tensors": {"w": np.zeros(2)},
        "types": {"w": "I8"},
    },
    "tensor 'w': Q8_0 holds no infinities": {
        "tensors": {"w": np.full(32, np.inf)},
        "types": {"w": "Q8_0"},
    },
    "types names 'v', which is no tensor": {"types": {"v": "F32"}},
    "importance names 'v', which is no tensor": {"importance": {"v": np.ones(2)}},
    r"importance of tensor 'w' must be 2 numbers from 0 on, one for each column: got \[1.\]": {
        "tensors": {"w": np.zeros((3, 2))},
        "importance": {"w": [1.0]},
    },
    r"importance of tensor 'w' must be 2 numbers from 0 on.*got \[ 1. -1.\] of shape \(2,\)": {
        "tensors": {"w": np.zeros((3, 2))},
        "importance": {"w": [1.0, -1.0]},
    },
    "importance of tensor 'w' must be 2 numbers": {
        "tensors": {"w": np.zeros((3, 2))},
        "importance": {"w": [1.0, np.nan]},
    },
    "general.alignment is np.uint32": {"metadata": {"general.alignment": 24}},
    "general.alignment is 'x'": {"metadata": {"general.alignment": "x"}},
    "'a' is None": {"metadata": {"a": None}},
    r"'a' is \[1, 'x'\]": {"metadata": {"a": [1, "x"]}},
    "'a' is 1180591620717411303424": {"metadata": {"a": 2**70}},
    r"'a' is \[1180591620717411303424\]": {"metadata": {"a": [2**70]}},
    "'a' is array": {"metadata": {"a": np.zeros((2, 2))}},
    "no text in UTF-8": {"metadata": {"a": "\ud800"}},
    "1 is no text in UTF-8": {"metadata": {1: "x"}},
}


@pytest.mark.parametrize("reason", WRONG)
def test_what_the_format_lacks_is_refused_and_no_file_appears(reason, tmp_path):
    with pytest.raises(ArgumentError, match=rf"gguf\.save: .*{reason}"):
        saved(tmp_path, **WRONG[reason])

    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("wanted", "columns", "taken"),
    [
        *(("Q4_K", 96, "Q5_0"), ("Q5_K", 96, "Q5_1"), ("Q6_K", 96, "Q8_0")),
        *((x, 100, "F16") for x in ("Q4_K", "Q5_K", "Q6_K")),
    ],
)
def test_rows_that_are_no_blocks_take_smaller_ones_and_say_so(wanted, columns, taken, tmp_path):
    tensors = {"a": np.ones((2, 512)), "w": np.ones((2, columns))}

    with pytest.warns(UserWarning, match="gguf.save: tensor") as said:
        file = saved(tmp_path, {}, tensors, types=dict.fromkeys(tensors, wanted))

    assert (file.tensors["a"].type, file.tensors["w"].type) == (wanted, taken)
    assert [str(x.message) for x in said] == [
        f"gguf.save: tensor 'w' of shape (2, {columns}) is written as {taken}: its rows are no "
        f"blocks of 256 as {wanted} has them."
    ]


def test_important_columns_have_smaller_errors(tmp_path, rng):
    numbers, weights = rng.normal(size=(16, 512)), (np.arange(512.0) % 16) ** 4
    types, tensors = {"w": "Q4_K"}, {"w": numbers}

    plain, weighted = (
        saved(tmp_path, {}, tensors, types=types, **given).tensors["w"].numpy()
        for given in ({}, {"importance": {"w": gn.tensor(weights)}})
    )

    errors = [np.sum(weights * np.square(x - numbers)) for x in (plain, weighted)]
    assert errors[1] < 0.9 * errors[0]


def test_an_array_is_made_when_it_is_written(tmp_path):
    made = []

    def make():
        made.append("made")
        return np.ones((2, 32), np.float16)

    file = saved(tmp_path, {}, {"w": LaterArray((2, 32), np.dtype(np.float16), make)})

    assert made == ["made"]
    assert file.tensors["w"].type == "F16"
    assert file.tensors["w"].numpy().tolist() == np.ones((2, 32)).tolist()


def test_a_file_stays_as_it_was_where_writing_fails(tmp_path):
    saved(tmp_path, {"a": 1})

    with pytest.raises(ArgumentError):
        saved(tmp_path, {}, {"w": np.full(32, np.nan)}, types={"w": "Q4_0"})

    assert gn.gguf.load(tmp_path / "x.gguf").metadata["a"] == 1


@pytest.mark.packages
def test_gguf_py_reads_what_was_written(tmp_path):
    python = os.environ.get("GNOMON_PACKAGES_PYTHON", sys.executable)  # one that has gguf
    numbers = np.random.default_rng(5).normal(size=(4, 256)).astype(np.float32)
    types = ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K")
    tensors = {f"w.{x}": numbers for x in types}
    file = saved(
        tmp_path,
        {"general.architecture": "test"},
        tensors,
        types=dict(zip(tensors, types, strict=True)),
    )

    said = subprocess.check_output(
        [python, "-c", READER, str(tmp_path / "x.gguf")], text=True, env={}
    )

    expected = [
        f"{name} {x.type} 4 256 {x.dequantize().numpy().tobytes().hex()}"
        for name, x in file.tensors.items()
    ]
    assert said.splitlines() == expected
