"""Hashes are of bits, lines are whole, and a resumed run goes on where its checkpoint is."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from gnomon.tensor.computed_values import ValueName
from gnomon.train.hashes import FILE, HashLog, hash_of, read_hashes

pytestmark = pytest.mark.unit

LOSS, NORM = ValueName("result", "loss", ""), ValueName("result", "norm", "")
BEGAN = {"mesh": "", "numerics": "invariant"}


def log(folder, *steps: int, after: int = 0) -> HashLog:
    """Steps that are written down and the log closed."""
    made = HashLog(folder, after, BEGAN)
    for step in steps:
        made.write(step, {LOSS: np.float32(step), NORM: np.zeros(step, np.float32)})
    made.close()
    return made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.float32(0.0), np.float32(-0.0)),
        (np.float32(0), np.int32(0)),
        (np.zeros(2, np.float32), np.zeros((2, 1), np.float32)),
        (np.zeros(2, np.float32), np.zeros(1, np.float64)),
        (np.arange(3), np.arange(3)[::-1]),
    ],
)
def test_a_hash_is_of_bits_shape_and_dtype(one, other):
    assert hash_of(one) == hash_of(one.copy())
    assert hash_of(one) != hash_of(other)


def test_a_hash_follows_the_order_of_elements_and_not_the_memory():
    x = np.arange(6.0).reshape(2, 3)

    assert hash_of(x) == hash_of(np.asfortranarray(x))


def test_steps_come_back_by_value(tmp_path):
    log(tmp_path, 1, 2)

    found = read_hashes(tmp_path)

    assert found.began == BEGAN
    assert found.of(2) == {LOSS: hash_of(np.float32(2)), NORM: hash_of(np.zeros(2, np.float32))}


def test_names_are_written_when_they_change_alone(tmp_path):
    log(tmp_path, 1, 2, 3)

    assert (tmp_path / FILE).read_text().count("norm") == 1


def test_a_run_that_goes_on_drops_later_steps_and_half_lines(tmp_path):
    log(tmp_path, 1, 2, 3)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"step":4')

    made = log(tmp_path, 3, 4, after=2)

    assert made.steps == {1, 2}
    assert list(read_hashes(tmp_path).steps) == [1, 2, 3, 4]


def test_a_step_without_a_hash_for_each_value_is_damaged(tmp_path):
    log(tmp_path, 1)
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes().replace(b'"hashes":"', b'"hashes":"0'))

    with pytest.raises(msgspec.DecodeError, match="step 1 has not a hash for each value"):
        read_hashes(tmp_path)


def test_a_run_without_a_file_has_recorded_nothing(tmp_path):
    assert read_hashes(tmp_path).steps == {}
