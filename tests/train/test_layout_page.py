"""The page of layouts, word by word, and the same as JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from gnomon.distributed.mesh import mesh_of
from gnomon.train.chips import CHIPS
from gnomon.train.config import Config, RunConfig
from gnomon.train.forecast import Forecast
from gnomon.train.layout_page import as_json, page
from gnomon.train.layouts import RankedLayout
from gnomon.train.recipes import tiny

pytestmark = pytest.mark.unit

PAGE = """\
deep, 64 layers, on 8,192 of h100
layout                   step  waiting   memory   work  sent by each rank
shard=1024,tensor=8   1.25 s      20%  61.0 GB   1.00  shard 12.0 GB, tensor 3.00 GB
data=8192             512 ms       0%  40.0 GB  64.00  data 8.00 GB
"""
NOTES = """
Modelled by the chip's peaks: bounds by which layouts compare, not times to be measured.
work: a rank's flops beside an equal share of one process's.
Built were models of 4 and of 8 layers; 64 follow along the line through both.
"""


def deep() -> Config:
    """A recipe of many layers."""
    config = tiny()
    model = replace(config.model, num_hidden_layers=64)
    return replace(config, run=RunConfig(name="deep"), model=model)


def found() -> list[RankedLayout]:
    """Two layouts with round figures."""
    one = Forecast(1.25, 0.25, 1e15, 60e9, (1e9, 0.5e9), {"shard": 12e9, "tensor": 3e9})
    two = Forecast(0.512, 0.0, 64e15, 30e9, (2e9, 10e9), {"data": 8e9})
    rows = [("shard=1024,tensor=8", one, 1.0), ("data=8192", two, 64.0)]
    return [RankedLayout(mesh_of(mesh), figures, work) for mesh, figures, work in rows]


def told(rows: list[RankedLayout]) -> list[str]:
    """The lines of a page."""
    text = io.StringIO()
    Console(file=text, width=120).print(page(deep(), CHIPS["h100"], 8192, rows))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_the_page_word_by_word():
    lines = told(found())

    assert [" ".join(x.split()) for x in lines[:4]] == [
        " ".join(x.split()) for x in PAGE.splitlines()
    ]
    assert lines[4:] == NOTES.splitlines()


def test_repeated_work_is_explained():
    lines = told(found()[::-1])

    assert lines[-2].startswith("Ranks repeat work, since the bits are kept")


def test_the_same_as_json():
    page_of = json.loads(as_json(deep(), CHIPS["h100"], 8192, found()))

    assert page_of["recipe"] == "deep"
    assert page_of["world"] == 8192
    assert page_of["built_layers"] == [4, 8]
    assert page_of["layouts"][0] == {
        "mesh": {"shard": 1024, "tensor": 8},
        "seconds": 1.25,
        "waiting_seconds": 0.25,
        "memory_bytes": 61_000_000_000,
        "work": 1.0,
        "sent_bytes": {"shard": 12_000_000_000, "tensor": 3_000_000_000},
    }
