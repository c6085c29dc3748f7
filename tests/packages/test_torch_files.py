"""PyTorch's own test files pass on Gnomon, as far as the table of shares says.

GNOMON_TORCH_TESTS names a folder of them (`test` of PyTorch's repository): torch_files.py says how
a file is run. docs/suites.md has the counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.packages.torch_files import compared, outcomes, read_known, reason_of, sampled

FOLDER = Path(os.environ.get("GNOMON_TORCH_TESTS", ""))
TOTAL = 3600.0
"""Seconds for a file with each library."""
SHARES = {
    "test_indexing": 0.78,
    "test_shape_ops": 0.65,
    "test_sort_and_select": 0.97,
    "nn/test_dropout": 0.5,
    "nn/test_init": 0.8,
    "nn/test_packed_sequence": 0.66,
    "test_view_ops": 0.82,
    "test_type_promotion": 0.59,
    "test_torch": 0.65,
    "test_optim": 0.82,
    "nn/test_module_hooks": 0.87,
    "nn/test_parametrization": 0.69,
    "nn/test_pruning": 0.81,
    "nn/test_multihead_attention": 0.7,
}
"""Files -> the share of their tests, of those that pass on PyTorch, that pass here."""


@pytest.mark.packages
@pytest.mark.timeout(2 * TOTAL)
@pytest.mark.parametrize("name", SHARES)
def test_a_file_of_pytorchs_passes_as_far_as_is_known(name: str):
    file = FOLDER / f"{name}.py"
    theirs, ours = (outcomes(file, x, limit=30.0, total=TOTAL) for x in ("torch", "gnomon"))

    counts = compared(theirs, ours)

    assert counts["passes"] >= SHARES[name] * counts["all"], counts


@pytest.mark.unit
def test_only_what_passes_on_pytorch_counts():
    theirs = {"a": ["passes", ""], "b": ["raises", ""], "c": ["passes", ""], "d": ["passes", ""]}
    ours = {"a": ["passes", ""], "b": ["passes", ""], "c": ["skipped", ""]}

    assert compared(theirs, ours) == {"all": 2, "reached": 1, "passes": 1, "out of time": 1}


@pytest.mark.unit
def test_reasons_are_classes_of_messages():
    assert reason_of("out of time", "") == "out of time"
    assert reason_of("raises", "AttributeError|no attribute 'x'") == "a name is missing"
    assert reason_of("differs", "AssertionError|Tensor-likes are not close!") == "differs"
    assert reason_of("differs", "not raised") == "no refusal where PyTorch refuses"


@pytest.mark.unit
def test_a_run_takes_up_what_an_earlier_one_wrote(tmp_path: Path):
    written = tmp_path / "found.json"
    before = read_known(written)
    written.write_text('{"torch": {"a": ["passes", ""]}}')

    assert (before, read_known(None)) == ({}, {})
    assert read_known(written) == {"torch": {"a": ["passes", ""]}}


@pytest.mark.unit
def test_a_sample_has_one_dtype_of_each_test():
    class Named(SimpleNamespace):
        def id(self) -> str:
            return self.name

    names = ["a.f_cpu_bool", "a.f_cpu_float32", "a.f_cpu_int8", "a.g_cpu", "a.h", "a.k_cpu_int8"]

    kept = sampled([Named(name=x) for x in names])

    assert [x.id() for x in kept] == ["a.f_cpu_float32", "a.g_cpu", "a.h", "a.k_cpu_int8"]
