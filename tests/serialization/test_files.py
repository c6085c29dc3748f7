"""What is saved is what is loaded, and nothing that is read runs."""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import pickle
import zipfile
from collections import Counter, OrderedDict, defaultdict, deque
from datetime import date
from functools import partial

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


def test_what_makes_the_values_of_a_dict_is_pickled_by_its_name(tmp_path):
    with pytest.raises(
        ArgumentError, match=r"save: cannot save defaultdict: Can't pickle <function \S*<lambda>"
    ):
        gn.save(defaultdict(lambda: 0), tmp_path / "tree.gn")

    gn.save(defaultdict(os.getcwd), tmp_path / "tree.gn")
    with pytest.raises(ArgumentError, match="getcwd, and to make one its code would run"):
        gn.load(tmp_path / "tree.gn")


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
    with pytest.raises(
        ArgumentError, match=r"save: cannot save dict: cannot pickle 'generator' object\. Save"
    ):
        gn.save({"x": (k for k in "ab")}, tmp_path / "x.gn")

    assert not (tmp_path / "x.gn").exists()


class Settings(argparse.Namespace):
    """An object whose making is noticed."""

    def __setstate__(self, state: dict) -> None:
        vars(self).update(state, made=True)


def test_an_object_comes_back_where_its_class_is_let_in(tmp_path):
    path = tmp_path / "x.gn"
    gn.save([Settings(lr=0.1, x=gn.ones(2)), gn.nn.Linear(2, 3), date(2020, 1, 2)], path)

    with pytest.raises(ArgumentError, match=r"it holds tests\S+\.Settings, and to make"):
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
    gn.save([Settings(lr=Caller(os.getcwd, ()))], tmp_path / "x.gn")

    with gn.serialization.safe_globals([Settings]), pytest.raises(ArgumentError, match="getcwd"):
        gn.load(tmp_path / "x.gn")


class Caller:
    """An object whose pickle calls a function."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def test_an_object_comes_back_where_its_file_is_trusted(tmp_path):
    model, path = gn.nn.Sequential(gn.nn.Linear(2, 3), gn.nn.BatchNorm1d(3)), tmp_path / "x.gn"
    gn.save({"model": model, "args": argparse.Namespace(lr=0.1), "x": gn.ones(2)}, path)

    with pytest.raises(ArgumentError, match=r"x\.gn: it holds gnomon\S+\.Sequential"):
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


class Shelf(dict):
    """A dict of a user's own."""


class Weighted(gn.Tensor):
    """A tensor of a user's own."""


class Kinds(gn.nn.Parameter):
    """A parameter of a user's own."""


def test_a_trusted_file_gives_every_object_back(tmp_path):
    weighted = gn.ones(2).as_subclass(Weighted)
    weighted.note = "x"
    shelf = Shelf(a=[1])
    shelf.owner = "me"
    given = {
        "shelf": shelf,
        "weighted": weighted,
        "kinds": Kinds(gn.ones(3), requires_grad=False),
        "types": [int, list, dict, OrderedDict],
        "queue": deque([1, 2], 5),
        "part": partial(int, base=2),
        "array": np.array([None, "x"], object),
        "time": np.datetime64("2020-01-02"),
    }

    gn.save(given, tmp_path / "x.gn")
    back = gn.load(tmp_path / "x.gn", weights_only=False)

    assert (type(back["shelf"]), back["shelf"], vars(back["shelf"])) == (Shelf, shelf, vars(shelf))
    assert (type(back["weighted"]), back["weighted"].note) == (Weighted, "x")
    assert (type(back["kinds"]), back["kinds"].requires_grad) == (Kinds, False)
    assert back["types"] == given["types"]
    assert (back["queue"], back["queue"].maxlen) == (given["queue"], 5)
    assert back["part"]("101") == 5
    assert back["array"].tolist() == [None, "x"]
    assert back["time"] == given["time"]


def test_a_tensor_of_a_users_class_comes_back_where_that_is_let_in(tmp_path):
    gn.save(gn.ones(2).as_subclass(Weighted), tmp_path / "x.gn")

    with pytest.raises(ArgumentError, match=r"it holds \S+\.Weighted, and to make one"):
        gn.load(tmp_path / "x.gn")
    with gn.serialization.safe_globals([Weighted]):
        assert type(gn.load(tmp_path / "x.gn")) is Weighted


def test_numbers_and_arrays_of_numpys_come_back(tmp_path):
    given = [np.float64(1.5), np.float32(2), np.int64(-3), np.bool_(True), np.arange(6)[::2]]

    gn.save(given, tmp_path / "x.gn")

    assert repr(gn.load(tmp_path / "x.gn")) == repr(given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"pickle_module": json}, "save: pickle_module is Python's pickle: got <module 'json'"),
        ({"pickle_protocol": 1}, "save: pickle_protocol is 2 to 5: got 1"),
        ({"pickle_protocol": 6}, "save: pickle_protocol is 2 to 5: got 6"),
    ],
)
def test_words_that_ask_for_another_pickle_are_refused(words, said):
    with pytest.raises(ArgumentError, match=said):
        gn.save(1, io.BytesIO(), **words)


@pytest.mark.parametrize(
    "words",
    [
        {"pickle_module": pickle},
        {"pickle_protocol": 4},
        {"pickle_protocol": 5},
        {"_use_new_zipfile_serialization": False},
        {"_disable_byteorder_record": True},
    ],
    ids=str,
)
def test_pytorchs_words_are_taken(words):
    file, x = io.BytesIO(), gn.arange(3)

    gn.save({"x": x, "y": {1, 2}, "z": b""}, file, **words)
    file.seek(0)
    back = gn.load(file, pickle_module=pickle)

    assert (back["x"].tolist(), back["y"], back["z"]) == ([0, 1, 2], {1, 2}, b"")


def test_nobody_said_that_a_file_is_trusted(tmp_path):
    gn.save(Settings(lr=1), tmp_path / "x.gn")

    with pytest.raises(ArgumentError, match="it holds"):
        gn.load(tmp_path / "x.gn", weights_only=None)


def test_a_list_that_holds_itself_comes_back_and_one_without_end_is_refused():
    file, deep = io.BytesIO(), []
    own = [1]
    own.append(own)
    for _ in range(100_000):
        deep = [deep]

    gn.save(own, file)
    file.seek(0)
    back = gn.load(file)

    assert back[1] is back
    with pytest.raises(ArgumentError, match="save: cannot save list: maximum recursion depth"):
        gn.save(deep, io.BytesIO())


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_are_loaded_without_elements(zipped: bool):
    file, w = io.BytesIO(), gn.arange(6.0).reshape(2, 3)
    gn.save(
        {"w": w, "t": w.T, "p": gn.nn.Parameter(gn.ones(3)), "n": 2},
        file,
        _use_new_zipfile_serialization=zipped,
    )

    found = gn.load(io.BytesIO(file.getvalue()), map_location="meta", encoding="latin1")

    assert {x.device.type for name, x in found.items() if name != "n"} == {"meta"}
    assert (found["w"].shape, found["t"].stride(), found["n"]) == ((2, 3), (1, 3), 2)
    assert isinstance(found["p"], gn.nn.Parameter)
    assert found["p"].requires_grad


class NoMore:
    """A file with the methods that PyTorch asks for, and no others."""

    def __init__(self, content: bytes) -> None:
        self.file = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self.file.read(size)

    def readline(self) -> bytes:
        return self.file.readline()

    def seek(self, *place: int) -> None:
        self.file.seek(*place)

    def tell(self) -> int:
        return self.file.tell()


@pytest.mark.parametrize("zipped", [True, False])
def test_files_of_few_methods_are_read_and_written(zipped: bool):
    written = []

    class Sink:
        def write(self, content: bytes) -> int:
            written.append(bytes(content))
            return len(content)

        def flush(self) -> None:
            pass

    gn.save(gn.arange(3), Sink(), _use_new_zipfile_serialization=zipped)

    assert gn.load(NoMore(b"".join(written))).tolist() == [0, 1, 2]
    packed = io.BytesIO(gzip.compress(b"".join(written)))
    assert gn.load(gzip.GzipFile(fileobj=packed)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_is_read_from_where_it_stands(zipped: bool):
    file = io.BytesIO()
    pickle.dump("before", file)
    gn.save(gn.arange(3), file, _use_new_zipfile_serialization=zipped)
    file.seek(0)

    assert pickle.load(file) == "before"
    assert gn.load(file).tolist() == [0, 1, 2]


@pytest.mark.parametrize("zipped", [True, False])
def test_attributes_of_tensors_are_kept(zipped: bool):
    x = gn.ones(2)
    x.scale = {"a": 1}
    file = io.BytesIO()
    gn.save([x, gn.ones(1)], file, _use_new_zipfile_serialization=zipped)

    found, plain = gn.load(io.BytesIO(file.getvalue()))

    assert type(found) is gn.Tensor
    assert found.scale == {"a": 1}
    assert vars(plain) == {}


@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_without_memory_are_shapes_and_dtypes(zipped: bool):
    file = io.BytesIO()
    gn.save(
        gn.nn.Linear(2, 3, device="meta").state_dict(), file, _use_new_zipfile_serialization=zipped
    )

    found = gn.load(io.BytesIO(file.getvalue()))

    assert {k: (v.is_meta, tuple(v.shape)) for k, v in found.items()} == {
        "weight": (True, (3, 2)),
        "bias": (True, (3,)),
    }
