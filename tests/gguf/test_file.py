"""A file is opened without reading its tensors, and gives them when they are used."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from tests.children import environment
from tests.gguf.parts import U8, entry, file_of, key
from tests.gguf.test_decoding import GOLDEN, bits

pytestmark = pytest.mark.unit


def opened(folder, content: bytes):
    """A file of these bytes, open."""
    (folder / "x.gguf").write_bytes(content)
    return gn.gguf.load(folder / "x.gguf")


def test_importing_gnomon_does_not_load_it():
    program = "import sys, gnomon as gn; print('gnomon.gguf' in sys.modules); gn.gguf.load"
    command = [sys.executable, "-c", program]

    said = subprocess.check_output(command, text=True, env=environment())

    assert said.strip() == "False"


@pytest.mark.parametrize("name", ["F32", "F16", "F64", "BF16", "I8", "I16", "I32", "I64"])
def test_plain_numbers_are_gguf_pys(name):
    expected = np.load(GOLDEN / "blocks.npz")[f"plain.{name}"]

    tensor = gn.gguf.load(GOLDEN / "blocks.gguf").tensors[f"plain.{name}"]
    found = tensor.numpy()

    assert found.dtype == (gn.bfloat16 if name == "BF16" else expected.dtype)
    widened = found.astype(expected.dtype)
    assert np.array_equal(bits(widened), bits(expected))
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1
    with np.errstate(over="ignore"):
        assert np.array_equal(bits(tensor.dequantize().numpy()), bits(expected.astype(np.float32)))


def test_metadata_of_every_type_is_gguf_pys():
    found = gn.gguf.load(GOLDEN / "blocks.gguf").metadata

    assert found["general.architecture"] == "test"
    for width in (8, 16, 32, 64):
        assert found[f"test.u{width}"] == 2**width - 1
        assert found[f"test.i{width}"] == -(2 ** (width - 1))
        assert found[f"test.u{width}"].dtype == f"u{width // 8}"
    assert found["test.f32"] == np.float32(0.1)
    assert found["test.f64"] == np.float64(0.1)
    assert found["test.bool"] is True
    assert found["test.string"] == "naïve 🙂"
    assert found["test.integers"].tolist() == [1, -2, 3]
    assert found["test.floats"].tolist() == [0.5, 1.5]
    assert found["test.truths"].tolist() == [True, False]
    assert found["test.strings"] == ["a", "", "bc"]


def test_shapes_are_numpys_and_bytes_are_the_files(tmp_path):
    content = bytes(range(3 * 2 * 34))
    file = opened(tmp_path, file_of([key("k", U8, b"\1")], [entry("w", (64, 3), 8)], content))
    tensor = file.tensors["w"]

    assert (tensor.shape, tensor.type, tensor.nbytes) == ((3, 64), "Q8_0", 3 * 2 * 34)
    assert tensor.packed.shape == (3, 2 * 34)
    assert tensor.packed.tobytes() == content
    assert tensor.dequantize().shape == (3, 64)
    assert tensor.dequantize().dtype is gn.float32
    assert repr(tensor) == "GGUFTensor('w', Q8_0, (3, 64))"
    assert repr(file).endswith("x.gguf', 1 tensors, 1 keys)")


def test_numbers_without_axes_and_of_no_elements(tmp_path):
    entries = [entry("one", (), 25), entry("none", (32, 0), 8, 32)]
    tensors = opened(tmp_path, file_of([], entries, b"\5\0")).tensors

    assert tensors["one"].numpy() == np.int16(5)
    assert tensors["one"].packed.shape == (2,)
    assert tensors["none"].dequantize().shape == (0, 32)


def test_a_tensor_outlives_its_file(tmp_path):
    found = opened(tmp_path, file_of([], [entry("w")], b"\0\0\x80?" * 2)).tensors["w"].numpy()
    (tmp_path / "x.gguf").unlink()

    assert found.tolist() == [1.0, 1.0]


def test_types_that_are_not_decoded_are_refused_when_used(tmp_path):
    entries = [entry("q", (256,), 10), entry("u", (7,), 77, 96)]
    tensors = opened(tmp_path, file_of([], entries, bytes(97))).tensors

    assert tensors["q"].packed.shape == (84,)
    for refused in (tensors["q"].numpy, tensors["q"].dequantize):
        with pytest.raises(ArgumentError, match=r"x\.gguf: Q2_K, the type of tensor 'q', is not"):
            refused()
    assert repr(tensors["u"]) == "GGUFTensor('u', type 77, (7,))"
    for unknown in (lambda x: x.nbytes, lambda x: x.packed, lambda x: x.numpy()):
        with pytest.raises(ArgumentError, match="type 77, the type of tensor 'u'"):
            unknown(tensors["u"])


def test_nothing_can_be_changed(tmp_path):
    file = opened(tmp_path, file_of([], [entry("w")], bytes(8)))

    with pytest.raises(TypeError):
        file.metadata["a"] = 1
    with pytest.raises(TypeError):
        file.tensors["v"] = file.tensors["w"]
    with pytest.raises(ValueError, match="read-only"):
        file.tensors["w"].packed[0] = 1


def test_what_is_no_such_file_is_refused_by_name(tmp_path):
    for content in (b"", b"x" * 100, file_of()[:20]):
        with pytest.raises(ArgumentError, match=r"gguf\.load: .*x\.gguf is no GGUF file, or was d"):
            opened(tmp_path, content)
    with pytest.raises(FileNotFoundError):
        gn.gguf.load(tmp_path / "absent.gguf")
    with pytest.raises(ArgumentError, match="not a plain file"):
        gn.gguf.load(tmp_path)
