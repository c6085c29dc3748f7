"""Every table that a module keeps and changes is a memo, or stands here with what it is instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import gnomon as gn
from gnomon.ir import memo
from tests.house import functions, short, sources, tree

CHANGES = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem"}
    | {"popleft", "remove", "setdefault", "update"}
)

# what a process is told while it loads its modules, and by nobody later
DECLARED = {
    "gnomon/codegen/calls.py": {"KERNELS"},
    "gnomon/distributions/kl.py": {"DISTANCES"},
    "gnomon/dtypes.py": {"_BY_NUMPY"},
    "gnomon/fx/tracer.py": {"wrapped"},
    "gnomon/ir/memo.py": {"_EXACT", "_clears", "_recent"},
    "gnomon/ir/node.py": {"PRIMITIVES"},
    "gnomon/ops/placements.py": {"_made"},  # each is one object for ever
    "gnomon/ops/registry.py": {"OPS", "REGIONS"},
    "gnomon/ops/scalars.py": {"SCALARS"},
    "gnomon/tensor/functions.py": {"FUNCTIONS"},
}
# what lives now: objects, threads and processes, memory that was lent, choices of the user's
ALIVE = {
    "gnomon/capture/jit.py": {"ALL"},
    "gnomon/compiler/build.py": {"_locks"},
    "gnomon/compiler/tiers.py": {"_live"},
    "gnomon/runtime/comm/environment.py": {"_declared"},
    "gnomon/distributed/availability.py": {"_level"},
    "gnomon/distributed/fsdp_module.py": {"sharded_class"},
    "gnomon/drop_in/hub_files.py": {"_chosen"},
    "gnomon/dtypes.py": {"_OF_NUMBERS"},  # the default dtype: who changes it knows
    "gnomon/forking.py": {"_locks", "_taken"},
    "gnomon/fx/graph_module.py": {"graphs"},
    "gnomon/ir/memo.py": {"_KINDS", "_OLD_KINDS"},  # nodes hold their numbers: none is given twice
    "gnomon/ir/specializations.py": {"_tables"},
    "gnomon/ir/provenance.py": {"_written"},  # while modules of graphs have the text
    "gnomon/multiprocessing/__init__.py": {"_chosen"},
    "gnomon/runtime/cache.py": {"_said"},
    "gnomon/runtime/comm/base.py": {"_links"},
    "gnomon/runtime/comm/here.py": {"_of_process"},
    "gnomon/runtime/comm/mpi.py": {"_left", "entries", "functions"},
    "gnomon/runtime/comm/node.py": {"entries"},
    "gnomon/runtime/comm/watch.py": {"_watches"},
    "gnomon/runtime/cpu.py": {"_pending"},
    "gnomon/runtime/cuda/driver.py": {"_found"},
    "gnomon/runtime/cuda/kernels.py": {"_unused"},
    "gnomon/runtime/linking.py": {"_ended", "_there"},
    "gnomon/runtime/perf_map.py": {"_sizes", "_written"},
    "gnomon/runtime/threads.py": {"_spare", "entries", "libc"},
    "gnomon/runtime/worker.py": {"machine", "prepare"},
    "gnomon/runtime/workers.py": {"_idle"},
    "gnomon/serialization/pickled.py": {"_allowed"},
    "gnomon/tensor/collectives.py": {"_ends"},
    "gnomon/tensor/determinism.py": {"_mode"},
    "gnomon/tensor/device.py": {"_behind", "_leaves", "any_missing"},
    "gnomon/tensor/memory.py": {"shared_storages"},
    "gnomon/tensor/nans.py": {"_on"},
    "gnomon/tensor/show.py": {"_now"},
    "gnomon/testing/seeds.py": {"_latest"},
    "gnomon/utils/pytree/nodes.py": {"SUPPORTED_NODES", "WRITTEN"},  # classes of users
}
# what is so on this machine, under this Python, with these sources, whatever is built
FACTS = {
    "gnomon/capture/object_state.py": {"has_versions"},
    "gnomon/drop_in/absences.py": {"table"},
    "gnomon/ops/lapack.py": {"thread_count"},
    "gnomon/profiler/limits.py": {"machine_with"},
    "gnomon/runtime/cache.py": {"own_sources"},
    "gnomon/runtime/device.py": {"host"},
    "gnomon/runtime/system.py": {"caches", "memory_bytes", "physical_cores", "quota"},
}


def named(module: ast.Module) -> dict[str, ast.expr | None]:
    """What a module gives names to, outside of its functions."""
    found: dict[str, ast.expr | None] = {}
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        found |= {x.id: node.value for x in targets if isinstance(x, ast.Name)}
    return found


def changed(function: ast.AST) -> Iterator[str]:
    """The names of containers that a function puts something into, or takes something out of."""
    nodes = list(ast.walk(function))
    own = {x.arg for x in nodes if isinstance(x, ast.arg)}
    own |= {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    for node in nodes:
        place = None
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            place = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            place = node.func.value if node.func.attr in CHANGES else None
        while isinstance(place, ast.Subscript):
            place = place.value
        if isinstance(place, ast.Name) and place.id not in own:
            yield place.id


def is_memo(value: ast.expr | None) -> bool:
    """Whether a table is registered."""
    return value is not None and ast.unparse(value).startswith("memo(")


def strangers(path: Path) -> set[str]:
    """The tables of a module that are changed, or remember results, and are not registered."""
    names = named(tree(path))
    found = {x for f in functions(path) for x in changed(f) if x in names and not is_memo(names[x])}
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef):
            marks = [ast.unparse(x).removeprefix("functools.") for x in node.decorator_list]
            if "memo" not in marks and any(x.startswith(("cache", "lru_cache")) for x in marks):
                found.add(node.name)
    return found


def test_every_table_is_a_memo_or_says_what_it_is():
    listed = [(file, x) for kind in (DECLARED, ALIVE, FACTS) for file in kind for x in kind[file]]

    found = [(short(path), x) for path in sources() for x in strangers(path)]

    assert sorted(found) == sorted(listed)


def test_a_table_that_nobody_registered_is_found(tmp_path):
    path = tmp_path / "tables.py"
    path.write_text(
        "_kept = {}\n_told: dict = memo({})\n_own = []\n_many = {}\n"
        "@cache\ndef f(x): _kept[x] = _told[x] = 1\n"
        "@memo\n@cache\ndef g(_own): _own.append(1); _many[0][1] = 2\n"
    )

    assert strangers(path) == {"_kept", "_many", "f"}


def test_clearing_empties_every_kind_of_table():
    table, many, calls = memo.memo({}), memo.memo(set()), []
    double = memo.memo(cache(lambda x: calls.append(x) or 2 * x))
    table["a"], _ = 1, many.add(2)
    assert double(3) == double(3) == 6

    memo.clear()

    assert (table, many, double(3), calls) == ({}, set(), 6, [3, 3])


def test_programs_go_on_after_all_is_forgotten():
    def step(x: gn.Tensor) -> gn.Tensor:
        x = x.detach().requires_grad_()
        (x @ x).exp().sum().backward()
        return x.grad

    x, compiled, found = gn.rand(5, 5), gn.compile(step), []
    for _ in range(3):
        found += [step(x).numpy(), compiled(x).numpy()]
        memo.clear()

    assert len({np.asarray(each).tobytes() for each in found}) == 1
