"""What torch refuses is refused: calls of nn.functional, nn and utils.data that do not fit.

refusals.txt holds the calls, by function: `x(2, 3)` are numbers from -1 to 1, `p(3)` from 0.1 to
0.9, `i(0, 1)` a tensor of what stands there, `td()` a dataset. A call after `~` is taken here: a
dtype that is converted, or a case with an answer. One after `!` is refused here alone.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon as gn
import gnomon.utils.data
from gnomon.errors import GnomonError

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def sections() -> dict[str, list[str]]:
    """The calls of every section of the file."""
    found: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            calls = found.setdefault(line.strip("[]"), [])
        elif line:
            calls.append(line)
    return found


def words_of(lib: Any) -> dict[str, Any]:
    """The words of the calls, in one library."""

    def numbers(low: float, high: float, *shape: int) -> Any:
        values = np.linspace(low, high, math.prod(shape)).reshape(shape)
        return lib.tensor(values.astype(np.float32).tolist())

    return {
        "F": lib.nn.functional,
        "nn": lib.nn,
        "R": lib.nn.utils.rnn,
        "D": lib.utils.data,
        "l": lib,
        "nan": math.nan,
        "x": lambda *shape: numbers(-1, 1, *shape),
        "p": lambda *shape: numbers(0.1, 0.9, *shape),
        "i": lambda *values: lib.tensor([*values]),
        "td": lambda n=6: lib.utils.data.TensorDataset(lib.arange(n)),
    }


def refusal(lib: Any, call: str) -> Exception | None:
    """The error of a call; None if it is taken."""
    lib.manual_seed(0)
    try:
        made = eval(call, words_of(lib))
        for part in made if isinstance(made, tuple) else (made,):
            if isinstance(part, gn.Tensor):
                part.tolist()  # what a kernel finds out is told when a value is wanted
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("section", sections())
def test_what_torch_refuses_is_refused_in_words(section):
    wrong = []
    for line in sections()[section]:
        mark, call = (line[0], line[2:]) if line[0] in "~!" else ("", line)
        theirs, mine = refusal(torch, call), refusal(gn, call)
        if (mine is None) != (theirs is None) and not mark:
            wrong.append(f"{call}: {mine!r} where torch has {theirs!r}")
        if (mine is None) == (theirs is None) and mark:
            wrong.append(f"{call}: agrees, and needs no {mark}")
        own = (GnomonError, TypeError, NotImplementedError, StopIteration)
        if mine is not None and not isinstance(mine, (*own, type(theirs))):
            wrong.append(f"{call}: a raw {mine!r}")
    assert not wrong, "\n".join(wrong)
