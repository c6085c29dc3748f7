"""What is saved is what is loaded, and nothing that is read runs."""

from __future__ import annotations

import argparse
import io
import json
import os
import pickle
import struct
import zipfile
from collections import Counter, OrderedDict, defaultdict
from datetime import date

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

DICTS = [
    {"a": 1},
    Counter("aab"),
    OrderedDict([(2, [1]), (1, (2,))]),
    defaultdict(None, {1: 2}),
    *(defaultdict(kind, {"b": kind()}) for kind in (list, dict, int, float)),
]


@pytest.mark.parametrize("made", DICTS, ids=lambda made: type(made).__name__)
def test_a_dict_comes_back_as_its_own_kind(made, tmp_path):
    gn.save({"inside": made}, tmp_path / "tree.gn")
    back = gn.load(tmp_path / "tree.gn")["inside"]

    assert (type(back), repr(back)) == (type(made), repr(made))
    assert getattr(back, "default_factory", None) is getattr(made, "default_factory", None)


def test_notes_of_a_state_come_back(tmp_path):
    state = OrderedDict(gn.nn.Linear(1, 1).state_dict())
    state._metadata = OrderedDict({"": {"version": 3}})

    gn.save(state, tmp_path / "state.gn")

    assert gn.load(tmp_path / "state.gn")._metadata == {"": {"version": 3}}


def test_a_dict_of_a_kind_that_no_file_can_name_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="makes its values by <function"):
        gn.save(defaultdict(lambda: 0), tmp_path / "tree.gn")
    path = tmp_path / "tree.gn"
    for kind in ({"kind": "Path"}, {"kind": "defaultdict", "factory": "open"}, {"kind": 3}):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tree.json", json.dumps({"dict": [], **kind}))
        with pytest.raises(ArgumentError, match="no dict is of kind"):
            gn.load(path)


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
    with pytest.raises(ArgumentError, match=r"cannot save generator: .*pickle"):
        gn.save({"x": (k for k in "ab")}, tmp_path / "x.gn")

    assert not (tmp_path / "x.gn").exists()


class Settings(argparse.Namespace):
    """An object whose making is noticed."""

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, made=True)


def test_an_object_comes_back_where_its_class_is_let_in(tmp_path):
    path = tmp_path / "x.gn"
    gn.save([Settings(lr=0.1, x=gn.ones(2)), gn.nn.Linear(2, 3), date(2020, 1, 2)], path)

    with pytest.raises(ArgumentError, match="it holds an object of kind 'Settings'"):
        gn.load(path)
    with (
        gn.serialization.safe_globals([Settings, date]),
        pytest.raises(ArgumentError, match=r"Linear, [^\n]*add_safe_globals\(.Linear.\)"),
    ):
        gn.load(path)
    with gn.serialization.safe_globals([(Settings, f"{__name__}.Settings"), gn.nn.Linear, date]):
        settings, layer, day = gn.load(path)
    assert (settings.lr, settings.x.tolist(), settings.made) == (0.1, [1, 1], True)
    assert layer.weight.shape == (3, 2)
    assert layer.weight.requires_grad
    assert day == date(2020, 1, 2)


def test_an_object_that_is_let_in_calls_nothing_else(tmp_path):
    path, inner = tmp_path / "x.gn", (gn.ones(2).__reduce_ex__(2)[0], (list, None, True, None))
    gn.save([Caller(os.getcwd, ()), Caller(*inner)], path)

    with gn.serialization.safe_globals([Settings]), pytest.raises(ArgumentError, match="getcwd"):
        gn.load(path)
    gn.save([Caller(*inner)], path)
    with gn.serialization.safe_globals([Settings]), pytest.raises(ArgumentError, match="takes a"):
        gn.load(path)


class Caller:
    """An object whose pickle calls a function."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def test_an_object_comes_back_where_its_file_is_trusted(tmp_path):
    model, path = gn.nn.Sequential(gn.nn.Linear(2, 3), gn.nn.BatchNorm1d(3)), tmp_path / "x.gn"
    gn.save({"model": model, "args": argparse.Namespace(lr=0.1), "x": gn.ones(2)}, path)

    with pytest.raises(ArgumentError, match=r"x\.gn: it holds an object of kind 'Sequential'"):
        gn.load(path)
    back = gn.load(path, weights_only=False)

    assert back["args"] == argparse.Namespace(lr=0.1)
    assert isinstance(back["model"][0].weight, gn.nn.Parameter)
    assert back["model"].eval()(gn.ones(1, 2)).tolist() == model.eval()(gn.ones(1, 2)).tolist()


def test_a_file_of_ours_is_mapped(tmp_path):
    gn.save({"x": gn.arange(6).reshape(2, 3)}, tmp_path / "x.gn")

    assert gn.load(tmp_path / "x.gn", mmap=True)["x"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "pickled").write_bytes(pickle.dumps([1]))
    with zipfile.ZipFile(tmp_path / "zipped", "w") as archive:
        archive.writestr("other", "text")

    for name in ("pickled", "zipped"):
        with pytest.raises(ArgumentError, match=rf"load: \S+/{name} is not a file that gn\.save"):
            gn.load(tmp_path / name)


def test_a_missing_file_is_pythons_own_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        gn.load(tmp_path / "nothing")


def zipped(tree: object, *members: bytes, how: int = zipfile.ZIP_STORED) -> io.BytesIO:
    """A file that nobody saved."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as archive:
        archive.writestr("tree.json", tree if isinstance(tree, str) else json.dumps(tree))
        for number, member in enumerate(members):
            archive.writestr(f"tensors/{number}", member)
    return file


def tensor(shape: object, dtype: object = "uint8", number: object = 0) -> dict:
    """How a tensor is written."""
    return {"tensor": number, "shape": shape, "dtype": dtype}


@pytest.mark.parametrize(
    ("tree", "members", "said"),
    [
        (tensor([-1]), [b"abc"], r"tensor 0 has shape \[-1\] and dtype 'uint8'"),
        (tensor([1.5]), [b"abc"], r"tensor 0 has shape \[1\.5\]"),
        (tensor([True, 3]), [b"abc"], r"tensor 0 has shape \[True, 3\]"),
        (tensor([3], "object"), [b"abc"], "and dtype 'object'"),
        (tensor([3], "(2,)f4"), [b"abc"], "and dtype"),
        (tensor([4]), [b"abc"], r"tensor 0 has 3 bytes for shape \[4\] of uint8"),
        (tensor([2**62, 4]), [b"abc"], "tensor 0 has 3 bytes"),
        (tensor([0, 2**70]), [b""], "Maximum allowed dimension exceeded"),
        (tensor([2], "bool"), [b"\0\2"], "tensor 0 has truths other than 0 and 1"),
        (tensor([3], number=1), [b"abc"], "There is no item named 'tensors/1'"),
        ({"list": [tensor([3]), tensor([1, 3])]}, [b"abc"], "tensor 0 is said to be of two kinds"),
        ({"object": "x"}, [], "no value is written like {'object': 'x'}"),
        ([1, 2], [], r"no value is written like \[1, 2\]"),
        ({"dict": [[{"list": []}, 1]]}, [], r"\[\] is a key"),
        ({"dict": [[1]]}, [], "no value is written like"),
        ({"dtype_of": "float31"}, [], "no value is written like"),
        ('{"list": [], "list": []}', [], "an object has a key twice"),
        ('{"list": ' * 5000 + "1" + "}" * 5000, [], "recursion"),
        ("nonsense", [], "Expecting value"),
    ],
)
def test_a_tree_that_does_not_fit_its_tensors_is_refused(tree, members, said):
    with pytest.raises(ArgumentError, match=rf"load: the file is not .* damaged: .*{said}"):
        gn.load(zipped(tree, *members))


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_is_not_unpacked(how):
    file = zipped(tensor([10**7]), bytes(10**7), how=how)

    assert len(file.getvalue()) < 20_000
    with pytest.raises(ArgumentError, match=r"damaged: (tree\.json|tensors/0) is compressed"):
        gn.load(file)


def test_members_that_share_their_bytes_are_not_read_again_and_again():
    file, count = zipped({"list": [tensor([10_000], number=k) for k in range(9)]}, bytes(10_000)), 9
    content = file.getvalue()
    start = content.index(b"PK\1\2")
    at, end = content.index(b"PK\1\2", start + 1), content.index(b"PK\5\6")
    entry = content[at:end]
    entries = [entry.replace(b"tensors/0", b"tensors/%d" % k) for k in range(count)]
    listed = content[start:at] + b"".join(entries)
    numbers = struct.pack("<HHIIH", count + 1, count + 1, len(listed), start, 0)
    made = content[:start] + listed + content[end : end + 8] + numbers

    with pytest.raises(ArgumentError, match="its members have more bytes than the file"):
        gn.load(io.BytesIO(made))


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ArgumentError, match="not a plain file"):
        gn.load(tmp_path / "pipe")


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "x.gn"
    gn.save({"x": 1}, path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))

    with pytest.raises(OSError, match=r"No space left: .*x\.gn"):
        gn.save({"x": gn.ones(3)}, path)

    assert gn.load(path) == {"x": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_tensor_comes_back(tmp_path):
    gn.save(gn.zeros(0, 3), tmp_path / "x.gn")

    assert np.shape(gn.load(tmp_path / "x.gn").numpy()) == (0, 3)
