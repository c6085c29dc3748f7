"""What is saved is what is loaded, and nothing that is read runs."""

from __future__ import annotations

import io
import pickle
import zipfile

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError


def test_nested_values_come_back_as_they_were(tmp_path):
    x = gn.tensor([[1.0, -0.0], [2.5, 3.0]])
    tree = {
        "x": x,
        "again": [x, (gn.arange(3), None, True, 1.5)],
        7: gn.float16,
        "narrow": x.to(gn.bfloat16),
    }

    gn.save(tree, tmp_path / "tree.gn")
    back = gn.load(tmp_path / "tree.gn")

    assert list(back) == ["x", "again", 7, "narrow"]
    assert back["x"].numpy().tobytes() == x.numpy().tobytes()
    assert back["again"][0] is back["x"]
    assert back["again"][1][1:] == (None, True, 1.5)
    assert back[7] is gn.float16
    assert back["narrow"].dtype is gn.bfloat16
    assert [path.name for path in tmp_path.iterdir()] == ["tree.gn"]


def test_a_file_object_will_do():
    file = io.BytesIO()

    gn.save([gn.arange(2)], file)

    assert gn.load(io.BytesIO(file.getvalue()))[0].tolist() == [0, 1]


def test_an_object_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="cannot save object"):
        gn.save({"x": object()}, tmp_path / "x.gn")

    assert not (tmp_path / "x.gn").exists()


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "pickled").write_bytes(pickle.dumps([1]))
    with zipfile.ZipFile(tmp_path / "zipped", "w") as archive:
        archive.writestr("other", "text")

    for name in ("pickled", "zipped"):
        with pytest.raises(ArgumentError, match="not a file that gn"):
            gn.load(tmp_path / name)
