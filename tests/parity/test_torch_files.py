"""Files that torch wrote are read as they were meant, of every kind that it writes."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import ALL
from gnomon.errors import ArgumentError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

KINDS = pytest.mark.parametrize("zipped", [True, False])
MAPPED = pytest.mark.parametrize(("zipped", "mmap"), [(True, True), (True, False), (False, None)])


def over(value: object, path: object, zipped: bool, mmap: bool | None = None) -> object:
    """A value by way of a file."""
    torch.save(value, path, _use_new_zipfile_serialization=zipped)
    return gn.load(path, mmap=mmap)


def check(found: gn.Tensor, tensor: object) -> None:
    """Compare the bits of two tensors."""
    meant = tensor.detach().contiguous()
    assert found.dtype.name == str(meant.dtype).removeprefix("torch.")
    assert tuple(found.shape) == tuple(meant.shape)
    assert found.requires_grad == tensor.requires_grad
    theirs = meant.reshape(-1).view(torch.uint8).numpy() if meant.numel() else np.empty(0)
    assert found.detach().numpy().tobytes() == theirs.tobytes()


@MAPPED
@pytest.mark.parametrize("name", [dtype.name for dtype in ALL])
def test_every_dtype_comes_over(name, zipped, mmap, tmp_path):
    dtype = getattr(torch, name)
    kinds = {
        "matrix": torch.arange(6).reshape(2, 3).to(dtype),
        "scalar": torch.tensor(1).to(dtype),
        "empty": torch.zeros(0, 3).to(dtype),
        "number": torch.ones(1, 1).to(dtype),
    }

    for key, found in over(kinds, tmp_path / "x.pt", zipped, mmap).items():
        check(found, kinds[key])


@MAPPED
def test_every_way_to_lie_in_a_storage_comes_over(zipped, mmap, tmp_path):
    whole = torch.arange(120.0).reshape(4, 5, 6)
    ways = {
        "whole": whole,
        "row": whole[1],
        "column": whole[:, 2],
        "block": whole[1:3, 1:4, 2:5],
        "steps": whole[::2, ::3, 1::2],
        "last rows": whole[1::2],
        "turned": whole.permute(2, 0, 1),
        "diagonal": whole[0].diagonal(),
        "windows": whole.reshape(-1).unfold(0, 4, 2),
        "repeated": whole[0, 0].expand(3, 6),
        "one": whole[2, 3, 4],
        "unsqueezed": whole[:, None, :, 1:2],
        "channels last": torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        "parted": whole.reshape(-1)[1:7].reshape(2, 3),
        "strided one": torch.as_strided(whole, (1, 3), (77, 2)),
    }

    for key, found in over(ways, tmp_path / "x.pt", zipped, mmap).items():
        assert found.tolist() == ways[key].tolist(), key


@KINDS
def test_slices_of_one_storage_share_it(zipped, tmp_path):
    whole = torch.zeros(6, 4)
    ways = [whole, whole[2:4], whole.T, whole[:, 1], whole[::2, 1:3], whole.reshape(-1)[5:11]]

    ours = over(ways, tmp_path / "x.pt", zipped)
    for k, (found, meant) in enumerate(zip(ours, ways, strict=True)):
        found.add_(k + 1)
        meant.add_(k + 1)

    assert [x.tolist() for x in ours] == [x.tolist() for x in ways]


@KINDS
def test_models_and_optimizers_come_over(zipped, tmp_path):
    torch.manual_seed(0)
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, bias=False),
        torch.nn.BatchNorm2d(4),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 2),
    )
    optimizer = torch.optim.AdamW(theirs.parameters(), amsgrad=True)
    x = torch.randn(5, 3, 3, 3)
    theirs(x).square().mean().backward()
    optimizer.step()
    saved = {"model": theirs.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    ours = gn.nn.Sequential(
        gn.nn.Conv2d(3, 4, 3, bias=False), gn.nn.BatchNorm2d(4), gn.nn.Flatten(), gn.nn.Linear(4, 2)
    )
    mine = gn.optim.AdamW(ours.parameters(), amsgrad=True)

    back = over(saved, tmp_path / "x.pt", zipped)
    ours.load_state_dict(back["model"])
    mine.load_state_dict(back["optimizer"])

    assert type(back["model"]) is OrderedDict
    assert back["model"]._metadata[""] == {"version": 1}
    assert back["epoch"] == 3
    for model, step in ((theirs, optimizer), (ours, mine)):
        step.zero_grad()
        given = x if model is theirs else gn.tensor(x.numpy())
        model(given).square().mean().backward()
        step.step()
    for (name, a), b in zip(theirs.named_parameters(), ours.parameters(), strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), atol=1e-5, err_msg=name)


@KINDS
def test_parameters_ties_and_attributes_come_over(zipped, tmp_path):
    weight = torch.nn.Parameter(torch.ones(2, 3))
    noted = torch.ones(2)
    noted.note = "x"
    kinds = {
        "weight": weight,
        "tied": weight,
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "buffer": torch.nn.Buffer(torch.ones(2)),
        "wanting": torch.ones(2, requires_grad=True),
        "noted": noted,
    }

    back = over(kinds, tmp_path / "x.pt", zipped)

    assert back["tied"] is back["weight"]
    assert isinstance(back["weight"], gn.nn.Parameter)
    assert isinstance(back["frozen"], gn.nn.Parameter)
    for key, found in back.items():
        check(found, kinds[key])


@KINDS
def test_plain_values_come_over(zipped, tmp_path):
    values = [None, True, 2**70, 1.5, "é", b"\xff", b"", 1j, {1, 2}, (1, (2,)), OrderedDict(a=1)]
    tree = {"values": values, 3: np.float64(1.5), "array": np.arange(3), ("a", 1): bytearray(b"x")}
    theirs = [torch.float16, torch.Size([2, 3]), torch.device("cpu"), torch.strided]

    back, ours = over((tree, theirs), tmp_path / "x.pt", zipped)

    assert repr(back) == repr(tree)
    assert ours == [gn.float16, gn.Size((2, 3)), gn.device("cpu"), gn.strided]


def test_kinds_of_values_that_are_not_here_are_refused_by_name(tmp_path):
    for value in (torch.nn.ReLU(), torch.nn.Linear(2, 3)):
        torch.save(value, tmp_path / "x.pt")

        with pytest.raises(ArgumentError, match=r"it holds torch\.\S+, which is PyTorch's own"):
            gn.load(tmp_path / "x.pt")


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("zipped", [True, False])
def test_attributes_storages_and_tensors_without_memory_are_torchs(zipped: bool):
    """Each library reads the other's, also behind what else stands in a file."""
    for writer, reader in ((torch, gn), (gn, torch)):
        x = writer.arange(4.0)
        x.scale = 3
        value = [x, x.storage(), writer.ones(1).untyped_storage(), writer.empty(2, device="meta")]
        file = io.BytesIO()
        pickle.dump("before", file)
        start = file.tell()
        writer.save(value, file, _use_new_zipfile_serialization=zipped)
        file.seek(start)

        y, typed, plain, meta = reader.load(file, weights_only=False)

        assert y.scale == 3
        assert y.data_ptr() == typed.data_ptr()
        assert typed.tolist() == [0.0, 1.0, 2.0, 3.0]
        assert list(plain) == [0, 0, 128, 63]
        assert tuple(meta.shape) == (2,)
        assert meta.is_meta
