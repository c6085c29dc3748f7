"""Functions, classes, methods and constants that nobody in the package names are deleted.

A name is looked up where its module is imported, so that a namesake elsewhere keeps nothing alive.
What users call, what a decorator registers and what other libraries ask for by name is alive.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

from gnomon.ops.registry import OPS
from tests.house import ROOT, lazy, module, short, sources, tree

pytestmark = pytest.mark.unit

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass
class Names:
    """What one file names: words in its own text, attributes, strings, names of other modules."""

    loaded: list[tuple[str, int]] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    of_modules: set[tuple[str, str]] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)
    """Of names that are put together where they are asked for."""


@cache
def known() -> frozenset[str]:
    """Every module of the package."""
    return frozenset(map(module, sources()))


@cache
def modules_named(path: Path) -> dict[str, str]:
    """The names by which a file knows other modules: imported ones, and those that load late."""
    found: dict[str, str] = {}
    for node in ast.walk(tree(path)):
        match node:
            case ast.Import(names):
                found |= {x.asname or x.name: x.name for x in names}
            case ast.ImportFrom(source, names):
                late = lazy() if source == "gnomon.lazy" else {}
                inner = {x.asname or x.name: late.get(x.name, f"{source}.{x.name}") for x in names}
                found |= {name: full for name, full in inner.items() if full in known()}
            case ast.Assign([ast.Name(name)], ast.Call(_, [ast.Constant(str(full))])):
                found |= {name: full} if full in known() else {}
    return found


@cache
def names(path: Path) -> Names:
    """All that a file names, but for its own list of public names."""
    found, others = Names(), modules_named(path)
    for node in named_in(tree(path)):
        match node:
            case ast.Name(name, ast.Load()):
                found.loaded.append((name, node.lineno))
            case ast.Attribute(base, name):
                found.attributes.add(name)
                found.of_modules.add((others.get(dotted(base), ""), name))
            case ast.ImportFrom(source, listed):
                found.of_modules |= {(source or "", x.name) for x in listed}
            case ast.Call(ast.Name("getattr"), [_, ast.JoinedStr([ast.Constant(start), *_]), *_]):
                found.beginnings.add(start)
            case ast.Constant(str(text)):
                found.strings.add(text)
            case ast.keyword(str(name)):
                found.strings.add(name)
    return found


def dotted(base: ast.expr) -> str:
    """A name with dots, as it is written; empty for anything else."""
    match base:
        case ast.Name(name):
            return name
        case ast.Attribute(inner, name):
            return f"{dotted(inner)}.{name}"
    return ""


def named_in(node: ast.AST) -> Iterator[ast.AST]:
    """Every piece of syntax below a node, without docstrings and `__all__`."""
    for child in ast.iter_child_nodes(node):
        listed = isinstance(child, ast.Assign) and dotted(child.targets[0]) == "__all__"
        spoken = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not listed and not spoken:
            yield child
            yield from named_in(child)


def users() -> Iterator[Path]:
    """Programs of ours that show users what to call."""
    for folder in ("benchmarks", "examples"):
        yield from (ROOT / folder).rglob("*.py")


@cache
def everywhere() -> Names:
    """What any file of the package names, and any program that stands for a user's."""
    whole = Names()
    for path in (*sources(), *users()):
        one = names(path)
        whole.attributes |= one.attributes
        whole.strings |= one.strings
        whole.of_modules |= one.of_modules
        whole.beginnings |= one.beginnings
    return whole


PLAIN = frozenset(
    {"abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "dataclass"}
    | {"final", "lru_cache", "once", "overload", "override", "property", "runtime_checkable"}
    | {"setter", "staticmethod", "total_ordering", "wraps"}
)
"""Decorators that register nothing."""
PUBLIC = """
gnomon gnomon.amp gnomon.autograd gnomon.autograd.forward_ad gnomon.autograd.functional
gnomon.autograd.graph gnomon.capture.annotations gnomon.capture.scripting gnomon.func gnomon.fx
gnomon.distributed gnomon.distributed.checkpoint gnomon.distributed.checkpoint.state_dict
gnomon.distributed.checkpoint_wrapper gnomon.distributed.wrapping gnomon.distributed.rendezvous
gnomon.distributed.comm_hooks gnomon.distributed.device_mesh
gnomon.distributed.fsdp gnomon.distributed.functional gnomon.distributed.nn gnomon.distributed.optim
gnomon.distributed.pipelining gnomon.distributed.tensor
gnomon.distributed.tensor.parallel gnomon.export gnomon.export.graph_signature gnomon.onnx
gnomon.distributions gnomon.distributions.constraints gnomon.distributions.parameters
gnomon.fft gnomon.futures gnomon.gguf gnomon.library gnomon.linalg gnomon.models
gnomon.nn gnomon.nn.attention gnomon.nn.functional gnomon.nn.init gnomon.nn.parallel
gnomon.nn.scripted gnomon.nn.utils gnomon.nn.utils.parametrizations gnomon.nn.utils.parametrize
gnomon.nn.utils.prune gnomon.nn.utils.rnn
gnomon.multiprocessing
gnomon.nested gnomon.optim gnomon.optim.lr_scheduler gnomon.optim.swa_utils gnomon.overrides
gnomon.profiler gnomon.quasirandom gnomon.random
gnomon.utils.benchmark gnomon.utils.checkpoint gnomon.utils.data gnomon.utils.flop_counter
"""
"""Modules by which users reach what is theirs."""
HANDED = {
    "Stream": "gnomon.cuda",
    "PretrainedModel": "gnomon.models.from_pretrained",
    "Works": "gnomon.distributed.batch_isend_irecv",
    "Namespace": "Tensor.__array_namespace_info__",
}
"""Classes whose methods users call without ever naming the class, and where they meet them."""
ASKED_FOR = {
    "_flatten": "TorchTitan's dimensions of a mesh",
    "_get_ddp_logging_data": "Lightning, when it ends",
    "_set_static_graph": "Lightning",
    "_register_load_state_dict_pre_hook": "packages over PyTorch, transformers among them",
    "_repr_html_": "notebooks",
    "reducer_override": "Python's pickler",
}
"""Methods that other programs ask for by name."""
INSTRUMENTS = {
    "evaluations": "how often pending work was run",
    "FILES": "the order in which operations are listed",
}
"""What only tests read, to measure."""


def registered(node: Definition) -> bool:
    """Whether a decorator may keep what it is given."""
    said = [x.func if isinstance(x, ast.Call) else x for x in node.decorator_list]
    return any(dotted(x).rpartition(".")[2] not in PLAIN for x in said)


def is_read(path: Path, name: str, own: range) -> bool:
    """Whether a name of a file's top level is read there, elsewhere than in its own lines."""
    return any(name == other and line not in own for other, line in names(path).loaded)


@cache
def public() -> frozenset[tuple[str, str]]:
    """What users can reach, each by the module and the name of its definition."""
    found: set[tuple[str, str]] = set()
    for each in PUBLIC.split():
        place = reached(each)
        for name in (x for x in dir(place) if x[0] != "_"):
            value = getattr(place, name)  # loads what is loaded when it is first asked for
            found |= {(place.__name__, name), (getattr(value, "__module__", ""), name)}
            if isinstance(value, type):
                found |= {(kind.__module__, kind.__qualname__) for kind in value.__mro__}
    return frozenset(found)


def reached(name: str) -> ModuleType:
    """A module as a user reaches it: imported, or an attribute."""
    first, _, rest = name.partition(".")
    found = importlib.import_module(first)
    for part in rest.split(".") if rest else ():
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def defined(path: Path) -> Iterator[tuple[str, range]]:
    """The names of a file's top level that no decorator keeps, with their lines."""
    for node in tree(path).body:
        lines = range(node.lineno, node.end_lineno + 1)
        if isinstance(node, DEFINITIONS) and not registered(node):
            yield node.name, lines
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found = [x for target in targets for x in ast.walk(target)]
            yield from ((x.id, lines) for x in found if isinstance(x, ast.Name))


def is_operation(home: str, name: str) -> bool:
    """Whether a name is an operation's: the registry knows it."""
    return name in OPS and getattr(importlib.import_module(home), name, None) is OPS[name]


def is_said(name: str, *fuller: str) -> bool:
    """Whether the package has a string that is a name, or begins to be one."""
    whole = everywhere()
    return bool({name, *fuller} & whole.strings) or name.startswith(tuple(whole.beginnings))


def is_spoken_for(name: str) -> bool:
    """Whether a name is on a list, or is Python's own."""
    return name.startswith("__") or name in ASKED_FOR or name in INSTRUMENTS


def dead(path: Path) -> Iterator[str]:
    """What nobody names of a file, as file:line name."""
    yield from dead_names(path)
    yield from dead_methods(path)


def dead_names(path: Path) -> Iterator[str]:
    """The names of a file's top level that nobody names."""
    home = module(path)
    for name, own in defined(path):
        full = home, name
        named = full in everywhere().of_modules or full in public() or is_read(path, name, own)
        said = is_said(name, f"{home}.{name}") or is_spoken_for(name)
        if not (named or said or is_operation(home, name)):
            yield f"{short(path)}:{own.start} {name}"


def dead_methods(path: Path) -> Iterator[str]:
    """Methods that nobody names, whether users or a base class of another library."""
    for kind in [x for x in tree(path).body if isinstance(x, ast.ClassDef)]:
        theirs = kind.name in HANDED or (module(path), kind.name) in public()
        for node in kind.body:
            if not isinstance(node, DEFINITIONS) or is_spoken_for(node.name) or registered(node):
                continue
            given = theirs and node.name[0] != "_"
            named = node.name in everywhere().attributes or is_said(node.name)
            if not (given or named or is_inherited(path, kind, node)):
                yield f"{short(path)}:{node.lineno} {kind.name}.{node.name}"


def is_inherited(path: Path, kind: ast.ClassDef, node: Definition) -> bool:
    """Whether a base class that is not ours has a method of the name."""
    bases = getattr(importlib.import_module(module(path)), kind.name).__mro__
    return any(node.name in vars(x) for x in bases if not x.__module__.startswith("gnomon"))


def test_everything_in_the_package_is_named():
    assert [found for path in sources() for found in dead(path)] == []


def test_every_exception_is_still_needed(monkeypatch):
    for table in ("HANDED", "ASKED_FOR", "INSTRUMENTS"):
        monkeypatch.setitem(globals(), table, {})
    rows = [
        row.split()[1] for path in sources() for row in (*dead_names(path), *dead_methods(path))
    ]
    monkeypatch.undo()

    assert {part for row in rows for part in row.split(".")} >= {*HANDED, *ASKED_FOR, *INSTRUMENTS}


FILES = {
    "one": "def used(): return same()\n\ndef same(): pass\n\ndef again(): return again()\n",
    "two": """
from gnomon.one import used

class Kind:
    def met(self): return getattr(self, f"how_{self}")

    def how_long(self): return used()
""",
    "three": """
from gnomon import two

def same(): pass

FOUND, LOST = two.Kind.met, 1
""",
}


def test_a_namesake_keeps_nothing_alive(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.house.ROOT", tmp_path)
    paths = [tmp_path / "gnomon" / f"{name}.py" for name in FILES]
    paths[0].parent.mkdir()
    for path in paths:
        path.write_text(FILES[path.stem])
    own = {
        "sources": lambda: paths,
        "public": frozenset,
        "users": tuple,
        "is_inherited": lambda *_: False,
    }
    for name, value in own.items():
        monkeypatch.setitem(globals(), name, value)
    for table in (everywhere, known):
        table.cache_clear()

    found = [row for path in paths for row in dead(path)]
    for table in (everywhere, known):
        table.cache_clear()

    assert [row.split()[1] for row in found] == ["again", "same", "FOUND", "LOST"]
