"""Small files of small functions, plain names, nothing left for later, a test beside each source.

The limits are ceilings; what to aim at is in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house import PACKAGE, ROOT, functions, short, sources, tree

pytestmark = pytest.mark.unit

LONGEST_FUNCTION = 60
LONGEST_FILE = 400
LONGER = {"gnomon/runtime/program_file.py": 500}
"""A file that is copied out alone, and so cannot be two: its lines that are not empty."""
MOST_PARAMETERS = 7
DEEPEST_NESTING = 4
MOST_CODE = 102_900
"""Lines of the package that are neither empty nor comment nor documentation (decision 0099)."""

EXAMPLE = re.compile(r"^((?: *\n)? *>>> .*\n(?:(?! *$| *\"\"\"| *>>>).*\n)*|    shows=.*\n)", re.M)
"""An example of an operation: a prompt and what it prints, or the row of a table that says so."""
LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
EMPTY_WORDS = frozenset(
    {"arg", "ctx", "data", "helper", "helpers", "impl", "info", "manager", "src", "tmp"}
    | {"util", "utils"}
)
# files, functions and parameters whose names PyTorch and the array API standard have already chosen
THEIR_WORDS = frozenset({"data", "src", "utils"})
# constructors and functions that take what PyTorch's take
THEIR_PARAMETERS = (
    "gnomon/distributed/",
    "gnomon/nn/",
    "gnomon/optim/",
    "gnomon/drop_in/argument_orders.py",
    "gnomon/onnx/exporting.py",
    "gnomon/ops/convolution.py",
    "gnomon/ops/linear_cross_entropy.py",
    "gnomon/ops/margin_losses.py",
    "gnomon/ops/pooling.py",
    "gnomon/tensor/autograd/grad.py",
    "gnomon/tensor/lobpcg.py",
    "gnomon/tensor/spectrograms.py",
    "gnomon/utils/benchmark.py",
    "gnomon/utils/data/",
)

BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.Match)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

# source files (or folders) without a test file of their own name, and where they are tested
EVERY_OP = "tests/ops/test_every_op.py"
CONFORMANCE = "tests/distributed/test_conformance.py"
TESTED_ELSEWHERE: dict[str, str] = {
    "gnomon/bench/ours/": "tests/bench/test_ours.py",
    "gnomon/bisect/child.py": "tests/bisect/test_command.py",
    "gnomon/bisect/runs.py": "tests/bisect/test_command.py",
    "gnomon/bench/collective_rank.py": "tests/bench/test_collectives.py",
    "gnomon/models/carried.py": "tests/models/test_pretrained.py",
    "gnomon/models/config_fields.py": "tests/models/test_pretrained.py",
    "gnomon/models/config_json.py": "tests/models/test_registry.py",
    "gnomon/models/families.py": "tests/models/test_pretrained.py",
    "gnomon/models/gpt2_files.py": "tests/models/test_pretrained.py",
    "gnomon/models/rotary.py": "tests/models/test_pretrained.py",
    "gnomon/models/saving.py": "tests/models/test_pretrained.py",
    "gnomon/models/stored_parameters.py": "tests/train/test_state.py",
    "gnomon/program/blocks.py": "tests/program/test_steps.py",
    "gnomon/runtime/comm/mpi_native.py": "tests/runtime/comm/test_mpi.py",
    "gnomon/runtime/comm/node_native.py": "tests/runtime/comm/test_node.py",
    "gnomon/runtime/comm/streams.py": "tests/runtime/comm/test_node.py",
    "gnomon/runtime/comm/waiting.py": "tests/runtime/comm/test_mpi.py",
    "gnomon/ops/fourier.py": "tests/tensor/test_fft.py",
    "gnomon/tensor/complex_calls.py": "tests/tensor/test_complex.py",
    "gnomon/tensor/complex_creation.py": "tests/tensor/test_complex.py",
    "gnomon/tensor/complex_folds.py": "tests/tensor/test_complex.py",
    "gnomon/tensor/complex_math.py": "tests/tensor/test_complex.py",
    "gnomon/tensor/complex_tensor.py": "tests/tensor/test_complex.py",
    "gnomon/distributed/collectives.py": CONFORMANCE,
    "gnomon/distributed/fully_sharding.py": "tests/distributed/test_fsdp.py",
    "gnomon/distributed/sharded_states.py": "tests/distributed/test_fsdp_wrapper.py",
    "gnomon/distributions/constraint_registry.py": "tests/distributions/test_constraints.py",
    "gnomon/distributions/kl_pairs.py": "tests/distributions/test_distribution.py",
    "gnomon/distributions/low_rank.py": "tests/distributions/test_matrices.py",
    "gnomon/distributions/matrix_transforms.py": "tests/distributions/test_constraints.py",
    "gnomon/distributions/part_transforms.py": "tests/distributions/test_constraints.py",
    "gnomon/distributions/ratios.py": "tests/distributions/test_gamma.py",
    "gnomon/distributions/unit_interval.py": "tests/distributions/test_continuous.py",
    "gnomon/distributions/von_mises.py": "tests/distributions/test_continuous.py",
    "gnomon/distributions/elementwise_transforms.py": "tests/distributions/test_transform.py",
    "gnomon/distributions/kl.py": "tests/distributions/test_distribution.py",
    "gnomon/distributions/parameters.py": "tests/distributions/test_distribution.py",
    "gnomon/distributions/transformed.py": "tests/distributions/test_continuous.py",
    "gnomon/ops/rejection.py": "tests/distributions/test_gamma.py",
    "gnomon/tensor/rejection.py": "tests/distributions/test_gamma.py",
    "gnomon/runtime/comm/capabilities.py": CONFORMANCE,
    "gnomon/runtime/comm/fake.py": CONFORMANCE,
    "gnomon/runtime/comm/groups.py": "tests/distributed/test_groups.py",
    "gnomon/runtime/comm/posted.py": "tests/tensor/test_works.py",
    "gnomon/ops/group_folds.py": CONFORMANCE,
    "gnomon/tensor/collectives.py": "tests/distributed/test_point_to_point.py",
    "gnomon/ops/activations.py": EVERY_OP,
    "gnomon/ops/arguments.py": EVERY_OP,
    "gnomon/ops/attention.py": EVERY_OP,
    "gnomon/ops/combining.py": EVERY_OP,
    "gnomon/ops/convolution.py": EVERY_OP,
    "gnomon/ops/cross_entropy.py": EVERY_OP,
    "gnomon/ops/diagonals.py": EVERY_OP,
    "gnomon/ops/divisors.py": EVERY_OP,
    "gnomon/ops/documentation.py": EVERY_OP,
    "gnomon/ops/einsum.py": EVERY_OP,
    "gnomon/ops/elimination.py": EVERY_OP,
    "gnomon/ops/embedding.py": EVERY_OP,
    "gnomon/ops/every.py": EVERY_OP,
    "gnomon/ops/facts.py": "tests/test_one_place.py",
    "gnomon/ops/factorizations.py": EVERY_OP,
    "gnomon/ops/grids.py": EVERY_OP,
    "gnomon/ops/images.py": EVERY_OP,
    "gnomon/ops/indexing.py": EVERY_OP,
    "gnomon/ops/joining.py": EVERY_OP,
    "gnomon/ops/linalg.py": EVERY_OP,
    "gnomon/ops/linear_cross_entropy.py": EVERY_OP,
    "gnomon/ops/logic.py": EVERY_OP,
    "gnomon/ops/losses.py": EVERY_OP,
    "gnomon/ops/margin_losses.py": EVERY_OP,
    "gnomon/ops/matrices.py": EVERY_OP,
    "gnomon/ops/distances.py": EVERY_OP,
    "gnomon/ops/normalization.py": EVERY_OP,
    "gnomon/ops/occurrences.py": EVERY_OP,
    "gnomon/ops/pooling.py": EVERY_OP,
    "gnomon/ops/reductions.py": EVERY_OP,
    "gnomon/ops/rounding.py": EVERY_OP,
    "gnomon/ops/scans.py": EVERY_OP,
    "gnomon/ops/solving.py": EVERY_OP,
    "gnomon/ops/sorting.py": EVERY_OP,
    "gnomon/ops/statistics.py": EVERY_OP,
    "gnomon/ops/transcendental.py": EVERY_OP,
    "gnomon/ops/view_parts.py": EVERY_OP,
    "gnomon/ops/views.py": EVERY_OP,
    "gnomon/passes/calls.py": "tests/ops/test_control_primitives.py",
    "gnomon/passes/simplify.py": "tests/test_every_rule.py",
    "gnomon/passes/trim.py": "tests/passes/test_keep.py",
    "gnomon/tensor/functions.py": EVERY_OP,
    "gnomon/tensor/masks.py": "tests/tensor/test_indexing.py",
    "gnomon/capture/subgraph.py": "tests/capture/test_control_flow.py",
    "gnomon/capture/storage_names.py": "tests/capture/test_tracing.py",
    "gnomon/capture/results.py": "tests/capture/test_aliasing.py",
    "gnomon/tensor/state.py": "tests/tensor/test_evaluate.py",
}


def lines(path: Path) -> int:
    """The length of a file; the examples of operations are for a prompt, and not counted."""
    text = path.read_text(encoding="utf-8")
    shown = EXAMPLE.findall(text)
    return len(text.splitlines()) - sum(example.count("\n") for example in shown)


def code_lines(path: Path) -> int:
    """Lines of a file that hold code."""
    spoken: set[int] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            spoken |= set(range(node.lineno, node.end_lineno + 1))
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in spoken
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    )


def functions_where(broken: Callable[[ast.FunctionDef], bool], but: tuple = ()) -> list[str]:
    """The functions of the package that break a rule, as file:line name."""
    return [
        f"{short(path)}:{node.lineno} {node.name}"
        for path in sources()
        if not short(path).startswith(but or ("-",))
        for node in functions(path)
        if broken(node)
    ]


def parameters(node: ast.FunctionDef) -> int:
    """How many things a caller may say; the object of a method is not one."""
    listed = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return len([x for x in listed if x.arg not in ("self", "cls")])


def nesting(node: ast.AST) -> int:
    """The depth of blocks inside a piece of syntax; elif is no deeper than its if."""
    deepest = 0
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FUNCTIONS):
            continue
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and [child] == node.orelse
        deepest = max(deepest, nesting(child) + (isinstance(child, BLOCKS) and not chained))
    return deepest


def given(path: Path) -> Iterator[str]:
    """Names that a file gives to classes and variables."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.ClassDef):
            yield node.name.lower()


def chosen(path: Path) -> Iterator[str]:
    """Names that others may have chosen for us: of the file, its functions, their parameters."""
    yield path.stem
    yield from (node.name for node in functions(path))
    yield from (node.arg for node in ast.walk(tree(path)) if isinstance(node, ast.arg))


def has_test(path: Path) -> bool:
    """Whether a source file has a test file of its name, or a listed reason to have none."""
    folder = ROOT / "tests" / path.parent.relative_to(PACKAGE)
    listed = any(short(path).startswith(name) for name in TESTED_ELSEWHERE)
    return listed or any(folder.glob(f"test_{path.stem.strip('_')}*.py"))


def test_a_file_fits_in_the_head():
    usual = [path for path in sources() if short(path) not in LONGER]

    assert not [f"{short(p)}: {lines(p)} lines" for p in usual if lines(p) > LONGEST_FILE]
    for name, most in LONGER.items():
        assert sum(map(bool, (ROOT / name).read_text(encoding="utf-8").split("\n"))) <= most, name


def test_the_package_is_small_enough_to_read():
    assert sum(map(code_lines, sources())) <= MOST_CODE, "a larger one needs a decision note"


def test_a_function_fits_on_a_screen():
    assert not functions_where(lambda f: f.end_lineno - f.lineno + 1 > LONGEST_FUNCTION)


def test_a_function_takes_few_parameters():
    assert not functions_where(lambda f: parameters(f) > MOST_PARAMETERS, but=THEIR_PARAMETERS)


def test_blocks_nest_at_most_four_deep():
    assert not functions_where(lambda f: nesting(f) > DEEPEST_NESTING)


def test_nothing_is_left_for_later():
    assert not [short(p) for p in sources() if LATER.search(p.read_text(encoding="utf-8"))]


def test_names_say_something():
    empty = {
        f"{short(path)}: {name}"
        for path in sources()
        for name in (EMPTY_WORDS & {*given(path)}) | ((EMPTY_WORDS - THEIR_WORDS) & {*chosen(path)})
    }

    assert not empty


def test_a_source_file_has_its_test_file():
    mine = [path for path in sources() if path.name != "__init__.py"]

    assert not [short(path) for path in mine if not has_test(path)]


def test_every_exception_is_still_needed():
    assert not [name for name in TESTED_ELSEWHERE if not (ROOT / name).exists()]
