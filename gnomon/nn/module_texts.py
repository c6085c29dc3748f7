"""A module's settings as printed text, and settings derived from others, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["INPLACE", "LINES", "SETTLED", "line_of", "repeated", "unusual"]

POOLED = "kernel_size={kernel_size}, stride={stride}, padding={padding}"
DIMS = ("1d", "2d", "3d")
INPLACE = "[inplace]"
"""The placeholder of `inplace=True`, which is printed only if it is set."""
LINES: dict[str, str] = {
    **{f"MaxPool{d}": f"{POOLED}, dilation={{dilation}}, ceil_mode={{ceil_mode}}" for d in DIMS},
    **{f"{kind}{d}": POOLED for kind in ("AvgPool", "MaxUnpool") for d in DIMS},
    **{
        f"LPPool{d}": "norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, "
        "ceil_mode={ceil_mode}"
        for d in DIMS
    },
    **{f"Adaptive{k}Pool{d}": "output_size={output_size}" for k in ("Avg", "Max") for d in DIMS},
    **{
        f"{kind}Pad{d}": "{padding}"
        for kind in ("Zero", "Reflection", "Replication", "Circular")
        for d in DIMS
    },
    **{f"ConstantPad{d}": "padding={padding}, value={value}" for d in DIMS},
    **dict.fromkeys(("CELU", "ELU"), f"alpha={{alpha}}{INPLACE}"),
    **dict.fromkeys(("Mish", "ReLU", "ReLU6", "SELU", "SiLU"), INPLACE),
    **dict.fromkeys(("GLU", "LogSoftmax", "Softmax", "Softmin"), "dim={dim}"),
    **dict.fromkeys(("Hardshrink", "Softshrink"), "{lambd}"),
    "GELU": "approximate={approximate!r}",
    "Hardtanh": f"min_val={{min_val}}, max_val={{max_val}}{INPLACE}",
    "LeakyReLU": f"negative_slope={{negative_slope}}{INPLACE}",
    "Softplus": "beta={beta}, threshold={threshold}",
    "Threshold": f"threshold={{threshold}}, value={{value}}{INPLACE}",
    "Flatten": "start_dim={start_dim}, end_dim={end_dim}",
    "Fold": "output_size={output_size}, kernel_size={kernel_size}, dilation={dilation}, "
    "padding={padding}, stride={stride}",
    "Unfold": "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}",
    "PixelShuffle": "upscale_factor={upscale_factor}",
    "PixelUnshuffle": "downscale_factor={downscale_factor}",
    "ChannelShuffle": "groups={groups}",
    **dict.fromkeys(("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"), "{sizes}"),
}
"""The format of the printed settings, by class; losses and other functions print none."""


def line_of(module: Any) -> str:
    """The settings of a module as text, by the format of its class's LINE."""
    text = module.LINE
    shown = {"sizes": sizes_of(module), **vars(module)} if text == "{sizes}" else vars(module)
    line = text.replace(INPLACE, ", inplace=True" if shown.get("inplace") else "").format(**shown)
    return line.removeprefix(", ")


def unusual(module: Any, **usual: Any) -> str:
    """The text of settings that differ from these defaults, each after a comma."""
    found = ((name, getattr(module, name, value), value) for name, value in usual.items())
    return "".join(f", {name}={value}" for name, value, plain in found if value != plain)


def sizes_of(module: Any) -> str:
    """The size or the scale factor of an upsampling layer, and its mode, as text."""
    name = "size" if module.scale_factor is None else "scale_factor"
    return f"{name}={getattr(module, name)}, mode={module.mode!r}"


# settings that follow from others


def repeated(value: Any, count: int) -> tuple:
    """A value repeated `count` times, or the given values as a tuple."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


def each_axis(count: int, *names: str) -> Callable[[Any], None]:
    """A function that turns settings of these names into tuples, one number per axis."""

    def settle(module: Any) -> None:
        for name in names:
            setattr(module, name, repeated(getattr(module, name), count))

    return settle


def stride_of_windows(module: Any) -> None:
    """Set a stride of None to the kernel size."""
    if module.stride is None:
        module.stride = module.kernel_size


def factors(module: Any) -> None:
    """Convert the scale factors of an upsampling layer to floats."""
    given = module.scale_factor
    each = given if isinstance(given, (tuple, list)) else [given]
    if all(isinstance(x, (int, float)) for x in each):  # others are refused when it is called
        floats = tuple(map(float, each))
        module.scale_factor = floats if each is given else floats[0]


WINDOWS = ("kernel_size", "stride", "padding")
SETTLED: dict[str, tuple[Callable[[Any], None], ...]] = {
    **{f"{kind}Pool{d}": (stride_of_windows,) for kind in ("Max", "Avg") for d in DIMS},
    "AvgPool1d": (stride_of_windows, each_axis(1, *WINDOWS)),
    **{f"MaxUnpool{d}": (stride_of_windows, each_axis(k, *WINDOWS)) for k, d in enumerate(DIMS, 1)},
    **{
        f"{kind}Pad{d}": (each_axis(2 * k, "padding"),)
        for kind in ("Zero", "Reflection", "Replication", "Circular", "Constant")
        for k, d in enumerate(DIMS, 1)
    },
    **dict.fromkeys(("Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"), (factors,)),
}
"""The functions that complete the settings in a constructor, by class."""
