"""What a captured function depends on besides tensors: a user's objects, counters, other draws."""

import random
import types
import warnings

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import TraceError


class Trainer:
    """What many people wrap a training step in."""

    def __init__(self):
        self.model, self.scale, self.turn, self.seen = nn.Linear(3, 1), 1.0, 0, 0
        self.options = {"shift": 0.0}

    def loss(self, x):
        return (self.model(x) * self.scale + self.options["shift"]).sum() * self.factor

    @property
    def factor(self):
        return [1.0, 2.0, 4.0][self.turn]

    @gn.no_grad()
    def count(self):
        self.seen += 1

    def step(self, x):
        return self.loss(x)

    def counted(self, x):
        self.count()
        return self.loss(x) * self.seen


def agree(function, *changes):
    """Compiled and plain calls give the same after each change."""
    compiled, x = gn.compile(function), gn.ones(2, 3)
    for change in ((lambda: None), *changes):
        change()
        assert compiled(x).item() == function(x).item()
        assert compiled(x).item() == function(x).item()
    return compiled


def test_attributes_that_a_method_names_are_part_of_a_program():
    trainer = Trainer()
    compiled = agree(
        trainer.step,
        lambda: setattr(trainer, "scale", 3.0),
        lambda: setattr(trainer, "turn", 2),
        lambda: trainer.options.update(shift=1.5),
    )
    captures = compiled.captures
    assert captures <= 5  # the turn is tried as an input first
    trainer.seen = 100  # the step does not read it
    compiled(gn.ones(2, 3))
    assert compiled.captures == captures
    assert "scale is 3.0, was 1.0" in compiled.why_recompiled()[0]


def test_modes_and_replaced_weights_of_an_objects_model_are_seen():
    trainer = Trainer()
    trainer.model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(1.0), nn.Linear(4, 1))
    agree(trainer.step, trainer.model.eval, lambda: setattr(trainer.model, "0", nn.Linear(3, 4)))


def test_a_counter_that_the_function_counts_itself_is_never_stale():
    plain, compiled = Trainer(), Trainer()
    compiled.model.load_state_dict(plain.model.state_dict())
    step, x = gn.compile(compiled.counted), gn.ones(2, 3)
    assert [plain.counted(x).item() for _ in range(4)] == [step(x).item() for _ in range(4)]


@pytest.mark.parametrize("options", [types.SimpleNamespace(scale=2.0), type("Options", (), {})()])
def test_options_in_closures_and_in_nested_functions(options):
    options.scale = 2.0
    agree(
        lambda x: sum(x.sum() * options.scale for _ in range(2)),
        lambda: vars(options).update(scale=5.0),
    )


def test_many_programs_of_equal_arguments_are_worth_a_warning_and_few_are_kept():
    box = types.SimpleNamespace(name="")
    step = gn.compile(lambda x: x * len(box.name))
    for k in range(8):
        box.name = "x" * k
        step(gn.ones(2, 3))
    box.name = "last"
    with pytest.warns(UserWarning, match="many programs: .*name is 'last', was 'xxxxxxx'"):
        step(gn.ones(2, 3))


@pytest.mark.parametrize("draw", [random.random, np.random.rand, lambda: np.random.beta(0.4, 0.4)])
def test_draws_that_are_not_ours_are_worth_a_warning_and_never_repeated(draw):
    step = gn.compile(lambda x: x * draw())
    with pytest.warns(UserWarning, match="`random` drew a number"):
        found = {step(gn.ones(1)).item() for _ in range(3)}
    assert len(found) == 3


@pytest.mark.parametrize(
    "generator", [np.random.default_rng(1), np.random.RandomState(1), random.Random(1)]
)
def test_a_generator_that_a_function_draws_from_is_never_stale(generator):
    step = gn.compile(lambda x: x * generator.uniform(0, 1))

    assert len({step(gn.ones(1)).item() for _ in range(3)}) == 3


def test_our_own_draws_are_worth_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gn.compile(lambda x: x * gn.rand(2))(gn.ones(2))


def test_a_rate_that_a_function_reads_is_never_stale():
    model = nn.Linear(3, 1)
    optimizer = gn.optim.SGD(model.parameters(), lr=1.0)
    groups = optimizer.param_groups
    agree(
        lambda x: model(x).sum() * optimizer.param_groups[0]["lr"],
        lambda: groups[0].update(lr=0.5),
        lambda: groups[0].update(lr=0.25),
    )


class Recurrent(nn.Module):
    """Keeps a tensor from call to call, and leaves another one for who wants to look."""

    def __init__(self):
        super().__init__()
        self.linear, self.state, self.norm = nn.Linear(3, 3), gn.zeros(2, 3), None

    def forward(self, x):
        found = gn.tanh(self.linear(x) + self.state)
        if self.keeps:
            self.state = found.detach()
        self.norm = found.norm()
        return found.sum() + self.norm


@pytest.mark.parametrize("keeps", [False, True])
def test_a_tensor_that_a_module_keeps_from_call_to_call_is_never_stale(keeps):
    plain, kept = Recurrent(), Recurrent()
    kept.load_state_dict(plain.state_dict())
    plain.keeps = kept.keeps = keeps
    step, x = gn.compile(kept), gn.ones(2, 3)
    assert [plain(x * k).item() for k in range(4)] == [step(x * k).item() for k in range(4)]
    assert plain.norm.item() == kept.norm.item()
    assert step.captures == 2, "the first call finds no norm"
    plain.state, kept.state = gn.ones(2, 3), gn.ones(2, 3)
    assert plain(x).item() == step(x).item()
    plain.state, kept.state = gn.ones(3), gn.ones(3)
    assert plain(x).item() == step(x).item()


def test_every_call_puts_another_tensor_where_a_function_keeps_one():
    model, seen = nn.Linear(3, 1), {"made": gn.zeros(1)}
    model.register_forward_hook(lambda module, given, made: seen.update(made=made.detach()))
    queue = [gn.zeros(1), gn.zeros(1)]

    @gn.compile
    def step(x):
        found = model(x).sum().detach()
        queue[0], queue[1] = queue[1], found
        return found - queue[0].sum()

    gathered = [(step(gn.ones(2, 3) * k), seen["made"], queue[1]) for k in range(4)]

    values = [made.sum().item() for _, made, _ in gathered]
    assert len(set(values)) == 4
    assert [last.item() for *_, last in gathered] == values
    differences = np.diff(np.array([0.0, *values], np.float32))
    assert [x.item() for x, *_ in gathered] == differences.tolist()


def test_data_that_a_function_computes_replaces_a_parameters():
    plain, kept = nn.Linear(3, 1), nn.Linear(3, 1)
    kept.load_state_dict(plain.state_dict())

    def stepped(model):
        old = {}

        def step(x):
            for p in model.parameters():
                old[p] = p.data.clone()
                p.data = p.data * 2
            found = model(x).sum()
            for p in model.parameters():
                p.data = old[p] + 1
            return found

        return step

    step, compiled = stepped(plain), gn.compile(stepped(kept))
    for _ in range(4):
        assert step(gn.ones(2, 3)).item() == compiled(gn.ones(2, 3)).item()
        assert [p.tolist() for p in plain.parameters()] == [p.tolist() for p in kept.parameters()]
    assert compiled.captures == 2, "the dictionary is empty at first"


def test_a_dictionary_that_takes_tensors_and_is_not_read_needs_no_capture():
    model, seen = nn.Linear(3, 1), {}
    model.register_forward_hook(lambda module, given, made: seen.update(made=made.detach()))
    compiled = gn.compile(lambda x: model(x).sum() + seen["made"].mean())

    for k in range(4):
        assert compiled(gn.ones(2, 3) * k).item() == (seen["made"].sum() * 1.5).item()

    assert compiled.captures == 2, "the dictionary is empty at first"


class Balanced(nn.Module):
    """Leaves a loss of its own for who adds it outside, as mixtures of experts do."""

    def __init__(self):
        super().__init__()
        self.linear, self.gate, self.loss = nn.Linear(3, 3), nn.Linear(3, 1), gn.zeros(())

    def forward(self, x):
        self.loss = self.gate(x).square().sum()
        return self.linear(x).tanh().sum()


def test_gradients_pass_what_a_module_leaves_in_an_attribute():
    plain, kept = Balanced(), Balanced()
    kept.load_state_dict(plain.state_dict())
    compiled = gn.compile(kept)

    for k in range(3):
        (plain(gn.ones(3) * k) + plain.loss).backward()
        (compiled(gn.ones(3) * k) + kept.loss).backward()

    assert plain.gate.weight.grad.tolist() == kept.gate.weight.grad.tolist()
    assert compiled.captures == 1


def test_a_list_that_a_function_lengthens_is_never_stale():
    def gathering(seen):
        return lambda x: seen.append(x.sum()) or x * len(seen)

    plain, kept = [], []
    step, compiled = gathering(plain), gn.compile(gathering(kept))
    for k in range(4):
        assert step(gn.ones(2) * k).tolist() == compiled(gn.ones(2) * k).tolist()
    assert [x.item() for x in plain] == [x.item() for x in kept]


def test_a_switch_that_a_function_flips_is_never_stale():
    owner = Trainer()

    def step(x):
        owner.turn = 1 - owner.turn
        return x * owner.factor

    compiled = gn.compile(step)
    assert [compiled(gn.ones(1)).item() for _ in range(6)] == [2.0, 1.0] * 3


class Sized:
    scale = 1.0


class Slotted:
    __slots__ = ("last", "scale")


@pytest.mark.parametrize("box", [types.SimpleNamespace(scale=2.0), Slotted(), Sized])
def test_an_attribute_that_a_function_only_writes_is_written_at_every_call(box):
    box.scale = 2.0

    @gn.compile
    def step(x, rate):
        box.last = rate * 0.5
        return x * box.scale

    for rate in (0.25, 0.25, -1.5, 0.25, 0.5, 0.25):
        step(gn.ones(1), rate)
        assert box.last == rate * 0.5
        box.last = None


def test_a_global_that_a_function_only_writes_is_written_at_every_call():
    def step(x):
        global written
        written = 3
        return x + 1

    step = gn.compile(step)
    for _ in range(4):
        globals().pop("written", None)
        step(gn.ones(1))
        assert written == 3


def test_a_name_that_a_package_loads_late_is_no_effect(monkeypatch):
    """The package puts it where nothing stood, once somebody reads it."""
    monkeypatch.delitem(vars(gn), "cond", raising=False)
    compiled = gn.compile(lambda x: gn.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1))

    assert [compiled(gn.ones(1)).tolist() for _ in range(3)] == [[2.0]] * 3
    assert compiled.captures == 1


def test_groups_of_an_optimizer_whose_schedule_steps_are_refused_by_the_functions_line():
    p = gn.full((2,), 1.0, requires_grad=True)
    sgd = gn.optim.SGD([p], lr=0.25)
    schedule = gn.optim.lr_scheduler.ExponentialLR(sgd, 0.5)
    options = types.SimpleNamespace(own=2.0)

    def step(x):
        sgd.step()
        schedule.step()
        return x * options.__dict__["own"]

    first = step.__code__.co_firstlineno
    with pytest.raises(TraceError, match=rf"step: .*param_groups.*test_guards\.py:{first}\]"):
        gn.compile(step)(gn.ones(2))


def test_a_builtin_that_a_user_replaces_is_not_ours(monkeypatch):
    rows = {"abs": abs}

    @gn.compile
    def step(x):
        return x.flip(0)[::2] * abs(-0.5)

    x = gn.arange(7.0)
    assert step(x).tolist() == [3, 2, 1, 0]
    monkeypatch.setattr("builtins.abs", lambda x: rows["abs"](x) + 0.5)
    assert step(x).tolist() == [6, 4, 2, 0]
    assert step(gn.arange(9.0)).tolist() == [8, 6, 4, 2, 0]


def test_another_storage_at_the_same_address_is_another_one():
    """What was freed gives its address to what comes next."""
    model, x = nn.Linear(3, 2, bias=False), gn.ones(2, 3)
    compiled = gn.compile(lambda a: model(a.to(model.weight.dtype)))
    compiled(x)
    address = id(model.weight._storage)
    for _ in range(100):
        model.weight.data = gn.ones(2, 3, dtype=gn.bfloat16)
        if id(model.weight._storage) == address:
            break

    assert compiled(x).dtype == gn.bfloat16
    assert compiled(x).tolist() == [[3.0, 3.0]] * 2
