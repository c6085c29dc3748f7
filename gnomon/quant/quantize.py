"""`quantize_`: the weights of a model's linear layers become blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gnomon.dtypes import float32
from gnomon.errors import ArgumentError, DtypeError
from gnomon.nn.linear import Linear
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.quant.configs import FqnToConfig, WeightConfig
from gnomon.quant.encoding import encoded_rows
from gnomon.tensor.encoded import from_blocks
from gnomon.tensor.tensor import Tensor, array_of, from_array
from gnomon.tensor.views import is_encoded

__all__ = ["quantize_"]


def quantize_(
    model: Module,
    config: WeightConfig | FqnToConfig,
    filter_fn: Callable[[Module, str], bool] | None = None,
) -> None:
    """Put the weights of linear layers into blocks, in place, as torchao's function does.

    config: their format, or formats by name. filter_fn(module, name): which linear layers; none:
    all. A quantized weight is a float32 parameter without a gradient whose storage are blocks;
    products read these, with the bits of decoded numbers or in whole numbers, as the config says
    (gnomon/tensor/encoded.py). Layers that
    are quantized already stay as they are. A weight that layers share is quantized once.

    Raises ArgumentError, which names the layer, for weights that a format does not hold, DtypeError
    for weights that are not float32. Then no layer has changed.

    >>> from gnomon import nn, quant
    >>> layer = nn.Linear(64, 8)
    >>> quantize_(layer, quant.Int8WeightOnlyConfig())
    >>> layer.weight.untyped_storage().nbytes()
    544
    """
    if isinstance(config, FqnToConfig) and filter_fn is not None:
        raise ArgumentError(
            "quantize_: names are chosen by FqnToConfig or by filter_fn, not by both: got both."
        )
    made: dict[int, Parameter] = {}
    changed: list[tuple[Linear, Parameter]] = []
    for name, layer in linears(model, filter_fn):
        wanted = config.of(name) if isinstance(config, FqnToConfig) else config
        if wanted is None or is_encoded(layer.weight._view):
            continue
        weight = layer.weight
        if id(weight) not in made:
            blocks = quantized(name, weight, wanted)
            made[id(weight)] = Parameter(blocks, requires_grad=False)
        changed.append((layer, made[id(weight)]))
    for layer, weight in changed:
        layer.weight = weight


def linears(
    model: Module, filter_fn: Callable[[Module, str], bool] | None
) -> Iterator[tuple[str, Linear]]:
    """The linear layers that are asked for, by name."""
    for name, module in model.named_modules():
        if isinstance(module, Linear) and (filter_fn is None or filter_fn(module, name)):
            yield name, module


def quantized(name: str, weight: Tensor, config: WeightConfig) -> Tensor:
    """A weight in blocks."""
    label = name or "the model"
    if weight.dtype is not float32:
        raise DtypeError(
            f"quantize_: the weight of {label} must be float32: got {weight.dtype.name}. "
            "Use model.float()."
        )
    try:
        rows, kind = encoded_rows(array_of(weight.detach()), config)
    except ArgumentError as refused:
        raise ArgumentError(
            f"quantize_: the weight {tuple(weight.shape)} of {label} does not fit "
            f"{type(config).__name__}: {refused}. Leave it out by filter_fn."
        ) from None
    return from_blocks(from_array(rows), kind, config.activations)
