"""Plain training scripts give torch's losses when only their imports change.

moe_ragged's shapes follow the data, and dqn, kmeans and seq2seq_lstm look at values between steps:
these run eagerly only.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.harness import farthest, farthest_relative, point_at, run, scripts

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
torch.set_num_threads(1)

EAGER_ONLY = ("dqn", "kmeans", "moe_ragged", "seq2seq_lstm")
COMPILED = [name for name in scripts() if name not in EAGER_ONLY]
WAYS = [pytest.param(name, False, id=f"{name}-eager") for name in scripts()] + [
    pytest.param(name, True, id=f"{name}-compiled") for name in COMPILED
]


def torchs(name: str, dtype: str) -> dict:
    """What the script returns under eager torch."""
    return run(name, "torch", dtype, False)


@pytest.mark.parametrize(("name", "compiled"), WAYS)
def test_losses_in_float64_are_torchs(name: str, compiled: bool):
    losses = run(name, "gnomon", "float64", compiled)["losses"]

    assert farthest_relative(losses, torchs(name, "float64")["losses"]) <= 1e-8


@pytest.mark.share(4)
@pytest.mark.parametrize(("name", "compiled"), WAYS)
def test_losses_in_float32_stay_as_near_to_float64_as_torchs(name: str, compiled: bool):
    truth = torchs(name, "float64")["losses"]
    allowed = 3 * farthest(torchs(name, "float32")["losses"], truth) + 1e-6

    assert farthest(run(name, "gnomon", "float32", compiled)["losses"], truth) <= allowed


@pytest.mark.parametrize(("name", "compiled"), WAYS)
def test_what_else_a_script_measures_in_float64_is_torchs(name: str, compiled: bool):
    ours, theirs = run(name, "gnomon", "float64", compiled), torchs(name, "float64")

    assert ours["metrics"].keys() == theirs["metrics"].keys()
    for key, values in theirs["metrics"].items():
        np.testing.assert_allclose(ours["metrics"][key], values, rtol=1e-7, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("name", scripts())
def test_state_dict_keys_are_torchs(name: str):
    ours, theirs = run(name, "gnomon", "float64", False), torchs(name, "float64")

    assert ours["state_keys"] == theirs["state_keys"]


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_losses_are_the_eager_ones_to_the_bit(name: str):
    eager, compiled = (run(name, "gnomon", "float32", way)["losses"] for way in (False, True))

    assert compiled == eager


def test_only_the_imports_of_a_script_change():
    source = "import torch\nimport torch.nn as nn\nfrom torch.utils.data import A\ntorch.ones(1)\n"

    changed = point_at(source, "gnomon")

    assert changed == (
        "import gnomon as torch\nimport gnomon.nn as nn\nfrom gnomon.utils.data import A\n"
        "torch.ones(1)\n"
    )
