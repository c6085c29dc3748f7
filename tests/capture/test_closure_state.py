"""What a captured function may read: each case changes something and asks for another result."""

import collections
import dataclasses
import functools
import sys
import types

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture.closure_state import of_function

SCALE = 1.0
HERE = sys.modules[__name__]


@dataclasses.dataclass
class Options:
    scale: float = 1.0
    inner: object = None


@dataclasses.dataclass(slots=True)
class Slotted:
    scale: float = 1.0


class Shared:
    scale = 1.0


class Layers:
    """Is called, counted and indexed, none of which code names."""

    def __init__(self):
        self.items, self.scale = [Options(), Options()], 1.0

    def __call__(self, x):
        return x * self.scale

    def __getitem__(self, number):
        return self.items[number]

    def __iter__(self):
        return iter(self.items)

    @property
    def first(self):
        return self.items[0]


class Scaled(nn.Module):
    def __init__(self, **given):
        super().__init__()
        vars(self).update(given)

    def forward(self, x):
        return x * self.options.scale

    def halved(self, x):
        return x * self.options.scale / 2


class Global(nn.Module):
    def forward(self, x):
        return x * SCALE


class Indexed(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.act = [gn.ones(1)], gn.abs

    def forward(self, x):
        return self.act(x * self.table[0])


class Above(Scaled):
    def forward(self, x):
        return super().forward(x) + self.after(x)

    def after(self, x):
        return x * getattr(self.others, "scale", 0.0)


def read_by_another(owner, x):
    return x * owner.options.scale


def keyword(x, *, scale=1.0):
    return x * scale


def outcome(function, change, *arguments):
    """Results before and after a change, compiled and plain."""
    compiled, x = gn.compile(function), gn.arange(3.0) + 1
    before = [compiled(x, *arguments).sum().item() for _ in range(2)]
    change()
    plain = function(x, *arguments).sum().item()
    assert before[0] == before[1] != plain
    assert compiled(x, *arguments).sum().item() == plain


def set_to_two(owner):
    return lambda: setattr(owner, "scale", 2.0)


@pytest.mark.parametrize(
    "make", [Options, Slotted, types.SimpleNamespace, lambda scale: Options(scale)]
)
def test_options_inside_a_module(make):
    options = make(scale=1.0)
    outcome(nn.Sequential(Scaled(options=options)), set_to_two(options))


def test_options_that_a_module_reads_elsewhere_than_in_forward():
    module = Scaled(options=Options())
    outcome(lambda x: module.halved(x), set_to_two(module.options))
    module = Scaled(options=Options())
    outcome(lambda x: read_by_another(module, x), set_to_two(module.options))


@pytest.mark.parametrize("name", ["options", "others"])
def test_options_of_classes_above_and_below(name):
    module = Above(options=Options(), others=Options())
    outcome(module, set_to_two(getattr(module, name)))


def test_lists_and_functions_inside_a_module():
    module = Indexed()
    outcome(module, lambda: module.table.__setitem__(0, gn.ones(1) * 2))
    outcome(module, lambda: setattr(module, "act", gn.exp))


def test_globals_of_a_modules_forward(monkeypatch):
    module = Global()
    outcome(lambda x: module(x), lambda: monkeypatch.setattr(HERE, "SCALE", 2.0))


def test_classes_files_and_keywords(monkeypatch):
    outcome(lambda x: x * Shared.scale, lambda: monkeypatch.setattr(Shared, "scale", 2.0))
    outcome(lambda x: x * HERE.SCALE, lambda: monkeypatch.setattr(HERE, "SCALE", 3.0))
    kept = keyword.__kwdefaults__
    outcome(keyword, lambda: monkeypatch.setitem(kept, "scale", 2.0))


def test_an_attribute_that_an_object_has_from_its_class(monkeypatch):
    shared = Shared()
    outcome(lambda x: x * shared.scale, lambda: monkeypatch.setattr(Shared, "scale", 2.0))


def test_methods_that_code_does_not_name():
    layers = Layers()
    outcome(layers, set_to_two(layers))
    outcome(lambda x: layers(x), lambda: setattr(layers, "scale", 3.0))
    outcome(lambda x: x * layers[0].scale, set_to_two(layers.items[0]))
    outcome(lambda x: sum(x * each.scale for each in layers), set_to_two(layers.items[1]))


def test_what_a_property_gives():
    layers = Layers()
    outcome(lambda x: x * layers.first.scale, set_to_two(layers.items[0]))


def test_parts_of_a_partial_call_and_deep_nesting():
    options = Options(inner={"layers": [Options()]})
    call = functools.partial(lambda x, given: x * given.inner["layers"][0].scale, given=options)
    outcome(call, set_to_two(options.inner["layers"][0]))


def test_sets_and_queues():
    words, queue = {1}, collections.deque([1.0])
    outcome(lambda x: x * len(words), lambda: words.add(2))
    outcome(lambda x: x * queue[0], lambda: queue.append(queue.popleft() + 1) or queue.rotate())


def test_arrays_of_numpy():
    array = np.ones(3, np.float32)
    outcome(lambda x: x * float(array.mean()), lambda: array.fill(2))
    outcome(lambda x: x * gn.tensor(array), lambda: array.fill(5))


def test_objects_among_the_arguments():
    options = Options()
    outcome(lambda x, given: x * given.scale, set_to_two(options), options)


def test_an_equal_value_in_another_object_needs_no_capture():
    module = Scaled(options=Options(1.5))
    compiled, x = gn.compile(module), gn.ones(3)
    for scale in ("1.5", "1.5", "1.50"):
        module.options.scale = float(scale)
        compiled(x)
    assert compiled.captures == 1


def test_a_method_of_another_object_under_the_same_name_is_not_read():
    class Trainer:
        def __init__(self):
            self.model, self.seen = nn.Linear(3, 3), 0

        def train(self):
            self.seen += 1

        def step(self, x):
            self.model.train()
            return self.model(x)

    trainer = Trainer()
    compiled = gn.compile(trainer.step)
    for _ in range(3):
        compiled(gn.ones(3))
        trainer.train()
    assert compiled.captures == 1


def test_a_walk_ends_where_objects_point_at_each_other():
    one, other = Options(), Options()
    one.inner, other.inner = other, one

    found, places = of_function(lambda: one.inner.inner.scale)

    assert places.hold()
    assert hash(found) == hash(of_function(lambda: one.inner.inner.scale)[0]) or found


def test_a_method_of_ours_that_is_compiled_itself():
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout(1.0))
    outcome(module.forward, module.eval)
    module.train()
    module.compile()
    x = gn.ones(3)
    assert module(x).sum().item() == 0 != module.eval()(x).sum().item()
