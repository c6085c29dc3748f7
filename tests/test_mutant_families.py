"""Families of mutants, each a table: a fault, and the test of the ordinary suite that catches it.

What counts as catching is in mutants.py; faults of generated code, derivatives, signatures and
leaves are in test_mutations.py, those of ranks in distributed/test_planted_faults.py.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture import aliasing, replay, results
from gnomon.capture.results import Fresh, Results
from gnomon.capture.signature import signature_of
from gnomon.capture.snapshot import Looks
from gnomon.compiler import autotuning
from gnomon.compiler.autotuning import Tuner
from gnomon.ir.node import Graph, Node
from gnomon.ops.joining import concat
from gnomon.ops.transfers import shift_ranks
from gnomon.ops.view_primitives import slice_
from gnomon.passes import lower_collectives
from gnomon.program import assembly, buffer_assignment
from gnomon.program import cache as programs
from gnomon.program.steps import StepTable
from gnomon.runtime import cache as disk
from gnomon.runtime import cpu
from gnomon.runtime.cache import Cache
from gnomon.runtime.comm import threads
from gnomon.runtime.comm.base import Pieces
from gnomon.schedule import memory
from gnomon.schedule.excerpt import Excerpt
from gnomon.schedule.fusion import FusionVerdict
from gnomon.settings import override
from tests import witnesses
from tests.capture import test_aliasing as aliases
from tests.compiler import test_autotuning as tunings
from tests.distributed import test_folds as folds
from tests.mutants import Mutant, Plant, caught, changed, instead, ordinary
from tests.mutants_of_guards import ARGUMENTS, GUARDS, LOOKED_AT, MODES
from tests.program import test_cache as plans
from tests.program import test_overwriting as overwriting
from tests.runtime import test_cache as caches
from tests.runtime import test_cpu as cpus
from tests.runtime.comm import test_threads as ranks
from tests.schedule import test_excerpt as excerpts
from tests.schedule import test_memory as memories

cache, asked, compiled = caches.cache, plans.asked, cpus.compiled
"""Fixtures that the checks ask for."""


@pytest.fixture(autouse=True)
def _nothing_kept(tmp_path) -> Iterator[None]:
    """What is written to the disk is a test's own."""
    with override(cache_dir=str(tmp_path / "kept")):
        yield


# heirs in memory: a buffer is handed on to a result


class Always(int):
    """A step that is equal to any."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Whenever(dict):
    """Values that die at any step."""

    def get(self, key: Node) -> int | None:
        return Always() if key in self else None


def while_read(right: Callable) -> Callable:
    """Operands are handed on though somebody reads them later."""
    return lambda parts, first, last: right(parts, first, Whenever(last))


def to_several(right: Callable) -> Callable:
    """An operand is handed on to every value that may have it."""

    def inherited(parts, first, last):
        for step, x, y in buffer_assignment.overlays(parts):
            if last.get(y) == step == first.get(x):
                yield x, y

    return inherited


def results_too(right: Callable) -> Callable:
    """Inputs that are results are given up."""

    def given_up(block):
        found = {}
        for _, x, y in buffer_assignment.overlays(block.parts):
            if x in block.graph.outputs and y in block.graph.inputs:
                found.setdefault(x, []).append(y)
        return found

    return given_up


HANDED_ON = partial(witnesses.bits, "handed on")
HEIRS = {
    "an operand is handed on while it has readers": Mutant(
        changed(buffer_assignment, "inherited", while_read), HANDED_ON
    ),
    "an operand is handed on to several": Mutant(
        changed(buffer_assignment, "inherited", to_several), HANDED_ON
    ),
    "an heir does not prolong the interval of its place": Mutant(
        instead(memory, "owners", lambda intervals, heirs: [*range(len(intervals))]),
        memories.test_an_heir_lies_where_its_operand_did,
    ),
    "inputs are given up while they have readers": Mutant(
        changed(assembly, "given_up", results_too),
        overwriting.test_old_values_are_kept_while_they_are_read,
    ),
    "what somebody holds is given up": Mutant(
        instead(replay, "all_free", lambda tensors: True),
        overwriting.test_what_somebody_holds_is_kept,
    ),
    "wrong positions are looked for too late": Mutant(
        instead(StepTable, "_stop_if_wrong", lambda self: None),
        overwriting.test_a_wrong_position_leaves_everything_as_it_was,
    ),
}


# aliasing of results


def forgets(field: str, value: object) -> Callable:
    """Results of which one thing is not known when they are made."""

    def change(right: Callable) -> Callable:
        def wrong(self: Results, *given: object) -> None:
            right(self, *given)
            setattr(self, field, value)

        return wrong

    return change


RESULTS = {
    "arguments that share memory are apart": Mutant(
        instead(aliasing, "groups", lambda arguments: ()),
        aliases.test_programs_know_which_arguments_share_memory,
    ),
    "which parts of a storage are passed is no part of the key": Mutant(
        instead(aliasing, "parts", lambda arguments, places: ()),
        aliases.test_programs_know_which_arguments_share_memory,
    ),
    "writes under a second name are not looked for": Mutant(
        instead(aliasing, "check", lambda *given: None),
        aliases.test_an_argument_may_be_what_the_function_reads_from_outside,
    ),
    "what is read from outside is not looked for among arguments": Mutant(
        instead(aliasing, "outside", lambda *given: ()),
        aliases.test_an_argument_may_be_what_the_function_reads_from_outside,
    ),
    "one result is given for another": Mutant(
        changed(Results, "over", lambda right: lambda self, *given: right(self, *given)[::-1]),
        aliases.test_results_share_memory_with_each_other_and_with_arguments,
    ),
    "a result that comes twice comes once": Mutant(
        changed(Results, "__init__", forgets("_repeats", False)),
        aliases.test_a_result_that_is_put_somewhere_too_is_one_object,
    ),
    "a part is a tensor of its own": Mutant(
        changed(results, "part_of", lambda right: lambda *given: right(*given).clone()),
        aliases.test_results_share_memory_with_each_other_and_with_arguments,
    ),
    "a result forgets that its history is gone": Mutant(
        changed(
            Fresh, "over", lambda right: lambda self, x: right(self._replace(released=False), x)
        ),
        aliases.test_a_program_that_went_backward_says_that_no_history_is_left,
    ),
}

# the disk cache


class Same(bytes):
    """Bytes that differ from none."""

    def __ne__(self, other: object) -> bool:
        return False


def without(number: int) -> Callable:
    """A digest in which one part is left out."""
    return lambda right: lambda *parts: right(*parts[:number], *parts[number + 1 :])


def of_key_alone(right: Callable) -> Callable:
    """A seal in which the content takes no part but by its length."""

    def seal(key: str, content: bytes) -> bytes:
        length = len(content).to_bytes(disk.LENGTH, "little")
        return disk.FORMAT + length + right(key, b"")[-disk.DIGEST :]

    return seal


def in_place(self: Cache, path: Path, entry: bytes) -> None:
    """Write where readers look."""
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    path.write_bytes(entry)
    os.replace(path, path)


KEYS = plans.test_a_program_of_other_sources_or_another_processor_has_a_key_of_its_own
CACHE = {
    "an entry does not know its key": Mutant(
        changed(disk, "seal", lambda right: lambda key, content: right("", content)),
        caches.test_an_entry_is_bound_to_its_key,
    ),
    "an entry's digest leaves out its content": Mutant(
        changed(disk, "seal", of_key_alone),
        caches.test_a_damaged_entry_is_absent_and_can_be_stored_again,
    ),
    "digests are not compared": Mutant(
        changed(disk, "seal", lambda right: lambda *given: Same(right(*given))),
        caches.test_a_damaged_entry_is_absent_and_can_be_stored_again,
    ),
    "files of others are believed": Mutant(
        instead(disk, "doubt", lambda state: ""),
        caches.test_what_others_can_write_to_is_not_used_and_said_so_once,
    ),
    "an entry is written where it is read": Mutant(
        instead(Cache, "_publish", in_place),
        caches.test_nothing_half_written_is_left_when_publishing_fails,
    ),
    "what was used of late is dropped first": Mutant(
        changed(Cache, "_entries", lambda right: lambda self: [(-t, *x) for t, *x in right(self)]),
        caches.test_sweeping_drops_what_was_unused_for_longest,
    ),
} | {
    f"a key leaves out {what}": Mutant(changed(place, "digest", without(number)), check)
    for place, number, what, check in (
        (programs, 0, "the graph", plans.test_another_graph_is_another_program),
        (programs, 1, "settings", plans.test_every_choice_has_a_key_of_its_own),
        (programs, 2, "sources", KEYS),
        (programs, 3, "the processor", KEYS),
        (cpu, 0, "the text", cpus.test_a_key_depends_on_text_processor_and_choice_of_passes),
        (cpu, 5, "passes", cpus.test_a_key_depends_on_text_processor_and_choice_of_passes),
    )
}


# verdicts of autotuning


def slowest(right: Callable) -> Callable:
    """Times of which the longest looks shortest."""
    return lambda *given: [-seconds for seconds in right(*given)]


def endless(right: Callable) -> Callable:
    """A budget that is never spent."""

    def settle(self: Tuner, graph: Graph) -> bool:
        self.end = math.inf
        return right(self, graph)

    return settle


def worst(patch: pytest.MonkeyPatch) -> None:
    """Each candidate's longest sample counts."""
    patch.setattr(autotuning, "min", max, raising=False)


VERDICTS = {
    "the slowest candidate is taken": Mutant(
        changed(autotuning, "interleaved", slowest), tunings.test_the_quickest_candidate_is_taken
    ),
    "the longest sample counts": Mutant(
        worst, tunings.test_other_work_on_the_machine_decides_nothing
    ),
    "a breath of difference decides": Mutant(
        instead(autotuning, "MARGIN", 0.0), tunings.test_a_candidate_that_is_hardly_faster_is_left
    ),
    "a choice is known under any key": Mutant(
        instead(autotuning, "key_of", lambda key: "0" * 64),
        tunings.test_what_was_measured_is_known_again_by_its_own_key_alone,
    ),
    "a choice is forgotten": Mutant(
        instead(autotuning, "remember", lambda *given: None),
        tunings.test_a_product_is_measured_once_and_remembered,
    ),
    "products of all sizes share a choice": Mutant(
        instead(tunings, "class_of", lambda spec, machine: machine.name),
        tunings.test_what_was_measured_is_known_again_by_its_own_key_alone,
    ),
    "excerpts of all sizes share a verdict": Mutant(
        instead(Excerpt, "_key", lambda self: self.fusion.kind),
        excerpts.test_equal_layers_are_one_excerpt_and_other_sizes_are_not,
    ),
    "fusions of one excerpt share a verdict": Mutant(
        instead(Excerpt, "_key", lambda self: self.graph.key),
        excerpts.test_a_fusion_of_another_kind_or_of_other_nodes_is_another_excerpt,
    ),
    "a verdict is turned over": Mutant(
        changed(FusionVerdict, "pays", lambda right: lambda *given: not right(*given)),
        excerpts.test_a_verdict_decides_and_what_bytes_said_is_kept,
    ),
    "the budget is never spent": Mutant(
        changed(Tuner, "settle", endless),
        tunings.test_what_is_beyond_the_budget_is_left_to_the_model,
    ),
}


# folds of ranks, and the messages between them


def order(change: Callable[[list], list], in_a_row: bool = False) -> Plant:
    """A fold of other parts, or of the same in another order."""

    def wrong(right: Callable) -> Callable:
        def folded(x: Node, node: Node) -> Node:
            parts = [slices(x, k) for k in change(list(range(x.shape[0])))]
            made = right(concat(parts, 0), node)
            (stacked,) = made.inputs
            row = in_a_row or len(parts) != x.shape[0]
            params = {**made.params, "leaves": 1 if row else made.params["leaves"]}
            return x.arena.node("reduce", (stacked,), **params)

        return folded

    return stored(changed(lower_collectives, "folded", wrong))


def stored(plant: Plant) -> Plant:
    """A fault of folds, where all that ranks send is stored before it is folded."""

    def both(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(lower_collectives, "MOST_ROWS", 0)
        plant(patch)

    return both


def slices(x: Node, k: int) -> Node:
    """What one rank gave."""
    return slice_(x, ((k, k + 1, 1), *((0, n, 1) for n in x.shape[1:])))


def as_if(a: str, b: str) -> Plant:
    """A fold in place of another."""

    def wrong(right: Callable) -> Callable:
        def folded(x: Node, node: Node) -> Node:
            made = right(x, node)
            if made.params["monoid"] != a:
                return made
            return x.arena.node("reduce", (x,), **{**made.params, "monoid": b})

        return folded

    return stored(changed(lower_collectives, "folded", wrong))


def messages(change: Callable[[Pieces, int], Pieces]) -> Plant:
    """Messages that go, or are put, elsewhere."""
    return changed(
        threads,
        "pieces_of",
        lambda right: lambda transfer, place, n: change(right(transfer, place, n), place),
    )


def from_oneself(moved: Pieces, place: int) -> Pieces:
    """Each rank puts its own part first."""
    turned = moved.receives[place:] + moved.receives[:place]
    found = zip(turned, moved.receives, strict=True)
    return moved._replace(receives=[x._replace(address=y.address) for x, y in found])


def put_backwards(moved: Pieces, place: int) -> Pieces:
    """What comes is put in the wrong order."""
    found = zip(moved.receives, moved.receives[::-1], strict=True)
    return moved._replace(receives=[x._replace(address=y.address) for x, y in found])


def sent_backwards(moved: Pieces, place: int) -> Pieces:
    """Each rank is sent another's part."""
    found = zip(moved.sends, moved.sends[::-1], strict=True)
    return moved._replace(sends=[x._replace(address=y.address) for x, y in found])


SUMS, TREE = (
    ranks.test_all_reduce_sums_along_one_axis_only,
    ranks.test_a_sum_over_ranks_is_a_tree_of_neighbours_on_every_rank,
)
COLLECTIVES = {
    "the first rank is left out": Mutant(order(lambda parts: parts[1:]), SUMS),
    "the last rank is left out": Mutant(order(lambda parts: parts[:-1]), SUMS),
    "a rank counts twice": Mutant(order(lambda parts: [*parts, parts[0]]), SUMS),
    "a rank counts for its neighbour": Mutant(order(lambda parts: [parts[0], *parts[:-1]]), SUMS),
    "ranks are added in a row": Mutant(order(list, in_a_row=True), TREE),
    "distant ranks meet first": Mutant(order(lambda parts: parts[::2] + parts[1::2]), TREE),
    "rows that come have one leaf": Mutant(
        instead(lower_collectives, "leaves_of", lambda *given: 1), TREE
    ),
    "rows that come are folded backwards": Mutant(
        changed(threads, "fold_rows", lambda right: lambda t, rows: right(t, rows[::-1])),
        folds.test_ranks_fold_in_their_order,
    ),
    "each rank begins with its own": Mutant(
        messages(from_oneself), ranks.test_all_gather_is_in_rank_order
    ),
    "parts come backwards": Mutant(messages(put_backwards), ranks.test_all_gather_is_in_rank_order),
    "parts are given to the wrong rank": Mutant(
        messages(sent_backwards), ranks.test_reduce_scatter_gives_each_rank_its_part_of_the_sum
    ),
    "the ring goes around the other way": Mutant(
        instead(
            lower_collectives,
            "LOWERED",
            lower_collectives.LOWERED
            | {
                "permute_ranks": lambda x, node, after: shift_ranks(
                    x, -node.params["shift"], "a", 3
                )
            },
        ),
        ranks.test_permute_ranks_goes_around_the_ring,
    ),
} | {
    f"{a} folds as {b}": Mutant(as_if(a, b), check)
    for check, monoids in (
        (partial(ranks.test_other_folds, "max"), ("max", "min")),
        (partial(ranks.test_folds_of_truth_values, "and", np.all), ("and", "or")),
    )
    for a, b in (monoids,)
}

FAMILIES = {
    "guards": GUARDS,
    "heirs": HEIRS,
    "results": RESULTS,
    "cache": CACHE,
    "verdicts": VERDICTS,
    "collectives": COLLECTIVES,
}


def name_of(check: Callable) -> str:
    """A test's name, with its case."""
    if not isinstance(check, partial):
        return check.__name__
    return f"{check.func.__name__}[{', '.join(getattr(x, '__name__', x) for x in check.args)}]"


ROWS = [(family, name) for family, table in FAMILIES.items() for name in table]
CHECKS = {name_of(m.check): m.check for table in FAMILIES.values() for m in table.values()}


@pytest.mark.parametrize("name", CHECKS)
def test_without_a_mutant_a_check_has_no_complaint(name: str, request):
    ordinary(CHECKS[name], request)()


@pytest.mark.parametrize(("family", "name"), ROWS)
def test_a_mutant_is_caught(family: str, name: str, request):
    mutant = FAMILIES[family][name]
    with pytest.MonkeyPatch.context() as patch:
        mutant.plant(patch)

        assert caught(ordinary(mutant.check, request), mutant.declared)


def test_every_kind_of_guard_is_left_out_by_a_mutant():
    assert {*LOOKED_AT} == {*vars(Looks())} - {"_certain"}
    assert len(ARGUMENTS) + 2 == len(signature_of(gn.ones(1)))
    assert len(MODES) == len(next(iter(compiled_once().programs))[2])


def compiled_once():
    """A compiled function that was called."""
    f = gn.compile(lambda x: x)
    f(gn.ones(1))
    return f
