"""transformers reads what `save_pretrained` writes, and its models compute the same.

GNOMON_TRANSFORMERS_PYTHON names the Python of an environment with torch and transformers 5.24.
GNOMON_PACKAGES_SOURCES must be there too, as for all tests of this marker; it is not read.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.models import from_pretrained
from gnomon.models.pretrained import FLOATS

PYTHON = os.environ.get("GNOMON_TRANSFORMERS_PYTHON", "")
HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "pretrained"
FAMILIES = sorted(x.name for x in GOLDEN.iterdir())


@pytest.mark.packages
@pytest.mark.skipif(not PYTHON, reason="GNOMON_TRANSFORMERS_PYTHON names no Python")
def test_transformers_computes_the_same_of_what_was_saved(tmp_path: Path):
    tokens = np.random.default_rng(0).integers(0, 260, (2, 16))
    np.save(tmp_path / "tokens.npy", tokens)
    ours = {}
    for family in FAMILIES:
        for dtype in FLOATS[:2]:
            model = from_pretrained(GOLDEN / family, dtype=getattr(gn, dtype))
            name = f"{family}-{dtype}"
            model.save_pretrained(tmp_path / name, max_shard_size=8000)
            with gn.no_grad():
                found = from_pretrained(tmp_path / name, dtype=gn.float32)(gn.from_numpy(tokens))
            ours[name] = (found[0] if isinstance(found, tuple) else found).numpy()

    folders = [tmp_path / name for name in ours]
    script = HERE / "pretrained_reader.py"
    subprocess.run([PYTHON, script, tmp_path / "tokens.npy", *folders], check=True, timeout=500)

    for name, found in ours.items():
        theirs = np.load(tmp_path / name / "theirs.npy")
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-4, err_msg=name)
