"""Folders as PyTorch writes them, put together without it: parts of tensors, and hostile ones."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed.checkpoint as dcp
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import Shard, distribute_tensor
from gnomon.errors import CheckpointError
from tests.distributed.on_threads import on_threads
from tests.torch_writer import Saved, zipped

pytestmark = pytest.mark.unit

HOME = "torch.distributed.checkpoint"
A = np.arange(24, dtype=np.float32).reshape(4, 6)


class Names:
    """Stand-ins for classes of PyTorch's, which are pickled by their names."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.kinds: dict[str, type] = {}

    def kind(self, name: str, base: type = object, **methods: Any) -> type:
        """A class of a name."""
        module, _, own = name.rpartition(".")
        if name not in self.kinds:
            made = type(own, (base,), {"__module__": module, **methods})
            self.kinds[name] = made
            setattr(self.modules.setdefault(module, ModuleType(module)), own, made)
        return self.kinds[name]

    def made(self, name: str, **state: Any) -> Any:
        """An object of a class of a name."""
        found = self.kind(f"{HOME}.{name}")()
        vars(found).update(state)
        return found

    def size(self, *sizes: int) -> Any:
        """A shape."""
        return self.kind("torch.Size", tuple, __reduce__=lambda x: (type(x), (tuple(x),)))(sizes)

    def properties(self, dtype: str) -> Any:
        """What is said of a tensor besides its shape."""
        kind = self.kind(
            f"{HOME}.metadata.TensorProperties", __getstate__=lambda x: (x.dtype, None, False)
        )
        found = kind()
        found.dtype = self.kind(f"torch.{dtype}")
        return found


def write(
    folder: Path,
    parts: list[tuple[tuple[int, int], np.ndarray]],
    shape: tuple[int, ...] = (4, 6),
    spoil: Callable[[Names, Any], None] | None = None,
) -> None:
    """A checkpoint of one tensor in parts, and of a number."""
    names, spans, content = Names(), {}, b""
    for offset, array in [(None, None), *parts]:
        value = 7 if array is None else Saved(np.ascontiguousarray(array))
        told = zipped(value).getvalue()
        index = (
            {"fqn": "n"} if offset is None else {"fqn": "model.a", "offset": names.size(*offset)}
        )
        info = {"relative_path": "__0_0.distcp", "offset": len(content), "length": len(told)}
        span = names.made("filesystem._StorageInfo", **info)
        spans[names.made("metadata.MetadataIndex", **index)] = span
        content += told
    chunks = [
        names.made(
            "metadata.ChunkStorageMetadata", offsets=names.size(*x), sizes=names.size(*y.shape)
        )
        for x, y in parts
    ]
    tensor = names.made(
        "metadata.TensorStorageMetadata",
        properties=names.properties("float32"),
        size=names.size(*shape),
        chunks=chunks,
    )
    number = names.made("metadata.BytesStorageMetadata")
    told = names.made(
        "metadata.Metadata",
        state_dict_metadata={"model.a": tensor, "n": number},
        storage_data=spans,
    )
    if spoil:
        spoil(names, told)
    folder.mkdir(exist_ok=True)
    (folder / "__0_0.distcp").write_bytes(content)
    with patch.dict(sys.modules, names.modules):
        (folder / ".metadata").write_bytes(pickle.dumps(told, 2))


QUARTERS = [((i, j), A[i : i + 2, j : j + 3]) for i in (0, 2) for j in (0, 3)]


@pytest.mark.parametrize("parts", [[((0, 0), A)], QUARTERS, [((0, 0), A[:3]), ((3, 0), A[3:])]])
def test_parts_are_put_together(tmp_path: Path, parts):
    write(tmp_path, parts)
    into = {"model": {"a": gn.zeros(4, 6)}, "n": 0}
    dcp.load(into, checkpoint_id=tmp_path)

    assert into["model"]["a"].tolist() == A.tolist()
    assert into["n"] == 7
    found = dcp.FileSystemReader(tmp_path).read_metadata().state_dict_metadata
    assert (found["model.a"].size, found["model.a"].properties.dtype) == ((4, 6), gn.float32)


@pytest.mark.parametrize("axis", [0, 1])
def test_ranks_read_their_rectangles(tmp_path: Path, axis: int):
    write(tmp_path, QUARTERS)

    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        into = {"model": {"a": distribute_tensor(gn.zeros(4, 6), mesh, [Shard(axis)])}}
        dcp.load(into, checkpoint_id=tmp_path)
        return into["model"]["a"].to_local().tolist()

    assert on_threads(work, 2) == [part.tolist() for part in np.split(A, 2, axis)]


def renamed(names: Names, told: Any, **state: Any) -> None:
    """Say something else of where things are."""
    for span in told.storage_data.values():
        vars(span).update(state)


SPOILT = {
    "outside": lambda n, x: renamed(n, x, relative_path="../a"),
    "absolute": lambda n, x: renamed(n, x, relative_path="/etc/passwd"),
    "beyond": lambda n, x: renamed(n, x, length=1 << 40),
    "negative": lambda n, x: renamed(n, x, offset=-1),
    "compressed": lambda n, x: renamed(n, x, transform_descriptors=["zstd"]),
    "other class": lambda n, x: x.__dict__.update(storage_data=n.kind("os.path.Thing")()),
    "no dict": lambda n, x: x.__dict__.update(storage_data=[1]),
    "no dtype": lambda n, x: x.__dict__["state_dict_metadata"]["model.a"].__dict__.update(
        properties=n.made("metadata.MetadataIndex")
    ),
    "huge": lambda n, x: x.__dict__["state_dict_metadata"]["model.a"].__dict__.update(
        size=n.size(1 << 40, 6)
    ),
}


@pytest.mark.parametrize("how", [*SPOILT])
def test_descriptions_that_do_not_fit_are_refused(tmp_path: Path, how: str):
    write(tmp_path, QUARTERS, spoil=SPOILT[how])
    into = {"model": {"a": gn.zeros(4, 6)}, "n": 0}

    with pytest.raises(CheckpointError, match="checkpoint: "):
        dcp.load(into, checkpoint_id=tmp_path)
    assert into["model"]["a"].tolist() == [[0] * 6] * 4


@pytest.mark.parametrize(
    "parts",
    [
        QUARTERS[:3],
        [((0, 0), A[:2]), ((1, 0), A[:2])],
        [((0, 0), A[:2]), ((3, 0), A[:2])],
        [((0, 0), A[:2]), ((2, 0), A[2:].astype(np.int64))],
    ],
)
def test_parts_that_are_no_tensor_are_refused(tmp_path: Path, parts):
    write(tmp_path, parts)
    into = {"model": {"a": gn.zeros(4, 6)}}

    with pytest.raises(CheckpointError):
        dcp.load(into, checkpoint_id=tmp_path)
    assert into["model"]["a"].tolist() == [[0] * 6] * 4


def test_a_changed_byte_and_no_pickle_are_refused(tmp_path: Path):
    write(tmp_path, QUARTERS)
    content = bytearray((tmp_path / "__0_0.distcp").read_bytes())
    place = content.index(A[2:, 3:].tobytes()[:12])
    content[place + 5] ^= 1
    (tmp_path / "__0_0.distcp").write_bytes(content)
    into = {"model": {"a": gn.zeros(4, 6)}}
    with pytest.raises(CheckpointError):
        dcp.load(into, checkpoint_id=tmp_path)
    assert into["model"]["a"].tolist() == [[0] * 6] * 4

    for text in (b"", b"no pickle", pickle.dumps([1]), b"\x80\x02]q\x00."):
        (tmp_path / ".metadata").write_bytes(text)
        with pytest.raises(CheckpointError, match=r"\.metadata cannot be read"):
            dcp.load(into, checkpoint_id=tmp_path)
