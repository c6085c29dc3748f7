"""Modules print as PyTorch's do, and have its attributes."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.nn.module_texts import LINES, SETTLED, unusual

PRINTED = (
    (lambda: nn.MaxPool2d(3), "kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=False"),
    (lambda: nn.AvgPool1d(3, 2), "kernel_size=(3,), stride=(2,), padding=(0,)"),
    (lambda: nn.AdaptiveMaxPool1d(3, True), "output_size=3"),
    (lambda: nn.MaxUnpool2d(2), "kernel_size=(2, 2), stride=(2, 2), padding=(0, 0)"),
    (lambda: nn.LPPool2d(2, 3), "norm_type=2, kernel_size=3, stride=None, ceil_mode=False"),
    (lambda: nn.ZeroPad2d(1), "(1, 1, 1, 1)"),
    (lambda: nn.ConstantPad1d((1, 2), 0.5), "padding=(1, 2), value=0.5"),
    (lambda: nn.Dropout(0.25), "p=0.25, inplace=False"),
    (lambda: nn.ReLU(True), "inplace=True"),
    (lambda: nn.ReLU(), ""),
    (lambda: nn.ELU(inplace=True), "alpha=1.0, inplace=True"),
    (lambda: nn.GELU("tanh"), "approximate='tanh'"),
    (lambda: nn.Softmax(), "dim=None"),
    (lambda: nn.Flatten(), "start_dim=1, end_dim=-1"),
    (lambda: nn.Upsample(scale_factor=2), "scale_factor=2.0, mode='nearest'"),
    (lambda: nn.CrossEntropyLoss(reduction="sum"), ""),
    (lambda: nn.LocalResponseNorm(4), "4, alpha=0.0001, beta=0.75, k=1.0"),
    (lambda: nn.CrossMapLRN2d(4), "4, alpha=0.0001, beta=0.75, k=1"),
    (
        lambda: nn.Conv2d(2, 4, 3, padding=1, groups=2, bias=False, padding_mode="reflect"),
        "2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, bias=False, "
        "padding_mode=reflect",
    ),
    (
        lambda: nn.BatchNorm1d(3),
        "3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True",
    ),
    (
        lambda: nn.LazyInstanceNorm1d(),
        "0, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True",
    ),
    (lambda: nn.LayerNorm(3, bias=False), "(3,), eps=1e-05, elementwise_affine=True, bias=False"),
    (lambda: nn.RMSNorm(3), "(3,), eps=None, elementwise_affine=True"),
    (lambda: nn.GroupNorm(2, 4), "2, 4, eps=1e-05, affine=True, bias=True"),
    (lambda: nn.Embedding(5, 3, 1, max_norm=2.0), "5, 3, padding_idx=1, max_norm=2.0"),
    (lambda: nn.EmbeddingBag(5, 3, padding_idx=1), "5, 3, mode='mean', padding_idx=1"),
    (lambda: nn.LSTM(3, 4, 2, batch_first=True), "3, 4, num_layers=2, batch_first=True"),
    (lambda: nn.RNNCell(3, 4, nonlinearity="relu"), "3, 4, nonlinearity=relu"),
    (lambda: nn.Bilinear(1, 2, 3), "in1_features=1, in2_features=2, out_features=3, bias=True"),
)


@pytest.mark.parametrize(("make", "line"), PRINTED)
def test_a_module_prints_its_settings_as_pytorchs(make, line: str):
    made = make()

    assert repr(made) == f"{type(made).__name__}({line})"


def test_settings_that_follow_from_others_are_attributes():
    assert nn.MaxPool2d(3).stride == 3
    assert nn.AvgPool1d(3).kernel_size == (3,)
    assert nn.ReflectionPad2d(2).padding == (2, 2, 2, 2)
    assert nn.Upsample(scale_factor=(2, 3)).scale_factor == (2.0, 3.0)


def test_a_class_below_one_prints_as_that():
    class Own(nn.Dropout):
        pass

    assert repr(Own(0.5)) == "Own(p=0.5, inplace=False)"


def test_a_class_of_a_users_own_prints_as_what_it_is_made_of_whatever_its_name():
    class Dropout(nn.ReLU):
        pass

    class AvgPool1d(nn.MaxPool2d):
        pass

    assert repr(Dropout(True)) == "Dropout(inplace=True)"
    assert AvgPool1d(3).kernel_size == 3
    assert repr(AvgPool1d(3)) == repr(nn.MaxPool2d(3)).replace("MaxPool2d", "AvgPool1d")


def test_every_row_of_the_tables_is_a_class():
    for name, line in LINES.items():
        assert line == getattr(nn, name).LINE
    for name, changes in SETTLED.items():
        assert changes == getattr(nn, name).SETTLED


def test_equal_modules_in_a_list_are_one_line():
    layers = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])

    assert repr(layers) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_containers_of_parameters_list_them():
    rows = nn.ParameterList([gn.ones(2), gn.ones(2, 3)])
    named = nn.ParameterDict({"a": gn.ones(2)})

    assert repr(rows) == (
        "ParameterList(\n  (0): Parameter containing: [gnomon.float32 of size 2]\n"
        "  (1): Parameter containing: [gnomon.float32 of size 2x3]\n)"
    )
    assert repr(named) == (
        "ParameterDict(\n  (a): Parameter containing: [gnomon.FloatTensor of size 2]\n)"
    )


def test_only_what_is_unusual_is_named():
    assert unusual(nn.GRU(2, 3, bidirectional=True), bidirectional=False, dropout=0.0) == (
        ", bidirectional=True"
    )


def test_lazy_instance_norms_learn_and_track_unless_told_not_to():
    assert nn.LazyInstanceNorm2d().affine
    assert not nn.LazyInstanceNorm2d(1e-5, 0.1, False).affine
    assert not nn.LazyInstanceNorm2d(track_running_stats=False).track_running_stats
