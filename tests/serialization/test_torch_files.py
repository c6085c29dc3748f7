"""Files of PyTorch's: tensors as they were, and nothing else that a file asks for."""

from __future__ import annotations

import argparse
import io
import os
import pickle
import zipfile
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from tests.torch_writer import Global, Saved, older, zipped

BOTH = pytest.mark.parametrize("write", [zipped, older])
NUMBERS = np.arange(12, dtype=np.float32)


@BOTH
def test_a_state_dict_comes_over(write):
    weight = Saved(NUMBERS.reshape(3, 4))
    state = OrderedDict([("weight", weight), ("steps", Saved(np.array([7]))), ("rate", 1e-3)])
    state._metadata = OrderedDict(version=1)

    back = gn.load(write(state))

    assert type(back) is OrderedDict
    assert back._metadata == {"version": 1}
    assert back["weight"].numpy().tobytes() == NUMBERS.tobytes()
    assert back["weight"].shape == (3, 4)
    assert back["steps"].dtype is gn.int64
    assert back["rate"] == 1e-3


@BOTH
def test_a_module_takes_what_was_read(write):
    layer = gn.nn.Linear(4, 3)
    state = {"weight": Saved(NUMBERS.reshape(3, 4)), "bias": Saved(NUMBERS[:3].copy())}

    layer.load_state_dict(gn.load(write(state)))

    assert layer.bias.tolist() == [0, 1, 2]


@BOTH
def test_views_of_a_storage_share_it(write):
    whole, row = Saved(NUMBERS, (3, 4), (4, 1)), Saved(NUMBERS, (4,), (1,), 4)
    turned, column = Saved(NUMBERS, (4, 3), (1, 4)), Saved(NUMBERS, (3,), (4,), 1)

    back = gn.load(write([whole, row, turned, column, whole]))
    back[0][1, 1] = 100

    assert [x.tolist() for x in back[1:4]] == [
        [4, 100, 6, 7],
        [[0, 4, 8], [1, 100, 9], [2, 6, 10], [3, 7, 11]],
        [1, 100, 9],
    ]
    assert back[4] is back[0]


@BOTH
def test_plain_values_come_over(write):
    values = [None, True, 2**70, 1.5, "é", b"\xff", 1j, {1, 2}, (1, (2,)), frozenset({3})]
    tree = {"values": values, "counts": Counter("aab"), (1, 2): bytearray(b"x")}
    tree["numpy"] = [np.float32(1.5), np.int64(-3), np.bool_(True), NUMBERS[:0], NUMBERS[::2]]

    tree["lists"], tree["sets"] = defaultdict(list, {1: [2]}), defaultdict(set)
    tree["nothing"] = defaultdict(None, {1: 2})

    back = gn.load(write(tree))

    assert repr(back) == repr(tree)
    assert back["lists"]["new"] == []


@pytest.mark.parametrize(
    ("name", "arguments", "meant"),
    [
        ("torch.Size", ((2, 3),), gn.Size((2, 3))),
        ("torch.device", ("cpu",), gn.device("cpu")),
        ("torch.serialization._get_layout", ("torch.strided",), gn.strided),
    ],
)
def test_pytorchs_own_values_come_over(name, arguments, meant):
    assert gn.load(zipped(Global(name, *arguments))) == meant


def test_a_parameter_is_one_and_a_tensor_may_want_gradients():
    data = Saved(NUMBERS)
    frozen = Global("torch._utils._rebuild_parameter", data, False, OrderedDict())
    other = Saved(NUMBERS.copy(), requires_grad=True)

    found, wanting = gn.load(zipped([frozen, other]))

    assert isinstance(found, gn.nn.Parameter)
    assert not found.requires_grad
    assert wanting.requires_grad
    assert wanting.is_leaf


def test_a_file_is_mapped_and_keeps_its_own(tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(before := zipped({"x": Saved(NUMBERS)}).getvalue())

    mapped = gn.load(path, mmap=True)["x"]
    mapped.add_(1)

    assert mapped.tolist() == list(range(1, 13))
    assert path.read_bytes() == before
    assert gn.load(str(path), "cpu")["x"].tolist() == NUMBERS.tolist()


def test_what_cannot_be_mapped_is_said(tmp_path):
    (tmp_path / "x.pt").write_bytes(older({"x": Saved(NUMBERS)}).getvalue())

    with pytest.raises(ArgumentError, match=r"x\.pt: only zips can be mapped"):
        gn.load(tmp_path / "x.pt", mmap=True)
    with pytest.raises(ArgumentError, match="load: mmap needs a path: got BytesIO"):
        gn.load(zipped(1), mmap=True)


def test_tensors_go_where_they_can():
    file = {"x": Saved(NUMBERS)}

    for place in ("cpu", gn.device("cpu"), {"cuda:0": "cpu"}, lambda storage, _: storage):
        assert gn.load(zipped(file), place)["x"].numel() == 12
    with pytest.raises(ArgumentError, match="nowhere"):
        gn.load(zipped(file), "nowhere")


class Argued(argparse.Namespace):
    """An object whose making is noticed."""

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, made=True)


def test_an_object_needs_to_be_let_in():
    given = {"args": Argued(lr=1), "x": Saved(NUMBERS)}

    with pytest.raises(ArgumentError, match=r"it holds \S+Argued, and to make one its code would"):
        gn.load(zipped(given))
    with gn.serialization.safe_globals([Argued]):
        assert gn.serialization.get_safe_globals() == [Argued]
        assert gn.load(zipped(given))["args"].made
    assert gn.serialization.get_safe_globals() == []
    assert gn.load(zipped(given), weights_only=False)["args"].lr == 1


def test_nothing_is_called_that_is_not_listed(tmp_path):
    class Bad:
        def __reduce__(self) -> tuple:
            return os.mkdir, (str(tmp_path / "made"),)

    with pytest.raises(ArgumentError, match=r"it holds posix\.mkdir"):
        gn.load(zipped({"x": Bad()}))

    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("trusted", [False, True])
def test_pytorchs_own_objects_are_refused_by_name(trusted):
    file = zipped(Global("torch.nn.modules.linear.Linear"))

    with pytest.raises(ArgumentError, match=r"torch\.nn\.modules\.linear\.Linear, which is PyTorc"):
        gn.load(file, weights_only=not trusted)


@BOTH
@pytest.mark.parametrize(
    ("size", "stride", "offset", "said"),
    [
        ((13,), (1,), 0, "needs more than the 12 elements"),
        ((3, 4), (5, 1), 0, "needs more than the 12 elements"),
        ((2,), (1,), 11, "needs more than the 12 elements"),
        ((0,), (1,), 13, "needs more than the 12 elements"),
        ((1 << 40,), (0,), 0, "needs more than the 12 elements"),
        ((1 << 30, 2), (0, 1), 0, "needs more than the 12 elements"),
        ((-1,), (1,), 0, r"size \(-1,\)"),
        ((2,), (-1,), 3, r"strides \(-1,\)"),
        ((2,), (), 0, r"strides \(\)"),
        ((2.0,), (1,), 0, r"size \(2\.0,\)"),
        (2, (1,), 0, "takes a int for a tuple"),
        ((2,), (1,), None, "a tensor has"),
    ],
)
def test_a_tensor_shows_what_its_storage_has(write, size, stride, offset, said):
    with pytest.raises(ArgumentError, match=f"load: the file is not .* damaged: .*{said}"):
        gn.load(write([Saved(NUMBERS, size, stride, offset)]))


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"byteorder": b"big"}, "the other order of bytes"),
        ({"constants.pkl": b""}, "a program of torch.jit"),
        ({"data__0": b"abc"}, "storage '0' has 3 bytes in place of 48"),
    ],
)
def test_members_that_do_not_fit_are_refused(members, said):
    with pytest.raises(ArgumentError, match=said):
        gn.load(zipped([Saved(NUMBERS)], **members))


def test_a_truth_is_0_or_1():
    with pytest.raises(ArgumentError, match="truths other than 0 and 1"):
        gn.load(zipped([Saved(np.array([True, False]))], data__0=b"\1\2"))


@pytest.mark.parametrize("cut", [1, 30, 47, 60, 200])
def test_half_a_file_is_refused(cut):
    whole = older({"x": Saved(NUMBERS)}).getvalue()

    with pytest.raises(ArgumentError, match="damaged"):
        gn.load(io.BytesIO(whole[:-cut]))


def test_a_bomb_is_not_unpacked():
    file, bomb = zipped([Saved(NUMBERS)]), io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + bytes(10**7))

    with pytest.raises(ArgumentError, match="is compressed"):
        gn.load(bomb)


def test_a_storage_that_claims_more_than_the_file_has_gets_no_memory():
    file = older([Saved(NUMBERS)]).getvalue()
    size = file.index(b"K\x0cN") if b"K\x0cN" in file else file.index(b"K\x0ct")

    with pytest.raises(ArgumentError, match="has more bytes than the file"):
        gn.load(io.BytesIO(file[:size] + b"\x8a\x06\0\0\0\0\0\1" + file[size + 2 :]))


def test_pickles_of_other_kinds_are_no_files():
    for content in (pickle.dumps([1]), pickle.dumps(2**79, 2)):
        with pytest.raises(ArgumentError, match="is not a file that gn"):
            gn.load(io.BytesIO(content))
