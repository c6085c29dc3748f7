"""Files of the kind that gn.save wrote before: what was saved is loaded, and nothing of it runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import zipfile
from argparse import Namespace
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor.copies import restored


class Made(Namespace):
    """An object whose making is noticed."""

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, made=True)


class Caller:
    """An object whose pickle calls a function."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


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


def test_a_file_of_the_kind_is_read():
    x = np.arange(6, dtype=np.float32)
    written = {"tensor": 0, "shape": [2, 3], "dtype": "float32"}
    lists = {"list": [written, {"tuple": [None, True, 1.5]}, {"dtype_of": "float16"}]}
    tree = {"dict": [["x", written], [7, lists]]}

    back = gn.load(zipped(tree, x.tobytes()))

    assert list(back) == ["x", 7]
    assert back["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert back[7] == [back["x"], (None, True, 1.5), gn.float16]
    assert back[7][0] is back["x"]


@pytest.mark.parametrize(
    ("notes", "meant"),
    [
        ({"kind": "Counter"}, Counter(a=2)),
        ({"kind": "OrderedDict", "metadata": {"dict": [["v", 1]]}}, OrderedDict(a=2)),
        ({"kind": "defaultdict", "factory": None}, defaultdict(None, a=2)),
        ({"kind": "defaultdict", "factory": "list"}, defaultdict(list, a=2)),
    ],
    ids=str,
)
def test_a_dict_has_the_kind_that_is_noted(notes, meant):
    back = gn.load(zipped({"dict": [["a", 2]], **notes}))

    assert repr(back) == repr(meant)
    assert getattr(back, "_metadata", {"v": 1}) == {"v": 1}


@pytest.mark.parametrize(
    "notes", [{"kind": "Path"}, {"kind": "defaultdict", "factory": "open"}, {"kind": 3}], ids=str
)
def test_a_dict_of_an_unknown_kind_is_refused(notes):
    with pytest.raises(ArgumentError, match="no dict is of kind"):
        gn.load(zipped({"dict": [], **notes}))


def with_object(value: object) -> io.BytesIO:
    """A file that holds an object."""
    file = zipped({"object": 0, "kind": type(value).__name__})
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("objects/0", pickle.dumps(value))
    return file


def test_an_object_comes_back_where_its_class_is_let_in():
    file = with_object(Made(lr=0.1, x=gn.ones(2), layer=gn.nn.Linear(2, 3)))

    with pytest.raises(ArgumentError, match="it holds an object of kind 'Made'"):
        gn.load(file)
    assert gn.load(file, weights_only=False).made
    with gn.serialization.safe_globals([Made, gn.nn.Linear]):
        back = gn.load(file)
    assert (back.lr, back.x.tolist(), back.made) == (0.1, [1, 1], True)
    assert back.layer.weight.requires_grad


@pytest.mark.parametrize(
    ("call", "said"),
    [((os.getcwd, ()), "getcwd"), ((restored, (list, None, True, None)), "takes a")],
    ids=["os", "ours"],
)
def test_an_object_that_is_let_in_calls_nothing_else(call, said):
    with gn.serialization.safe_globals([Made]), pytest.raises(ArgumentError, match=said):
        gn.load(with_object(Caller(*call)))
