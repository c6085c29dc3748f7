"""Attacks by tensors: memory that has two names, flags, modules, hooks, gradients and optimizers.

Each is a generator that is given a way to compile (attack_harness.py).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import gnomon as gn
from gnomon import nn
from tests.capture.attack_harness import Attack, Way, tried, turns, x
from tests.capture.attacks import Box, let, put

ATTACKS: list[Attack] = []
Seen = Iterator[Any]


def attack(function: Attack) -> Attack:
    """Add an attack to the list."""
    ATTACKS.append(function)
    return function


def base() -> gn.Tensor:
    """Memory of which parts are shown."""
    return gn.tensor([1.0, 2.0, 3.0, 4.0])


def linear(weight: float = 0.5) -> nn.Linear:
    """A layer of known weights."""
    made = nn.Linear(2, 2, bias=False)
    made.weight.data.fill_(weight)
    return made


# arguments and memory


@attack
def two_arguments_share_memory(way: Way) -> Seen:
    def f(a, b):
        a.add_(1)
        return a * b

    call = way(f)
    for cut in (lambda b: (b[:3], b[1:]), lambda b: (b[:2], b[2:]), lambda b: (b, b),
                lambda b: (b[:3], gn.ones(3)), lambda b: (b[1:], b[:3])):  # fmt: skip
        memory = base()
        yield call(*cut(memory)), memory
        yield call(*cut(memory)), memory


@attack
def two_arguments_become_one(way: Way) -> Seen:
    def f(a, p, q):
        p.v = 5.0
        return a * q.v + (p is q)

    call = way(f)
    one = Box(v=2.0)
    yield call(x(), Box(v=1.0), Box(v=2.0))
    yield call(x(), one, one), one
    yield call(x(), Box(v=1.0), Box(v=3.0))


@attack
def two_lists_become_one(way: Way) -> Seen:
    def f(a, p, q):
        p.append(a * 2)
        return len(q), a * len(q)

    call, one = way(f), [x()]
    yield call(x(), [x()], [x()])
    yield call(x(), one, one), one
    yield call(x(), [x()], [x()])


@attack
def an_argument_is_also_outside(way: Way) -> Seen:
    kept = gn.ones(2)

    def f(a):
        a.mul_(2)
        return kept + a

    call = way(f)
    for given in (x(), kept, x(), kept.detach(), kept[:]):
        yield call(given), given, kept


@attack
def an_argument_becomes_state(way: Way) -> Seen:
    box = Box(t=gn.zeros(2))

    def f(a):
        before, box.t = box.t, a
        return before * 2, before

    call = way(f)
    for _ in range(3):
        given = x()
        yield call(given), box.t, given, box.t is given
    yield call(box.t), box.t


@attack
def results_that_alias(way: Way) -> Seen:
    state = gn.ones(4)

    def f(a):
        y = a * 2
        return y, y, y[:1], a, a[1:], state, state[2:], state.detach(), (y.reshape(1, 2),)

    call = way(f)
    for _ in range(2):
        given = x()
        found = call(given)
        found[0].add_(1)
        found[4].add_(5)
        found[6].mul_(3)
        yield found, given, state


@attack
def results_that_keep_to_themselves(way: Way) -> Seen:
    call = way(lambda a: [a * 2, {"k": [a + 1]}])
    first = call(x())
    second = call(x())
    second[0].zero_()
    second[1]["k"].append(1)
    yield first, second, call(x())


@attack
def a_view_is_given_back_and_written(way: Way) -> Seen:
    def f(a):
        part = a[1:]
        part.mul_(10)
        return part

    call = way(f)
    for given in (x(), base(), base()[::2], x()):
        found = call(given)
        found.add_(1)
        yield found, given


@attack
def strides_are_asked_for(way: Way) -> Seen:
    call = way(lambda a: (a * 2, a.is_contiguous(), a.stride(), a.storage_offset()))
    square = base().reshape(2, 2)
    for given in (square, square.T, square.T.contiguous(), square[:, :1], square.T):
        yield call(given)


@attack
def a_layout_of_something_outside_is_asked_for(way: Way) -> Seen:
    box = Box(t=base().reshape(2, 2))
    f = way(lambda a: a * box.t.stride()[0] + box.t.is_contiguous())
    yield from turns(f, let(box, t=box.t.T), let(box, t=base().reshape(2, 2)))


@attack
def pointers_and_identities_of_tensors(way: Way) -> Seen:
    kept, box = gn.ones(2), Box(a=None)
    box.a = kept
    f = way(lambda a: a * (2 if box.a is kept else 3) + (a is kept) + (id(box.a) == id(kept)))
    yield from turns(f, let(box, a=gn.ones(2)), let(box, a=kept))
    yield f(kept)


@attack
def tensors_as_keys(way: Way) -> Seen:
    p, q = gn.ones(2), gn.ones(2) * 2
    table, box = {p: 2.0, q: 3.0}, Box(t=p)
    yield from turns(way(lambda a: a * table[box.t]), let(box, t=q), put(table, q, 7.0))


# flags of tensors


@attack
def gradients_are_wanted_later(way: Way) -> Seen:
    w = gn.ones(2)
    yield from turns(
        way(lambda a: (a * w, w.requires_grad)), w.requires_grad_, lambda: w.requires_grad_(False)
    )


@attack
def an_argument_wants_gradients(way: Way) -> Seen:
    call = way(lambda a: (a * 2, a.requires_grad, a.is_leaf))
    for given in (x(), x().requires_grad_(), x().requires_grad_() * 1, x()):
        yield call(given)


@attack
def a_leaf_is_asked_for(way: Way) -> Seen:
    box = Box(t=x())
    f = way(lambda a: a * (2 if box.t.is_leaf else 3) + (box.t.grad_fn is None))
    yield from turns(f, let(box, t=x().requires_grad_() * 1), let(box, t=x().requires_grad_()))


@attack
def data_is_swapped(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)
    f = way(lambda a: a * w)
    yield from turns(
        f, let(w, data=gn.ones(2) * 3), lambda: w.data.mul_(2), let(w, data=gn.ones(1)),
        let(w, data=gn.ones(2).double()), state=w,
    )  # fmt: skip


@attack
def gradients_are_there_or_not(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)
    f = way(lambda a: a * (2 if w.grad is None else w.grad))
    yield from turns(f, let(w, grad=gn.ones(2) * 5), let(w, grad=None), let(w, grad=gn.ones(2)))


@attack
def a_gradient_that_grows(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)

    def f(a):
        (a * w).sum().backward()
        return w.grad

    call = way(f)
    for _ in range(3):
        yield call(x()), w
    w.grad = None
    yield call(x()), w
    w.grad.zero_()
    yield call(x()), w


@attack
def an_attribute_of_a_tensor(way: Way) -> Seen:
    w = nn.Parameter(gn.ones(2))
    w.tag = 2.0
    f = way(lambda a: a * w.tag + getattr(w, "late", 5))
    yield from turns(f, let(w, tag=3.0), let(w, late=1))


# modules


@attack
def modes_alternate(way: Way) -> Seen:
    m = nn.Sequential(nn.Dropout(1.0), nn.Identity())
    call = way(m)
    for change in (m.eval, m.train, m[0].eval, m.train, lambda: m.train(False)):
        change()
        yield call(x())


@attack
def batch_statistics_by_mode(way: Way) -> Seen:
    m = nn.BatchNorm1d(2)
    call, given = way(m), gn.tensor([[1.0, 2.0], [3.0, 5.0]])
    for change in (m.train, m.eval, m.train, let(m, momentum=0.5), m.eval):
        change()
        yield call(given), m.running_mean, m.num_batches_tracked


@attack
def parameters_are_replaced_and_deleted(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(gn.ones(2))

        def forward(self, a):
            return a * self.w if hasattr(self, "w") else a + 7

    m = M()
    yield from turns(
        way(m), let(m, w=nn.Parameter(gn.ones(2) * 3)), lambda: delattr(m, "w"),
        let(m, w=nn.Parameter(gn.ones(2) * 4)), let(m, w=None, __doc__="x"),
    )  # fmt: skip


@attack
def a_parameter_becomes_a_buffer(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(gn.ones(2))

        def forward(self, a):
            return a * self.w + len(list(self.parameters())) + len(dict(self.named_buffers()))

    m = M()

    def turn():
        del m.w
        m.register_buffer("w", gn.ones(2) * 2)

    yield from turns(way(m), turn, lambda: m.register_parameter("late", nn.Parameter(gn.ones(1))))


@attack
def buffers_are_registered_later(way: Way) -> Seen:
    class M(nn.Module):
        def forward(self, a):
            return a * self.scale if "scale" in self._buffers else a + 1

    m = M()
    yield from turns(
        way(m), lambda: m.register_buffer("scale", gn.ones(2) * 3), lambda: m.scale.mul_(2),
        lambda: m._buffers.pop("scale"),
    )  # fmt: skip


@attack
def submodules_come_and_go(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = linear()

        def forward(self, a):
            for child in self.children():
                a = child(a)
            return a + len(list(self.modules()))

    m = M()
    yield from turns(
        way(m), lambda: m.add_module("late", nn.Tanh()), let(m, inner=linear(2.0)),
        lambda: delattr(m, "late"), lambda: m._modules.update(more=linear(3.0)),
    )  # fmt: skip


@attack
def lists_and_dicts_of_modules_change(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.many = nn.ModuleList([linear(), linear(2.0)])
            self.named = nn.ModuleDict({"a": nn.Tanh()})

        def forward(self, a):
            for inner in self.many:
                a = inner(a)
            return a + sum(inner(a) for inner in self.named.values())

    m = M()
    yield from turns(
        way(m), lambda: m.many.append(nn.Tanh()), put(m.many, 0, nn.Identity()),
        lambda: m.many.pop(1), put(m.named, "b", nn.Tanh()), lambda: m.named.pop("a"),
        lambda: m.many.insert(0, linear(3.0)),
    )  # fmt: skip


@attack
def lists_of_parameters_change(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.many = nn.ParameterList([nn.Parameter(gn.ones(2))])

        def forward(self, a):
            return functools.reduce(lambda p, q: p * q, self.many, a)

    m = M()
    yield from turns(
        way(m), lambda: m.many.append(nn.Parameter(gn.ones(2) * 3)),
        put(m.many, 0, nn.Parameter(gn.ones(2) * 5)),
    )  # fmt: skip


@attack
def modules_in_plain_lists(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.many, self.table = [linear()], {"a": nn.Dropout(1.0)}

        def forward(self, a):
            for inner in self.many:
                a = inner(a)
            return self.table["a"](a)

    m = M()
    yield from turns(
        way(m), m.table["a"].eval, lambda: m.many.append(linear(2.0)), m.table["a"].train,
        put(m.table, "a", nn.Tanh()), lambda: m.many[0].weight.data.fill_(4.0),
        let(m.many[0], weight=nn.Parameter(gn.ones(2, 2))),
    )  # fmt: skip


@attack
def hooks_of_modules_come_later(way: Way) -> Seen:
    m, kept, log = linear(), [], []

    def add(module, given, found):
        log.append("after")
        return found + 1

    yield from turns(
        way(m), lambda: kept.append(m.register_forward_hook(add)), lambda: kept.pop().remove(),
        lambda: kept.append(m.register_forward_pre_hook(lambda m, i: (i[0] * 2,))),
        lambda: kept.pop().remove(), state=log,
    )  # fmt: skip


@attack
def hooks_that_read_and_count(way: Way) -> Seen:
    m, box = nn.Sequential(linear(), nn.Tanh()), Box(k=2.0, n=0)

    def hook(module, given, found):
        box.n += 1
        return found * box.k

    m[0].register_forward_hook(hook)
    yield from turns(way(m), let(box, k=3.0), let(box, n=10), state=box)


@attack
def hooks_with_keywords_and_order(way: Way) -> Seen:
    class M(nn.Module):
        def forward(self, a, k=2.0):
            return a * k

    m, log = M(), []
    m.register_forward_hook(lambda m, a, w, o: log.append(sorted(w)), with_kwargs=True)
    call = way(lambda a: m(a, k=3.0))
    yield from turns(
        call, lambda: m.register_forward_hook(lambda m, a, o: o + 1, prepend=True), state=log
    )


@attack
def hooks_of_gradients_come_later(way: Way) -> Seen:
    w, kept = gn.ones(2, requires_grad=True), []

    def f(a):
        w.grad = None
        (a * w).sum().backward()
        return w.grad

    yield from turns(
        way(f), lambda: kept.append(w.register_hook(lambda g: g * 3)),
        lambda: kept.append(w.register_hook(lambda g: g + 1)), lambda: kept.pop(0).remove(),
        lambda: w.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2)),
    )  # fmt: skip


@attack
def hooks_of_results(way: Way) -> Seen:
    w, log = gn.ones(2, requires_grad=True), []

    def f(a):
        y = a * w
        y.register_hook(lambda g: log.append(g.sum().item()))
        return y.sum()

    call = way(f)
    for k in range(3):
        w.grad = None
        found = tried(call, x())
        yield found
        (found * (k + 1)).backward()
        yield w.grad, log


@attack
def a_hook_of_gradients_of_modules(way: Way) -> Seen:
    m, log = linear(), []
    m.register_full_backward_hook(lambda m, given, found: log.append(len(found)))

    def f(a):
        m.weight.grad = None
        m(a).sum().backward()
        return m.weight.grad

    yield from turns(way(f), state=log)


@attack
def weights_are_loaded(way: Way) -> Seen:
    m, other = linear(), linear(3.0)
    yield from turns(way(m), lambda: m.load_state_dict(other.state_dict()), state=m)


@attack
def modules_change_their_dtype(way: Way) -> Seen:
    m = linear()
    call = way(lambda a: m(a.to(m.weight.dtype)))
    for change in (m.double, m.float, m.bfloat16):
        yield call(x())
        change()
        yield call(x())


@attack
def modules_that_count(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.history = 0, []

        def forward(self, a):
            self.calls += 1
            self.history.append(a.detach() * self.calls)
            return a * self.calls

    m = M()
    yield from turns(way(m), let(m, calls=10), lambda: m.history.clear(), state=m)


@attack
def modules_by_name(way: Way) -> Seen:
    m, names = nn.Sequential(linear(), linear(2.0)), ["0"]
    call = way(lambda a: m.get_submodule(names[0])(a) + dict(m.named_modules())["1"](a))
    yield from turns(call, put(names, 0, "1"), put(m, 1, linear(5.0)))


@attack
def a_cache_of_keys_grows(way: Way) -> Seen:
    cache: list[Any] = []

    def f(a):
        cache.append(a * 2)
        return gn.stack(cache).sum(0)

    yield from turns(way(f), cache.clear, state=cache)


@attack
def a_buffer_that_moves(way: Way) -> Seen:
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", gn.zeros(2))
            self.register_buffer("steps", gn.tensor(0))

        def forward(self, a):
            self.mean = self.mean * 0.5 + a
            self.steps += 1
            return self.mean - self.steps

    m = M()
    yield from turns(way(m), lambda: m.mean.zero_(), let(m, steps=gn.tensor(5)), state=m)


# optimizers


def learning(optimizer: Any, w: gn.Tensor) -> Any:
    """A step of learning."""

    def f(a):
        optimizer.zero_grad()
        loss = ((a * w) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    return f


@attack
def groups_of_optimizers_change(way: Way) -> Seen:
    w, v = gn.ones(2, requires_grad=True), gn.ones(2, requires_grad=True)
    sgd = gn.optim.SGD([w], lr=0.25, momentum=0.5)
    yield from turns(
        way(learning(sgd, w * 1 if False else w)), put(sgd.param_groups[0], "lr", 0.125),
        lambda: sgd.add_param_group({"params": [v], "lr": 1.0}),
        put(sgd.param_groups[0], "weight_decay", 0.5), sgd.state.clear,
        lambda: sgd.param_groups.pop(), let(w, grad=None), state=(w, v),
    )  # fmt: skip


@attack
def an_optimizer_by_adaptive_moments(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)
    adam = gn.optim.AdamW([w], lr=0.25)
    saved = adam.state_dict()
    yield from turns(
        way(learning(adam, w)), put(adam.param_groups[0], "betas", (0.5, 0.5)),
        put(adam.param_groups[0], "eps", 0.5), lambda: adam.load_state_dict(saved), state=w,
    )  # fmt: skip


@attack
def a_schedule_moves(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)
    sgd = gn.optim.SGD([w], lr=0.5)
    schedule = gn.optim.lr_scheduler.StepLR(sgd, 2)
    f = learning(sgd, w)

    def step(a):
        loss = f(a)
        schedule.step()
        return loss, sgd.param_groups[0]["lr"]

    yield from turns(way(step), let(schedule, gamma=0.5), state=w)


@attack
def an_optimizer_is_another(way: Way) -> Seen:
    w, box = gn.ones(2, requires_grad=True), Box()
    box.optimizer = gn.optim.SGD([w], lr=0.25)

    def f(a):
        box.optimizer.zero_grad()
        (a * w).sum().backward()
        box.optimizer.step()
        return w.detach().clone()

    yield from turns(
        way(f), let(box, optimizer=gn.optim.SGD([w], lr=1.0)), lambda: w.requires_grad_(False)
    )


# looks at values


@attack
def branches_on_values(way: Way) -> Seen:
    box = Box(best=0.0)

    def f(a):
        loss = a.sum()
        if loss > box.best:
            box.best = loss.item()
            return a * 2
        return a - box.best

    call = way(f)
    for k in (1.0, 2.0, 0.5, 3.0, -1.0):
        yield call(x() * k), box.best


@attack
def numpy_of_traced_values(way: Way) -> Seen:
    log = []

    def f(a):
        shown = (a * 2).numpy()
        log.append(float(shown[0]))
        return a * float(shown.max())

    call = way(f)
    for k in (1.0, 2.0, -3.0):
        yield call(x() * k), log


@attack
def an_array_of_an_argument(way: Way) -> Seen:
    box = Box()

    def f(a):
        box.n = a.numpy()
        return a * 2

    call = way(f)
    for _ in range(2):
        given = x()
        yield tried(call, given)
        box.n[0] = 9.0
        yield given, box.n


@attack
def text_of_a_traced_value(way: Way) -> Seen:
    log = []

    def f(a):
        log.append(f"{a.sum():.2f} {a.mean()!r} {a}")
        return a * len(log)

    call = way(f)
    for k in (1.0, 2.0):
        yield call(x() * k), log


@attack
def results_of_many_shapes(way: Way) -> Seen:
    call = way(lambda a: (a * 2, a.shape, a.numel(), len(a), list(a.shape)))
    for given in (gn.ones(2), gn.ones(3), gn.ones(2, 3), gn.ones(0), gn.ones(2)):
        yield call(given)


@attack
def an_inner_compiled_function(way: Way) -> Seen:
    box = Box(k=2.0)
    inner = way(lambda a: a * box.k)
    yield from turns(way(lambda a: inner(a) + inner(a * 2)), let(box, k=3.0))


@attack
def a_custom_function(way: Way) -> Seen:
    box = Box(k=2.0)

    class Scaled(gn.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.k = box.k
            return a * box.k

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k * 10

    call = way(lambda a: Scaled.apply(a))
    for k in (2.0, 3.0, 3.0):
        box.k, given = k, x().requires_grad_()
        found = call(given)
        found.sum().backward()
        yield found.detach(), given.grad


@attack
def deterministic_noise_by_a_generator(way: Way) -> Seen:
    generator = gn.Generator()
    generator.manual_seed(3)
    f = way(lambda a: a + gn.rand(2, generator=generator))
    yield from turns(f, lambda: generator.manual_seed(9))
    state = generator.get_state()
    yield f(x())
    generator.set_state(state)
    yield f(x()), generator.initial_seed()


@attack
def a_subclass_of_tensors(way: Way) -> Seen:
    class Tagged(gn.Tensor):
        tag = 2.0

        def scaled(self):
            return self * self.tag

    call = way(lambda a: a.scaled())
    for k in (2.0, 3.0):
        Tagged.tag = k
        yield tried(lambda: call(Tagged([1.0, 2.0])))


@attack
def a_class_of_arguments_by_what_its_methods_name(way: Way) -> Seen:
    class Above:
        def helper(self):
            return 9.0

    class Wrapped(Above):
        tag = 2.0

        def __init__(self, inner):
            self.inner = inner

        def helper(self):
            return 3.0

        @property
        def more(self):
            return 1.0

        @classmethod
        def of_class(cls):
            return cls.tag

        def scaled(self):
            return self.inner * self.tag * self.helper() * self.more * self.of_class()

    call = way(lambda a: a.scaled())
    changes = (
        *(lambda: None, lambda: None, lambda: setattr(Wrapped, "tag", 5.0)),
        *(lambda: setattr(Wrapped, "tag", 6.0), lambda: setattr(Wrapped, "helper", lambda _: 7.0)),
        lambda: setattr(Wrapped, "more", property(lambda _: 2.0)),
        *(lambda: delattr(Wrapped, "helper"), lambda: setattr(Above, "helper", lambda _: 4.0)),
        lambda: setattr(Wrapped, "of_class", classmethod(lambda cls: cls.tag + 1)),
    )
    for change in changes:
        change()
        yield tried(lambda: call(Wrapped(gn.ones(2))))


# more of the same classes


@attack
def a_place_of_a_tensor_is_emptied(way: Way) -> Seen:
    box = Box(cache=gn.ones(2))
    f = way(lambda a: a * (2 if box.cache is None else 3))
    yield from turns(f, let(box, cache=None), let(box, cache=gn.zeros(2)), let(box, cache=5))


@attack
def flags_of_a_tensor_that_is_not_read(way: Way) -> Seen:
    box = Box(t=gn.ones(2))

    def f(a):
        return a.to(box.t.dtype) * (2 if box.t.requires_grad else 3) + box.t.ndim

    yield from turns(
        way(f), let(box, t=gn.ones(2).double()), let(box, t=gn.ones(2, requires_grad=True)),
        let(box, t=gn.ones(2, 2)), let(box, t=gn.ones(2, dtype=gn.int32)),
    )  # fmt: skip


@attack
def a_gradient_of_a_tensor_that_is_another(way: Way) -> Seen:
    p, q = gn.ones(2, requires_grad=True), gn.ones(2, requires_grad=True)
    q.grad = gn.ones(2)
    box, many = Box(t=p), [p]
    f = way(lambda a: a * (2 if box.t.grad is None else 3) + (many[0].grad is None))
    yield from turns(f, let(box, t=q), put(many, 0, q))


@attack
def a_flag_is_looked_at_before_it_is_replaced(way: Way) -> Seen:
    box = Box(t=gn.ones(3))

    def f(a):
        old = 2 if box.t is None else 3 if box.t.requires_grad else 4
        box.t = a.detach() * 2
        return a * old

    yield from turns(
        way(f), let(box, t=None), let(box, t=gn.ones(1, requires_grad=True)), state=box
    )


@attack
def a_tensor_is_looked_for_in_a_list(way: Way) -> Seen:
    p, q = gn.ones(2), gn.ones(2)
    many, box = [p, q], Box(t=p)
    f = way(lambda a: a * next(k for k, t in enumerate(many) if t is box.t) + len(many))
    yield from turns(f, let(box, t=q), many.reverse)


@attack
def a_tensor_that_moves_is_compared(way: Way) -> Seen:
    kept, box = gn.ones(2), Box(h=gn.zeros(2))

    def f(a):
        same = box.h is kept
        box.h = box.h * 0.5 + a
        return box.h * (2 if same else 3)

    yield from turns(way(f), let(box, h=kept), let(box, h=gn.ones(2)), state=box)


@attack
def a_generator_that_is_made_inside(way: Way) -> Seen:
    yield from turns(way(lambda a: a * gn.rand(2, generator=gn.Generator())))


@attack
def a_stream_that_is_forked_inside(way: Way) -> Seen:
    def f(a):
        with gn.random.fork_rng():
            a = a * gn.rand(2)
        return a + gn.rand(2)

    yield from turns(way(f))


@attack
def draws_before_and_after_a_seed(way: Way) -> Seen:
    def f(a):
        a = a * gn.rand(2)
        gn.manual_seed(4)
        return a + gn.rand(2)

    yield from turns(way(f))


@attack
def a_generator_is_asked_after_a_draw(way: Way) -> Seen:
    yield from turns(way(lambda a: (a * gn.rand(2), gn.get_rng_state())))


@attack
def a_gradient_is_kept_on_a_result(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)

    def f(a):
        y = a * w
        y.retain_grad()
        return y, y.sum()

    call = way(f)
    for _ in range(2):
        y, loss = call(x())
        loss.backward()
        yield loss.detach(), y.grad


@attack
def a_hook_is_added_inside(way: Way) -> Seen:
    w, log = gn.ones(2, requires_grad=True), []

    def f(a):
        w.register_hook(lambda g: log.append(1))
        return (a * w).sum()

    call = way(f)
    for _ in range(3):
        call(x()).backward()
        yield w.grad, log


@attack
def a_module_hook_is_added_inside(way: Way) -> Seen:
    m, log = linear(), []

    def f(a):
        m.register_forward_hook(lambda m, i, o: log.append(1))
        return m(a)

    yield from turns(way(f), state=log)


@attack
def an_array_is_given_back(way: Way) -> Seen:
    kept = gn.ones(2)
    call = way(lambda a: (a.numpy(), kept.numpy()[1:]))
    for _ in range(2):
        given = x()
        one, two = call(given)
        one[0], two[0] = 7.0, 8.0
        yield one, two, given, kept


@attack
def modules_are_changed_inside(way: Way) -> Seen:
    m = nn.Sequential(nn.Dropout(1.0))

    def f(a):
        m.eval()
        a = m(a)
        m.train()
        return m(a) + a

    yield from turns(way(f), state=m)


@attack
def a_parameter_is_added_inside(way: Way) -> Seen:
    m = nn.Module()

    def f(a):
        if not hasattr(m, "w"):
            m.w = nn.Parameter(gn.ones(2) * 3)
        return a * m.w

    yield from turns(way(f), lambda: delattr(m, "w"), state=m)


@attack
def gradients_are_set_inside(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)

    def f(a):
        before, w.grad = w.grad, a * 2
        return before

    yield from turns(way(f), let(w, grad=None), let(w, grad=gn.ones(2)), state=w)


@attack
def gradients_are_cut_and_scaled(way: Way) -> Seen:
    m, box = linear(), Box(limit=1.0)

    def f(a):
        m.zero_grad()
        m(a).sum().backward()
        return nn.utils.clip_grad_norm_(m.parameters(), box.limit), m.weight.grad

    yield from turns(way(f), let(box, limit=0.5), lambda: m.weight.requires_grad_(False))


@attack
def frozen_parts_of_a_model(way: Way) -> Seen:
    m = nn.Sequential(linear(), linear(2.0))

    def f(a):
        m.zero_grad()
        m(a).sum().backward()
        return [p.grad for p in m.parameters()]

    yield from turns(
        way(f), lambda: m[0].requires_grad_(False), lambda: m.requires_grad_(True),
        lambda: m[1].weight.requires_grad_(False),
    )  # fmt: skip


@attack
def weights_are_tied(way: Way) -> Seen:
    m = nn.Sequential(linear(), linear(2.0))
    optimizer = gn.optim.SGD(m.parameters(), lr=0.5)

    def f(a):
        optimizer.zero_grad()
        m(a).sum().backward()
        optimizer.step()
        return [p.detach().clone() for p in m.parameters()]

    yield from turns(way(f), let(m[1], weight=m[0].weight), let(m[1], weight=linear().weight))


@attack
def a_schedule_is_asked_for_its_rate(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)
    schedule = gn.optim.lr_scheduler.StepLR(gn.optim.SGD([w], lr=0.5), 1)

    def step(a):
        schedule.step()
        return a * schedule.get_last_lr()[0]

    yield from turns(way(step))
