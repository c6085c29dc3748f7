"""Greedy tokens are those of transformers: with a penalty, and in a batch padded on the left.

GNOMON_TRANSFORMERS_PYTHON names the Python of an environment with torch and transformers 5.24.
GNOMON_PACKAGES_SOURCES must be there too, as for all tests of this marker; it is not read.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.models import from_pretrained

PYTHON = os.environ.get("GNOMON_TRANSFORMERS_PYTHON", "")
HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "pretrained"
FAMILIES = sorted(x.name for x in GOLDEN.iterdir() if x.name != "bert")


@pytest.mark.packages
@pytest.mark.skipif(not PYTHON, reason="GNOMON_TRANSFORMERS_PYTHON names no Python")
def test_greedy_tokens_are_those_of_transformers(tmp_path: Path):
    rows = [
        np.random.default_rng(k).integers(1, 260, length).tolist() for k, length in ((0, 9), (1, 4))
    ]
    padded = {"tokens": [rows[0], [0] * 5 + rows[1]], "mask": [[1] * 9, [0] * 5 + [1] * 4]}
    alone = {"tokens": rows[:1], "mask": [[1] * 9]}
    cases = [
        {"folder": str(GOLDEN / family), **given, "options": {"max_new_tokens": 64} | more}
        for family in FAMILIES
        for given, more in ((padded, {}), (alone, {"repetition_penalty": 1.3}))
    ]
    (tmp_path / "cases.json").write_text(json.dumps(cases))

    script, files = (
        HERE / "generation_reader.py",
        (tmp_path / "cases.json", tmp_path / "found.json"),
    )
    subprocess.run([PYTHON, script, *files], check=True, timeout=500)

    theirs = json.loads(files[1].read_text())
    for case, wanted in zip(cases, theirs, strict=True):
        model = from_pretrained(case["folder"])
        given = gn.tensor(case["tokens"]), gn.tensor(case["mask"])
        found = model.generate(
            given[0], attention_mask=given[1], eos_token_id=(), **case["options"]
        )
        assert found.tolist() == wanted, (case["folder"], case["options"])
