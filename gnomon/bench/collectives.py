"""`gnomon bench collectives`: transfers of launched ranks beside those of mpi4py and gloo."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from subprocess import run
from typing import Any

import msgspec
from rich.table import Table

from gnomon.bench.peers import root
from gnomon.distributed.launcher import Launch
from gnomon.errors import ConfigError

__all__ = ["COLLECTIVES", "PEERS", "collectives_table", "measure_collectives"]

COLLECTIVES = "collectives"
PEERS = ("mpi4py", "gloo")
OURS = ("gnomon", "node")
"""Ours by MPI, and by shared memory."""
RANKS = (2, 4)


def measure_collectives(peers: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """A row for each operation, size and number of ranks: the seconds of every contender."""
    return [row for ranks in RANKS for row in measured_by(ranks, peers, rounds)]


def measured_by(ranks: int, peers: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """Launch ranks that measure the collectives; the rows of their results."""
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        out = Path(folder) / "rows.json"
        module = "gnomon.bench.collective_rank"
        words = ("python", "-m", module, str(out), ",".join(peers), str(rounds))
        launch = Launch(words, ranks)
        around = os.pathsep.join(filter(None, [str(root() or ""), *sys.path]))
        environment = launch.environment() | {"PYTHONPATH": around}
        done = run(launch.arguments(), env=environment, capture_output=True, text=True)
        if done.returncode or not out.exists():
            raise ConfigError(f"bench: {ranks} ranks ended with {done.returncode}: {done.stderr}")
        return msgspec.json.decode(out.read_bytes())["rows"]


def collectives_table(rows: Iterable[dict[str, Any]]) -> Table:
    """All rows: microseconds, and how much longer a peer takes."""
    table = Table(title="collectives", title_justify="left", box=None, pad_edge=False)
    ratios = [f"{peer} ÷ {own}" for peer in PEERS for own in OURS]
    for name in ("operation", "ranks", "bytes", *OURS, *PEERS, *ratios):
        table.add_column(name, justify="left" if name == "operation" else "right")
    for row in rows:
        found = row["seconds"]
        times = [f"{1e6 * found[x]:,.0f} µs" if x in found else "" for x in (*OURS, *PEERS)]
        shares = [
            f"{found[peer] / found[own]:.2f}" if peer in found and own in found else ""
            for peer in PEERS
            for own in OURS
        ]
        table.add_row(row["name"], str(row["ranks"]), f"{row['nbytes']:,}", *times, *shares)
    return table
