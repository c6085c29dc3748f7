"""The loss plot: one SVG without scripts, readable on light and dark backgrounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

__all__ = ["loss_plot"]

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 720, 400
LARGEST = 1e30
"""Losses from this one on are not drawn."""
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 44, 44

STYLE = """
  .paper { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #656d76 }
  .grid { stroke: #d8dee4; stroke-width: 1 }
  .raw { fill: none; stroke: #0969da; stroke-width: 1; opacity: .25 }
  .smooth { fill: none; stroke: #0969da; stroke-width: 2 }
  .held { fill: none; stroke: #cf4a00; stroke-width: 2 } .dot { fill: #cf4a00 }
  .key1 { fill: #0969da } .key2 { fill: #cf4a00 }
  text { font: 12px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #8d96a0 }
    .grid { stroke: #30363d } .raw, .smooth { stroke: #58a6ff } .held { stroke: #ffa657 }
    .dot, .key2 { fill: #ffa657 } .key1 { fill: #58a6ff }
  }
"""


def loss_plot(title: str, training: Points, held_out: Points) -> str:
    """The SVG of training and held-out losses over steps.

    >>> loss_plot("run", [(1, 5.0), (2, 4.0)], [(2, 4.5)]).startswith("<svg")
    True
    """
    training = [point for point in training if abs(point[1]) < LARGEST]
    held_out = [point for point in held_out if abs(point[1]) < LARGEST]
    area = PlotArea([*training, *held_out])
    parts = [
        *area.axes(),
        area.line("raw", training),
        area.line("smooth", smoothed(training)),
        area.line("held", held_out),
        *area.dots(held_out),
        f'<text class="ink title" x="{LEFT}" y="20">{escape(title)}</text>',
        f'<text class="key1" x="{WIDTH - 210}" y="20">training loss</text>',
        f'<text class="key2" x="{WIDTH - 110}" y="20">held-out loss</text>',
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{escape(title)}">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>\n'
        + "\n".join(part for part in parts if part)
        + "\n</svg>\n"
    )


def smoothed(points: Points, weight: float = 0.95) -> list[tuple[float, float]]:
    """The exponential moving average of points, without bias at the start."""
    mean = total = 0.0
    result = []
    for x, y in points:
        mean, total = weight * mean + (1 - weight) * y, weight * total + (1 - weight)
        result.append((x, mean / total))
    return result


class PlotArea:
    """The area of a plot that contains the curve."""

    def __init__(self, points: Points) -> None:
        xs, ys = [x for x, _ in points] or [0, 1], [y for _, y in points] or [0, 1]
        self.right = max(*xs, 1)
        self.low, self.high = math.floor(min(ys) * 2) / 2, math.ceil(max(ys) * 2) / 2
        if self.low == self.high:
            self.high += 1

    def place(self, x: float, y: float) -> tuple[float, float]:
        """A point's position, in hundredths of a pixel."""
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / self.right
        down = TOP + (HEIGHT - TOP - BOTTOM) * (self.high - y) / (self.high - self.low)
        return round(across, 2), round(down, 2)

    def line(self, kind: str, points: Points) -> str:
        """The SVG of a line through points; empty for fewer than two."""
        if len(points) < 2:
            return ""
        placed = " ".join(f"{x},{y}" for x, y in (self.place(*point) for point in points))
        return f'<polyline class="{kind}" points="{placed}"/>'

    def dots(self, points: Points) -> list[str]:
        """The SVG of a dot for each point."""
        placed = [self.place(*point) for point in points]
        return [f'<circle class="dot" cx="{x}" cy="{y}" r="3"/>' for x, y in placed]

    def axes(self) -> list[str]:
        """The SVG of grid lines and their numbers."""
        parts = []
        for value in ticks(self.low, self.high):
            _, y = self.place(0, value)
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
                f'<text class="faint" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}</text>'
            )
        for value in ticks(0, self.right):
            x, y = self.place(value, self.low)
            parts.append(
                f'<text class="faint" x="{x}" y="{y + 20}" text-anchor="middle">{value:g}</text>'
            )
        return parts


def ticks(low: float, high: float) -> list[float]:
    """Four to nine round numbers from low to high.

    >>> ticks(0, 1500)
    [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0, 1200.0, 1400.0]
    """
    rough = (high - low) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]
