"""Draw held-out bits per byte over what training spent, for several runs, and print their ends.

    python -m benchmarks.held_out docs/pictures/experts.svg runs/dense runs/experts [--json FILE]

What was spent are multiplications and additions, forward and backward, as the trainer counts them:
an expert that a token is not sent to costs nothing.
"""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import NamedTuple

from benchmarks.one_curve import COLOURS
from gnomon.models.config import flops_per_token
from gnomon.runtime.files import publish
from gnomon.train.config import Config
from gnomon.train.plot import HEIGHT, LEFT, STYLE, WIDTH, PlotArea
from gnomon.train.runs import read_config

TERA = 1e12


class Ended(NamedTuple):
    """A run that has ended: its name, what it spent and its bits per byte on the way."""

    name: str
    config: Config
    summary: dict
    curve: list[tuple[float, float]]

    @property
    def row(self) -> dict:
        """Its end, for the table."""
        found = {key: self.summary[key] for key in ("parameters", "steps", "bits_per_byte")}
        return {"run": self.name, **found, "tera": self.curve[-1][0], "hash": self.summary["hash"]}


def read(folder: Path) -> Ended:
    """A run by its folder."""
    config = read_config(folder)
    summary = json.loads((folder / "summary.json").read_text())
    train = config.train
    step = train.batch_size * train.sequence_length
    spent = step * flops_per_token(config.model, train.sequence_length) / TERA
    rows = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    key = "held_out_bits_per_byte"
    curve = [(row["step"] * spent, row[key]) for row in rows if key in row]
    return Ended(
        folder.name, config, summary, [*curve, (train.steps * spent, summary["bits_per_byte"])]
    )


def picture(runs: list[Ended]) -> str:
    """The SVG of all runs."""
    area = PlotArea([point for run in runs for point in run.curve])
    title = "held-out bits per byte, by Tflop of products in training"
    parts = [*area.axes(), f'<text class="ink title" x="{LEFT}" y="20">{title}</text>']
    for k, run in enumerate(runs):
        colour = COLOURS[k % len(COLOURS)]
        line = area.line("", run.curve).replace('class=""', f'stroke="{colour}" fill="none"')
        parts.append(line.replace("<polyline", '<polyline stroke-width="2"'))
        told = f"{run.name}  {run.summary['bits_per_byte']:.4f}"
        at = f'x="{WIDTH - 300}" y="{64 + 18 * k}" fill="{colour}"'
        parts.append(f"<text {at}>{escape(told)}</text>")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    paper = f'<style>{STYLE}</style><rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>'
    return "\n".join([head, paper, *parts, "</svg>\n"])


def main() -> None:
    """Print the table and write the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("picture", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    runs = [read(folder) for folder in asked.runs]
    print("run                    weights   steps    Tflop  bits per byte  hash")
    for row in (run.row for run in runs):
        print(
            f"{row['run']:20} {row['parameters']:9,} {row['steps']:7,} {row['tera']:8.1f} "
            f"{row['bits_per_byte']:14.4f}  {row['hash'][:12]}"
        )
    publish(asked.picture, picture(runs).encode())
    if asked.json:
        asked.json.write_text(json.dumps([run.row for run in runs], indent=1))


if __name__ == "__main__":
    main()
