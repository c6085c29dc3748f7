"""The table of PyTorch's names that are not here is as PyTorch and Gnomon are."""

from __future__ import annotations

import pytest

from tools.torch_names import FILE, asked, lacking, written

pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

MOST = 6_568
"""Names that may be in the table, of all public modules of PyTorch: what is written leaves it."""


def test_the_table_holds_what_gnomon_lacks():
    assert FILE.read_text() == written(lacking(asked())), "run: python tools/torch_names.py"


def test_no_name_that_was_here_goes():
    lines = FILE.read_text().splitlines()

    assert sum(len(line.split()) - 1 for line in lines if line.startswith(" ")) <= MOST
