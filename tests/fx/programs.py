"""Modules and functions to be traced, over whichever package has PyTorch's names. Not a test."""

from __future__ import annotations

from typing import Any


def modules_of(package: Any) -> dict[str, Any]:
    """Modules by what they show."""
    nn, functional = package.nn, package.nn.functional

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x: Any, causal: bool = False) -> Any:
            b, t, _ = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, 2, 4).permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-2, -1) / 2.0
            mixed = functional.softmax(scores, dim=-1) @ v
            return self.out(mixed.transpose(1, 2).reshape(b, t, 8))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.attention = nn.LayerNorm(8), Attention()
            self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
            self.scale = nn.Parameter(package.ones(8))
            self.register_buffer("shift", package.zeros(8))

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm(x))
            return {"y": self.mlp(x) * self.scale + self.shift, "last": [x[:, -1], 1 - x]}

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.same = self.layer
            self.blocks = nn.ModuleList([nn.Linear(4, 4), nn.ReLU()])

        def forward(self, x: Any, *rest: Any, **named: Any) -> Any:
            for block in self.blocks:
                x = block(self.same(self.layer(x)))
            return package.cat([x, rest[0]], dim=-1), named["z"] * package.full((1,), 2.0)

    return {"block": Block(), "shared": Shared()}


def functions_of(package: Any) -> dict[str, Any]:
    """Functions by what they show."""

    def signs(x: Any, y: Any) -> Any:
        return (-x + 2 * y - (3 - x) / y) ** 2, (x > y) & ~(x == y), abs(x) @ y, x // 2 % 3

    def methods(x: Any) -> Any:
        y = x.t().contiguous().float()
        return y.sum(dim=0, keepdim=True).expand_as(y).to(package.float64), y.shape[0], y.dtype

    def calls(x: Any) -> Any:
        y = package.relu(package.flatten(x, 1))
        values, indices = package.max(y, dim=1)
        return package.stack((values, values), 0), indices[..., None], y[:, 1::2]

    def defaults(x: Any, scale: float = 2.5, how: str = "sum") -> Any:
        return package.nn.functional.mse_loss(x, x * scale, reduction="sum")

    return {"signs": signs, "methods": methods, "calls": calls, "defaults": defaults}
