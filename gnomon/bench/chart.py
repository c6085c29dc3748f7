"""The ratios as a picture: one SVG without scripts, readable on light and on dark."""

from __future__ import annotations

import math
from html import escape

from gnomon.bench.harness import Result

__all__ = ["chart"]

WIDTH, LEFT, RIGHT, ROW, TOP = 820, 330, 60, 22, 54
STYLE = """
  .paper { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #656d76 }
  .faster { fill: #0969da } .slower { fill: #cf4a00 } .one { stroke: #656d76 }
  text { font: 12px system-ui, sans-serif } .title { font-size: 15px; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .ink { fill: #e6edf3 } .faint { fill: #8d96a0 }
    .faster { fill: #58a6ff } .slower { fill: #ffa657 } .one { stroke: #8d96a0 }
  }
"""


def chart(title: str, results: list[Result]) -> str:
    """A bar per case and peer: how many times as long the peer takes, on a logarithmic scale."""
    bars = [bar for result in results for bar in bars_of(result)]
    furthest = max([2.0, *(max(ratio, 1 / ratio) for _, ratio in bars)])
    height = TOP + ROW * len(bars) + 16
    place = (WIDTH - LEFT - RIGHT) / (2 * math.log(furthest))
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    drawn = [
        piece(label, ratio, TOP + ROW * number, (middle, place))
        for number, (label, ratio) in enumerate(bars)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}">\n'
        f'<style>{STYLE}</style>\n<rect class="paper" width="{WIDTH}" height="{height}"/>\n'
        f'<text class="ink title" x="16" y="22">{escape(title)}</text>\n'
        f'<text class="faint" x="16" y="40">peer\'s time over ours; right of the line we are '
        "faster</text>\n"
        + "\n".join(drawn)
        + f'\n<line class="one" x1="{middle:g}" x2="{middle:g}" y1="{TOP - 8}" y2="{height - 8}"/>'
        "\n</svg>\n"
    )


def bars_of(result: Result) -> list[tuple[str, float]]:
    """The bars of a case: each peer's time divided by ours."""
    ours = result.time_of("gnomon")
    times = [(figures.name, result.time_of(figures.name)) for figures in result.figures[1:]]
    return [(f"{result.case.name} · {name}", t / ours) for name, t in times if t and ours]


def piece(label: str, ratio: float, top: float, scale: tuple[float, float]) -> str:
    """One bar from the line of equality, its label on the left and its ratio at its end."""
    middle, place = scale
    end = middle + place * math.log(ratio)
    start, width = min(middle, end), max(abs(end - middle), 1)
    kind = "faster" if ratio >= 1 else "slower"
    number, side = (end + 6, "start") if ratio >= 1 else (end - 6, "end")
    return (
        f'<text class="ink" x="{LEFT - 12}" y="{top + 13}" text-anchor="end">{escape(label)}</text>'
        f'<rect class="{kind}" x="{start:.1f}" y="{top + 2}" width="{width:.1f}" height="14"/>'
        f'<text class="faint" x="{number:.1f}" y="{top + 13}" text-anchor="{side}">{ratio:.2f}'
        "</text>"
    )
