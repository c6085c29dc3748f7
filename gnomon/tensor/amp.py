"""gn.amp: autocast, and a scale for losses whose gradients would vanish in half precision.

bfloat16 has float32's range and needs no scale; float16 does. Whether a step is skipped is decided
by a look at the gradients, so a step with a scaler is not captured as one program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.autocast import autocast
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

__all__ = ["GradScaler", "autocast"]


class GradScaler:
    """Multiplies losses by a scale, gradients by its inverse, and skips steps that overflowed.

    The scale halves when a gradient is not finite, and doubles after many steps without one.
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
        self._scale, self._enabled = float(init_scale), enabled
        self._growth, self._backoff = growth_factor, backoff_factor
        self._interval, self._tracker = growth_interval, 0
        self._overflowed: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def scale(self, outputs: Any) -> Any:
        """A loss, or nested lists of them, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        return type(outputs)(self.scale(x) for x in outputs)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, to clip them say."""
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
        """optimizer.step(), unless a gradient is not finite."""
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
        """What a saved run needs to go on."""
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
        """Take over what state_dict gave."""
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
