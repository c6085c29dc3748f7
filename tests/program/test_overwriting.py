"""New values of what a program replaces lie over the old ones, where nobody else holds these."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn, optim
from gnomon.errors import IndexOutOfBounds
from gnomon.ir import memo
from gnomon.program import executable
from gnomon.runtime.buffer import memory
from gnomon.settings import override
from gnomon.tensor.memory import all_free, is_free
from tests.compiled import threads
from tests.counters import settled

ROWS, WIDTH, WORDS = 7, 157, 131
X = np.random.default_rng(0).integers(0, WORDS, (ROWS, 5))
Y = np.random.default_rng(1).integers(0, WORDS, (ROWS, 5))


class Trained:
    """A small model, its optimizer, and its compiled step."""

    def __init__(self) -> None:
        gn.manual_seed(0)
        self.model = nn.Sequential(nn.Embedding(WORDS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WORDS))
        self.optimizer = optim.AdamW(self.model.parameters(), lr=1e-2)
        self.compiled = gn.compile(self.step)

    def step(self, x, y):
        """One step; gives the loss of before."""
        scores = self.model(x).reshape(-1, WORDS)
        loss = nn.functional.cross_entropy(scores, y.reshape(-1))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def take(self, steps, x=X):
        """Some compiled steps."""
        return [self.compiled(*map(gn.from_numpy, (x, Y))).item() for _ in range(steps)]

    def states(self):
        """The running means of the table."""
        return list(self.optimizer.state[self.model[0].weight].values())[1:]

    def values(self):
        """Copies of all parameters."""
        return [p.detach().numpy().copy() for p in self.model.parameters()]


def address(tensor):
    """Where a tensor's bytes are."""
    return tensor._storage.node.value.address


def equal(some, others):
    """Whether all arrays have the same bits."""
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))


def test_states_stay_where_they_are():
    trained = Trained()
    trained.take(2)
    before = [address(x) for x in trained.states()]

    trained.take(2)

    assert [address(x) for x in trained.states()] == before


@pytest.mark.parametrize("count", [1, 2, 5])
def test_bits_are_those_of_plain_steps(count):
    plain, trained = Trained(), Trained()
    losses = [plain.step(*map(gn.from_numpy, (X, Y))).item() for _ in range(4)]

    with threads(count):
        assert trained.take(4) == losses

    assert equal(trained.values(), plain.values())


def test_what_somebody_holds_is_kept():
    trained = Trained()
    trained.take(2)
    state = trained.states()[0]
    # an array would have copied the memory and evaluated what waits, were it asked for later
    expected = state.numpy().copy()
    waiting, copied = state * 1, state.clone()

    trained.take(1)

    assert equal([waiting.numpy(), copied.numpy()], [expected, expected])
    assert not np.array_equal(trained.states()[0].numpy(), expected)


def test_an_array_of_a_state_sees_what_a_step_writes():
    trained = Trained()
    trained.take(2)
    lent = trained.states()[1].numpy()
    seen = lent.copy()

    trained.take(1)

    assert not np.array_equal(lent, seen)
    assert np.array_equal(lent, trained.states()[1].numpy())


def test_a_wrong_position_leaves_everything_as_it_was():
    trained = Trained()
    trained.take(2)
    values, states = trained.values(), [x.numpy().copy() for x in trained.states()]
    wrong = X.copy()
    wrong[0, 0] = WORDS

    with pytest.raises(IndexOutOfBounds):
        trained.take(1, wrong)

    assert equal(trained.values(), values)
    assert equal([x.numpy() for x in trained.states()], states)


def test_a_program_from_the_disk_overwrites_too(tmp_path, monkeypatch):
    with override(cache_dir=str(tmp_path)):
        for _ in range(2):
            memo.clear()
            trained = Trained()
            trained.take(1)
            (entries,) = trained.compiled.programs.values()
            assert entries[0][1].tiers.now.over


def test_a_tensor_is_free_when_its_storage_alone_holds_its_value():
    made = gn.ones(4) * 2
    gn.evaluate(made)
    given = [made._storage.node.value]
    assert is_free(made)
    assert all_free([made])

    other = made + 1
    assert not is_free(made)
    assert not all_free([made])

    assert other.sum().item() == 12.0
    assert not is_free(made[:2])
    assert not all_free([made, made[:2]])
    assert given


def test_tensors_are_not_all_free_where_one_is_lent_or_has_a_history_or_two_storages():
    one, two, shared, tracked = (gn.ones(4) * k for k in range(2, 6))
    other = shared.detach().clone()
    tracked = (tracked.requires_grad_() * 3.0).exp()
    lent = gn.from_numpy(np.ones(4, np.float32))
    gn.evaluate(one, two, shared, other, tracked)
    given = [t._storage.node.value for t in (one, two, shared, tracked, lent)]

    assert all_free([one, two])
    for held in (lent, tracked):
        assert not all_free([one, held, two])
    holder = shared._storage.node
    assert not all_free([one, shared, two])
    assert holder.value in given


def test_what_is_written_over_has_another_version_and_the_same_node():
    x = gn.ones(3) * 1
    gn.evaluate(x)
    grow = gn.compile(lambda: [x.add_(1)][:0])
    grow()
    serial, version = x._storage.node.serial, x._storage.version

    grow()

    assert x._storage.node.serial == serial
    assert x._storage.version == version + 1
    assert x.tolist() == [3, 3, 3]


def peak_of(call):
    """The most bytes that our allocator has given out during a call, over those before it."""
    before = settled().allocated
    memory.reset_peak()
    call()
    return memory.use().peak - before


def test_gradients_that_are_replaced_make_room_for_new_ones():
    w = gn.ones(512, 512, requires_grad=True)

    @gn.compile
    def step(x):
        w.grad = None
        (x @ w).sum().backward()

    def call():
        step(x)

    x = gn.ones(2, 512)
    call()
    first = w.grad
    held = peak_of(call)
    assert first is not w.grad
    del first
    assert peak_of(call) <= held - w.nbytes


def test_gradients_that_are_read_are_kept_until_they_are():
    w = gn.ones(64, 64, requires_grad=True)

    @gn.compile
    def step(x):
        (x @ w).sum().backward()

    for _ in range(3):
        step(gn.ones(2, 64))

    assert w.grad.tolist() == (6 * gn.ones(64, 64)).tolist()


def test_the_first_step_writes_over_the_first_state(monkeypatch):
    trained, run, written = Trained(), executable.Executable.run, []
    gn.evaluate(*trained.model.parameters())

    def noted(self, inputs, over=()):
        written.append(len([*over]))
        return run(self, inputs, over)

    monkeypatch.setattr(executable.Executable, "run", noted)
    trained.take(2)

    assert written[0] == written[-1] > len([*trained.model.parameters()])


def test_old_values_are_kept_while_they_are_read():
    def step(x):
        old = x.clone()
        x.exp_()
        return (x.cumsum(0) * old).cumsum(1), old.cumsum(0)

    plain, written = (gn.arange(30.0).reshape(5, 6) * 0.1 for _ in range(2))
    compiled = gn.compile(step)
    for _ in range(2):
        expected, found = step(plain), compiled(written)

        assert equal([x.numpy() for x in found], [x.numpy() for x in expected])
        assert equal([written.numpy()], [plain.numpy()])
        gn.evaluate(plain.mul_(0.1), written.mul_(0.1))


def test_a_value_that_is_written_to_two_tensors_reaches_both():
    fast, slow = nn.Parameter(gn.ones(2)), gn.ones(2)
    optimizer = optim.Adam([fast], lr=0.25)

    def train(x):
        optimizer.zero_grad()
        (fast * fast * x).sum().backward()
        optimizer.step()

    @gn.compile
    def look_ahead(x):
        train(x)
        slow.data.add_(fast.data - slow.data, alpha=0.5)
        fast.data.copy_(slow.data)

    for _ in range(3):
        gn.compile(train)(gn.ones(2))
        look_ahead(gn.ones(2))
        assert fast.tolist() == slow.tolist()
