"""Lists, dictionaries and objects of compiled calls are the caller's, as without a capture."""

from __future__ import annotations

import dataclasses
import random
from collections import OrderedDict, defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

import gnomon as gn
from tests.fuzz_objects import tried


@pytest.mark.parametrize("seed", range(20))
def test_random_functions_of_objects_are_the_plain_ones(seed):
    rng = random.Random(seed)

    assert not [told for told in (tried(rng) for _ in range(4)) if told]


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(100, 104))
def test_thousands_of_random_functions_of_objects_are_the_plain_ones(seed):
    rng = random.Random(seed)

    assert not [told for told in (tried(rng) for _ in range(600)) if told]


@dataclasses.dataclass
class Pair:
    x: Any
    scale: float = 2.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any
    scale: float = 2.0


@dataclasses.dataclass(slots=True)
class Slotted:
    x: Any
    scale: float = 2.0


class Cache(dict):
    pass


def values(count: int = 4) -> list[gn.Tensor]:
    return [gn.tensor([float(k)]) for k in range(count)]


@pytest.mark.parametrize("make", [Pair, Frozen, Slotted, lambda x: SimpleNamespace(x=x, scale=2.0)])
def test_new_objects_of_data_are_captured_twice_at_most(make):
    @gn.compile
    def scaled(data):
        return data.x * data.scale

    assert [scaled(make(x)).item() for x in values(6)] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert scaled.captures == 2


def test_numbers_of_new_objects_are_inputs_from_their_second_value():
    @gn.compile
    def scaled(x, data):
        return x * data.scale

    found = [scaled(gn.ones(1), Pair(None, k / 4)).item() for k in range(40)]

    assert found == [k / 4 for k in range(40)]
    assert scaled.captures <= 3


def test_what_a_function_writes_to_its_arguments_is_written():
    @gn.compile
    def extend(x, cache, log, data):
        cache["last"] = x * 2
        log.append(x)
        data.x, data.scale = x + 1, data.scale * 2

    for x in values():
        cache, log, data = {"k": x}, [x], Pair(x)
        assert extend(x, cache, log, data) is None
        assert cache["last"].item() == 2 * x.item()
        assert log[1] is x
        assert (data.x.item(), data.scale) == (x.item() + 1, 4.0)
    assert extend.captures == 2


def test_an_argument_that_is_given_back_is_the_argument():
    same = gn.compile(lambda data, log: {"data": data, "logs": [log, log]})

    for x in values():
        data, log = {"x": x}, [x]
        found = same(data, log)
        assert found["data"] is data
        assert found["logs"][0] is found["logs"][1] is log
    assert same.captures == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda v: Pair(v),
        lambda v: Frozen(v),
        lambda v: Slotted(v),
        lambda v: SimpleNamespace(x=v),
        lambda v: OrderedDict(x=v),
        lambda v: defaultdict(list, x=v),
        lambda v: Cache(x=v),
        lambda v: [v],
    ],
)
def test_each_call_gives_objects_of_its_own(make):
    made = gn.compile(lambda x: make(x * 2))
    found = [made(x) for x in values()]
    inside = [
        x[0] if isinstance(x, list) else x["x"] if isinstance(x, dict) else x.x for x in found
    ]

    assert [x.item() for x in inside] == [0.0, 2.0, 4.0, 6.0]
    assert {type(x) for x in found} == {type(make(0))}
    assert made.captures == 1


def test_a_mapping_with_attributes_keeps_both():
    class Output(OrderedDict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            vars(self)[key] = value

    @gn.compile
    def model(x):
        made = Output()
        made["logits"] = x * 2
        return made

    read = gn.compile(lambda output: output.logits + 1)
    found = [model(x) for x in values()]

    assert all(x.logits is x["logits"] for x in found)
    assert [read(x).item() for x in found] == [1.0, 3.0, 5.0, 7.0]
    assert model.captures == read.captures == 1


def test_an_object_that_holds_itself_comes_back_so():
    @gn.compile
    def knot(x):
        made = {"x": x + 1}
        made["self"] = [made]
        return made

    for x in values():
        found = knot(x)
        assert found["self"][0] is found
        assert found["x"].item() == x.item() + 1


def test_an_object_kept_elsewhere_is_captured_anew_and_said():
    kept = []

    @gn.compile
    def keep(x, log):
        kept.append(log)
        return log

    for x in values(3):
        log = [x]
        assert keep(x, log) is log
        assert kept[-1] is log
    assert keep.captures == 3
    assert "so that no program fits twice" in keep.why_recompiled()[0]


def test_a_tensor_from_outside_that_is_given_back_is_the_one_that_stands_there():
    kept, holder = [gn.ones(1), gn.zeros(1)], SimpleNamespace(a=gn.ones(1), b=gn.ones(1))
    part = gn.compile(lambda: (kept[1], kept[0][:1]))

    @gn.compile
    def move(x):
        holder.a = holder.b
        return x

    for k in range(3):
        kept[:] = [gn.tensor([float(k)]), gn.tensor([k + 0.5])]
        holder.b = gn.tensor([k + 2.0])
        whole, cut = part()
        move(gn.ones(1))
        assert whole is kept[1]
        assert cut.item() == k
        assert holder.a is holder.b
    assert part.captures == move.captures == 1


def test_one_list_twice_is_another_call_than_two():
    @gn.compile
    def both(a, b):
        a.append(a[0] * 2)
        return len(b), a is b

    one, two = [gn.ones(1)], [gn.ones(1)]

    assert both(one, one) == (2, True)
    assert both([gn.ones(1)], two) == (1, False)


def test_arguments_are_as_before_where_a_call_fails():
    @gn.compile
    def fails(cache):
        cache["x"] = cache["x"] * 2
        cache["missing"]

    for x in values(2):
        cache = {"x": x}
        with pytest.raises(KeyError, match="missing"):
            fails(cache)
        assert cache["x"].item() == 2 * x.item()


def test_a_file_refuses_a_function_that_writes_to_its_arguments():
    def put(cache):
        cache["x"] = cache["x"] * 2
        return cache["x"]

    with pytest.raises(gn.errors.TraceError, match="writes to its arguments"):
        gn.compile(put).precompile({"x": gn.ones(1)})
