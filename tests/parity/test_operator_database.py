"""Every entry of torch's operator database gives torch's values and gradients, or says why not.

How an entry is run is in operator_database.py. What stands in OTHERS must fail: an entry that
begins to pass is taken out of the table. What stands in UNDECIDED has no answer to compare.
"""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytest.importorskip("expecttest", reason="needs expecttest: pip install -e '.[parity]'")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what torch's own tests say about torch
    from torch.testing._internal.common_methods_invocations import op_db

from tests.parity.operator_database import check

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

UNDECIDED = {
    "random draws": (
        "bernoulli cauchy exponential geometric log_normal multinomial nn_functional_dropout "
        "nn_functional_dropout2d nn_functional_dropout3d nn_functional_fractional_max_pool2d "
        "nn_functional_fractional_max_pool3d nn_functional_multi_head_attention_forward "
        "nn_functional_rrelu normal normal_in_place normal_number_mean rand_like randint "
        "randint_like randn randn_like uniform"
    ),
    "the signs of eigenvectors are free": "linalg_eigh",
    "any values": "empty empty_like empty_permuted empty_strided new_empty new_empty_strided",
    "complex numbers": ("chalf linalg_eig linalg_eigvals"),
}
OTHERS = {
    "name missing": (
        "alias_copy hash_tensor linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve "
        "special_airy_ai"
    ),
    "private, or the inside of another function": (
        "_batch_norm_with_update _chunk_cat _native_batch_norm_legit _segment_reduce_lengths "
        "_segment_reduce_offsets _softmax_backward_data _unsafe_masked_index "
        "_unsafe_masked_index_put_accumulate _upsample_bilinear2d_aa "
        "max_pool2d_with_indices_backward native_batch_norm native_dropout_backward "
        "native_group_norm native_layer_norm slice torch_ops_aten__efficient_attention_forward "
        "torch_ops_aten__flash_attention_forward torch_ops_aten__safe_softmax_default"
    ),
    "CUDA code in strings": (
        "jiterator_2inputs_2outputs jiterator_4inputs_with_extra_args jiterator_binary "
        "jiterator_binary_return_by_ref jiterator_unary"
    ),
    "needs a GPU": ("nn_functional_batch_norm_without_cudnn torch__scaled_mm torch__scaled_mm_v2"),
    "sparse": "sparse_mm_reduce sparse_sampled_addmm",
    "differs: the triangle that is not read has no gradient": "cholesky_inverse cholesky_solve",
    "differs: what is written over has no gradient": "as_strided_scatter",
    "differs: torch's gradient is that of log_softmax as well": "nn_functional_ctc_loss",
    "differs: edges of bins ascend": "histogramdd",
    "differs: a batch norm's input has two axes": "nn_functional_batch_norm",
    "differs: chunks are for one class per row": (
        "nn_functional_linear_cross_entropy_chunked nn_functional_linear_cross_entropy_chunked_none"
    ),
}
"""Why entries do not pass -> their names."""


def by_name(table: dict[str, str]) -> dict[str, str]:
    """An entry's name -> why it stands in the table."""
    return {name: reason for reason, names in table.items() for name in names.split()}


ENTRIES = {entry.formatted_name: entry for entry in op_db}
FAILING, SKIPPED = by_name(OTHERS), by_name(UNDECIDED)
PASSING = [name for name in ENTRIES if name not in FAILING and name not in SKIPPED]


def parameters(names: Any) -> list[Any]:
    """One row per entry."""
    return [pytest.param(ENTRIES[name], id=name) for name in names]


@pytest.mark.share(3)
@pytest.mark.parametrize("entry", parameters(PASSING))
def test_values_and_gradients_are_torchs(entry: Any):
    check(entry)


@pytest.mark.parametrize("entry", parameters(FAILING))
def test_what_is_said_to_differ_does(entry: Any):
    try:
        check(entry)
    except Exception:
        return
    pytest.fail(f"{entry.formatted_name} passes: take it out of the table.")


def test_most_entries_pass():
    assert len(PASSING) >= 627
