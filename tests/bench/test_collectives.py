"""The measurement of collectives: its table, and two ranks that really run."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from gnomon.bench import collectives

ROW = {"name": "all_gather", "nbytes": 1 << 20, "ranks": 2}


def test_a_row_says_how_much_longer_peers_take():
    console = Console(width=160, record=True, file=StringIO())
    row = ROW | {"seconds": {"gnomon": 1e-3, "node": 5e-4, "mpi4py": 2e-3}}

    console.print(collectives.collectives_table([row]))

    *_, last = console.export_text().rstrip().splitlines()
    assert last.split()[:5] == ["all_gather", "2", "1,048,576", "1,000", "µs"]
    assert last.split()[-2:] == ["2.00", "4.00"]


def test_two_ranks_measure_every_operation():
    rows = collectives.measured_by(2, ["mpi4py"], rounds=1)

    names = {row["name"] for row in rows}
    assert {"all_gather", "all_to_all", "all_reduce", "reduce_scatter"} < names
    assert all(row["ranks"] == 2 and row["seconds"]["node"] > 0 for row in rows)
