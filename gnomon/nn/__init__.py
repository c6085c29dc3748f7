"""Layers, losses and what a model is made of: PyTorch's names, arguments and state_dict keys."""

from __future__ import annotations

from gnomon.nn import functional, init, utils
from gnomon.nn.attention import MultiheadAttention, TransformerEncoder, TransformerEncoderLayer
from gnomon.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from gnomon.nn.layers import (
    Bilinear,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    Embedding,
    Identity,
    Linear,
)
from gnomon.nn.module import Module
from gnomon.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    LayerNorm,
    RMSNorm,
)
from gnomon.nn.parameter import Parameter
from gnomon.nn.simple import *  # noqa: F403 - the table's classes
from gnomon.nn.simple import __all__ as _simple

__all__ = sorted(
    {
        *_simple,
        *(
            "Bilinear",
            "Conv1d",
            "Conv2d",
            "Conv3d",
            "ConvTranspose1d",
            "ConvTranspose2d",
            "Embedding",
        ),
        *(
            "Identity",
            "Linear",
            "Module",
            "ModuleDict",
            "ModuleList",
            "ParameterDict",
            "ParameterList",
        ),
        *("Sequential", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d"),
        *("InstanceNorm2d", "LayerNorm", "RMSNorm", "Parameter", "MultiheadAttention"),
        *("TransformerEncoder", "TransformerEncoderLayer", "functional", "init", "utils"),
    }
)
