"""gn.amp: autocast, and a scale for losses whose gradients would vanish in half precision.

bfloat16 has float32's range and needs no scale; float16 does. Whether a step is skipped is decided
by a look at the gradients, so a step with a scaler is not captured as one program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from gnomon.dtypes import DType, bfloat16, dtype_of, float16
from gnomon.errors import ArgumentError
from gnomon.tensor.autocast import autocast, is_there
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.device import CPU, Device
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.pytree import flatten, unflatten
from gnomon.tensor.state import narrow
from gnomon.tensor.tensor import Tensor

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype"]
__all__ += ["is_autocast_available", "is_autocast_enabled", "of_cpu", "of_cuda"]
__all__ += ["set_autocast_enabled"]


class GradScaler:
    """Multiplies losses by a scale, gradients by its inverse, and skips steps that overflowed.

    The scale halves when a gradient is not finite, and doubles after many steps without one. For a
    device that is not here it is off and warns, as PyTorch's.
    """

    def __init__(
        self,
        device: str = "cpu",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if growth_factor <= 1 or not 0 < backoff_factor < 1:
            raise ArgumentError(
                "GradScaler: growth_factor must be above 1 and backoff_factor between 0 and 1: "
                f"got {growth_factor} and {backoff_factor}."
            )
        self._scale = float(init_scale)
        self._enabled = enabled and is_there(device, "GradScaler")
        self._growth, self._backoff = growth_factor, backoff_factor
        self._interval, self._tracker = growth_interval, 0
        self._overflowed: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """The losses, one or nested lists of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        return type(outputs)(self.scale(x) for x in outputs)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, before clipping them."""
        if not self._enabled:
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if id(optimizer) in self._overflowed:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        finite = []
        with no_grad():
            for gradient in gradients_of(optimizer):
                whole = gradient.float() / self._scale
                finite.append(FUNCTIONS["isfinite"](whole).all())
                gradient.copy_(whole)
        self._overflowed[id(optimizer)] = bool(finite) and not FUNCTIONS["stack"](finite).all()

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call optimizer.step(), unless a gradient is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._overflowed:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return None if self._overflowed[id(optimizer)] else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Choose the scale of the next step."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._overflowed:
            raise AssertionError("No inf checks were recorded prior to update.")
        elif any(self._overflowed.values()):
            self._scale, self._tracker = self._scale * self._backoff, 0
        else:
            self._tracker += 1
            if self._tracker == self._interval:
                self._scale, self._tracker = self._scale * self._growth, 0
        self._overflowed.clear()
        self._stepped.clear()

    def get_scale(self) -> float:
        """The scale; 1 when nothing is scaled."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The state that a saved run needs to go on."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth,
            "backoff_factor": self._backoff,
            "growth_interval": self._interval,
            "_growth_tracker": self._tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state from state_dict."""
        if not self._enabled:
            return
        if not state_dict:
            raise ArgumentError(
                "load_state_dict: the state is empty: it was saved by a scaler that was off."
            )
        self._scale, self._growth = state_dict["scale"], state_dict["growth_factor"]
        self._backoff = state_dict["backoff_factor"]
        self._interval = state_dict["growth_interval"]
        self._tracker = state_dict["_growth_tracker"]


def gradients_of(optimizer: Any) -> Iterator[Tensor]:
    """The gradients of an optimizer's parameters that have one."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None:
                yield p.grad


def is_autocast_available(device_type: str) -> bool:
    """Whether products of a device can be narrow: those of "cpu".

    >>> is_autocast_available("cpu"), is_autocast_available("cuda")
    (True, False)
    """
    return Device(device_type).type == CPU.type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether products of a device are narrow now; as PyTorch's, asked of "cuda" by default.

    >>> with autocast("cpu"):
    ...     is_autocast_enabled("cpu"), is_autocast_enabled()
    (True, False)
    """
    return is_autocast_available(device_type) and narrow.get() is not None


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that products of a device take when they are narrow.

    >>> get_autocast_dtype("cpu")
    gnomon.bfloat16
    """
    usual = float16 if Device(device_type).type == "cuda" else bfloat16
    return (is_autocast_available(device_type) and narrow.get()) or usual


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Make products narrow from now on, or no longer; a `with` of autocast ends by itself.

    >>> set_autocast_enabled("cpu", False)
    """
    if is_autocast_available(device_type):
        narrow.set(get_autocast_dtype(device_type) if enabled else None)


def custom_fwd(
    fwd: Callable | None = None, *, device_type: str, cast_inputs: object = None
) -> Callable:
    """A Function's forward under autocast; with cast_inputs, on tensors of that dtype and outside.

    >>> import gnomon as gn
    >>> class Double(gn.autograd.Function):
    ...     @staticmethod
    ...     @custom_fwd(device_type="cpu", cast_inputs=gn.float32)
    ...     def forward(context, x):
    ...         return x * 2
    >>> with autocast("cpu"):
    ...     Double.apply(gn.ones(1, dtype=gn.bfloat16))
    Tensor([2.])
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(context: Any, *args: Any, **named: Any) -> Any:
        context.narrow = narrow.get() if is_autocast_enabled(device_type) else None
        if context.narrow is None or cast_inputs is None:
            return fwd(context, *args, **named)
        found: list[Tensor] = []
        tree, context.narrow = flatten((args, named), found), None
        wanted = dtype_of(cast_inputs)
        args, named = unflatten(
            tree, [x.to(wanted) if x.dtype.is_floating_point else x for x in found]
        )
        with autocast("cpu", enabled=False):
            return fwd(context, *args, **named)

    return forward


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """A Function's backward under the autocast of its forward, which custom_fwd keeps.

    >>> custom_bwd(lambda context, gradient: gradient, device_type="cpu").__name__
    '<lambda>'
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(context: Any, *gradients: Any) -> Any:
        with autocast("cpu", context.narrow or bfloat16, context.narrow is not None):
            return bwd(context, *gradients)

    return backward


class DeviceAutocast(autocast):
    """PyTorch's older autocast of one device, whose first argument is `enabled`."""

    device = "cpu"

    def __init__(
        self, enabled: bool = True, dtype: object = None, cache_enabled: bool = True
    ) -> None:
        super().__init__(self.device, dtype, enabled, cache_enabled)


class DeviceGradScaler(GradScaler):
    """PyTorch's older GradScaler of one device, whose first argument is the scale."""

    device = "cpu"

    def __init__(self, init_scale: float = 65536.0, *factors: Any, **named: Any) -> None:
        super().__init__(self.device, init_scale, *factors, **named)


def names_of(device: str) -> SimpleNamespace:
    """PyTorch's older names of autocast and GradScaler for one device."""
    return SimpleNamespace(
        autocast=type("autocast", (DeviceAutocast,), {"device": device}),
        GradScaler=type("GradScaler", (DeviceGradScaler,), {"device": device}),
        custom_fwd=functools.partial(custom_fwd, device_type=device),
        custom_bwd=functools.partial(custom_bwd, device_type=device),
    )


of_cpu, of_cuda = names_of("cpu"), names_of("cuda")
