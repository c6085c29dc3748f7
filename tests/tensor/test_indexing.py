"""Reading and writing parts of tensors, beside numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GnomonError, IndexOutOfBounds
from gnomon.nn import functional as F

X = np.arange(60.0).reshape(3, 4, 5)
MASK = X[:, :, 0] % 3 == 0
INDICES = [
    (1,),
    (-1,),
    (slice(None), 2),
    (slice(None, None, 2), slice(1, 4), slice(-3, None)),
    (..., 0),
    (None, 1, ..., None),
    ([0, 2],),
    (slice(None), [3, 0, 3]),
    ([0, 2], [1, 3]),
    ([[0, 1], [2, 0]], slice(None), [[1], [4]]),
    (0, [1, 2], slice(1, 3)),
    ([0, 1], slice(None), [2, 3]),
    (MASK,),
    (MASK, 1),
    (slice(None), [True, False, True, False]),
    (np.array([-1, 0]),),
]


def ours(index: tuple) -> tuple:
    """An index with arrays as tensors."""
    return tuple(gn.from_numpy(i) if isinstance(i, np.ndarray) else i for i in index)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_part_is_numpys(index):
    part = gn.from_numpy(X)[ours(index)]

    assert part.shape == X[index].shape
    assert part.tolist() == X[index].tolist()


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writing_a_part_changes_what_numpy_changes(index):
    x, expected = gn.tensor(X), X.copy()

    x[ours(index)] = -1.0
    expected[index] = -1.0

    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("index", INDICES[:13], ids=str)
def test_the_gradient_of_a_part_counts_its_uses(index):
    x, uses = gn.tensor(X, requires_grad=True), np.zeros_like(X)
    np.add.at(uses, index, 1.0)

    x[ours(index)].sum().backward()

    assert x.grad.tolist() == uses.tolist()


def test_a_slice_is_a_view_and_a_list_is_a_copy():
    x = gn.zeros(3, 2)
    view, copied = x[1:], x[[1, 2]]

    view[0, 0] = 1.0
    copied[0, 1] = 1.0

    assert x.tolist() == [[0, 0], [1, 0], [0, 0]]


def test_values_are_broadcast_and_of_several_for_one_place_the_last_stays():
    x = gn.zeros(2, 3)

    x[:, 1:] = gn.tensor([[5.0], [6.0]])
    x[0, [0, 0]] = gn.tensor([1.0, 2.0])

    assert x.tolist() == [[2, 5, 5], [0, 6, 6]]


def test_values_may_add_up_instead():
    x = gn.zeros(3)

    x.index_put_((gn.tensor([0, 2, 0]),), gn.tensor([1.0, 2.0, 3.0]), accumulate=True)

    assert x.tolist() == [4.0, 0.0, 2.0]


@pytest.mark.parametrize("index", [(3,), (0, 0, 5), (0, 0, 0, 0), ([3],), (slice(None), [0, -5])])
def test_a_place_that_is_not_there_is_refused(index):
    with pytest.raises((IndexError, GnomonError)):
        gn.from_numpy(X)[index].numpy()


def test_a_loop_over_a_tensor_gives_its_rows():
    assert [row.tolist() for row in gn.from_numpy(X[:, 0, :2])] == X[:, 0, :2].tolist()


LOOKUPS = {
    "embedding": lambda x: F.embedding(gn.tensor(3), x),
    "take": lambda x: gn.take(x, gn.tensor(-2), 0),
    "index": lambda x: x[gn.tensor(3)] + x[:, gn.tensor(1)].sum(),
    "index_select": lambda x: gn.index_select(x, 0, gn.tensor(3)),
    "gather": lambda x: gn.gather(x, 1, gn.tensor([[0], [1], [2], [0], [1]])),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", LOOKUPS)
def test_one_position_has_a_gradient(name: str, compiled: bool):
    function = lambda x: (LOOKUPS[name](x) * 3).sum()  # noqa: E731
    run = gn.compile(function) if compiled else function
    x = gn.rand(5, 3, requires_grad=True)

    run(x).backward()

    moved = 0.25
    for place in ((3, 1), (0, 2), (2, 0)):
        y = x.detach().clone()
        y[place] += moved
        slope = (function(y) - function(x.detach())).item() / moved
        assert x.grad[place].item() == pytest.approx(slope, abs=1e-4)


def test_windows_of_nothing_have_a_gradient_of_zeros():
    x = gn.rand(2, 7, requires_grad=True)

    (x.unfold(1, 0, 2).sum() + x.sum()).backward()

    assert (x.grad == 1).all()


@pytest.mark.parametrize("n", [5, 6, 2**62])
def test_differences_of_everything_are_nothing_at_once(n: int):
    assert gn.diff(gn.rand(3, 5), n).shape == (3, 0)


@pytest.mark.parametrize("step", [-2, -1, 1, 2])
def test_one_element_of_parts_of_parts_is_the_one_that_numpy_has(step):
    array = np.arange(24.0).reshape(2, 3, 4)
    x = gn.tensor(array)

    for k, j in product(range(-2, 2), range(-3, 3)):
        assert x[k, j].flip(0)[1:][0].item() == array[k, j][::-1][1:][0]
        assert x[k][j, abs(step)].item() == array[k][j, abs(step)]
    assert x[1][2][3].item() == x[1:, 2:, 3:].item() == 23
    assert x[1:2, ::2][0, 1, 3:].item() == array[1:2, ::2][0, 1, 3:].item()


def test_a_part_shows_what_is_written_to_the_whole_after_it_was_read():
    x = gn.zeros(2, 2)
    part = x[1, 1]
    assert part.item() == 0
    x.fill_(3)
    assert part.item() == 3
    x.numpy()[1, 1] = 4
    assert (part.item(), x[1, 1].item()) == (4, 4)


def test_an_index_met_again_is_read_of_the_shape_at_hand():
    for shape in ((2, 3), (3, 2), (2, 3)):
        x = gn.arange(6).reshape(shape)

        assert x[-1].tolist() == x.numpy()[-1].tolist()
        assert x[:, 1:].tolist() == x.numpy()[:, 1:].tolist()


@pytest.mark.parametrize("compiled", [False, True])
def test_as_many_values_as_places_of_a_mask(compiled: bool):
    def put(mask: gn.Tensor, values: gn.Tensor) -> gn.Tensor:
        x = gn.zeros(mask.shape[0], *values.shape[1:])
        x[mask] = values
        return x

    run = gn.compile(put) if compiled else put
    mask = gn.tensor([True, False, True, True])
    assert run(mask, gn.tensor([1.0, 2.0, 3.0])).tolist() == [1.0, 0.0, 2.0, 3.0]
    assert run(mask, gn.tensor([[1.0, 2.0]])).tolist()[2:] == [[1.0, 2.0], [1.0, 2.0]]
    assert run(mask & False, gn.zeros(0, 2)).tolist() == [[0.0, 0.0]] * 4
    assert run(mask[:0], gn.zeros(0, 2)).tolist() == []
    for count in (0, 2, 4, 5):
        with pytest.raises(IndexError, match="outside"):
            run(mask, gn.ones(count)).tolist()


def test_a_mask_that_finds_nothing_is_read_and_written():
    x = gn.ones(3, 2)
    x[x[:, 0] > 1] *= 2

    assert x.tolist() == [[1.0, 1.0]] * 3


def test_a_tensor_of_one_integer_makes_a_view_as_a_number_does():
    x = gn.zeros(3, 2)

    for k in gn.tensor([0, 2]):
        x[k].add_(1)
    x[1, gn.tensor(-1)].fill_(5)

    assert x.tolist() == [[1, 1], [0, 5], [1, 1]]
    assert x[gn.tensor(1)]._base is x
    with pytest.raises(IndexOutOfBounds, match="index 3 is out of bounds"):
        x[gn.tensor(3)]


def test_a_tensor_of_one_integer_does_not_move_the_axis_of_positions():
    x, one, places = gn.arange(120).reshape(2, 3, 4, 5), gn.tensor(1), gn.tensor([1, 2])
    expected = x[:, 1, :, places].tolist()
    of_one = gn.compile(lambda x, one: x[:, one, :, places])

    assert x[:, one, :, places].tolist() == expected
    assert of_one(x, one).tolist() == expected
    x[:, one, :, places] = gn.zeros(2, 4, 2, dtype=gn.int64)
    assert x[:, 1, :, 1:3].sum().item() == 0


def test_a_tensor_is_reversed_along_its_first_axis():
    assert reversed(gn.arange(3)).tolist() == [2, 1, 0]
    assert reversed(gn.tensor(1)).item() == 1


def test_gather_has_a_dense_gradient_whatever_is_asked_for():
    x, places = gn.tensor([1.0, 2.0, 3.0], requires_grad=True), gn.tensor([2, 2])

    gn.gather(x, 0, places, sparse_grad=True).sum().backward()

    assert x.grad.tolist() == [0.0, 0.0, 2.0]


def test_no_positions_of_any_rank_change_nothing():
    x, none = gn.ones(2, 2), gn.tensor([], dtype=gn.int64)
    values = gn.ones(2, 2, requires_grad=True)

    made = [
        x.scatter(0, none, values),
        x.scatter_add(0, none, values),
        x.scatter_reduce(0, none, values, "amax"),
        gn.compile(lambda x, i, v: x.scatter(0, i, v))(x, none, values),
    ]

    assert [y.tolist() for y in made] == [[[1.0, 1.0], [1.0, 1.0]]] * 4
    made[1].sum().backward()
    assert values.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(5,), (5, 4)])
def test_one_tensor_of_places_reads_rows_as_any_index_does(kind, shape, rng):
    a = rng.standard_normal((5, 4)).astype("float32")
    masks = kind in ("uint8", "bool")
    places = rng.integers(0, 2 if masks else 5, shape).astype(kind)
    want = a[places.astype(bool) if masks else places]
    x, index = gn.tensor(a, requires_grad=True), gn.from_numpy(places)

    parts = x[index], x[(index,)]

    weights = gn.tensor(rng.standard_normal(want.shape).astype("float32"))
    slopes = [gn.autograd.grad((y * weights).sum(), x)[0].numpy() for y in parts]
    assert all(np.array_equal(y.detach().numpy(), want) for y in parts)
    assert slopes[0].tobytes() == slopes[1].tobytes()


def test_rows_of_a_view_follow_what_is_written_to_it():
    x = gn.arange(12).reshape(4, 3)
    part, places = x[1:], gn.tensor([-1, 0])
    before = part[places]
    x += 100

    assert before.tolist() == [[9, 10, 11], [3, 4, 5]]
    assert part[places].tolist() == [[109, 110, 111], [103, 104, 105]]
    with pytest.raises(IndexOutOfBounds):
        part[gn.tensor([3, 0])].tolist()
