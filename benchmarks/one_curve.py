"""Draw the losses of several runs in one picture, each a thinner line over the one before.

    python -m benchmarks.one_curve docs/pictures/one-curve.svg runs/one "runs/data=2,tensor=2"

Where all runs have the same bits one sees stripes, and no line leaves the others.
"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path

from gnomon.runtime.files import publish
from gnomon.train.metrics import read_metrics
from gnomon.train.plot import HEIGHT, LEFT, STYLE, WIDTH, PlotArea

COLOURS = ("#0969da", "#cf4a00", "#1a7f37", "#8250df", "#bf8700", "#d1242f")
THINNER = 3
"""Pixels by which a line is thinner than the one below it."""


def losses(run: Path) -> list[tuple[float, float]]:
    """The loss of every step."""
    return [(row["step"], row["loss"]) for row in read_metrics(run)]


def told(run: Path) -> str:
    """A run's name and hash."""
    return f"{run.name}  {json.loads((run / 'summary.json').read_text())['hash'][:12]}"


def picture(runs: list[Path]) -> str:
    """The SVG of all runs."""
    curves = [losses(run) for run in runs]
    area = PlotArea([point for curve in curves for point in curve])
    parts = [*area.axes(), f'<text class="ink title" x="{LEFT}" y="20">loss, by layout</text>']
    for k, (run, curve) in enumerate(zip(runs, curves, strict=True)):
        colour, width = COLOURS[k % len(COLOURS)], 1.5 + THINNER * (len(runs) - 1 - k)
        line = area.line("", curve).replace('class=""', f'stroke="{colour}" fill="none"')
        parts.append(line.replace("<polyline", f'<polyline stroke-width="{width}"'))
        at = f'x="{WIDTH - 300}" y="{64 + 18 * k}" fill="{colour}"'
        parts.append(f"<text {at}>{escape(told(run))}</text>")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    paper = f'<style>{STYLE}</style><rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>'
    return "\n".join([head, paper, *parts, "</svg>\n"])


if __name__ == "__main__":
    goal, *folders = map(Path, sys.argv[1:])
    publish(goal, picture(folders).encode())
