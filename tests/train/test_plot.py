"""The plot is one well-formed picture whatever the losses are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from gnomon.train.plot import loss_plot, smoothed, ticks

pytestmark = pytest.mark.unit

NAME = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("training", "held_out"),
    [
        ([], []),
        ([(1, 5.0)], [(1, 5.5)]),
        ([(1, 5.0), (2, 5.0)], []),
        ([(n, 9 / n) for n in range(1, 300)], [(100, 1.0), (200, 0.5), (299, 0.4)]),
        ([(1, float("nan")), (2, float("inf")), (3, 1.0)], []),
    ],
)
def test_the_picture_is_well_formed(training, held_out):
    root = ElementTree.fromstring(loss_plot("a <run> & more", training, held_out))

    texts = [element.text for element in root.iter(f"{NAME}text")]
    assert "a <run> & more" in texts
    assert len(list(root.iter(f"{NAME}circle"))) == len(held_out)


def test_the_picture_has_a_dark_side():
    assert "prefers-color-scheme: dark" in loss_plot("run", [], [])


def test_every_point_lies_on_the_paper():
    root = ElementTree.fromstring(loss_plot("run", [(1, 7.3), (50, 2.2)], [(25, 3.0), (50, 2.9)]))

    for line in root.iter(f"{NAME}polyline"):
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            assert 0 <= x <= 720
            assert 0 <= y <= 400


def test_smoothing_starts_unbiased_and_keeps_a_constant():
    assert [y for _, y in smoothed([(1, 3.0), (2, 3.0)])] == pytest.approx([3.0, 3.0])


@pytest.mark.parametrize(("low", "high"), [(0, 1), (2.5, 8), (0, 1500), (0, 7), (0, 123456)])
def test_ticks_are_few_and_inside(low, high):
    found = ticks(low, high)

    assert 4 <= len(found) <= 9
    assert low <= found[0]
    assert found[-1] <= high
