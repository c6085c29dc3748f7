"""Every row of table/ under torch and under Gnomon: values, dtypes, shapes and gradients.

The rows hold no expected values: torch is the oracle. Bits are not compared here.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest

import gnomon
from tests.parity.record import Record
from tests.parity.table import RECORDS

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

# what torch says of functions that it may give up
pytestmark = pytest.mark.filterwarnings("ignore:.*(deprecated|beta).*:UserWarning")

# relative and absolute: what a different order of sums may cost, with some room
CLOSE = {"float64": (1e-11, 1e-12), "float32": (2e-5, 4e-6)}


def samples(record: Record, dtype: str) -> list[np.ndarray]:
    """The record's arguments; floats take the type under test, integers and booleans stay."""
    random = np.random.default_rng(zlib.crc32(record.name.encode()))
    made = [np.asarray(maker(random)) for maker in record.makers]
    return [a.astype(dtype) if a.dtype == np.float64 else a for a in made]


def tensors(lib: Any, arrays: list[np.ndarray], tracked: bool) -> list[Any]:
    """The arrays as tensors of a library, floats ready to collect gradients."""
    made = [lib.tensor(array) for array in arrays]
    for tensor, array in zip(made, arrays, strict=True):
        if tracked and array.dtype.kind == "f":
            tensor.requires_grad_()
    return made


def leaves(answer: Any) -> list[Any]:
    """The tensors and Python values of an answer, in order."""
    if isinstance(answer, tuple | list):
        return [leaf for part in answer for leaf in leaves(part)]
    return [answer]


def plain(leaf: Any) -> np.ndarray:
    """A leaf as a numpy array."""
    return leaf.detach().numpy() if hasattr(leaf, "detach") else np.asarray(leaf)


def kind(leaf: Any) -> str:
    """A tensor's dtype, or a Python value's type, by name."""
    return str(leaf.dtype).split(".")[-1] if hasattr(leaf, "dtype") else type(leaf).__name__


def weighed(answer: Any) -> Any:
    """A scalar in which every element of every float output has its own weight."""
    total = 0.0
    for leaf in leaves(answer):
        if getattr(leaf, "requires_grad", False):
            weights = np.cos(np.arange(leaf.numel()) * 0.7 + 0.3).reshape(tuple(leaf.shape))
            library = torch if isinstance(leaf, torch.Tensor) else gnomon
            total = total + (leaf * library.tensor(weights).to(leaf.dtype)).sum()
    return total


def gradients(lib: Any, record: Record, arrays: list[np.ndarray]) -> list[np.ndarray | None]:
    """The gradient of the weighed outputs for each float argument; None where none arrives."""
    arguments = tensors(lib, arrays, tracked=True)
    weighed(record.call(lib, *arguments)).backward()
    grads = [tensor.grad for tensor in arguments]
    return [None if grad is None else plain(grad) for grad in grads]


def differentiable(record: Record) -> bool:
    """Whether a record has float arguments and asks for their gradients."""
    floats = any(array.dtype.kind == "f" for array in samples(record, "float64"))
    return record.gradient and floats


def assert_near(ours: np.ndarray, theirs: np.ndarray, dtype: str, slack: float) -> None:
    """Compare floats within the type's tolerance, everything else exactly."""
    if theirs.dtype.kind != "f":
        np.testing.assert_array_equal(ours, theirs)
        return
    relative, absolute = CLOSE[dtype]
    np.testing.assert_allclose(ours, theirs, rtol=relative * slack, atol=absolute * slack)


ROWS = [pytest.param(record, id=record.name) for record in RECORDS]
SLOPES = [pytest.param(record, id=record.name) for record in RECORDS if differentiable(record)]


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("record", ROWS)
def test_values_dtypes_and_shapes_are_torchs(record: Record, dtype: str):
    arrays = samples(record, dtype)

    ours = leaves(record.call(gnomon, *tensors(gnomon, arrays, tracked=False)))
    theirs = leaves(record.call(torch, *tensors(torch, arrays, tracked=False)))

    assert [kind(leaf) for leaf in ours] == [kind(leaf) for leaf in theirs]
    assert [plain(leaf).shape for leaf in ours] == [plain(leaf).shape for leaf in theirs]
    for our, their in zip(ours, theirs, strict=True):
        assert_near(plain(our), plain(their), dtype, record.slack)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("record", SLOPES)
def test_gradients_are_torchs(record: Record, dtype: str):
    arrays = samples(record, dtype)

    ours, theirs = gradients(gnomon, record, arrays), gradients(torch, record, arrays)

    assert [grad is None for grad in ours] == [grad is None for grad in theirs]
    for our, their in zip(ours, theirs, strict=True):
        if their is not None:
            assert_near(our, their, dtype, 4 * record.slack)


def test_no_two_records_share_a_name():
    names = [record.name for record in RECORDS]

    assert sorted(set(names)) == sorted(names)
