"""`import gnomon` loads what a program needs and nothing else: modules are counted here.

How long it takes is a figure, not a test: benchmarks/import_time.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

pytestmark = pytest.mark.unit

OUTSIDE = {"__future__", "copy", "gnomon", "mmap", "threading"}
"""What comes with it beside numpy and what numpy loads itself."""
LAYERS = {
    *("capture", "dtypes", "errors", "forking", "interrupts", "ir", "lazy", "ops"),
    *("passes", "runtime", "settings", "tensor"),
}
"""The parts of the package that are loaded; no compiler, no nn, no command line."""
FOUND = {
    *(
        "gnomon.codegen",
        "gnomon.codegen.emitter",
        "gnomon.codegen.machine",
        "gnomon.program.context",
    ),
    *("gnomon.compiler", "gnomon.compiler.build", "gnomon.compiler.pass_log"),
    "gnomon.capture.size_families",
    "gnomon.tensor.autograd.dropping",
    *("gnomon.compiler.target", "gnomon.compiler.tiers", "gnomon.ir.verify"),
    *(
        "gnomon.ir.dissected",
        "gnomon.ir.sizes",
        "gnomon.ir.specializations",
        "gnomon.ir.substitution",
        "gnomon.ir.sym_float",
        "gnomon.ir.sym_number",
        "gnomon.ir.show",
        "gnomon.program",
        "gnomon.program.cache",
    ),
    *("gnomon.program.executable", "gnomon.program.entries"),
    *("gnomon.program.kernel", "gnomon.program.listing", "gnomon.program.run_times"),
    *("gnomon.program.saved", "gnomon.program.units"),
    *("gnomon.schedule", "gnomon.schedule.memory", "gnomon.capture.panels"),
    *(
        "gnomon.capture.ambient",
        "gnomon.capture.guards",
        "gnomon.capture.inputs",
        "gnomon.capture.call_objects",
    ),
    "gnomon.capture.object_trees",
    *("gnomon.capture.tracing", "gnomon.capture.storage_names", "gnomon.capture.compile_options"),
    *("gnomon.capture.replay", "gnomon.capture.results", "gnomon.capture.aliasing"),
    *("gnomon.capture.closure_state", "gnomon.capture.code_names"),
    *("gnomon.capture.callables", "gnomon.capture.object_state", "gnomon.capture.snapshot"),
    *("gnomon.capture.effects", "gnomon.capture.endings", "gnomon.ir.between"),
    "gnomon.capture.identities",
    *("gnomon.capture.wholes", "gnomon.ir.polynomials"),
    *("gnomon.passes.inline", "gnomon.program.outside"),
    "gnomon.ir.collector",
    *("gnomon.capture.looks", "gnomon.capture.paths", "gnomon.capture.trees"),
    "gnomon.capture.segments",
    *("gnomon.capture.varying", "gnomon.capture.number_places"),
    *("gnomon.tensor.layouts", "gnomon.tensor.host_calls"),
}
"""What a program that was found on disk brings besides what runs it."""
MOST = 65
"""Modules of ours that hold no operations; each costs a third of a millisecond."""


@cache
def loaded(program: str, **environment: str) -> frozenset[str]:
    """The names of modules that a program of its own has loaded at its end."""
    command = [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"]
    told = subprocess.check_output(command, text=True, env={**os.environ, **environment})
    return frozenset(told.split())


def ours() -> set[str]:
    """Our modules behind `import gnomon`."""
    return {name for name in loaded("import gnomon") if name.startswith("gnomon.")}


def test_importing_gnomon_loads_nothing_from_outside_but_what_is_listed():
    brought = loaded("import gnomon") - loaded("import numpy")

    assert {name.partition(".")[0] for name in brought} <= OUTSIDE


def test_importing_gnomon_loads_no_compiler():
    assert {name.split(".")[1] for name in ours()} == LAYERS
    passes = {name for name in ours() if name.startswith("gnomon.passes.")}
    assert passes == {
        f"gnomon.passes.{name}" for name in ("batch", "calls", "grad", "gradient_paths")
    }


def test_a_program_on_disk_is_run_without_the_compiler(tmp_path):
    program = "import gnomon as gn; gn.compile(lambda x: x.exp() * 2)(gn.ones(3)).numpy()"
    kept = {"GNOMON_CACHE_DIR": str(tmp_path), "GNOMON_CACHE": "1", "GNOMON_KEEP_PROGRAMS": "1"}
    cold, warm = (
        {name for name in loaded(f"{program}; {turn}", **kept) if name.startswith("gnomon.")}
        for turn in ("'cold'", "'warm'")
    )

    assert "gnomon.compiler.pipeline" in cold
    brought = {name for name in warm - ours() if "runtime" not in name}
    assert brought <= FOUND


def test_the_modules_of_ours_behind_an_import_stay_few():
    assert len([name for name in ours() if not name.startswith("gnomon.ops.")]) <= MOST


def test_numpy_is_imported_first_and_from_the_top():
    command = [sys.executable, "-X", "importtime", "-c", "import gnomon"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    (indent,) = {
        len(name) - len(name.lstrip())
        for line in told.splitlines()
        if (name := line.rpartition("|")[2]).strip() == "numpy"
    }

    assert indent == 3, "one blank before a name, and two for each import around it"


def test_import_torch_in_a_script_brings_a_sixth_more_than_gnomon(tmp_path):
    script, none = tmp_path / "script.py", loaded("pass")
    script.write_text("import torch, sys; print(*sys.modules)")
    command = [sys.executable, "-m", "gnomon", "run", str(script)]
    brought = frozenset(subprocess.check_output(command, text=True).split()) - none
    alone = loaded("import gnomon") - none

    assert "torch" in brought
    assert not {name.partition(".")[0] for name in brought} & {"cyclopts", "llvmlite", "rich"}
    assert "gnomon.compiler" not in brought
    assert len(brought - alone) <= len(alone) / 6
