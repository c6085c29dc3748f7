"""Rows for convolutions, their transposes, pooling and resizing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.parity.record import Table, between, distinct, exactly, normal

TABLE = Table()
add = TABLE.add
IMAGE = normal(2, 4, 7, 6)


def conv(name: str, **options: Any) -> Any:
    """A call of a function of nn.functional on tensors, with fixed options."""
    return lambda lib, *tensors: getattr(lib.nn.functional, name)(*tensors, **options)


def add_conv(name: str, *makers: Any, **options: Any) -> None:
    """A row of the convolution `name`, told apart by its options."""
    words = ", ".join(f"{key} {value}" for key, value in options.items()) or "plain"
    TABLE.add(f"F.{name}: {words}", conv(name, **options), *makers, slack=8.0)


add_conv("conv2d", IMAGE, normal(3, 4, 3, 2))
add_conv("conv2d", IMAGE, normal(3, 4, 3, 3), normal(3), padding=1)
add_conv("conv2d", IMAGE, normal(3, 4, 3, 3), normal(3), stride=2, padding=1)
add_conv("conv2d", IMAGE, normal(3, 4, 3, 3), stride=(2, 1), padding=(0, 2))
add_conv("conv2d", IMAGE, normal(3, 4, 3, 5), padding="same")
add_conv("conv2d", IMAGE, normal(3, 4, 3, 3), padding="valid")
add_conv("conv2d", IMAGE, normal(3, 4, 2, 2), dilation=2)
add_conv("conv2d", IMAGE, normal(6, 2, 3, 3), groups=2)
add_conv("conv2d", IMAGE, normal(4, 1, 3, 3), groups=4, padding=1)
add_conv("conv2d", IMAGE, normal(5, 4, 1, 1), normal(5), stride=1)
add_conv("conv2d", IMAGE, normal(5, 4, 1, 1), stride=2)
add_conv("conv1d", normal(2, 3, 9), normal(4, 3, 3), normal(4))
add_conv("conv1d", normal(2, 3, 9), normal(4, 3, 3), stride=2, padding=1, dilation=2)
add_conv("conv3d", normal(1, 2, 4, 5, 3), normal(3, 2, 2, 3, 2), normal(3), padding=1)
add("F.conv2d of one image", conv("conv2d"), normal(4, 7, 6), normal(3, 4, 3, 3), slack=8.0)
add_conv("conv_transpose2d", IMAGE, normal(4, 3, 2, 2), normal(3), stride=2)
add_conv("conv_transpose2d", IMAGE, normal(4, 3, 3, 3))
add_conv("conv_transpose2d", IMAGE, normal(4, 3, 3, 3), stride=2, padding=1, output_padding=1)
add_conv("conv_transpose2d", IMAGE, normal(4, 2, 3, 3), groups=2, stride=2)
add_conv("conv_transpose2d", IMAGE, normal(4, 3, 2, 2), dilation=2)
add_conv("conv_transpose1d", normal(2, 3, 5), normal(3, 4, 4), stride=2, padding=1)

PIXELS = distinct(2, 3, 6, 7)
add("F.max_pool2d", conv("max_pool2d", kernel_size=2), PIXELS)
add("F.max_pool2d that overlaps", conv("max_pool2d", kernel_size=3, stride=2, padding=1), PIXELS)
add("F.max_pool2d rounding up", conv("max_pool2d", kernel_size=2, ceil_mode=True), PIXELS)
add("F.max_pool2d with gaps", conv("max_pool2d", kernel_size=2, stride=1, dilation=2), PIXELS)
add("F.max_pool2d of two sizes", conv("max_pool2d", kernel_size=(2, 3), stride=(2, 1)), PIXELS)
add("F.max_pool2d with positions", conv("max_pool2d", kernel_size=2, return_indices=True), PIXELS)
add("F.max_pool1d", conv("max_pool1d", kernel_size=3, stride=2), distinct(2, 3, 9))
add(
    "F.max_pool2d of a plain",
    lambda lib, x: lib.nn.functional.max_pool2d(lib.zeros_like(x) * x, 2),
    PIXELS,
)
add("F.avg_pool2d", conv("avg_pool2d", kernel_size=2), PIXELS)
add("F.avg_pool2d with padding", conv("avg_pool2d", kernel_size=3, stride=2, padding=1), PIXELS)
add(
    "F.avg_pool2d without the padding",
    conv("avg_pool2d", kernel_size=3, padding=1, count_include_pad=False),
    PIXELS,
)
add("F.avg_pool2d rounding up", conv("avg_pool2d", kernel_size=2, ceil_mode=True), PIXELS)
add("F.avg_pool1d", conv("avg_pool1d", kernel_size=3), distinct(2, 3, 9))
add("F.adaptive_avg_pool2d to one", conv("adaptive_avg_pool2d", output_size=1), PIXELS)
add("F.adaptive_avg_pool2d to some", conv("adaptive_avg_pool2d", output_size=(3, 2)), PIXELS)
add(
    "F.adaptive_avg_pool2d keeps an axis",
    conv("adaptive_avg_pool2d", output_size=(None, 2)),
    PIXELS,
)
add("F.adaptive_avg_pool1d", conv("adaptive_avg_pool1d", output_size=4), distinct(2, 3, 9))
for mode in ("bilinear", "nearest", "bicubic"):
    for border in ("zeros", "border", "reflection"):
        for corners in (False, True):
            add(
                f"F.grid_sample {mode} {border} {corners}",
                conv("grid_sample", mode=mode, padding_mode=border, align_corners=corners),
                normal(2, 2, 4, 5),
                between(-1.5, 1.5, 2, 3, 2, 2),
                slack=4.0,
                gradient=mode != "nearest",  # PyTorch's places then have zeros, ours none
            )
add(
    "F.affine_grid",
    lambda lib, t: lib.nn.functional.affine_grid(t, (2, 3, 4, 5), align_corners=False),
    normal(2, 2, 3),
)
add("F.adaptive_max_pool2d", conv("adaptive_max_pool2d", output_size=(2, 3)), PIXELS)
for count, size in ((1, (9,)), (2, (6, 7)), (3, (4, 5, 6))):
    VOLUME = distinct(2, 3, *size)
    POSITIONS = {"return_indices": True}
    for word, options in (
        ("", {"kernel_size": 2}),
        (" rounding up", {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True}),
        (" with positions", {"kernel_size": 2, "stride": 1, **POSITIONS}),
        (" with positions and gaps", {"kernel_size": 2, "dilation": 2, "padding": 1, **POSITIONS}),
    ):
        add(f"F.max_pool of {count}{word}", conv(f"max_pool{count}d", **options), VOLUME)
    counted = {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False}
    for word, options in (
        ("", {"kernel_size": 2}),
        (" rounding up", {**counted, "ceil_mode": True}),
    ):
        add(f"F.avg_pool of {count}{word}", conv(f"avg_pool{count}d", **options), VOLUME)
    for norm in (1, 2, 3.0):
        lp = conv(f"lp_pool{count}d", norm_type=norm, kernel_size=2, stride=3, ceil_mode=True)
        add(f"F.lp_pool of {count} to {norm}", lp, between(0.1, 2.0, 2, 3, *size), slack=8.0)
    for bins in (1, 2, 4):
        for kind in ("avg", "max"):
            name = f"adaptive_{kind}_pool{count}d"
            add(f"F.{name} to {bins}", conv(name, output_size=bins), VOLUME, slack=4.0)
        with_positions = conv(name, output_size=bins, **POSITIONS)
        add(f"F.{name} to {bins} with positions", with_positions, VOLUME)
        tied = exactly(np.round(np.sin(np.arange(6.0 * np.prod(size)))).reshape(2, 3, *size))
        add(f"F.{name} to {bins} of equals", with_positions, tied)
    for empty in ((0, 3, *size), (3, *size), (1, 1, *(1,) * count)):
        add(f"F.max_pool of {empty}", conv(f"max_pool{count}d", kernel_size=1), distinct(*empty))
        add(f"F.avg_pool of {empty}", conv(f"avg_pool{count}d", kernel_size=1), distinct(*empty))
        add(
            f"F.adaptive_max_pool of {empty}",
            conv(f"adaptive_max_pool{count}d", output_size=1),
            distinct(*empty),
        )
    pooled = conv(f"max_pool{count}d", kernel_size=2, **POSITIONS)
    for word, options in (("", {}), (" to a size", {"output_size": size})):

        def restored(lib: Any, x: Any, pooled: Any = pooled, options: Any = options) -> Any:
            values, places = pooled(lib, x)
            name = f"max_unpool{x.ndim - 2}d"
            return getattr(lib.nn.functional, name)(values, places, 2, **options)

        kept = size if word else tuple(n // 2 * 2 for n in size)
        add(f"F.max_unpool of {count}{word}", restored, distinct(2, 3, *kept))
    if count == 1:
        continue
    for word, options in (
        ("", {"output_size": 2}),
        (" by ratio", {"output_ratio": (0.6,) * count}),
    ):

        def drawn(lib: Any, x: Any, u: Any, options: Any = options) -> Any:
            call = getattr(lib.nn.functional, f"fractional_max_pool{x.ndim - 2}d")
            named = {"return_indices": True, "_random_samples": u.detach(), **options}
            return call(x, 2, **named)

        draws = between(0.0, 1.0, 2, 3, count)
        add(f"F.fractional_max_pool of {count}{word}", drawn, VOLUME, draws)
add_conv("conv_tbc", normal(5, 2, 3), normal(3, 3, 4), normal(4), pad=1)
add(
    "F.native_channel_shuffle",
    conv("native_channel_shuffle", groups=2),
    normal(1, 4, 3, 2),
    gradient=False,  # PyTorch's has none
)
add("F.unfold", conv("unfold", kernel_size=(2, 3), padding=1, stride=2), PIXELS)
add("F.fold", conv("fold", output_size=(4, 5), kernel_size=2), normal(2, 12, 12))

SMALL = normal(2, 3, 4, 5)
add("F.interpolate nearest", conv("interpolate", scale_factor=2, mode="nearest"), SMALL)
add("F.interpolate to a size", conv("interpolate", size=(7, 3)), SMALL)
add(
    "F.interpolate bilinear",
    conv("interpolate", scale_factor=2, mode="bilinear", align_corners=False),
    SMALL,
)
add("F.interpolate bilinear to a size", conv("interpolate", size=(6, 9), mode="bilinear"), SMALL)
add(
    "F.interpolate by the corners",
    conv("interpolate", size=(7, 9), mode="bilinear", align_corners=True),
    SMALL,
)
add("F.interpolate down", conv("interpolate", size=(2, 3), mode="bilinear"), SMALL)
add("F.interpolate linear", conv("interpolate", scale_factor=2, mode="linear"), normal(2, 3, 5))
add("F.interpolate bicubic", conv("interpolate", scale_factor=2, mode="bicubic"), SMALL)
add("F.interpolate by areas", conv("interpolate", size=(2, 3), mode="area"), SMALL)
add("F.pixel_shuffle", conv("pixel_shuffle", upscale_factor=2), normal(2, 8, 3, 4))
add("F.pixel_unshuffle", conv("pixel_unshuffle", downscale_factor=2), normal(2, 3, 4, 6))
add("F.grid of patches", lambda lib, x: x.unfold(2, 2, 2).unfold(3, 2, 2), normal(1, 2, 4, 6))
