"""One call's way through looks at values: what is computed, and how often."""

from __future__ import annotations

import gnomon as gn
from gnomon.tensor import evaluate


def outputs_of(compiled) -> list[int]:
    """The outputs of each program."""
    return [len(p.graph.outputs) for p in compiled.captured()]


def test_what_follows_reads_what_the_look_has_computed():
    @gn.compile
    def step(x):
        y = (x * 2).exp()
        return y + 1 if y.sum() > 1 else y

    step(gn.ones(3))

    assert outputs_of(step) == [2, 1]
    assert [len(p.graph.inputs) for p in step.captured()] == [1, 1]


def test_a_value_that_was_asked_for_is_known():
    @gn.compile
    def step(x):
        y = x.sum()
        return x * 2 if y > 1 and y > 1 and bool(y.item()) and bool(y) else x

    for _ in range(2):
        assert step(gn.ones(3)).tolist() == [2.0] * 3
    ((_, tree),) = next(iter(step.programs.values()))

    assert [at.graph is None for *_, at in tree.segments()] == [False, True, False]


def test_a_replay_runs_its_segments_and_no_others():
    @gn.compile
    def step(x):
        y = x.sum()
        return x * 2 if y > 1 else x

    x = gn.ones(3)
    step(x)
    before = evaluate.evaluations
    step(x)

    assert evaluate.evaluations == before


def test_constants_and_sizes_are_no_questions():
    @gn.compile
    def step(x):
        return x * gn.arange(3).sum().item() if len(x) == 3 else x

    assert step(gn.ones(3)).tolist() == [3.0] * 3
    assert not hasattr(next(iter(step.programs.values()))[0][1], "root")


def test_text_shows_values():
    found = []

    @gn.compile
    def step(x):
        found.append(str(x * 2))
        return x

    step(gn.ones(2))

    assert found == ["Tensor([2., 2.])"]
