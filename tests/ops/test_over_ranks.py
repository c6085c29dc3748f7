"""Every operation on a tensor that lies over two ranks has the bits of the plain one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import Shard, distribute_tensor
from gnomon.ops.registry import OPS
from gnomon.tensor.functions import apply
from gnomon.tensor.layouts import value_layout
from gnomon.tensor.pytree import flatten
from gnomon.tensor.tensor import Tensor
from tests.distributed.on_threads import on_threads
from tests.ops.samples import SAMPLES, Sample

NAMES = sorted(SAMPLES)
FEW = NAMES[::12]


def tensors(value: Any) -> Any:
    """An argument with tensors in place of arrays."""
    if isinstance(value, np.ndarray):
        return gn.tensor(value.astype(np.float32) if value.dtype == np.float64 else value)
    if isinstance(value, list | tuple):
        return type(value)(map(tensors, value))
    return value


def splits(sample: Sample) -> Iterator[int]:
    """The axes of the first argument that two ranks divide."""
    first = sample.args[0] if sample.args else None
    if isinstance(first, np.ndarray):
        yield from (k for k, n in enumerate(first.shape) if n and n % 2 == 0)


def bits(value: Any) -> list[bytes]:
    """The bytes of all results."""
    found: list[Tensor] = []
    flatten(value, found)
    return [(x.full_tensor() if value_layout(x) else x).detach().numpy().tobytes() for x in found]


def over_ranks(name: str, sample: Sample, axis: int, rank: int, ranks: int) -> list[bytes]:
    """The bytes of a call's results, of whose first argument each rank has a part."""
    first, *rest = tensors(sample.args)
    named = {word: tensors(value) for word, value in sample.kwargs.items()}
    x = distribute_tensor(first, init_device_mesh("cpu", (ranks,)), [Shard(axis)])
    return bits(apply(OPS[name], (x, *rest), named))


def differing(name: str) -> list[str]:
    """The calls of an operation whose bits over two ranks are others."""
    wrong = []
    for number, sample in enumerate(SAMPLES[name]):
        named = {word: tensors(value) for word, value in sample.kwargs.items()}
        for axis in splits(sample):
            whole = bits(apply(OPS[name], tensors(sample.args), named))

            work = partial(over_ranks, name, sample, axis)
            try:
                found = on_threads(work, 2)
            except Exception as error:
                wrong.append(f"{name} {number} axis {axis}: {type(error).__name__}: {error}")
                continue
            if found != [whole, whole]:
                wrong.append(f"{name} {number} axis {axis}: other bits")
    return wrong


@pytest.mark.unit
@pytest.mark.parametrize("name", FEW)
def test_some_operations_have_the_bits_of_the_plain_one(name: str):
    assert not differing(name)


@pytest.mark.proof
@pytest.mark.share(8)
@pytest.mark.parametrize("name", NAMES)
def test_every_operation_has_the_bits_of_the_plain_one(name: str):
    assert not differing(name)
