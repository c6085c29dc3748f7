"""Files that gn.save wrote are read by torch.load as it reads its own, and come back unchanged."""

from __future__ import annotations

import io
import warnings
from collections import Counter, OrderedDict

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import ALL, COMPLEX

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

KINDS = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "older"])
LAYOUTS = {
    "whole": lambda x: x,
    "row": lambda x: x[1],
    "column": lambda x: x[:, 2],
    "block": lambda x: x[1:3, 1:4, 2:5],
    "steps": lambda x: x[::2, ::3, 1::2],
    "turned": lambda x: x.permute(2, 0, 1),
    "diagonal": lambda x: x[0].diagonal(),
    "windows": lambda x: x.reshape(-1).unfold(0, 4, 2),
    "windows of rows": lambda x: x.unfold(1, 3, 1),
    "repeated": lambda x: x[0, 0].expand(3, 6),
    "one": lambda x: x[2, 3, 4],
    "one in a row": lambda x: x[2:3, 3:4, 4:5],
    "none": lambda x: x[4:],
    "none inside": lambda x: x[:, 2:2],
    "unsqueezed": lambda x: x[:, None, :, 1:2],
    "parted": lambda x: x.reshape(-1)[1:7].reshape(2, 3),
    "strided": lambda x: x.as_strided((2, 3, 2), (7, 2, 1), 3),
    "detached": lambda x: x.detach(),
}


def over(value: object, zipped: bool = True, **words: object) -> object:
    """A value of ours by way of a file, read by torch with nothing allowed."""
    file = io.BytesIO()
    gn.save(value, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return torch.load(file, **words)


def back(value: object) -> object:
    """A value of torch's by way of a file, read here."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return gn.load(file)


def bits(tensor: object) -> bytes:
    """The bytes of a tensor's elements."""
    if isinstance(tensor, gn.Tensor):
        return tensor.numpy(force=True).tobytes()
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def whole(name: str) -> gn.Tensor:
    """A tensor of four rows of five rows of six."""
    values = np.arange(120).reshape(4, 5, 6) % 2 if name == "bool" else np.arange(120)
    dtype = getattr(gn, name)
    return gn.from_numpy(values.astype(dtype.numpy).reshape(4, 5, 6))


@KINDS
@pytest.mark.parametrize("name", [dtype.name for dtype in (*ALL, *COMPLEX)])
def test_every_dtype_in_every_layout_is_read(name, zipped):
    x = whole(name)
    if x.dtype.is_storage_only:  # views of these are not computed
        ways = {"whole": x, "scalar": gn.from_numpy(np.ones((), x.dtype.numpy))}
    else:
        ways = {key: way(x) for key, way in LAYOUTS.items()}

    for key, found in over(ways, zipped).items():
        ours = ways[key]
        assert str(found.dtype) == f"torch.{name}", key
        assert tuple(found.shape) == tuple(ours.shape), key
        assert bits(found) == bits(ours), key
        assert found.untyped_storage().nbytes() == x.untyped_storage().nbytes() or key == "scalar"


@KINDS
def test_views_lie_where_pytorch_puts_them_and_share_memory(zipped):
    ours, theirs = whole("float32"), torch.arange(120.0).reshape(4, 5, 6)
    ways = [way(ours) for way in LAYOUTS.values()]
    meant = [way(theirs) for way in LAYOUTS.values()]

    found = over(ways, zipped)
    for k, (x, y, z) in enumerate(zip(found, meant, ways, strict=True)):
        assert (x.stride(), x.storage_offset()) == (z.stride(), z.storage_offset()), k
        assert x.untyped_storage().data_ptr() == found[0].untyped_storage().data_ptr()
        if "windows" not in list(LAYOUTS)[k] and list(LAYOUTS)[k] != "repeated":
            x.add_(k + 1)
            y.add_(k + 1)

    assert [x.tolist() for x in found] == [x.tolist() for x in meant]


@pytest.mark.parametrize("seed", range(8))
def test_views_of_views_go_both_ways(seed):
    draw = np.random.default_rng(seed)
    ours, theirs = [whole("float64")], [torch.arange(120.0).double().reshape(4, 5, 6)]
    for _ in range(25):
        k = int(draw.integers(len(ours)))
        way = random_view(draw, tuple(theirs[k].shape))
        ours.append(way(ours[k]))
        theirs.append(way(theirs[k]))

    there = over(ours)
    again = back(there)

    for k, (x, y, z) in enumerate(zip(there, theirs, again, strict=True)):
        assert (x.stride(), x.storage_offset()) == (ours[k].stride(), ours[k].storage_offset()), k
        assert x.tolist() == y.tolist() == z.tolist(), k
    for each in (there, theirs, again):
        each[0].mul_(-1)
    assert [x.tolist() for x in there] == [x.tolist() for x in theirs]
    assert [x.tolist() for x in again] == [x.tolist() for x in theirs]


def random_view(draw: np.random.Generator, shape: tuple[int, ...]):
    """A step from a tensor to a view of it, in the words of both."""
    axis = int(draw.integers(len(shape))) if shape else 0
    size = shape[axis] if shape else 0
    low, high = sorted(int(x) for x in draw.integers(0, size + 1, 2))
    step = int(draw.integers(1, 4))
    order = tuple(int(x) for x in draw.permutation(len(shape)))
    place = int(draw.integers(size)) if size else 0
    ways = [lambda x: x.permute(order), lambda x: x.unsqueeze(axis), lambda x: x.detach()]
    if shape:
        index = (slice(None),) * axis
        ways.append(lambda x: x[(*index, slice(low, high, step))])
        ways += [lambda x: x.narrow(axis, low, high - low)]
        ways += [lambda x: x.unfold(axis, low, step)] if low else []
        ways += [lambda x: x.select(axis, place)] if size else []
    return ways[int(draw.integers(len(ways)))]


@KINDS
def test_plain_values_are_read(zipped):
    values = [None, True, 2**70, -3, 1.5, "é", b"\xff", b"", 1j, {1, 2}, (1, (2,)), []]
    tree = {"values": values, ("a", 1): bytearray(b"x"), "counts": Counter("aab")}
    tree["ordered"] = OrderedDict([("b", 1), ("a", {})])
    theirs = [gn.float16, gn.float8_e5m2, gn.bool, gn.Size((2, 3)), gn.device("cuda:1")]

    found, own = over((tree, [*theirs, gn.device("cpu"), gn.Size()]), zipped)

    assert repr(found) == repr(tree)
    assert own == [
        *(torch.float16, torch.float8_e5m2, torch.bool, torch.Size((2, 3))),
        *(torch.device("cuda", 1), torch.device("cpu"), torch.Size()),
    ]
    assert str(own[4]) == "cuda:1"


@KINDS
def test_parameters_and_ties_are_read(zipped):
    weight, noted = gn.nn.Parameter(gn.ones(2, 3)), gn.nn.Parameter(gn.ones(2))
    noted.note = {"by": ["me"]}
    given = {
        "weight": weight,
        "tied": weight,
        "same memory": weight.detach(),
        "frozen": gn.nn.Parameter(gn.ones(2), requires_grad=False),
        "noted": noted,
        "buffer": gn.nn.Buffer(gn.ones(2), persistent=False),
        "wanting": gn.ones(2, requires_grad=True),
        "made": gn.ones(2, requires_grad=True) * 2,
    }

    found = over(given, zipped)

    assert found["tied"] is found["weight"]
    assert found["same memory"].data_ptr() == found["weight"].data_ptr()
    assert found["noted"].note == {"by": ["me"]}
    assert isinstance(found["buffer"], torch.nn.Buffer)
    assert not found["buffer"].persistent
    for name, x in found.items():
        assert type(x) is (
            torch.nn.Parameter if type(given[name]) is gn.nn.Parameter else torch.Tensor
        )
        assert (x.requires_grad, x.is_leaf) == (given[name].requires_grad, True)


def test_complex_numbers_and_their_parts_share_memory():
    pairs = gn.view_as_complex(gn.arange(12.0).reshape(3, 2, 2))

    for order in (slice(None), slice(None, None, -1)):
        whole, real, imag = over([pairs, pairs.real, pairs[:, 1].imag][order])[order]
        whole.mul_(10)

        assert real.tolist() == whole.real.tolist()
        assert imag.tolist() == whole[:, 1].imag.tolist()


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("offsets", [False, True])
def test_a_file_is_mapped(offsets, mmap, tmp_path):
    settings = {"load.calculate_storage_offsets": offsets}
    given = [gn.zeros(0), gn.arange(5), gn.zeros(0, 2), gn.ones(3), gn.ones(3, 70)]
    gn.save(given, tmp_path / "x.pt")

    with torch.utils.serialization.config.patch(settings):
        found = torch.load(tmp_path / "x.pt", mmap=mmap)

    assert [x.tolist() for x in found] == [x.tolist() for x in given]
    assert [x.data_ptr() % 64 for x in found] == [0] * 5
    shapes = torch.load(tmp_path / "x.pt", map_location="meta")
    assert [tuple(x.shape) for x in shapes] == [tuple(x.shape) for x in given]


def net(nn: object) -> object:
    """A model of ours or of torch's."""
    return nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Linear(4, 2))


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "AdamW": {"lr": 0.01, "amsgrad": True},
    "RMSprop": {"lr": 0.01, "centered": True, "momentum": 0.5},
    "Adagrad": {"lr": 0.1},
}


@KINDS
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_training_goes_on_in_pytorch(name, zipped):
    ours, theirs = net(gn.nn), net(torch.nn)
    mine = getattr(gn.optim, name)(ours.parameters(), **OPTIMIZERS[name])
    its = getattr(torch.optim, name)(theirs.parameters(), **OPTIMIZERS[name])
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    ours(gn.tensor(x)).square().mean().backward()
    mine.step()

    saved = {"model": ours.state_dict(), "optimizer": mine.state_dict(), "epoch": 3}
    found = over(saved, zipped)
    theirs.load_state_dict(found["model"])
    its.load_state_dict(found["optimizer"])

    assert type(found["model"]) is OrderedDict
    for model, step, given in ((ours, mine, gn.tensor(x)), (theirs, its, torch.tensor(x))):
        for _ in range(2):
            step.zero_grad()
            model(given).square().mean().backward()
            step.step()
    for (key, a), b in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), atol=1e-5, err_msg=key)


def test_a_module_and_arrays_need_trust_there_as_here():
    found = over({"array": np.arange(3), "number": np.float32(1.5)}, weights_only=False)

    assert found["array"].tolist() == [0, 1, 2]
    assert found["number"] == np.float32(1.5)
    with pytest.raises(Exception, match="Weights only load failed"):
        over({"array": np.arange(3)})
    with pytest.raises(Exception, match=r"Unsupported global: GLOBAL gnomon\S+\.Linear"):
        over(gn.nn.Linear(2, 3))


def test_files_of_torchs_come_back_to_it():
    noted = torch.nn.Parameter(torch.ones(3))
    noted.note = "x"
    x = torch.arange(24.0).reshape(2, 3, 4)
    given = [x, x.mT, x[1], noted, torch.nn.Buffer(torch.ones(2)), x.unfold(2, 2, 1)]

    ours = back(given)
    found = over(ours)

    assert isinstance(ours[4], gn.nn.Buffer)
    assert ours[3].note == found[3].note == "x"
    assert isinstance(found[4], torch.nn.Buffer)
    for x, y in zip(found, given, strict=True):
        assert (type(x), x.stride(), x.storage_offset()) == (
            type(y),
            y.stride(),
            y.storage_offset(),
        )
        assert x.tolist() == y.tolist()
