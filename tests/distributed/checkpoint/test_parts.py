"""Parts of a tensor are runs of the whole, and every element belongs to one rank."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.distributed.checkpoint.parts import DividedTensor, TensorPart, owned, rectangle, runs
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import local_part
from gnomon.ops.placements import REPLICATED, Split

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 4), (4, 1, 5), (2, 3, 4, 2), (0, 3), (3, 0)])
def test_runs_are_the_elements_of_the_rectangle(shape, rng):
    whole = np.arange(int(np.prod(shape))).reshape(shape)
    for _ in range(30):
        low = [int(rng.integers(n + 1)) for n in shape]
        sizes = [int(rng.integers(n - o + 1)) for n, o in zip(shape, low, strict=True)]
        wanted = whole[tuple(slice(o, o + n) for o, n in zip(low, sizes, strict=True))]

        found = runs(shape, low, sizes)

        listed = [start + k for start in found.starts for k in range(found.length)]
        assert listed == wanted.reshape(-1).tolist()


def test_whole_rows_are_one_run():
    assert runs((8, 3, 5), (2, 0, 0), (4, 3, 5)).length == 60
    assert runs((8, 3, 5), (2, 1, 0), (4, 2, 5)).length == 10


LAYOUTS = [
    ((("data", 3),), ()),
    ((("data", 2), ("tensor", 2)), (("data", 2, REPLICATED), ("tensor", 2, Split(1)))),
    ((("data", 2), ("tensor", 3)), (("data", 2, Split(0)), ("tensor", 3, Split(0)))),
    ((("data", 2), ("tensor", 2)), (("data", 2, Split(1)), ("tensor", 2, Split(0)))),
    ((("data", 1), ("tensor", 7)), ()),
]


@pytest.mark.parametrize(("axes", "layout"), LAYOUTS)
@pytest.mark.parametrize("shape", [(6, 4), (12, 8, 3), (6, 0)])
def test_each_element_falls_to_one_rank_that_holds_it(axes, layout, shape, rng):
    mesh, whole = DeviceMesh.of(axes), rng.standard_normal(shape)
    count, held = np.zeros(shape, int), []
    for rank in range(mesh.size()):
        local = local_part(mesh, rank, layout, whole)
        assert np.array_equal(whole[rectangle(shape, layout, mesh.place(rank))], local)

        found = owned(local, shape, layout, mesh, rank)

        assert (found.shape, found.dtype) == (shape, whole.dtype)
        for part in found.parts:
            where = zip(part.offsets, part.array.shape, strict=True)
            inside = tuple(slice(o, o + n) for o, n in where)
            assert np.array_equal(whole[inside], part.array)
            count[inside] += 1
        held.append(sum(part.array.size for part in found.parts))
    assert (count == 1).all()
    assert max(held) - min(held) <= int(np.prod(shape[1:]))


def test_a_number_belongs_to_the_first_rank():
    mesh = DeviceMesh.of({"data": 3})

    found = [owned(np.ones(()), (), (), mesh, rank).parts for rank in range(3)]

    assert [len(parts) for parts in found] == [1, 0, 0]


def test_a_staged_copy_stays_as_it_was():
    array = np.ones((2, 3), np.float32)
    staged = DividedTensor((2, 3), array.dtype, (TensorPart((0, 0), array),)).staged()
    array[:] = 5

    assert (staged.parts[0].array == 1).all()
    assert staged.bytes == 24
