"""What is known of an operation stands where it is declared: who else names it, counted.

A string names an operation where it stands in a table of a file, is compared with a name, or looks
something up in the registry. A call by name inside a function (`FUNCTIONS["stack"](...)`) is a use,
as an import is, and tells nothing about the operation: uses are not counted. Names that are also
those of primitives, scalar functions and folds are the compiler's own language, and mean no
operation where nodes are spoken of. Layers (gnomon/nn, gnomon/models) only use operations.

`python -m tests.test_one_place` prints the table.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gnomon  # noqa: F401 - fills the registry
from gnomon.ir.node import PRIMITIVES
from gnomon.ops.primitives import MONOIDS
from gnomon.ops.registry import OPS, REGIONS, Op
from gnomon.ops.scalars import SCALARS
from tests.house import PACKAGE, module, short, sources, tree

pytestmark = pytest.mark.unit

LAYERS = (
    *("gnomon/nn/", "gnomon/models/", "gnomon/bench/", "gnomon/train/", "gnomon/optim/"),
    "gnomon/drop_in/",  # PyTorch's names for them
    "gnomon/onnx/",  # ONNX's
    "gnomon/gguf/",  # of Hugging Face's configs
)
ENTRIES = frozenset({"gnomon/nn/functional.py"})
"""Files of layers that offer operations as they are: they are counted."""
REGISTRIES = frozenset({"OPS", "FUNCTIONS", "REGIONS"})
LANGUAGE = frozenset({*PRIMITIVES, *SCALARS, *MONOIDS})
OF_NODES = (
    *("gnomon/ir/", "gnomon/ops/", "gnomon/passes/", "gnomon/schedule/", "gnomon/codegen/"),
    *("gnomon/runtime/", "gnomon/program/", "gnomon/compiler/", "gnomon/profiler/"),
    *("gnomon/tensor/views.py", "gnomon/tensor/borrowing.py", "gnomon/tensor/autograd/"),
)
"""Where a name of the language is that of a node."""
WORDS: dict[str, set[str]] = {
    "gnomon/capture/effects.py": {"select"},  # a module of Python's
    "gnomon/capture/compile_options.py": {"mode"},  # a keyword of compile
    "gnomon/codegen/kernels/attention.py": {"sum"},  # names in the text that is written
    "gnomon/codegen/kernels/product.py": {"narrow", "tile"},  # fields
    "gnomon/codegen/emitter.py": {"i1"},  # a type of LLVM's
    "gnomon/codegen/float8.py": {"i1"},
    "gnomon/codegen/integers.py": {"i1"},
    "gnomon/codegen/kernels/scan.py": {"i1"},
    "gnomon/codegen/scalar.py": {"i1"},
    "gnomon/codegen/llvm_algebra.py": {"equal", "less", "less_equal"},
    "gnomon/codegen/opaque.py": {"matmul"},  # kernels
    "gnomon/ir/sym_number.py": {"mod"},  # an operator of Python's
    "gnomon/ops/embedding.py": {"mean", "sum"},  # ways to fold
    "gnomon/ops/grids.py": {"bilinear"},  # a way to interpolate
    "gnomon/ops/images.py": {"bilinear", "linear"},  # ways to interpolate
    "gnomon/ops/indexing.py": {"amax", "amin", "mean", "prod", "sum"},  # ways to fold
    "gnomon/ops/losses.py": {"mean", "sum"},
    "gnomon/ops/registry.py": {"diagonal"},  # a parameter
    "gnomon/ops/placements.py": {"sum"},  # a way to fold
    "gnomon/tensor/control.py": {"gather"},  # of the parts of a call
    "gnomon/tensor/functions.py": {"svd"},  # PyTorch's older function, of other results
    "gnomon/tensor/masked.py": {  # PyTorch's functions of these names that take masks
        *("amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp"),
        *("logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin"),
        *("std", "sum", "var"),
    },
    "gnomon/tensor/matrices.py": {
        "lstsq",
        "svd",
        "vander",
    },  # PyTorch's other functions of these names
    "gnomon/tensor/pytree.py": {"flatten", "unflatten"},  # of containers
    "gnomon/tensor/signal_windows.py": {"exponential"},  # a window
    # PyTorch's functions of these names that take sparse tensors
    "gnomon/tensor/sparse.py": {"addmm", "log_softmax", "mm", "softmax", "sum"},
    "gnomon/tensor/vmap.py": {"placed"},  # the axis of samples
}
"""Strings of a file that are spelled like an operation and mean something else."""
FORMS: dict[str, set[str]] = {
    "gnomon/nn/functional.py": {
        *("batch_norm", "dropout", "instance_norm", "linear_cross_entropy", "log_softmax"),
        *("one_hot", "softmax", "softmin"),
    },
    "gnomon/tensor/creation.py": {"empty_like", "full_like", "ones_like", "zeros_like"},
    "gnomon/tensor/linalg.py": {"diagonal", "norm", "trace"},
    "gnomon/tensor/random.py": {"bernoulli"},
    "gnomon/tensor/selection.py": {"where"},
}
"""File -> functions of tensors written beside an operation of their name; no name is ever added.

They look at values, draw, write or have PyTorch's other parameters.
"""


def parents(root: ast.AST) -> dict[ast.AST, ast.AST]:
    """Every node's parent."""
    return {child: node for node in ast.walk(root) for child in ast.iter_child_nodes(node)}


def above(node: ast.AST, up: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """What a node stands in, innermost first."""
    while node in up:
        node = up[node]
        yield node


def is_listed(node: ast.AST) -> bool:
    """Whether a statement is a list of a file's own names, or a text."""
    targets = getattr(node, "targets", ())
    return any(ast.unparse(x) in ("__all__", "__slots__") for x in targets)


def is_name(node: ast.AST) -> bool:
    """Whether an expression gives the name of something."""
    text = ast.unparse(node)
    return text in ("name", "name_") or text.endswith((".name", ".op", ".__name__", "['name']"))


DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred)
TESTS = ("startswith", "endswith", "removeprefix", "removesuffix")


def tells(node: ast.Constant, up: dict[ast.AST, ast.AST]) -> bool:
    """Whether a string that is an operation's name says something about the operation."""
    inner = isinstance(up[node], ast.Expr) or any(map(is_listed, above(node, up)))
    if inner:
        return False
    within = list(above(node, up))
    inside = any(isinstance(x, ast.FunctionDef | ast.Lambda) for x in within)
    in_decorator = any(
        isinstance(f, ast.FunctionDef)
        and node in [y for d in f.decorator_list for y in ast.walk(d)]
        for f in within
    )
    outer = next(x for x in within if not isinstance(x, DISPLAYS))
    if isinstance(outer, ast.Compare):
        return any(is_name(x) for x in (outer.left, *outer.comparators))
    if isinstance(outer, ast.For | ast.comprehension):
        return outer.iter in (node, *within)
    method = outer.func if isinstance(outer, ast.Call) else None
    if isinstance(method, ast.Attribute) and method.attr in TESTS:
        return is_name(method.value)
    if not inside or in_decorator:
        return not isinstance(outer, ast.arguments | ast.keyword)
    if isinstance(outer, ast.Subscript):  # stored: another function in its place
        return ast.unparse(outer.value) in REGISTRIES and isinstance(outer.ctx, ast.Store)
    return False


def defined(path: Path) -> Iterator[str]:
    """The names that a file itself gives to something."""
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        if isinstance(node, ast.Assign):
            yield from (x.id for x in ast.walk(node.targets[0]) if isinstance(x, ast.Name))


@cache
def homes() -> dict[str, str]:
    """Operation -> the file that declares it."""
    here = {
        value.__name__: short(path)
        for path in sources()
        for name in defined(path)
        if isinstance(value := getattr(sys.modules.get(module(path)), name, None), Op)
    }
    return {name: here[x.__name__] for name, x in (REGIONS | OPS).items() if x.__name__ in here}


def tellers() -> dict[str, set[str]]:
    """File -> the operations declared elsewhere that it says something about."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sources():
        file = short(path)
        if file.startswith(LAYERS) and file not in ENTRIES:
            continue
        silent = WORDS.get(file, set()) | (LANGUAGE if file.startswith(OF_NODES) else set())
        up = parents(tree(path))
        for node in up:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name = node.value
                other = homes().get(name, file) != file and name not in silent
                if other and tells(node, up):
                    found[file].add(name)
    return found


def forms() -> dict[str, set[str]]:
    """File -> the functions that it offers to users under the name of an operation."""
    made = {
        short(path): {x for x in defined(path) if x in OPS} - WORDS.get(short(path), set())
        for path in sources()
        if short(path) in ENTRIES or path.parent == PACKAGE / "tensor"
    }
    return {file: names for file, names in made.items() if names}


def counts(found: dict[str, set[str]]) -> Counter[str]:
    """Operation -> the files that know something about it, its own included."""
    names = {operation.__name__ for operation in REGIONS.values()} & homes().keys()
    again = {alias: operation.__name__ for alias, operation in OPS.items()}
    told = Counter({name: 1 for name in names})
    for names in found.values():
        told.update({again.get(name, name) for name in names})
    return told


def test_only_its_own_file_knows_something_about_an_operation():
    assert not tellers(), "say it at the operation"


def test_no_further_function_is_written_beside_its_operation():
    assert forms() == FORMS


def test_every_operation_is_named_by_one_file():
    told = counts(tellers())

    assert len(told) > 300
    assert set(told.values()) == {1}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('VIEWS = frozenset({"squeeze", "tile"})', {"squeeze", "tile"}),
        ('FACTS = {"squeeze": 1}', {"squeeze"}),
        ('def f(node):\n    return node.params["name"] == "rms_norm"', {"rms_norm"}),
        ('def f(op):\n    return op.__name__.startswith("rms_norm")', {"rms_norm"}),
        ('def f():\n    for name in ("cummax", "topk"):\n        pass', {"cummax", "topk"}),
        ('@instead("sort")\ndef sort(): pass', {"sort"}),
        ('def f(x):\n    return FUNCTIONS["stack"](x)', set()),
        ('def f(x):\n    """stack"""\n    return other(x, "stack")', set()),
        ('def f(x, reduction="mean"):\n    return reduction == "sum"', set()),
    ],
)
def test_what_tells_something_is_found(text, told):
    root = ast.parse(text)
    up = parents(root)
    strings = [x for x in up if isinstance(x, ast.Constant) and isinstance(x.value, str)]

    assert {x.value for x in strings if x.value in OPS and tells(x, up)} == told


def main() -> None:
    """Print who names what."""
    found = tellers()
    for file, names in sorted(found.items(), key=lambda pair: -len(pair[1])):
        print(f"{len(names):4} {file}: {' '.join(sorted(names))}")
    told = counts(found)
    print(f"most {max(told.values())}: {told.most_common(5)}")


if __name__ == "__main__":
    main()
