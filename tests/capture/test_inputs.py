"""How a replay reads a program's inputs."""

from __future__ import annotations

import gnomon as gn
from gnomon.capture.inputs import (
    Always,
    GivenInput,
    InputReader,
    StoredInput,
    number_of,
    storage_tensor,
    values_of,
)


def test_a_number_is_read_anew_and_keeps_its_tensor_while_it_stays():
    rates = [0.5, 0.5, 0.25, 0.0, -0.0]
    read = number_of(lambda: rates.pop(0), gn.float32)

    first, same, other, zero, negative = (read(()) for _ in range(5))

    assert first is same
    assert [t.item() for t in (first, other)] == [0.5, 0.25]
    assert [str(t.item()) for t in (zero, negative)] == ["0.0", "-0.0"]


def test_what_is_pending_is_computed_together():
    x = gn.ones(3)
    pending = [x + 1, (x + 1) * 2]

    values = values_of([x, *pending])

    assert all(values)
    assert values[1] is pending[0]._storage.node.value


def test_a_whole_tensor_shows_its_storage_and_one_that_stays_is_itself():
    x = gn.arange(6)
    part = x[2:]

    assert storage_tensor(part._storage).tolist() == x.tolist()
    assert Always(x)(()) is x


def test_inputs_are_read_in_order_whether_or_not_their_places_tell_all():
    x, y, z = gn.ones(1), gn.ones(2), gn.ones(3)
    reads = [GivenInput(1), StoredInput(2), GivenInput(0)]

    for more in ([], [Always(z)]):
        found = InputReader([*reads, *more])([x, y, z])
        assert list(map(id, found)) == list(map(id, [y, z, x, z][: len(found)]))
        assert len(found) == 3 + len(more)
