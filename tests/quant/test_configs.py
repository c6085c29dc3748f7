"""Configs refuse what no format has, and names find theirs."""

from __future__ import annotations

import pytest

from gnomon.errors import ArgumentError
from gnomon.quant.configs import (
    Float8WeightOnlyConfig,
    FqnToConfig,
    Int4WeightOnlyConfig,
    Int8WeightOnlyConfig,
)


@pytest.mark.parametrize(
    "kind", [Int8WeightOnlyConfig, Int4WeightOnlyConfig, Float8WeightOnlyConfig]
)
def test_groups_have_known_sizes(kind):
    assert kind(64).group_size == 64
    with pytest.raises(
        ArgumentError, match=r"group_size must be None or one of 32, 64, 128, 256: got 5"
    ):
        kind(5)


def test_four_bits_need_groups():
    with pytest.raises(ArgumentError, match="group_size must be a number: got None"):
        Int4WeightOnlyConfig(None)


def test_names_come_before_patterns_and_these_in_their_order():
    eight, four, narrow = Int8WeightOnlyConfig(), Int4WeightOnlyConfig(), Float8WeightOnlyConfig()
    config = FqnToConfig({"re:a.*": eight, "a.b": four, "re:.*b": None, "_default": narrow})

    assert [config.of(x) for x in ("a.b", "a.c", "x.b", "c")] == [four, eight, None, narrow]
    assert FqnToConfig({"re:a": eight}).of("ab") is None
