"""Operations of a user's own: the same inside of gn.compile as outside, or refused with a word."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed.tensor import Shard, distribute_tensor
from gnomon.errors import ArgumentError, GradientError, ShapeError, TraceError
from gnomon.library import CustomOp, custom_op
from gnomon.ops.external import EXTERNALS
from gnomon.settings import override
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

DTYPES = (gn.float32, gn.float64, gn.float16, gn.bfloat16, gn.int64, gn.uint8, gn.bool)
_number = count()


def same(x: gn.Tensor, y: gn.Tensor) -> bool:
    """Whether two tensors have the same shape, dtype and bits."""
    return x.dtype == y.dtype and x.shape == y.shape and bool((x == y).all().item())


def named(function: Callable, **said: object) -> CustomOp:
    """An operation of a name that no other test has."""
    return custom_op(f"tests::op_{next(_number)}", function, **said)


def sines(x: gn.Tensor, scale: float = 1.0) -> gn.Tensor:
    return gn.tensor(np.sin(x.numpy()) * np.float32(scale))


def sine(**said: object) -> CustomOp:
    op = named(sines, **said)
    op.register_fake(lambda x, scale: x.new_empty(x.shape))
    return op


def test_a_call_is_the_function_outside_and_a_kernel_inside():
    op, x = sine(), gn.rand(4, 5)
    inside = gn.compile(lambda x: op(x * 2, scale=3.0).sum(1) + 1)

    assert same(inside(x), op(x * 2, scale=3.0).sum(1) + 1)
    (record,) = [k for k in inside.kernels() if k.name == op.name]
    assert record.lines[0].file.endswith("test_custom_op.py")


def test_a_program_calls_it_at_each_run():
    calls = []

    def counted(x: gn.Tensor) -> gn.Tensor:
        calls.append(tuple(x.shape))
        return x + len(calls)

    op = named(counted)
    op.register_fake(lambda x: x.new_empty(x.shape))
    inside = gn.compile(lambda x: op(x) * 1)

    assert [inside(gn.zeros(2)).tolist() for _ in range(3)] == [[1, 1], [2, 2], [3, 3]]
    assert calls == [(2,)] * 3


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (5, 7), ()], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_any_dtype_and_any_size(shape: tuple[int, ...], dtype: gn.dtype):
    op = named(lambda x, y: (x.clone(), y.reshape(-1)))
    op.register_fake(lambda x, y: (x.new_empty(x.shape), y.new_empty((y.numel(),))))
    x, y = gn.ones(shape, dtype=dtype), gn.zeros(shape, dtype=dtype)

    found = gn.compile(lambda x, y: op(x, y))(x, y)

    assert isinstance(found, tuple)
    assert same(found[0], x)
    assert same(found[1], y.reshape(-1))


def test_lists_of_tensors_and_plain_arguments_arrive_as_they_were_given():
    seen = []

    def joined(xs: list[gn.Tensor], how: tuple, *, name: str, skip: bool, none: None) -> gn.Tensor:
        seen.append((type(xs), how, name, skip, none))
        return gn.cat(xs)

    op = named(joined)
    op.register_fake(lambda xs, how, name, skip, none: gn.empty(sum(x.shape[0] for x in xs)))
    xs, said = [gn.ones(2), gn.zeros(3)], {"name": "a'b", "skip": True, "none": None}

    inside = gn.compile(lambda xs: op(xs, (1, -0.0, float("inf")), **said))(xs)

    assert inside.tolist() == [1, 1, 0, 0, 0]
    assert seen == [(list, (1, -0.0, float("inf")), "a'b", True, None)]
    assert str(seen[0][1][1]) == "-0.0"


def test_it_may_stand_in_a_loop():
    op = sine()

    def body(carry: gn.Tensor, x: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        return op(carry) + x, carry

    x = gn.rand(4, 3)
    last, rows = gn.compile(lambda x: gn.scan(body, gn.zeros(3), x))(x)

    carry = gn.zeros(3)
    for k in range(4):
        assert same(rows[k], carry)
        carry = op(carry) + x[k]
    assert same(last, carry)


# gradients, samples, ranks


def test_gradients_are_those_that_were_registered():
    op = sine()
    op.register_autograd(
        lambda context, g: (g * context.saved_tensors[0].cos() * context.scale, None),
        setup_context=keep,
    )
    x = gn.rand(4, 5)
    inside = gn.compile(lambda x: op(x * 2, 3.0).sum())

    plain, compiled = (gradient(f, x) for f in (lambda x: op(x * 2, 3.0).sum(), inside))

    assert same(plain, compiled)
    np.testing.assert_allclose(plain.numpy(), 6 * np.cos(2 * x.numpy()), rtol=1e-5)


def keep(context: object, inputs: tuple, output: gn.Tensor) -> None:
    context.save_for_backward(inputs[0])
    context.scale = inputs[1]


def gradient(function: Callable, x: gn.Tensor) -> gn.Tensor:
    leaf = x.clone().requires_grad_()
    function(leaf).backward()
    return leaf.grad


def test_without_a_gradient_backward_says_so():
    op = sine()

    with pytest.raises(GradientError, match=r"it has no gradient\. Say it by register_autograd"):
        gradient(lambda x: op(x).sum(), gn.rand(3))


def test_samples_are_calls_of_their_own_or_one_where_that_is_registered():
    op, x = sine(), gn.rand(3, 4)
    each = gn.vmap(lambda row: op(row, 2.0))(x)
    shapes = []

    @op.register_vmap
    def _(info: object, places: tuple, x: gn.Tensor, scale: float) -> tuple[gn.Tensor, int]:
        shapes.append((info.batch_size, places, tuple(x.shape)))
        return op(x, scale), 0

    together = gn.vmap(lambda row: op(row, 2.0))(x)

    assert same(each, op(x, 2.0))
    assert same(together, each)
    assert shapes == [(3, (0, None), (3, 4))]


@pytest.mark.parametrize(("sharding", "rows"), [("", 8), ("ab,a->ab,a", 4)], ids=["whole", "split"])
def test_ranks_share_an_operation_as_its_letters_say(sharding: str, rows: int):
    shapes = []

    def scaled(x: gn.Tensor, y: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        shapes.append(tuple(x.shape))
        return x * y[:, None], x.sum(1)

    op = named(scaled, sharding=sharding)
    op.register_fake(lambda x, y: (x.new_empty(x.shape), y.new_empty(y.shape)))
    x, y = gn.rand(8, 6), gn.rand(8)
    expected = op(x, y)
    shapes.clear()

    def ours(rank: int, ranks: int) -> list[bool]:
        mesh = dist.init_device_mesh("cpu", (ranks,))
        parts = [distribute_tensor(t, mesh, [Shard(0)]) for t in (x, y)]
        found = op(*parts)
        return [same(whole(t), want) for t, want in zip(found, expected, strict=True)]

    assert on_threads(ours, 2) == [[True, True]] * 2
    assert {shape[0] for shape in shapes} == {rows}


def whole(x: gn.Tensor) -> gn.Tensor:
    return x.full_tensor() if hasattr(x, "full_tensor") else x


# what changes


def add(x: gn.Tensor, by: int) -> None:
    x.add_(by)


def twice_as_long(x: gn.Tensor) -> None:
    x.data = gn.cat([x, x])


def turned(x: gn.Tensor) -> None:
    x.data = x.data.T


CHANGES = {
    "data": (add, (2,), lambda x, by: None),
    "storage": (twice_as_long, (), lambda x: setattr(x, "data", x.new_empty(2 * x.shape[0], 3))),
    "metadata": (turned, (), lambda x: setattr(x, "data", x.data.T)),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_declared_changes_are_done_in_programs_too(kind: str):
    body, said, fake = CHANGES[kind]
    op = named(body, mutates_args={"x": kind})
    op.register_fake(fake)

    def changing(x: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor, gn.Tensor]:
        y = x + 0
        before = y.view(-1)
        op(y, *said)
        return y * 2, before * 1, y

    x = gn.rand(2, 3)

    for found, expected in zip(gn.compile(changing)(x), changing(x), strict=True):
        assert same(found, expected)


@pytest.mark.parametrize("kind", ["storage", "metadata"])
def test_a_tensor_from_outside_keeps_its_storage_and_shape_in_programs(kind: str):
    body, said, fake = CHANGES[kind]
    op = named(body, mutates_args={"x": kind})
    op.register_fake(fake)

    with pytest.raises(TraceError, match=f"it changes the {kind} of a tensor from outside"):
        gn.compile(lambda x: op(x, *said))(gn.rand(2, 3))


def test_data_of_an_argument_from_outside_changes_at_every_replay():
    op = named(add, mutates_args=("x",))
    op.register_fake(lambda x, by: None)
    inside, x = gn.compile(lambda x: op(x, 2)), gn.zeros(3)

    for _ in range(3):
        inside(x)

    assert x.tolist() == [6, 6, 6]


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_that_is_not_declared_is_refused_with_the_argument(kind: str):
    body, said, _ = CHANGES[kind]
    op = named(body)
    told = f"the call changed the {kind} of argument 'x', which is declared to change none"

    with pytest.raises(ArgumentError, match=told):
        op(gn.ones(2, 3), *said)


def test_memory_that_is_written_past_its_tensor_is_found_where_checks_are_on():
    def sneaky(x: gn.Tensor) -> gn.Tensor:
        x.numpy()[...] = 7
        return x.clone()

    op = named(sneaky)

    with override(debug=1), pytest.raises(ArgumentError, match="changed the data of argument"):
        op(gn.ones(2))


# errors


def test_an_error_of_the_function_arrives_as_it_was_raised():
    wrong = [True]

    def failing(x: gn.Tensor) -> gn.Tensor:
        if wrong:
            raise KeyError("mine")
        return x + 1

    op = named(failing)
    op.register_fake(lambda x: x.new_empty(x.shape))
    inside = gn.compile(lambda x: op(op(x)) * 2)

    with pytest.raises(KeyError, match="mine"):
        inside(gn.ones(2))
    wrong.clear()
    assert inside(gn.ones(2)).tolist() == [6, 6]


def test_results_that_are_not_those_of_the_fake_are_refused():
    op = named(lambda x: x.sum())
    op.register_fake(lambda x: x.new_empty(x.shape))

    with pytest.raises(ShapeError, match=r"gave float32\[\] where its fake gave float32\[2\]"):
        gn.compile(lambda x: op(x) + 1)(gn.ones(2))


@pytest.mark.parametrize(
    ("fake", "told"),
    [
        (None, "nothing says which shapes it gives"),
        (lambda x: None, "it gives nothing and changes nothing"),
    ],
    ids=["no fake", "nothing"],
)
def test_what_no_program_can_hold_is_refused_at_capture(fake: Callable | None, told: str):
    op = named(lambda x: None)
    op.fake = fake

    with pytest.raises(TraceError, match=told):
        gn.compile(lambda x: (op(x), x + 1)[1])(gn.ones(2))


@pytest.mark.parametrize(
    ("name", "said", "told"),
    [
        ("nameless", {}, 'a name is "library::operation": got'),
        ("a::b", {"mutates_args": "x"}, "Name the arguments"),
        ("a::b", {"mutates_args": ("y",)}, "has y. Name arguments of the function"),
        ("a::b", {"mutates_args": {"x": "all"}}, "has x: all"),
        ("a::b", {"sharding": "ab"}, 'sharding is like "bi,io->bo"'),
    ],
)
def test_what_is_declared_wrong_is_refused(name: str, said: dict, told: str):
    with pytest.raises(ArgumentError, match=told):
        custom_op(name, lambda x: x, **said)


def test_an_argument_of_another_kind_is_refused_in_programs():
    op = named(lambda x, how: x + 1)
    op.register_fake(lambda x, how: x.new_empty(x.shape))

    with pytest.raises(ArgumentError, match="an argument is a set"):
        gn.compile(lambda x: op(x, {1}))(gn.ones(2))


# programs on disk


SCRIPT = """
import gnomon as gn
from gnomon.library import custom_op
@custom_op("kept::plus")
def plus(x: gn.Tensor, by: int) -> gn.Tensor:
    return x + by{more}
plus.register_fake(lambda x, by: x.new_empty(x.shape))
f = gn.compile(lambda x: plus(x, 2) * 3)
print(f(gn.ones(2)).tolist(), f.compiles)
"""


def test_a_program_on_disk_calls_the_function_of_the_process_that_runs_it(tmp_path, monkeypatch):
    kept = {"GNOMON_CACHE_DIR": str(tmp_path), "GNOMON_CACHE": "1", "GNOMON_KEEP_PROGRAMS": "1"}
    for name, value in kept.items():
        monkeypatch.setenv(name, value)

    def told(more: str) -> str:
        return subprocess.check_output(
            [sys.executable, "-c", SCRIPT.format(more=more)], text=True
        ).strip()

    assert told("") == "[9.0, 9.0] 1"
    assert told("") == "[9.0, 9.0] 0"
    assert told(" + 1") == "[12.0, 12.0] 0"


def test_a_program_whose_operation_is_gone_says_so():
    op = sine()
    inside = gn.compile(lambda x: op(x) + 1)
    inside(gn.ones(2))
    gone = {key: EXTERNALS.pop(key) for key in list(EXTERNALS) if key.startswith(op.name + "@")}

    with pytest.raises(ArgumentError, match="this process has no such operation"):
        inside(gn.ones(2))
    EXTERNALS.update(gone)


def test_operations_of_one_name_and_other_changes_share_no_program():
    keys = []
    for mutates in ((), ("x",)):
        op = custom_op("tests::twin", lambda x: x + 1, mutates_args=mutates)
        op.register_fake(lambda x: x.new_empty(x.shape))
        keys.append(op._key())

    assert keys[0] != keys[1]


def test_pytorchs_further_words_are_taken():
    @gn.library.custom_op(
        "tests::worded", mutates_args=(), device_types="cpu", schema="(Tensor x) -> Tensor"
    )
    def worded(x: gn.Tensor) -> gn.Tensor:
        return x + 1

    assert worded(gn.ones(2)).tolist() == [2.0, 2.0]
