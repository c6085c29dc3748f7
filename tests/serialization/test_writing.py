"""Files as they are written: PyTorch's members and names, each memory once and where it may lie."""

from __future__ import annotations

import io
import pickle
import pickletools
import sys
import zipfile

import numpy as np
import pytest

import gnomon as gn
from gnomon.serialization import writing

BOTH = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "older"])


def members(value: object) -> dict[str, bytes]:
    """The members of a value's zip."""
    file = io.BytesIO()
    gn.save(value, file)
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def names(value: object) -> set[str]:
    """What a value's pickle names."""
    operations = list(pickletools.genops(members(value)["archive/data.pkl"]))
    return {argument for operation, argument, _ in operations if operation.name == "GLOBAL"}


def over(value: object, zipped: bool = True) -> object:
    """A value by way of a file."""
    file = io.BytesIO()
    gn.save(value, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return gn.load(file)


def test_a_zip_has_the_members_that_pytorch_knows():
    found = members([gn.arange(3), gn.zeros(0)])

    assert list(found) == [
        "archive/data.pkl",
        "archive/.storage_alignment",
        "archive/byteorder",
        "archive/data/0",
        "archive/data/1",
        "archive/version",
    ]
    assert found["archive/data/0"] == np.arange(3).tobytes()
    assert found["archive/data/1"] == b""
    assert found["archive/byteorder"] == sys.byteorder.encode()
    assert found["archive/.storage_alignment"] == b"64"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (gn.ones(2), {"torch._utils _rebuild_tensor_v2", "torch FloatStorage"}),
        (gn.ones(2).bfloat16(), {"torch._utils _rebuild_tensor_v2", "torch BFloat16Storage"}),
        (
            gn.zeros(2, dtype=gn.uint16),
            {"torch._utils _rebuild_tensor_v3", "torch.storage UntypedStorage", "torch uint16"},
        ),
        (gn.ones(1, dtype=gn.complex64), {"torch._utils _rebuild_tensor_v2"}),
        (gn.nn.Parameter(gn.ones(2)), {"torch._utils _rebuild_parameter"}),
        (gn.nn.Buffer(gn.ones(2)), {"torch._tensor _rebuild_from_type_v2", "torch Tensor"}),
        ([gn.float8_e5m2, gn.bool], {"torch float8_e5m2", "torch bool"}),
        (gn.Size((2, 3)), {"torch Size"}),
        (gn.device("cpu"), {"torch device"}),
        ({1, 2}, {"builtins set"}),
    ],
    ids=[
        "float",
        "bfloat16",
        "unsigned",
        "complex",
        "parameter",
        "buffer",
        "dtypes",
        "shape",
        "device",
        "set",
    ],
)
def test_values_have_pytorchs_names(value, named):
    found = names(value)

    assert named <= found
    assert not [name for name in found if name.startswith("gnomon")]


def test_pytorch_is_not_loaded_to_name_it():
    before = {name for name in sys.modules if name.partition(".")[0] == "torch"}

    members(gn.nn.Linear(2, 3).state_dict())

    assert {name for name in sys.modules if name.partition(".")[0] == "torch"} == before


def test_memory_is_written_once_and_shared_again():
    whole = gn.arange(12.0).reshape(3, 4)
    ways = [whole, whole[1], whole.T, whole[:, 1], whole[1:3, 1:3], whole.reshape(-1)[5:11]]
    ways += [whole.detach(), whole.unfold(1, 2, 1), whole[0].expand(2, 4)]
    other = whole.clone()

    assert [x for x in members([*ways, other]) if "/data/" in x] == [
        "archive/data/0",
        "archive/data/1",
    ]
    back = over(ways)
    for x in (back, ways):
        x[0][1, 1], x[1][2] = 100, 50

    assert [x.tolist() for x in back] == [x.tolist() for x in ways]


@BOTH
def test_tied_parameters_stay_tied(zipped):
    model = gn.nn.Sequential(gn.nn.Linear(3, 3), gn.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    weight = model[0].weight
    weight.note = {"of": "both"}

    state, (first, second) = over([dict(model.state_dict()), (weight, weight)], zipped)
    state["0.weight"].fill_(7)

    assert state["1.weight"].eq(7).all()
    assert first is second
    assert isinstance(first, gn.nn.Parameter)
    assert first.requires_grad
    assert first.note == {"of": "both"}
    assert first.tolist() == state["0.weight"].tolist()


@BOTH
def test_buffers_and_wants_of_gradients_come_back(zipped):
    kept, frozen = gn.nn.Buffer(gn.ones(2), persistent=False), gn.nn.Parameter(gn.ones(3), False)

    buffer, parameter, wanting, made = over(
        [kept, frozen, x := gn.ones(2, requires_grad=True), x * 2], zipped
    )

    assert isinstance(buffer, gn.nn.Buffer)
    assert not buffer.persistent
    assert isinstance(parameter, gn.nn.Parameter)
    assert not parameter.requires_grad
    assert wanting.requires_grad
    assert made.requires_grad
    assert made.is_leaf


@BOTH
def test_complex_numbers_and_their_parts_share_memory(zipped):
    pairs = gn.view_as_complex(gn.arange(12.0).reshape(3, 2, 2))
    ways = [pairs, pairs.real, pairs.T, pairs[1], pairs[:, 0].imag]

    for order in (slice(None), slice(None, None, -1)):
        back = over(ways[order], zipped)[order]
        for x in (back[0], pairs):
            x[0, 0] = x[0, 0] + 9j
        assert [x.tolist() for x in back] == [x.tolist() for x in ways]


def test_memory_in_another_order_of_axes_keeps_it():
    x = gn.arange(24.0).reshape(2, 2, 2, 3).contiguous(memory_format=gn.channels_last)

    found = members(x)["archive/data/0"]
    back = over(x)

    assert found == np.arange(24, dtype=np.float32).reshape(2, 2, 6).swapaxes(1, 2).tobytes()
    assert back.stride() == x.stride()
    assert back.tolist() == x.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (1,), (1, 1), (0, 3), (3, 0, 2), (1, 3, 1)])
def test_small_tensors_come_back(shape):
    x = gn.ones(shape, dtype=gn.int16)

    for back in (over(x), over(x, False), over([x, x])[1], over(x[..., None])[..., 0]):
        assert tuple(back.shape) == shape
        assert back.dtype is gn.int16
        assert back.tolist() == x.tolist()


def test_a_view_that_no_strides_show_is_written_as_a_copy():
    x = gn.arange(6).reshape(2, 3)

    turned, wide = over([x.flip(0), gn.ones(1).expand(1 << 23)])

    assert turned.tolist() == [[3, 4, 5], [0, 1, 2]]
    assert wide.shape == (1 << 23,)


def test_pending_values_are_computed_and_later_writes_come_too():
    x = gn.ones(2, 2)
    y = x * 3
    row = y[0]
    y.add_(1)

    assert [x.tolist() for x in over([y, row])] == [[[4, 4], [4, 4]], [4, 4]]


def test_memory_lies_at_multiples_and_longer_numbers_change_nothing(monkeypatch, tmp_path):
    value = {"a": gn.ones(3, 5), "b": gn.arange(40)}
    for large in (writing.LARGE, 100):
        monkeypatch.setattr(writing, "LARGE", large)
        file = io.BytesIO(b"xyz")
        gn.save(value, tmp_path / "x.pt")
        gn.save(value, file)
        for content in ((tmp_path / "x.pt").read_bytes(), file.getvalue()):
            for array in (np.ones((3, 5), np.float32), np.arange(40)):
                assert content.index(array.tobytes()) % 64 == 0
        back = gn.load(tmp_path / "x.pt", mmap=True)
        assert {name: x.tolist() for name, x in back.items()} == {
            name: x.tolist() for name, x in value.items()
        }


def test_memory_is_not_copied_to_be_written():
    x = gn.arange(100)
    before = x.data_ptr()
    written: list[int] = []

    class File(io.BytesIO):
        def write(self, content):
            if memoryview(content).nbytes == 800:
                written.append(np.frombuffer(content, np.uint8).ctypes.data)
            return super().write(content)

    gn.save(x, File())

    assert written == [before]


def test_a_file_that_cannot_be_wound_back_will_do():
    class Pipe:
        def __init__(self) -> None:
            self.parts: list[bytes] = []

        def write(self, content) -> int:
            self.parts.append(bytes(content))
            return len(content)

        def flush(self) -> None:
            pass

    for zipped in (True, False):
        pipe = Pipe()
        gn.save({"x": gn.arange(3)}, pipe, _use_new_zipfile_serialization=zipped)
        assert gn.load(io.BytesIO(b"".join(pipe.parts)))["x"].tolist() == [0, 1, 2]


def test_the_older_kind_begins_with_its_number():
    file = io.BytesIO()
    gn.save(gn.ones(2), file, _use_new_zipfile_serialization=False)
    file.seek(0)

    opening = [pickle.load(file) for _ in range(3)]

    assert opening[:2] == [0x1950A86A20F9469CFC6C, 1001]
    assert opening[2]["little_endian"]
    assert file.getvalue().endswith((2).to_bytes(8, "little") + np.ones(2, np.float32).tobytes())
