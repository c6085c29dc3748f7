"""Quantized weights: `quantize_` puts a model's linear layers into blocks of few bits.

Names and meanings are those of torchao.quantization.
"""

from gnomon.quant.configs import (
    Float8WeightOnlyConfig,
    FqnToConfig,
    Int4WeightOnlyConfig,
    Int8DynamicActivationInt8WeightConfig,
    Int8WeightOnlyConfig,
)
from gnomon.quant.measures import sqnr
from gnomon.quant.quantize import quantize_

__all__ = [
    "Float8WeightOnlyConfig",
    "FqnToConfig",
    "Int4WeightOnlyConfig",
    "Int8DynamicActivationInt8WeightConfig",
    "Int8WeightOnlyConfig",
    "quantize_",
    "sqnr",
]
